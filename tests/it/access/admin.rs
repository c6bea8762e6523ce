//! The admin listener on its Unix socket: made for this user alone, and what is said there counts at once.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};

use reqwest::Method;
use serde_json::{Value, json};

use super::{audited_for, grants, problem, read};
use crate::support::{Answered, Browser, McpServer, TestVault};

/// One call on the admin socket.
pub(crate) async fn admin(vault: &TestVault, method: Method, path: &str) -> Answered {
    let socket = vault.app.addresses().admin_socket.clone();
    let client = reqwest::Client::builder()
        .no_proxy()
        .unix_socket(socket)
        .build()
        .unwrap();
    read(
        client
            .request(method, format!("http://admin.invalid{path}"))
            .send()
            .await
            .unwrap(),
    )
    .await
}

#[actix_web::test]
async fn the_socket_is_for_its_own_user_alone() {
    let vault = TestVault::start().await;
    let facts = std::fs::symlink_metadata(&vault.app.addresses().admin_socket).unwrap();
    assert!(facts.file_type().is_socket());
    assert_eq!(facts.permissions().mode() & 0o777, 0o600);
    assert_eq!(facts.uid(), std::fs::metadata("/proc/self").unwrap().uid());
    assert!(
        !vault
            .app
            .addresses()
            .admin_socket
            .with_extension("new")
            .exists(),
        "no second name is left"
    );
    for private in ["data", "data/audit", "data/store"] {
        let mode = std::fs::metadata(vault.folder().join(private))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{private}: {mode:o}");
    }
    let key = std::fs::metadata(vault.folder().join("root.key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(key & 0o177, 0, "root.key: {key:o}");
    let socket = vault.app.addresses().admin_socket.clone();
    let vault = vault.restart().await;
    assert_eq!(
        std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777,
        0o600,
        "after a restart, too"
    );
    assert_eq!(
        admin(&vault, Method::GET, "/healthz").await.text("/status"),
        "ok"
    );
    vault.stop().await;
    assert!(!socket.exists(), "nothing is left behind");
}

async fn works(server: &McpServer, token: &str) -> u16 {
    server.ensure(token).await.status
}

#[actix_web::test]
async fn disabling_and_revoking_count_at_once() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = vault.token("alice");
    assert_eq!(works(&vault.s1, &token).await, 200);
    assert_eq!(
        admin(&vault, Method::POST, "/v1/servers/s1/disable")
            .await
            .body,
        json!({ "server": "s1", "disabled": true })
    );
    assert_eq!(works(&vault.s1, &token).await, 401);
    assert_eq!(grants(&vault.s1, &token).await.status, 401);
    let vault = vault.restart().await;
    assert_eq!(
        works(&vault.s1, &token).await,
        401,
        "a restart changes nothing about it"
    );
    assert_eq!(
        admin(&vault, Method::POST, "/v1/servers/s1/enable")
            .await
            .body["disabled"],
        false
    );
    assert_eq!(works(&vault.s1, &token).await, 200);
    // A second key, and then no third one.
    let made = admin(&vault, Method::POST, "/v1/servers/s1/keys").await;
    assert_eq!(made.status, 201, "{}", made.body);
    let second = McpServer::new(&vault.api, made.text("/secret"));
    assert_eq!(works(&second, &token).await, 200);
    let third = admin(&vault, Method::POST, "/v1/servers/s1/keys").await;
    assert_eq!(
        (third.status, problem(&third)),
        (409, "key-limit"),
        "two live keys are enough for a change"
    );
    // Revoking one leaves the other; it is told once and stays told.
    let id = vault.s1.key[4..16].to_owned();
    let gone = admin(&vault, Method::DELETE, &format!("/v1/keys/{id}")).await;
    assert!(
        gone.status == 200 && gone.body["revoked_at"].is_string(),
        "{}",
        gone.body
    );
    assert_eq!(
        (works(&vault.s1, &token).await, works(&second, &token).await),
        (401, 200)
    );
    vault.clock.move_s(1000);
    assert_eq!(
        admin(&vault, Method::DELETE, &format!("/v1/keys/{id}"))
            .await
            .body["revoked_at"],
        gone.body["revoked_at"]
    );
    assert_eq!(
        admin(&vault, Method::POST, "/v1/servers/s1/keys")
            .await
            .status,
        201,
        "there is room again"
    );
    let listed = admin(&vault, Method::GET, "/v1/servers").await;
    let text = listed.body.to_string();
    assert_eq!(
        listed.body["servers"][0]["keys"].as_array().unwrap().len(),
        3
    );
    assert!(
        !text.contains(&vault.s1.key[17..]) && !text.contains(&second.key[17..]),
        "no secret is listed: {text}"
    );
    let actions: Vec<Value> = vault
        .audit()
        .into_iter()
        .filter(|entry| entry["principal"]["kind"] == "operator")
        .collect();
    for action in [
        "server_disabled",
        "server_enabled",
        "server_key_created",
        "server_key_revoked",
    ] {
        assert!(
            actions
                .iter()
                .any(|entry| entry["action"] == action && entry["outcome"] == "ok"),
            "{action}"
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn an_operator_sees_grants_without_people_and_ends_them() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let first = admin(&vault, Method::GET, "/v1/grants?limit=1").await;
    let next = first.text("/next").to_owned();
    let rest = admin(&vault, Method::GET, &format!("/v1/grants?after={next}")).await;
    assert_eq!(
        (
            first.body["grants"].as_array().unwrap().len(),
            rest.body["grants"].as_array().unwrap().len()
        ),
        (1, 1)
    );
    assert_eq!(rest.body["next"], Value::Null);
    let text = format!("{}{}", first.body, rest.body);
    assert!(
        !text.contains("alice") && !text.contains("bob") && !text.contains("prac_"),
        "{text}"
    );
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    let id = answer.text("/grant/id").to_owned();
    let receipt = admin(&vault, Method::DELETE, &format!("/v1/grants/{id}")).await;
    assert_eq!(
        (receipt.status, receipt.text("/provider_revocation")),
        (200, "revoked"),
        "{}",
        receipt.body
    );
    assert_eq!(vault.provider.live_grants().len(), 1);
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "elicit"
    );
    assert_eq!(
        vault.s1.ensure(&vault.token("bob")).await.text("/status"),
        "connected"
    );
    let ended = vault
        .audit()
        .into_iter()
        .find(|entry| entry["action"] == "grant_revoked")
        .unwrap();
    assert_eq!(
        (&ended["principal"]["kind"], &ended["grant"]),
        (&json!("operator"), &json!(id))
    );
    vault.stop().await;
}

#[actix_web::test]
async fn mistakes_of_operators_are_told_clearly() {
    let vault = TestVault::start().await;
    let hex = "0".repeat(32);
    let table = [
        (
            Method::POST,
            "/v1/servers/no-such/keys".to_owned(),
            404,
            "not-found",
        ),
        (
            Method::POST,
            "/v1/servers/no-such/disable".into(),
            404,
            "not-found",
        ),
        (
            Method::POST,
            "/v1/servers/NOT A SLUG/enable".into(),
            404,
            "not-found",
        ),
        (
            Method::DELETE,
            "/v1/keys/000000000000".into(),
            404,
            "not-found",
        ),
        (Method::DELETE, "/v1/keys/short".into(), 404, "not-found"),
        (
            Method::DELETE,
            format!("/v1/grants/gr_{hex}"),
            404,
            "not-found",
        ),
        (
            Method::GET,
            "/v1/grants?limit=0".into(),
            400,
            "invalid-request",
        ),
        (
            Method::GET,
            "/v1/grants?limit=1001".into(),
            400,
            "invalid-request",
        ),
        (
            Method::GET,
            "/v1/grants?after=x".into(),
            400,
            "invalid-request",
        ),
        (
            Method::GET,
            "/v1/grants?page=2".into(),
            400,
            "invalid-request",
        ),
        (Method::PUT, "/v1/servers".into(), 405, "method-not-allowed"),
        (Method::GET, "/v1/ensure".into(), 404, "not-found"),
        (Method::GET, "/".into(), 404, "not-found"),
    ];
    for (method, path, status, code) in table {
        let answer = admin(&vault, method, &path).await;
        assert_eq!((answer.status, problem(&answer)), (status, code), "{path}");
    }
    vault.stop().await;
}

#[actix_web::test]
async fn over_tcp_an_operator_needs_an_admin_key() {
    let mut vault = TestVault::start().await;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    vault.config.listen.admin = Some((Ipv4Addr::LOCALHOST, port).into());
    vault = vault.restart().await;
    let base = format!("http://127.0.0.1:{port}");
    let fresh = |answer: Answered| answer.text("/secret").to_owned();
    let key = fresh(admin(&vault, Method::POST, "/v1/admin-keys").await);
    let as_server = vault.s1.call(Method::GET, "/v1/servers", &[], None).await;
    assert_eq!(
        as_server.status, 404,
        "the api listener has no admin routes"
    );
    for (key, status) in [
        (key.as_str(), 200),
        (vault.s1.key.as_str(), 401),
        ("", 401),
        (&key[..65], 401),
    ] {
        let answer = McpServer::new(&base, key)
            .call(Method::GET, "/healthz", &[], None)
            .await;
        assert_eq!(answer.status, status);
    }
    // A new one, asked for with the old one, replaces it.
    let old = McpServer::new(&base, &key);
    let made = old.call(Method::POST, "/v1/admin-keys", &[], None).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let key = fresh(made);
    for (server, status) in [(&old, 401), (&McpServer::new(&base, &key), 200)] {
        let answer = server.call(Method::GET, "/healthz", &[], None).await;
        assert_eq!(answer.status, status);
    }
    assert_eq!(vault.audited("server_key_revoked", "ok"), 1);
    // An admin key is no server key, even where somebody tries.
    let misused = McpServer::new(&vault.api, &key);
    assert_eq!(misused.ensure(&vault.token("alice")).await.status, 401);
    let id = &key[4..16];
    assert_eq!(
        admin(&vault, Method::DELETE, &format!("/v1/keys/{id}"))
            .await
            .status,
        200
    );
    let revoked = McpServer::new(&base, &key)
        .call(Method::GET, "/healthz", &[], None)
        .await;
    assert_eq!(
        (revoked.status, problem(&revoked)),
        (401, "unauthenticated")
    );
    assert_eq!(audited_for(&vault, &revoked)[0]["action"], "caller_refused");
    vault.stop().await;
}
