//! A link that nobody can finish ends: the person is told what to do, and the server that waits learns it at once.

use std::task::Poll;
use std::time::Duration;

use actors::doors::{ServerDoor, SubjectInput};
use domain::{ElicitationState, FailureCode};
use futures_util::poll;
use lab::{LabClient, Misbehaviour, Reply};
use secret::SubjectToken;
use serde_json::json;

use super::flows_end::{cookies, drop_after};
use crate::flow::{CONFIRM, ask, come_back, connect_as, has_code, is_gone, seen, to_callback};
use crate::support::{Browser, Page, SECRET, Setup, TestVault};

/// A second server at a provider whose endpoints are discovered.
const DISCOVERED: &str = r#"
[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{ provider = "found", scopes = ["notes.read"] }]

[[provider]]
slug = "found"
name = "Found Notes"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
discover = "{provider}"
allowed_hosts = ["found.test"]
scope = [{ name = "notes.read", effect = "see", words = "your practice notes" }]
"#;

fn operator_is_asked(page: &Page) {
    has_code(page, "provider-misconfigured");
    assert!(page.form("/again").is_none(), "there is nothing to try");
    assert!(page.body.contains("ask"), "{}", page.body);
}

#[actix_web::test]
async fn a_registration_that_the_provider_refuses_ends_the_link() {
    for error in [
        "invalid_client",
        "unauthorized_client",
        "unsupported_grant_type",
    ] {
        let vault = TestVault::start().await;
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        // A server waits for the person.
        let door = vault.app.vault();
        let ctx = ServerDoor::begin(door);
        let caller = ServerDoor::authenticate(door, ctx, &vault.s1.key)
            .await
            .unwrap();
        let token = SubjectInput::Token(SubjectToken::new(asked.token.clone()));
        let subject = door.subject(ctx, &caller, token).await.unwrap();
        let request = (asked.id.parse().unwrap(), Duration::from_secs(55));
        let mut wait = ServerDoor::elicitation(door, ctx, &caller, &subject, request);
        assert!(poll!(&mut wait).is_pending());

        let reply = Reply::OauthError {
            status: 400,
            error: error.to_owned(),
            description: None,
        };
        let refused = Misbehaviour::default().reply("/token", None, reply);
        vault.provider.misbehave(refused);
        let page = connect_as(&vault, &mut alice, &consent, "alice-at-practice").await;
        operator_is_asked(&page);
        let code = FailureCode::ProviderMisconfigured;
        // The consent woke it as well, so it may have looked in between; it ends with the link.
        let told = wait.await.unwrap();
        assert_eq!(told.state, ElicitationState::Failed { code }, "{error}");

        let body = seen(&vault, &asked).await;
        assert_eq!(body["state"], "failed", "{body}");
        assert_eq!(body["failure_code"], "provider-misconfigured", "{body}");
        let over = json!({ "request_state": asked.state });
        let answer = vault.s1.ensure_with(&asked.token, over).await;
        assert_eq!(answer.text("/status"), "needs_operator", "{}", answer.body);
        assert_eq!(
            vault.audited("exchange_failed", "provider-misconfigured"),
            1
        );
        // The tab goes on saying so; the link itself is over, also when all is well again.
        vault.provider.behave();
        operator_is_asked(&alice.open(page.url.as_str()).await);
        is_gone(&alice.open(&asked.url).await);
        vault.stop().await;
    }
}

#[actix_web::test]
async fn metadata_that_contradicts_the_file_ends_the_link_and_nobody_is_sent_there() {
    let vault = discovering().await;
    let s2 = vault.server("s2").await;
    let edits = lab::JwtEdits::default();
    let token = || vault.token_for("alice", "https://s2.test/mcp", &edits);
    let over = json!({ "provider": "found" });
    let mut alice = Browser::new();
    let path = "/.well-known/oauth-authorization-server";
    for (issuer, state) in [
        (json!("https://evil.example"), "needs_operator"),
        (json!(vault.provider.base_url()), "waiting"),
    ] {
        let asked = s2.ensure_with(&token(), over.clone()).await;
        let url = asked.text("/elicitation/connect_url").to_owned();
        let consent = vault.sign_in(&mut alice, &url, "alice").await;
        let wrong = Misbehaviour::default().member(path, "issuer", issuer);
        vault.provider.misbehave(wrong);
        let page = vault
            .consent(&mut alice, &consent, "alice-at-practice")
            .await;
        let resumed = json!({ "provider": "found", "request_state": asked.text("/request_state") });
        let answer = s2.ensure_with(&token(), resumed).await;
        assert_eq!(answer.text("/status"), state, "{}", answer.body);
        if state == "waiting" {
            assert_eq!(page.h1(), CONFIRM);
        } else {
            operator_is_asked(&page);
            assert_eq!(vault.provider.count("/authorize"), 0);
        }
        vault.clock.move_s(60);
    }
    vault.stop().await;
}

#[actix_web::test]
async fn a_discovery_that_fails_in_passing_ends_nothing() {
    let vault = discovering().await;
    let s2 = vault.server("s2").await;
    let edits = lab::JwtEdits::default();
    let token = || vault.token_for("alice", "https://s2.test/mcp", &edits);
    let mut alice = Browser::new();
    let asked = s2
        .ensure_with(&token(), json!({ "provider": "found" }))
        .await;
    let url = asked.text("/elicitation/connect_url").to_owned();
    let consent = vault.sign_in(&mut alice, &url, "alice").await;
    // A wall in front of the one address, and nothing at the other.
    let wall = Reply::Raw {
        content_type: "text/plain".to_owned(),
        status: 403,
        headers: Vec::new(),
        body: "blocked".into(),
    };
    let path = "/.well-known/oauth-authorization-server";
    let walled = Misbehaviour::default().reply(path, None, wall);
    vault.provider.misbehave(walled);
    let page = alice.press(&consent, "/consent", &[("agree", "yes")]).await;
    has_code(&page, "provider-unreachable");
    let over = json!({ "provider": "found", "request_state": asked.text("/request_state") });
    let answer = s2.ensure_with(&token(), over.clone()).await;
    assert_eq!(answer.text("/status"), "waiting", "{}", answer.body);
    // When it has passed, the same link goes on.
    vault.provider.behave();
    vault.clock.move_s(60);
    let consent = alice.open(&url).await;
    let page = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    assert_eq!(page.h1(), CONFIRM, "{}", page.body);
    vault.stop().await;
}

#[actix_web::test]
async fn a_browser_that_leaves_when_a_link_ends_keeps_no_server_waiting() {
    let mut vault = discovering().await;
    let s2 = vault.server("s2").await;
    for polls in 1..=6 {
        let edits = lab::JwtEdits::default();
        let token = vault.token_for("alice", "https://s2.test/mcp", &edits);
        let over = json!({ "provider": "found" });
        let asked = s2.ensure_with(&token, over).await;
        let url = asked.text("/elicitation/connect_url").to_owned();
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &url, "alice").await;
        let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
        // After a start the metadata is read anew, and now it contradicts the file.
        vault = vault.restart().await;
        let issuer = json!("https://evil.example");
        let path = "/.well-known/oauth-authorization-server";
        let wrong = Misbehaviour::default().member(path, "issuer", issuer);
        vault.provider.misbehave(wrong);
        let door = vault.app.vault();
        let ctx = ServerDoor::begin(door);
        let caller = ServerDoor::authenticate(door, ctx, &s2.key).await.unwrap();
        let token = SubjectInput::Token(SubjectToken::new(token));
        let subject = door.subject(ctx, &caller, token).await.unwrap();
        let id = asked.text("/elicitation/id").parse().unwrap();
        let request = (id, Duration::from_secs(55));
        let mut wait = ServerDoor::elicitation(door, ctx, &caller, &subject, request);
        assert!(poll!(&mut wait).is_pending());
        drop_after(polls, &vault, ("found", &callback), &cookies(&alice)).await;
        // Nothing has happened yet, and the callback can come again; or the link has ended, and the server is told.
        come_back(&mut alice, &callback).await;
        let code = FailureCode::ProviderMisconfigured;
        let told = soon(&mut wait).await.unwrap();
        let ended = ElicitationState::Failed { code };
        assert_eq!(told.state, ended, "after {polls} polls");
        vault.provider.behave();
        vault.clock.move_s(60);
    }
    vault.stop().await;
}

/// What comes without waiting for the end of a long poll.
async fn soon<F: Future + Unpin>(wait: &mut F) -> F::Output {
    for _ in 0..5_000 {
        if let Poll::Ready(told) = poll!(&mut *wait) {
            return told;
        }
        tokio::task::yield_now().await;
    }
    panic!("the link ended and nobody was told");
}

async fn discovering() -> TestVault {
    let vault = TestVault::start_with(Setup {
        more: DISCOVERED.to_owned(),
        ..Setup::default()
    })
    .await;
    let callback = format!("{}/cb/found", vault.connect);
    let client = LabClient::basic("strongroom", SECRET, &callback);
    vault.provider.add_client(client);
    vault
}
