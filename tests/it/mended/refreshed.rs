//! What a refresh brings is what the person connected, or nobody gets it; and all of it happens under one lease.

use actix_rt::spawn;
use lab::{JwtEdits, LabClient, Misbehaviour, Moment};
use reqwest::Method;
use serde_json::{Value, json};
use storage::{Claim, Holder};

use crate::flow::{CONFIRM, DONE};
use crate::support::{Answered, Browser, McpServer, SECRET, Setup, TestVault};

const R2: &str = "https://s2.test/mcp";

/// A second server at a provider of its own.
const SECOND: &str = r#"
[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{ provider = "other", scopes = ["notes.read"] }]

[[provider]]
slug = "other"
name = "Other Notes"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
{endpoints}
allowed_hosts = ["other.test"]
account = {account}
scope = [{ name = "notes.read", effect = "see", words = "your practice notes" }]
"#;

const PINNED: &str = r#"authorization_url = "{provider}/authorize"
token_url = "{provider}/token"
revocation_url = "{provider}/revoke"
callback_issuer = "{provider}"
callback_issuer_required = true"#;

struct Stage {
    vault: TestVault,
    s2: McpServer,
}

impl Stage {
    async fn start(endpoints: &str, account: &str) -> Self {
        let more = SECOND
            .replace("{endpoints}", endpoints)
            .replace("{account}", account);
        let vault = TestVault::start_with(Setup {
            more,
            ..Setup::default()
        })
        .await;
        vault.provider.add_client(LabClient::basic(
            "strongroom",
            SECRET,
            &format!("{}/cb/other", vault.connect),
        ));
        let s2 = vault.server("s2").await;
        Self { vault, s2 }
    }

    fn token(&self) -> String {
        self.vault.token_for("alice", R2, &JwtEdits::default())
    }

    async fn ask(&self) -> Answered {
        let over = json!({ "provider": "other" });
        self.s2.ensure_with(&self.token(), over).await
    }

    /// Alice connects; gives the credential's answer.
    async fn connect(&self) -> Answered {
        let asked = self.ask().await;
        let url = asked.text("/elicitation/connect_url").to_owned();
        let mut alice = Browser::new();
        let consent = self.vault.sign_in(&mut alice, &url, "alice").await;
        let confirm = self
            .vault
            .consent(&mut alice, &consent, "bob-at-practice")
            .await;
        assert_eq!(confirm.h1(), CONFIRM, "{}", confirm.body);
        let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
        assert_eq!(done.h1(), DONE);
        let answer = self.ask().await;
        assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
        self.vault.provider.clear();
        answer
    }

    async fn status_of(&self, grant: &str) -> String {
        let path = format!("/v1/grants/{grant}");
        let head = [("subject-token", self.token())];
        let head = [(head[0].0, head[0].1.as_str())];
        let seen = self.s2.call(Method::GET, &path, &head, None).await;
        seen.text("/status").to_owned()
    }
}

fn bearer(answer: &Answered) -> &str {
    answer
        .text("/credential/header/value")
        .trim_start_matches("Bearer ")
}

fn names(account: &str) -> Misbehaviour {
    Misbehaviour::default().member("/token", "account_id", account)
}

const NAMED: &str = r#"{ from = "token_answer", id = "/account_id" }"#;

#[actix_web::test]
async fn at_047_a_refresh_for_another_account_is_not_kept() {
    let stage = Stage::start(PINNED, NAMED).await;
    stage.vault.provider.misbehave(names("bob-1"));
    let first = stage.connect().await;
    let grant = first.text("/grant/id").to_owned();

    // The same account, and an answer that names none, are as before.
    for (generation, same) in [(2, names("bob-1")), (3, Misbehaviour::default())] {
        stage.vault.provider.misbehave(same);
        stage.vault.clock.move_s(3601);
        let answer = stage.ask().await;
        assert_eq!(answer.body["grant"]["generation"], generation);
    }

    stage.vault.provider.misbehave(names("mallory-2"));
    stage.vault.clock.move_s(3601);
    let answer = stage.ask().await;
    assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    assert!(answer.body.get("credential").is_none());
    assert_eq!(stage.status_of(&grant).await, "needs_reconnect");
    let vault = &stage.vault;
    assert_eq!(vault.audited("refresh_refused", "other-account"), 1);
    assert_eq!(vault.audited("refresh_refused", "revoked"), 1);
    assert_eq!(vault.audited("tokens_refreshed", "ok"), 2);
    assert!(
        vault.provider.live_grants().is_empty(),
        "nobody holds the new tokens, so they end"
    );
    stage.vault.stop().await;
}

#[actix_web::test]
async fn at_046_a_token_that_allows_more_than_was_agreed_to_is_not_handed_out() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(first.text("/status"), "connected");
    vault.provider.misbehave(Misbehaviour {
        scope: Some("notes.read notes.write profile.read".into()),
        ..Misbehaviour::default()
    });
    vault.clock.move_s(3601);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    assert_eq!(vault.audited("refresh_refused", "wider-scopes"), 1);
    assert_eq!(vault.audited("tokens_refreshed", "ok"), 0);
    assert_eq!(vault.audited("credential_released", "ok"), 1);
    assert!(vault.provider.live_grants().is_empty());
    // Connecting again shows what is granted, and then it goes on.
    vault.provider.behave();
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
    vault.stop().await;
}

#[actix_web::test]
async fn scopes_that_the_operator_adds_are_no_surprise_in_a_refresh() {
    let endpoints = format!("{PINNED}\nextra_scopes = [\"profile.read\"]");
    let stage = Stage::start(&endpoints, r#"{ from = "unknown" }"#).await;
    let said = |scope: Option<Value>| Misbehaviour {
        scope: None,
        ..Misbehaviour::default().member("/token", "scope", scope.unwrap_or(Value::Null))
    };
    // The answer to the code names no scopes, that of the refresh names all that were asked for.
    stage.vault.provider.misbehave(said(None));
    stage.connect().await;
    let all = said(Some("notes.read profile.read".into()));
    stage.vault.provider.misbehave(all);
    stage.vault.clock.move_s(3601);
    let answer = stage.ask().await;
    assert_eq!(answer.body["grant"]["generation"], 2, "{}", answer.body);
    assert_eq!(answer.body["credential"]["scopes"], json!(["notes.read"]));
    stage.vault.stop().await;
}

#[actix_web::test]
async fn where_to_redeem_is_learnt_before_the_lease_is_taken() {
    let discovered = r#"discover = "{provider}""#;
    let stage = Stage::start(discovered, r#"{ from = "unknown" }"#).await;
    let first = stage.connect().await;
    stage.vault.clock.move_s(3601);
    let path = "/.well-known/oauth-authorization-server";
    let gate = stage.vault.provider.hold(path, Moment::BeforeActing);
    let (s2, token) = (stage.s2.clone(), stage.token());
    let waiting = spawn(async move {
        let over = json!({ "provider": "other" });
        s2.ensure_with(&token, over).await
    });
    gate.arrived(1).await;
    // The metadata is waited for, and the lease is free.
    let id = first.text("/grant/id").strip_prefix("gr_").unwrap();
    let id = (0..16).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap());
    let name: Vec<u8> = b"refresh/".iter().copied().chain(id).collect();
    let (store, now) = (&stage.vault.store, stage.vault.clock.seconds());
    let now = i64::try_from(now).unwrap() * 1000;
    let claim = store.claim(&name, Holder([9; 16]), now, 45_000).await;
    let Claim::Held(fence) = claim.unwrap() else {
        panic!("the lease is held while nothing is redeemed")
    };
    store.release(&name, fence).await.unwrap();
    gate.open();
    let answer = waiting.await.unwrap();
    assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
    assert_ne!(bearer(&answer), bearer(&first));
    stage.vault.stop().await;
}
