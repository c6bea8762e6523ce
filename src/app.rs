//! A running Strongroom: rooms built from the bottom up, three listeners, and a stop in the opposite order.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use actors::{AuditError, LONGEST_FLOW, Parts, Vault};
use api::browser::BadConnectSettings;
use domain::AuditAction;
use tokio::runtime::{Handle, Runtime};
use upstream::{AddressPolicy, Network, Outbound, SystemResolver, Upstream};

use crate::config::Config;
use crate::foundation::{Foundation, Hands};
pub use crate::listeners::serve_admin_only;
use crate::listeners::{Listeners, size};
pub use crate::sockets::{Addresses, Sockets};

/// The listeners cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error("{what} cannot listen on {address}; choose another address, or end what uses this one")]
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
    #[error("the system does not say which addresses were bound; start again")]
    Addresses(#[source] std::io::Error),
    /// The runtime for outside work.
    #[error(
        "the runtime for outside work cannot be started; check the limits on threads and memory"
    )]
    Runtime(#[source] std::io::Error),
    /// The process may open too few files.
    #[error(
        "this process may have {limit} files open, and needs {needed} at least; raise the limit (`ulimit -n`, or \
         `LimitNOFILE=` in a systemd unit)"
    )]
    Descriptors {
        /// The limit.
        limit: usize,
        /// What is needed.
        needed: usize,
    },
    /// A listener ended without being told to.
    #[error(
        "the {what} listener ended; check the limits on open files and threads (`ulimit -a`) and start again"
    )]
    Ended {
        /// Which listener.
        what: &'static str,
        /// What it said, if anything.
        source: Option<std::io::Error>,
    },
    /// Something panicked while the process was built.
    #[error(
        "the process could not be started; the log names the place. Check the limits on open files, threads and memory \
         (`ulimit -a`) and start again"
    )]
    Panicked,
}

/// A running Strongroom. Its listeners run on the actix system that called [`App::start`].
pub struct App {
    vault: Vault,
    listeners: Listeners,
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

/// Longest stop in good order: requests, flows, and 20 seconds for the store and its checksum. Whoever supervises the process
/// must not end it before (`config/strongroom.service`).
pub const LONGEST_STOP: Duration = api::DRAIN
    .saturating_add(LONGEST_FLOW)
    .saturating_add(Duration::from_secs(20));

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
        let listeners = Listeners::start(config, sockets, &vault).await?;
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

    /// Waits until a listener ends although nobody stopped it, and says which. Without it the vault is half dead: stop, and
    /// let the process be started again.
    pub async fn ended(&mut self) -> StartError {
        self.listeners.ended().await
    }

    /// Stops in order: no new requests, running ones end, flows end, the store is closed, actors end.
    pub async fn stop(self) {
        self.vault.drain();
        self.listeners.stop().await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_file_leaves_a_stop_its_time() {
        let unit = include_str!("../config/strongroom.service");
        let limit = unit
            .lines()
            .find_map(|line| line.strip_prefix("TimeoutStopSec="))
            .unwrap();
        assert!(limit.parse::<u64>().unwrap() >= LONGEST_STOP.as_secs());
    }
}
