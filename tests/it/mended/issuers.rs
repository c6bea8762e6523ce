//! Issuers and discovered providers whose documents cannot be had, or point somewhere else than before.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use lab::{JwtEdits, Lab, LabClient, LabConfig, Misbehaviour, Reply};
use serde_json::json;

use crate::access::{audited_for, problem};
use crate::flow::ask_as;
use crate::support::{Browser, ManualClock, McpServer, SECRET, Setup, TestVault};

const DAY: i64 = 24 * 60 * 60;
const DOCUMENTS: [&str; 2] = [
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
];

#[actix_web::test]
async fn a_token_by_a_key_that_nobody_could_look_up_for_a_day_identifies_nobody() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let down = Reply::Raw {
        status: 503,
        content_type: "text/html".to_owned(),
        headers: vec![],
        body: "down".to_owned(),
    };
    let bad = [DOCUMENTS[0], DOCUMENTS[1], "/jwks"]
        .into_iter()
        .fold(Misbehaviour::default(), |bad, path| {
            bad.reply(path, None, down.clone())
        });
    vault.issuer.misbehave(bad);
    vault.clock.move_s(DAY / 2);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    for _ in 0..2 {
        vault.clock.move_s(DAY);
        let answer = vault.s1.ensure(&vault.token("alice")).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (503, "issuer-unavailable")
        );
        assert!(answer.headers.contains_key("retry-after"));
        let entries = audited_for(&vault, &answer);
        assert_eq!(entries[0]["outcome"], "keys-unavailable");
    }
    vault.issuer.behave();
    vault.clock.move_s(60);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    vault.stop().await;
}

const FOUND: &str = r#"
[[provider]]
slug = "found"
name = "Found Notes"
client_id = "found"
client_secret = "file:{folder}/lab.secret"
discover = "{provider}"
allowed_hosts = ["found.test"]
account = { from = "unknown" }
scope = [{ name = "notes.read", effect = "see", words = "your other notes" }]

[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{ provider = "found", scopes = ["notes.read"] }]
"#;

/// A lab that a provider may move to.
fn elsewhere() -> Lab {
    let clock = ManualClock::new();
    let config = LabConfig {
        addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 5)), 0),
        ..LabConfig::provider()
    };
    Lab::start(config, Arc::new(move || clock.seconds())).unwrap()
}

async fn status(vault: &TestVault, server: &McpServer) -> String {
    let token = vault.token_for("bob", "https://s2.test/mcp", &JwtEdits::default());
    let answer = server
        .ensure_with(&token, json!({ "provider": "found" }))
        .await;
    answer.text("/status").to_owned()
}

/// AT-037.
#[actix_web::test]
async fn a_provider_that_moves_its_token_endpoint_gets_nothing_there_and_the_operator_is_asked() {
    let canary = elsewhere();
    let setup = Setup {
        more: FOUND.to_owned(),
        ..Setup::default()
    };
    let vault = TestVault::start_with(setup).await;
    let back = format!("{}/cb/found", vault.connect);
    vault
        .provider
        .add_client(LabClient::basic("found", SECRET, &back));
    let s2 = vault.server("s2").await;
    let token = vault.token_for("bob", "https://s2.test/mcp", &JwtEdits::default());
    let asked = ask_as(&s2, token, json!({ "provider": "found" })).await;
    let mut bob = Browser::new();
    let consent = vault.sign_in(&mut bob, &asked.url, "bob").await;
    let confirm = vault.consent(&mut bob, &consent, "bob-at-practice").await;
    bob.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(status(&vault, &s2).await, "connected");

    let moved = format!("{}/token", canary.base_url());
    let bad = DOCUMENTS
        .into_iter()
        .fold(Misbehaviour::default(), |bad, path| {
            bad.member(path, "token_endpoint", moved.clone())
        });
    vault.provider.misbehave(bad);
    vault.clock.move_s(3601);
    vault.provider.clear();
    assert_eq!(status(&vault, &s2).await, "needs_operator");
    assert!(canary.recorded().is_empty());
    assert_eq!(vault.provider.count("/token"), 0);
    // Nothing was lost: the provider comes home, and so does the connection.
    vault.provider.behave();
    vault.clock.move_s(601);
    assert_eq!(status(&vault, &s2).await, "connected");
    vault.stop().await;
    canary.stop().await;
}
