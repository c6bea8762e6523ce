//! What only a real connection shows: a wait that ends with its client, and the peer of a Unix socket.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt;
use actix_web::rt::time::timeout;
use actix_web::web::{self, ServiceConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::admin::Operator;
use super::door::Script;
use crate::{AdminAuth, AdminSettings, Caps, admin_app, serve_tcp, serve_unix};

/// More connections than any of these tests opens.
const ROOM: usize = 64;

/// Says that it was dropped.
struct Tell(UnboundedSender<&'static str>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.send("dropped").ok();
    }
}

#[actix_web::test]
async fn a_waiting_request_ends_with_its_client() {
    let (sender, mut told) = unbounded_channel();
    let app = move |config: &mut ServiceConfig| {
        let sender = sender.clone();
        config.default_service(web::to(move || {
            let tell = Tell(sender.clone());
            async move {
                tell.0.send("waiting").ok();
                std::future::pending::<()>().await;
                drop(tell);
                ""
            }
        }));
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve_tcp(app, listener, 1, Caps::total(ROOM)).unwrap();
    let handle = server.handle();
    let running = rt::spawn(server);
    let mut client = TcpStream::connect(address).await.unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let patience = Duration::from_secs(20); // only so that a fault ends the test
    assert_eq!(
        timeout(patience, told.recv()).await.unwrap(),
        Some("waiting")
    );
    drop(client);
    assert_eq!(
        timeout(patience, told.recv()).await.unwrap(),
        Some("dropped")
    );
    handle.stop(false).await;
    running.await.unwrap().unwrap();
}

/// Sends bytes to the api listener on a real socket and reads until it closes.
async fn exchange(request: &[u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve_tcp(Script::new().app(), listener, 1, Caps::total(ROOM)).unwrap();
    let handle = server.handle();
    let running = rt::spawn(server);
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is as good as a close.
    client.read_to_end(&mut answer).await.ok();
    handle.stop(false).await;
    running.await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

#[actix_web::test]
async fn at_095_the_unread_body_of_a_refused_request_is_never_taken_for_a_request() {
    let inner = "GET /healthz HTTP/1.1\r\nHost: inner\r\n\r\n";
    let outer = format!(
        "POST /v1/ensure HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{inner}GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        inner.len()
    );
    let answers = exchange(outer.as_bytes()).await;
    assert!(answers.starts_with("HTTP/1.1 401"), "{answers}");
    assert!(!answers.contains(r#"{"status":"ok"}"#), "{answers}");
    for (both, status) in [
        ("Content-Length: 4\r\nTransfer-Encoding: chunked", 400),
        ("Content-Length: 4\r\nContent-Length: 5", 400),
        ("Transfer-Encoding: chunked, gzip", 400),
    ] {
        let request =
            format!("POST /v1/ensure HTTP/1.1\r\nHost: x\r\n{both}\r\n\r\n0\r\n\r\n{inner}");
        let answers = exchange(request.as_bytes()).await;
        assert!(
            answers.starts_with(&format!("HTTP/1.1 {status}")),
            "{both}: {answers}"
        );
        assert!(!answers.contains(r#"{"status":"ok"}"#), "{both}: {answers}");
    }
}

/// The api listener with these caps, on a real socket.
fn begin(caps: Caps) -> (SocketAddr, ServerHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve_tcp(Script::new().app(), listener, 1, caps).unwrap();
    let handle = server.handle();
    rt::spawn(server);
    (address, handle)
}

/// A new connection on which something was asked and answered, still open; `None`: it was ended instead.
async fn answered(address: SocketAddr) -> Option<TcpStream> {
    let mut client = TcpStream::connect(address).await.ok()?;
    let asked = client.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    asked.await.ok()?;
    let mut start = [0; 12];
    client.read_exact(&mut start).await.ok()?;
    assert_eq!(&start, b"HTTP/1.1 200");
    Some(client)
}

#[actix_web::test]
async fn one_address_has_no_more_connections_than_its_share() {
    let (address, handle) = begin(Caps::total(ROOM).per_address(2, |_| false));
    let first = answered(address).await.unwrap();
    let second = answered(address).await.unwrap();
    for _ in 0..3 {
        assert!(answered(address).await.is_none(), "a third one is served");
    }
    drop(first);
    // The server learns of the end in its own time; each try is a real exchange, and there are only so many.
    let mut next = None;
    for _ in 0..10_000 {
        next = answered(address).await;
        if next.is_some() {
            break;
        }
    }
    assert!(next.is_some(), "the place of the first is not given again");
    drop(second);
    handle.stop(false).await;
}

#[actix_web::test]
async fn exempt_addresses_are_not_counted() {
    let caps = Caps::total(ROOM).per_address(1, |address| address.is_loopback());
    let (address, handle) = begin(caps);
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(answered(address).await.unwrap());
    }
    drop(open);
    handle.stop(false).await;
}

#[actix_web::test]
async fn the_admin_socket_asks_who_is_at_the_other_end() {
    let folder = tempfile::tempdir().unwrap();
    let own = std::fs::metadata(folder.path()).unwrap().uid();
    let settings = AdminSettings::new("https://api.vault.test", AdminAuth::PeerChecked);
    let path = folder.path().join("admin.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let app = admin_app(Arc::new(Operator::new()), settings);
    let server = serve_unix(app, listener, own).unwrap();
    let handle = server.handle();
    let running = rt::spawn(server);
    let mut client = UnixStream::connect(&path).await.unwrap();
    let request = b"GET /v1/servers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    handle.stop(false).await;
    running.await.unwrap().unwrap();
}

/// The framework reads the body of such a request without an end, whatever its length says.
#[actix_web::test]
async fn a_request_for_websocket_is_refused_and_other_offers_are_not_taken_up() {
    let ask = |upgrade: &str| {
        format!(
            "POST /v1/ensure HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\nContent-Length: 2\r\n\r\n{{}}"
        )
    };
    let answer = exchange(ask(" WebSocket ").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("leave this header out"), "{answer}");
    let answer = exchange(ask("h2c").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}
