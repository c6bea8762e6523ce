//! The listeners of a running vault: built, watched, and stopped together.

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use actix_web::dev::{Server, ServerHandle};
use actors::Vault;
use api::browser::{ConnectSettings, connect_app};
use api::{AdminAuth, AdminSettings, ApiSettings, Caps};
use tokio::task::JoinSet;

use crate::app::StartError;
use crate::config::{Config, LeavingPage};
use crate::descriptors::Room;
use crate::sockets::{Sockets, unix};

/// Listeners that serve.
pub(crate) struct Listeners {
    handles: Vec<ServerHandle>,
    running: JoinSet<(&'static str, io::Result<()>)>,
}

impl Listeners {
    /// Starts all of them on the calling actix system.
    pub(crate) async fn start(
        config: &Config,
        sockets: Sockets,
        vault: &Vault,
    ) -> Result<Self, StartError> {
        let servers = build(config, sockets, vault)?;
        let mut all = Self {
            handles: servers.iter().map(|(_, server)| server.handle()).collect(),
            running: JoinSet::new(),
        };
        for (what, server) in servers {
            all.running.spawn_local(async move { (what, server.await) });
        }
        // The framework tells in the server's first poll that it could not start its threads.
        tokio::task::yield_now().await;
        match all.running.try_join_next() {
            Some(ended) => Err(why(ended.ok())),
            None => Ok(all),
        }
    }

    /// Waits until one ends although nobody stopped it.
    pub(crate) async fn ended(&mut self) -> StartError {
        match self.running.join_next().await {
            Some(ended) => why(ended.ok()),
            None => std::future::pending().await,
        }
    }

    /// Stops them: running requests end, no new ones begin.
    pub(crate) async fn stop(self) {
        // `stop` gives its order at once and only the answer is awaited, so all listeners stop together.
        let stopping: Vec<_> = self.handles.iter().map(|one| one.stop(true)).collect();
        for listener in stopping {
            listener.await;
        }
    }
}

fn why(ended: Option<(&'static str, io::Result<()>)>) -> StartError {
    let (what, outcome) = ended.unwrap_or(("failing", Ok(())));
    StartError::Ended {
        what,
        source: outcome.err(),
    }
}

fn build(
    config: &Config,
    sockets: Sockets,
    vault: &Vault,
) -> Result<Vec<(&'static str, Server)>, StartError> {
    let public = config.public_origin();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let room = sockets.room;
    let served = |what: &'static str| {
        move |source| StartError::Bind {
            what,
            address: String::from("its socket"),
            source,
        }
    };
    let door = || Arc::new(vault.clone());
    let connect = connect_app(door(), Arc::new(connect_settings(config)?));
    let server = api::server_app(door(), ApiSettings::new(&public, &config.registry));
    let for_operators = |auth| AdminSettings::new(&public, auth).data_at(&config.data_dir);
    let by_peer = api::admin_app(door(), for_operators(AdminAuth::PeerChecked));
    let uid = own_uid().map_err(served("admin socket"))?;
    let connect = api::serve_tcp(
        connect,
        sockets.connect,
        workers,
        connect_caps(config, room),
    );
    let server = api::serve_tcp(server, sockets.api, workers, api_caps(config, room));
    let by_peer = api::serve_unix(by_peer, sockets.admin_socket, uid);
    let mut servers = vec![
        ("connect", connect.map_err(served("connect"))?),
        ("api", server.map_err(served("api"))?),
        ("admin socket", by_peer.map_err(served("admin socket"))?),
    ];
    if let Some(listener) = sockets.admin {
        let by_key = api::admin_app(door(), for_operators(AdminAuth::Key));
        let by_key = api::serve_tcp(by_key, listener, 1, Caps::total(ADMIN_CONNECTIONS));
        servers.push(("admin", by_key.map_err(served("admin"))?));
    }
    Ok(servers)
}

/// Connections at the admin listener on TCP.
const ADMIN_CONNECTIONS: usize = 64;

/// Browsers: a total, and a share for each address that is not a declared proxy.
fn connect_caps(config: &Config, room: Room) -> Caps {
    let share = config.limits.connect_connections_per_address;
    Caps::total(room.connect).per_address(size(share), proxies(config))
}

/// Servers: the same, with a larger share. A connection is counted before anybody is asked for a key.
fn api_caps(config: &Config, room: Room) -> Caps {
    let share = config.limits.api_connections_per_address;
    Caps::total(room.api).per_address(size(share), proxies(config))
}

/// Whether an address is a declared proxy, which speaks for many.
fn proxies(config: &Config) -> impl Fn(IpAddr) -> bool + Send + Sync + 'static {
    let proxies = config.listen.trusted_proxies.clone();
    move |peer| proxies.iter().any(|range| range.contains(peer))
}

pub(crate) fn size(limit: u32) -> usize {
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
    if let Some(privacy) = &config.operator.privacy_url {
        settings = settings.privacy(privacy.as_str())?;
    }
    if !config.listen.trusted_proxies.is_empty() {
        settings = settings.behind(proxies(config));
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
