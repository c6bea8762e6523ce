//! A running Strongroom: rooms built from the bottom up, three listeners, and a stop in the opposite order.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use actix_rt::Arbiter;
use actix_web::dev::ServerHandle;
use actors::{AuditError, LONGEST_FLOW, Parts, Vault};
use api::browser::{BadConnectSettings, ConnectSettings, connect_app};
use api::{AdminAuth, AdminSettings, ApiSettings, Caps};
use domain::AuditAction;
use tokio::runtime::{Handle, Runtime};
use upstream::{AddressPolicy, Network, Outbound, SystemResolver, Upstream};

use crate::config::{Config, LeavingPage};
use crate::foundation::{Foundation, Hands};
use crate::sockets::unix;
pub use crate::sockets::{Addresses, Sockets};

/// The listeners cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error(
        "{what} cannot listen on {address}: {source}; choose another address, or end what uses this one"
    )]
    Bind {
        /// Which listener.
        what: &'static str,
        /// Its address.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The audit log.
    #[error("{0}")]
    Audit(#[from] AuditError),
    /// The outbound client.
    #[error("the outbound client cannot be built: {0}")]
    Outbound(String),
    /// The settings of the connect listener.
    #[error("{0}")]
    Connect(#[from] BadConnectSettings),
    /// An internal range is none for the outbound client.
    #[error(
        "the range {range} of [[internal]] host {host} cannot be used; write it as an address, a slash and a prefix length"
    )]
    Internal {
        /// The host.
        host: Box<str>,
        /// Its range.
        range: String,
    },
    /// The system does not say where a bound socket is.
    #[error("the system does not say which addresses were bound: {0}; start again")]
    Addresses(#[source] std::io::Error),
    /// The runtime for outside work.
    #[error("the runtime for outside work cannot be started: {0}")]
    Runtime(#[source] std::io::Error),
}

/// A running Strongroom. Its listeners run on the actix system that called [`App::start`].
pub struct App {
    vault: Vault,
    listeners: Vec<ServerHandle>,
    addresses: Addresses,
    arbiters: [Arbiter; 2],
    io: IoRuntime,
}

/// Builds a vault over an opened installation. The arbiters are started on the calling actix system.
///
/// # Errors
/// [`StartError`].
pub fn build_vault(
    config: &Config,
    foundation: Foundation,
    hands: &Hands,
    io: &IoRuntime,
) -> Result<(Vault, [Arbiter; 2]), StartError> {
    let policy = AddressPolicy {
        loopback: config.addresses.loopback,
        internal: internal(config)?,
    };
    let outbound = Outbound::new(policy, Arc::new(SystemResolver))
        .map_err(|error| StartError::Outbound(error.to_string()))?;
    let arbiters = [Arbiter::new(), Arbiter::new()];
    let [shards, desks] = &arbiters;
    let vault = Vault::start(Parts {
        vault: foundation.vault,
        registry: Arc::clone(&config.registry),
        store: foundation.store,
        keyring: foundation.keyring,
        upstream: Upstream::new(
            outbound.running_on(io.handle().clone()),
            config.public_url.clone(),
        ),
        clock: foundation.clock,
        entropy: Arc::clone(&hands.entropy),
        audit_dir: config.data_dir.join("audit"),
        io: io.handle().clone(),
        shards: shards.handle(),
        desks: desks.handle(),
        public_url: config.public_url.clone(),
        version: crate::VERSION,
        waits_per_server: size(config.limits.waits_per_server),
    })?;
    Ok((vault, arbiters))
}

/// Each declared range; one that were left out would silently forbid what the operator allowed.
fn internal(config: &Config) -> Result<Vec<upstream::InternalHost>, StartError> {
    let mut hosts = Vec::new();
    for declared in &config.addresses.internal {
        for range in &declared.ranges {
            let range = range.to_string();
            let Ok(network) = range.parse::<Network>() else {
                let host = declared.host.clone();
                return Err(StartError::Internal { host, range });
            };
            hosts.push(upstream::InternalHost {
                host: declared.host.clone(),
                network,
            });
        }
    }
    Ok(hosts)
}

/// The runtime on which all outside work runs. Dropping it never blocks, so that a start that fails half way can say why.
pub struct IoRuntime {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl IoRuntime {
    /// Starts it.
    ///
    /// # Errors
    /// [`StartError::Runtime`].
    pub fn start() -> Result<Self, StartError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder
            .worker_threads(2)
            .thread_name("vault-io")
            .enable_all()
            .build();
        let runtime = built.map_err(StartError::Runtime)?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Where flows are started.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for IoRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl App {
    /// Starts everything over an opened installation.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(
        config: &Config,
        sockets: Sockets,
        foundation: Foundation,
        hands: &Hands,
    ) -> Result<Self, StartError> {
        let addresses = sockets.addresses().map_err(StartError::Addresses)?;
        let io = IoRuntime::start()?;
        let (vault, arbiters) = build_vault(config, foundation, hands, &io)?;
        vault.announce(AuditAction::VaultStarted).await?;
        let listeners = listen(config, sockets, &vault)?;
        Ok(Self {
            vault,
            listeners,
            addresses,
            arbiters,
            io,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The vault behind the listeners.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Stops in order: no new requests, running ones end, flows end, the store is closed, actors end.
    pub async fn stop(self) {
        self.vault.drain();
        // `stop` gives its order at once and only the answer is awaited, so all listeners stop together.
        let stopping: Vec<_> = self.listeners.iter().map(|one| one.stop(true)).collect();
        for listener in stopping {
            listener.await;
        }
        // Before the runtime ends, which drops flows where they stand: a refresh that was begun is kept.
        self.vault.flows_ended(LONGEST_FLOW).await;
        if let Err(error) = self.vault.close().await {
            tracing::error!(%error, "the store did not close well");
        }
        drop(self.io);
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        std::fs::remove_file(&self.addresses.admin_socket).ok();
    }
}

fn listen(
    config: &Config,
    sockets: Sockets,
    vault: &Vault,
) -> Result<Vec<ServerHandle>, StartError> {
    let public = config.public_origin();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let served = |what: &'static str| {
        move |source| StartError::Bind {
            what,
            address: String::from("its socket"),
            source,
        }
    };
    let connect = connect_app(Arc::new(vault.clone()), Arc::new(connect_settings(config)?));
    let server = api::server_app(
        Arc::new(vault.clone()),
        ApiSettings::new(&public, &config.registry),
    );
    let by_peer = api::admin_app(
        Arc::new(vault.clone()),
        AdminSettings::new(&public, AdminAuth::PeerChecked),
    );
    let mut servers = vec![
        api::serve_tcp(connect, sockets.connect, workers, connect_caps(config))
            .map_err(served("connect"))?,
        api::serve_tcp(
            server,
            sockets.api,
            workers,
            Caps::total(size(config.limits.api_connections)),
        )
        .map_err(served("api"))?,
        api::serve_unix(
            by_peer,
            sockets.admin_socket,
            own_uid().map_err(served("admin socket"))?,
        )
        .map_err(served("admin socket"))?,
    ];
    if let Some(listener) = sockets.admin {
        let by_key = api::admin_app(
            Arc::new(vault.clone()),
            AdminSettings::new(&public, AdminAuth::Key),
        );
        servers
            .push(api::serve_tcp(by_key, listener, 1, Caps::total(64)).map_err(served("admin"))?);
    }
    let handles = servers.iter().map(actix_web::dev::Server::handle).collect();
    for server in servers {
        drop(actix_rt::spawn(server));
    }
    Ok(handles)
}

/// Browsers: a total, and a share for each address that is not a declared proxy.
fn connect_caps(config: &Config) -> Caps {
    let limits = config.limits;
    let proxies = config.listen.trusted_proxies.clone();
    let exempt = move |peer| proxies.iter().any(|range| range.contains(peer));
    Caps::total(size(limits.connect_connections))
        .per_address(size(limits.connect_connections_per_address), exempt)
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn connect_settings(config: &Config) -> Result<ConnectSettings, StartError> {
    let leaving = match config.leaving_page {
        LeavingPage::AtOnce => api::browser::LeavingPage::AtOnce,
        LeavingPage::Ask => api::browser::LeavingPage::Ask,
    };
    let mut settings = ConnectSettings::new(&config.public_url)?
        .operator(config.operator.name.as_deref(), None)
        .leaving(leaving);
    if let Some(support) = &config.operator.support_url {
        settings = settings.support(support.as_str())?;
    }
    if !config.listen.trusted_proxies.is_empty() {
        let proxies = config.listen.trusted_proxies.clone();
        settings = settings.behind(move |peer| proxies.iter().any(|range| range.contains(peer)));
    }
    Ok(settings)
}

/// The user this process runs as.
fn own_uid() -> std::io::Result<u32> {
    std::fs::metadata("/proc/self").map(|facts| facts.uid())
}

/// Serves the admin door alone, on a socket of its own, for a command that found nobody serving.
///
/// # Errors
/// [`StartError::Bind`].
pub fn serve_admin_only(
    vault: &Vault,
    public: &str,
    path: &Path,
) -> Result<ServerHandle, StartError> {
    let listener = unix(path)?;
    let served = |source| StartError::Bind {
        what: "admin socket",
        address: path.display().to_string(),
        source,
    };
    let app = api::admin_app(
        Arc::new(vault.clone()),
        AdminSettings::new(public, AdminAuth::PeerChecked),
    );
    let server = api::serve_unix(app, listener, own_uid().map_err(served)?).map_err(served)?;
    let handle = server.handle();
    drop(actix_rt::spawn(server));
    Ok(handle)
}
