//! Over a real socket: what actix itself adds or answers, and heads that only raw bytes can make.

use std::net::TcpListener;
use std::sync::Arc;

use actix_web::{App, HttpServer, rt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::script::Script;
use super::{HOST, WORD, connect_app, log, settings};

/// Sends one head and reads until the server closes.
async fn raw(head: &str) -> String {
    log::listen();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let configure = connect_app(Script::well(), Arc::new(settings()));
    let server = HttpServer::new(move || App::new().configure(configure.clone()))
        .workers(1)
        .disable_signals()
        .listen(listener)
        .expect("a server")
        .run();
    let handle = server.handle();
    rt::spawn(server);
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("answered");
    handle.stop(false).await;
    String::from_utf8(answer).expect("UTF-8")
}

#[actix_web::test]
async fn no_header_tells_about_software_or_versions() {
    let answer = raw(&format!(
        "GET /c/{WORD} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    ))
    .await;
    let (head, _) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in head.lines().skip(1) {
        let (name, _) = line.split_once(':').expect("a header");
        let name = name.to_ascii_lowercase();
        assert!(
            !["server", "etag", "last-modified", "x-powered-by"].contains(&name.as_str())
                && !name.starts_with("access-control"),
            "{line}"
        );
    }
}

#[actix_web::test]
async fn odd_targets_and_hosts_are_refused_with_our_headers() {
    let cases = [
        (
            format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: {HOST}\r\n"),
            "421",
        ),
        (
            format!("GET http://{HOST}/healthz HTTP/1.1\r\nHost: {HOST}\r\n"),
            "200",
        ),
        ("GET /healthz HTTP/1.0\r\n".to_owned(), "421"),
        (format!("OPTIONS * HTTP/1.1\r\nHost: {HOST}\r\n"), "400"),
        (
            format!("CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}\r\n"),
            "421",
        ),
        (
            format!("HEAD /c/{WORD} HTTP/1.1\r\nHost: {HOST}\r\n"),
            "204",
        ),
    ];
    for (head, status) in cases {
        let answer = raw(&format!("{head}Connection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1."), "{head}: {answer}");
        assert_eq!(answer.get(9..12), Some(status), "{head}");
        assert!(
            answer
                .to_ascii_lowercase()
                .contains("\r\nx-frame-options: deny\r\n"),
            "{head}: {answer}"
        );
    }
}

#[actix_web::test]
async fn what_is_no_http_never_reaches_us() {
    for head in [
        "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!(
            "GET /healthz HTTP/1.1\r\nHost: {HOST}\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        ),
        format!("GET /health z HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"),
        format!(
            "POST /session/end HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        format!(
            "POST /session/end HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
        ),
    ] {
        let answer = raw(&head).await;
        assert_eq!(answer.get(9..12), Some("400"), "{head}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert_eq!(body, "", "{head}");
    }
}
