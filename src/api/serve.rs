//! Servers for our listeners, with the options that only a server can enforce.
//!
//! `h1_allow_half_closed(false)` makes a waiting request end when its client goes away; without it actix keeps the handler
//! alive until it is done by itself.

use std::any::Any;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use actix_web::dev::{Extensions, Server};
use actix_web::rt::net::{TcpStream, UnixStream};
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer};

use crate::crowd::{Caps, Crowd};
use crate::limits::{HEAD_TIME, IDLE};

/// How long a connection may linger after an answer that ends it: whoever goes on sending does not keep it.
const LINGER: Duration = Duration::from_secs(2);
/// How long running requests have when the process stops.
pub const DRAIN: Duration = Duration::from_secs(15);
/// Connections at the admin socket: one operator, a few commands.
const ADMIN_CONNECTIONS: usize = 64;

/// Whether the process at the other end of a Unix socket may give orders. Only [`serve_unix`] makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAllowed(pub(crate) bool);

macro_rules! tuned {
    ($configure:expr, $workers:expr, $connections:expr) => {{
        let configure = $configure;
        HttpServer::new(move || App::new().configure(configure.clone()))
            .workers($workers)
            .h1_allow_half_closed(false)
            .client_request_timeout(HEAD_TIME)
            .client_disconnect_timeout(LINGER)
            .keep_alive(IDLE)
            .max_connections($connections)
            .shutdown_timeout(DRAIN.as_secs())
            .disable_signals()
    }};
}

/// Serves on a bound TCP listener with `workers` threads, HTTP/1.1 only. The caller polls the server and keeps its handle.
///
/// # Errors
/// What the operating system says about the listener.
pub fn serve_tcp<F>(
    configure: F,
    listener: TcpListener,
    workers: usize,
    caps: Caps,
) -> io::Result<Server>
where
    F: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
{
    let each = caps.connections.div_ceil(workers.max(1));
    let crowd = Crowd::new(caps);
    let count = move |stream: &dyn Any, data: &mut Extensions| {
        if let Some(place) = stream
            .downcast_ref::<TcpStream>()
            .and_then(|stream| crowd.enter(stream))
        {
            data.insert(place); // leaves the crowd when the connection ends
        }
    };
    Ok(tuned!(configure, workers, each)
        .on_connect(count)
        .listen(listener)?
        .run())
}

/// Serves on a bound Unix socket with one thread. Peers that run as `uid` or as root are allowed; anybody else gets 401
/// from an app with [`crate::AdminAuth::PeerChecked`]. Root is allowed because it could read the store all the same.
///
/// # Errors
/// What the operating system says about the listener.
pub fn serve_unix<F>(configure: F, listener: UnixListener, uid: u32) -> io::Result<Server>
where
    F: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
{
    let judge = move |stream: &dyn Any, data: &mut Extensions| {
        let peer = stream
            .downcast_ref::<UnixStream>()
            .and_then(|stream| stream.peer_cred().ok());
        let allowed = peer.is_some_and(|peer| peer.uid() == uid || peer.uid() == 0);
        data.insert(PeerAllowed(allowed));
    };
    Ok(tuned!(configure, 1, ADMIN_CONNECTIONS)
        .on_connect(judge)
        .listen_uds(listener)?
        .run())
}
