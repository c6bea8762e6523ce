//! A provider where people type in a key: the same link, the same person at every step, the same confirm page; nothing of the
//! key is ever shown again, and what is not good is kept nowhere.

use lab::{JwtEdits, Misbehaviour, Reply};
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{
    Asked, CONFIRM, DECLINED, DONE, ask_as, has_code, is_gone, is_mismatch, names_nobody, rows,
};
use crate::remains;
use crate::support::{Answered, Browser, McpServer, Page, Setup, TestVault};

const RESOURCE: &str = "https://k1.test/mcp";
const ASK: &str = "Add your key for Tidewater?";
const KEY: &str = "tw_0123456789abcdefghijklmnop";

const TIDEWATER: &str = r#"
[[server]]
slug = "k1"
name = "Harbour Planner"
resource = "https://k1.test/mcp"
issuer = "corp"
allow = [{ provider = "tidewater", scopes = [] }, { provider = "saltmarsh", scopes = [] }]

[[provider]]
slug = "tidewater"
kind = "api_key"
name = "Tidewater"
allowed_hosts = ["api.tidewater.test"]
account = { from = "endpoint", url = "{provider}/api/me", id = "/id", name = "/name" }

[provider.key]
label = "API key"
hint = "Under Account, then Keys."
begins = "tw_"
shortest = 12
found_at = "https://tidewater.test/account/keys"

[[provider]]
slug = "saltmarsh"
kind = "api_key"
name = "Saltmarsh"
allowed_hosts = ["api.saltmarsh.test"]
header_name = "Authorization"
header_prefix = "Basic "

[provider.login]
label = "E-mail address"

[provider.key]
label = "API token"
"#;

/// An installation, and the server that asks.
struct Place {
    vault: TestVault,
    k1: McpServer,
}

impl Place {
    async fn start() -> Self {
        let setup = Setup {
            more: TIDEWATER.to_owned(),
            ..Setup::default()
        };
        let vault = TestVault::start_with(setup).await;
        let k1 = vault.server("k1").await;
        remains::secret("typed key", KEY);
        vault
            .provider
            .give_key(KEY, Some("alice-at-practice"))
            .unwrap();
        Self { vault, k1 }
    }

    fn token(&self, person: &str) -> String {
        self.vault.token_for(person, RESOURCE, &JwtEdits::default())
    }

    async fn ask(&self, person: &str, provider: &str) -> Asked {
        let over = json!({ "provider": provider, "scopes": [] });
        ask_as(&self.k1, self.token(person), over).await
    }

    async fn ensure(&self, person: &str, provider: &str) -> Answered {
        let over = json!({ "provider": provider, "scopes": [] });
        self.k1.ensure_with(&self.token(person), over).await
    }

    /// The page that asks for the key, for a person who has just signed in.
    async fn asked(&self, browser: &mut Browser, asked: &Asked, person: &str) -> Page {
        let page = self.vault.sign_in(browser, &asked.url, person).await;
        assert!(page.h1().starts_with("Add your key"), "{}", page.body);
        page
    }

    /// How often the provider was asked whose key this is.
    fn tried(&self) -> usize {
        self.vault.provider.count("/api/me")
    }

    async fn connect(&self, person: &str, key: &str) -> Page {
        let asked = self.ask(person, "tidewater").await;
        let mut browser = Browser::new();
        let page = self.asked(&mut browser, &asked, person).await;
        let confirm = give(&mut browser, &page, key).await;
        assert_eq!(confirm.h1(), CONFIRM, "{}", confirm.body);
        browser
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
    }
}

/// Types a key in and says yes.
async fn give(browser: &mut Browser, page: &Page, key: &str) -> Page {
    browser
        .press(page, "/key", &[("agree", "yes"), ("key", key)])
        .await
}

#[actix_web::test]
async fn a_key_is_asked_for_tried_confirmed_and_released() {
    let place = Place::start().await;
    let first = place.ensure("alice", "tidewater").await;
    assert_eq!(first.text("/status"), "elicit");
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    assert_eq!(page.h1(), ASK);
    for said in [
        "Harbour Planner",
        "api.tidewater.test",
        "Under Account, then Keys.",
        "tw_",
        "https://tidewater.test/account/keys",
    ] {
        let text = page.body.replace("<b>", "").replace("</b>", "");
        assert!(text.contains(said), "{said}: {}", page.body);
    }
    let confirm = give(&mut alice, &page, &format!("  {KEY}\r\n")).await;
    assert_eq!(confirm.h1(), CONFIRM, "{}", confirm.body);
    assert!(confirm.body.contains("whatever this key allows"));
    assert!(!confirm.body.contains(KEY) && !page.body.contains(KEY));
    assert_eq!(place.tried(), 1);
    assert_eq!(
        place.ensure("alice", "tidewater").await.text("/status"),
        "elicit"
    );

    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    let got = place.ensure("alice", "tidewater").await;
    assert_eq!(got.text("/status"), "connected");
    assert_eq!(
        got.text("/credential/header/value"),
        format!("Bearer {KEY}")
    );
    assert_eq!(
        got.body["credential"]["allowed_hosts"],
        json!(["api.tidewater.test"])
    );
    assert!(
        got.body["credential"]["expires_at"].is_null(),
        "{}",
        got.body
    );
    assert_eq!(place.vault.audited("grant_activated", "ok"), 1);
    let place = Place {
        vault: place.vault.restart().await,
        ..place
    };
    let again = place.ensure("alice", "tidewater").await;
    assert_eq!(again.text("/status"), "connected");
    place.vault.stop().await;
}

#[actix_web::test]
async fn a_name_and_a_key_become_one_credential_that_nobody_tries() {
    let place = Place::start().await;
    let asked = place.ask("alice", "saltmarsh").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    let fields = [("agree", "yes"), ("login", "a@b.test"), ("key", "12345678")];
    let confirm = alice.press(&page, "/key", &fields).await;
    assert_eq!(confirm.h1(), CONFIRM, "{}", confirm.body);
    assert_eq!(place.tried(), 0);
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    let got = place.ensure("alice", "saltmarsh").await;
    // "a@b.test:12345678" in Base64
    assert_eq!(
        got.text("/credential/header/value"),
        "Basic YUBiLnRlc3Q6MTIzNDU2Nzg="
    );
    place.vault.stop().await;
}

#[actix_web::test]
async fn what_cannot_be_a_key_comes_back_empty_with_the_reason_and_is_tried_nowhere() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let mut page = place.asked(&mut alice, &asked, "alice").await;
    let before = rows(&place.vault).await;
    for (key, reason) in [
        ("", "Nothing was typed in here."),
        ("tw_0123 456789", "spaces or characters"),
        ("tw_0123456789\u{200b}", "spaces or characters"),
        ("pk_0123456789abc", "This does not look right."),
        ("tw_01234", "too short or too long"),
        ("https://h.test/cb?code=a&state=b", "say no"),
        ("code=abcdefgh&state=ijklmnop", "say no"),
        ("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "say no"),
        ("srk_f69QZNe1pe7u_AAFSW8wuMoX7qhCEqar0zb6", "say no"),
    ] {
        page = alice
            .press_only(&page, "/key", &[("agree", "yes"), ("key", key)])
            .await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key:?}");
        assert!(page.body.contains(reason), "{key:?}: {}", page.body);
        assert!(key.is_empty() || !page.body.contains(key), "{key:?}");
    }
    let unticked = alice.press_only(&page, "/key", &[("key", KEY)]).await;
    assert_eq!(unticked.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!unticked.body.contains(KEY));
    assert_eq!(place.tried(), 0);
    assert_eq!(rows(&place.vault).await, before);
    assert_eq!(give(&mut alice, &unticked, KEY).await.h1(), CONFIRM);
    place.vault.stop().await;
}

#[actix_web::test]
async fn at_061_a_key_counts_only_from_our_own_page_for_the_person_that_was_asked() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let (mut alice, mut bob) = (Browser::new(), Browser::new());
    let page = place.asked(&mut alice, &asked, "alice").await;
    let yes = [("agree", "yes"), ("key", KEY)];

    // Bob opens Alice's link, and Bob has a link of his own.
    let mismatch = place.vault.sign_in(&mut bob, &asked.url, "bob").await;
    is_mismatch(&mismatch);
    names_nobody(&mismatch);
    is_gone(&bob.press_only(&page, "/key", &yes).await);
    let own = place.ask("bob", "tidewater").await;
    let bobs = place.asked(&mut bob, &own, "bob").await;

    // Another site, another page's token, another deed's token, no token.
    let (action, mut fields) = bobs.form("/key").unwrap();
    fields.extend(yes.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let foreign = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
        ("origin", "https://evil.test"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = Some(crate::support::encode(&fields));
    let sent = bob.send(Method::POST, &action, &foreign, body).await;
    assert_eq!(sent.status, StatusCode::FORBIDDEN);
    let (_, theirs) = page.form("/key").unwrap();
    let (_, decline) = bobs.form("/decline").unwrap();
    for token in [theirs, decline, Vec::new()] {
        let mut fields = token;
        fields.extend(yes.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let sent = bob.post(&action, &fields).await;
        assert_eq!(sent.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(
        bob.visit(&action, "same-origin").await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    // Signed out in between: the page is one of somebody nobody knows.
    let out = alice.press(&page, "/session/end", &[]).await;
    names_nobody(&out);
    let sent = alice.press_only(&page, "/key", &yes).await;
    assert!(sent.status.is_redirection(), "{}", sent.status);
    assert_eq!(place.tried(), 0);
    assert_eq!(place.vault.audited("tokens_pending", "ok"), 0);
    place.vault.stop().await;
}

#[actix_web::test]
async fn a_key_that_is_not_let_in_or_cannot_be_tried_is_kept_nowhere() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let mut page = place.asked(&mut alice, &asked, "alice").await;
    let failed = give(&mut alice, &page, "tw_nobodys-key-at-all-0000").await;
    has_code(&failed, "key-refused");
    page = alice.press(&failed, "/again", &[]).await;
    assert_eq!(page.h1(), ASK);

    let cut = Misbehaviour::default().reply("/api/me", Some(1), Reply::Cut);
    place.vault.provider.misbehave(cut);
    let failed = give(&mut alice, &page, KEY).await;
    has_code(&failed, "provider-unreachable");
    page = alice.press(&failed, "/again", &[]).await;
    assert_eq!(place.vault.audited("tokens_pending", "ok"), 0);
    assert_eq!(place.vault.audited("exchange_failed", "key-refused"), 1);

    // What was not right does not stand in the way of what is.
    assert_eq!(give(&mut alice, &page, KEY).await.h1(), CONFIRM);
    place.vault.stop().await;
}

#[actix_web::test]
async fn a_link_is_no_place_to_guess_keys() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let mut page = place.asked(&mut alice, &asked, "alice").await;
    for number in 1..=9 {
        let failed = give(&mut alice, &page, &format!("tw_a-guess-number-{number}")).await;
        has_code(&failed, "key-refused");
        page = alice.press(&failed, "/again", &[]).await;
        assert_eq!(page.h1(), ASK, "{number}");
    }
    let last = give(&mut alice, &page, "tw_a-guess-number-10").await;
    assert!(last.form("/again").is_none(), "{}", last.body);
    let sent = alice
        .press_only(&page, "/key", &[("agree", "yes"), ("key", KEY)])
        .await;
    assert!(!sent.body.contains(ASK), "{}", sent.body);
    assert_eq!(place.tried(), 10);
    assert_eq!(place.vault.audited("tokens_pending", "ok"), 0);
    let new = place.ask("alice", "tidewater").await;
    assert_ne!(new.url, asked.url);
    place.vault.stop().await;
}

#[actix_web::test]
async fn a_key_waits_for_the_person_over_a_restart_and_goes_when_nobody_confirms() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    let confirm = give(&mut alice, &page, KEY).await;
    let place = Place {
        vault: place.vault.restart().await,
        ..place
    };
    let again = alice.open(confirm.url.as_str()).await;
    assert_eq!(again.h1(), CONFIRM);
    place.vault.clock.move_s(601);
    let late = alice.press(&again, "/confirm", &[("mine", "yes")]).await;
    assert_ne!(late.h1(), DONE);
    assert_eq!(
        place.ensure("alice", "tidewater").await.text("/status"),
        "elicit"
    );
    place.vault.stop().await;
}

#[actix_web::test]
async fn a_no_destroys_it_and_a_second_key_replaces_the_first() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    let confirm = give(&mut alice, &page, KEY).await;
    let declined = alice.press(&confirm, "/decline", &[]).await;
    assert_eq!(declined.h1(), DECLINED);
    assert_eq!(place.vault.audited("pending_destroyed", "ok"), 1);

    assert_eq!(place.connect("alice", KEY).await.h1(), DONE);
    let second = "tw_another-key-of-the-same-person";
    remains::secret("typed key", second);
    let provider = &place.vault.provider;
    provider
        .give_key(second, Some("alice-at-practice"))
        .unwrap();
    assert_eq!(place.connect("alice", second).await.h1(), DONE);
    let got = place.ensure("alice", "tidewater").await;
    let header = got.text("/credential/header/value");
    assert_eq!(header, format!("Bearer {second}"));
    let headers = [("subject-token", place.token("alice"))];
    let headers = headers
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let listed = place
        .k1
        .call(Method::GET, "/v1/grants", &headers, None)
        .await;
    let id = listed.text("/grants/0/id").to_owned();
    let path = format!("/v1/grants/{id}");
    let ended = place.k1.call(Method::DELETE, &path, &headers, None).await;
    assert_eq!(ended.status, 200, "{}", ended.body);
    assert_eq!(
        ended.text("/provider_revocation"),
        "no_endpoint",
        "{}",
        ended.body
    );
    assert_eq!(
        place.ensure("alice", "tidewater").await.text("/status"),
        "elicit"
    );
    place.vault.stop().await;
}

#[actix_web::test]
async fn the_same_form_twice_at_once_tries_the_key_once() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    let mut other = Browser::new();
    other.jar.clone_from(&alice.jar);
    let yes = [("agree", "yes"), ("key", KEY)];
    let (one, two) = futures_util::join!(
        alice.press_only(&page, "/key", &yes),
        other.press_only(&page, "/key", &yes)
    );
    for answer in [one, two] {
        let fine = answer.status.is_redirection() || answer.status == StatusCode::FORBIDDEN;
        assert!(fine, "{}", answer.status);
    }
    assert_eq!(place.tried(), 1);
    assert_eq!(place.vault.audited("tokens_pending", "ok"), 1);
    place.vault.stop().await;
}

#[actix_web::test]
async fn an_oauth_yes_does_nothing_where_a_key_is_asked_for_and_the_other_way_round() {
    let place = Place::start().await;
    let asked = place.ask("alice", "tidewater").await;
    let mut alice = Browser::new();
    let page = place.asked(&mut alice, &asked, "alice").await;
    let (action, mut fields) = page.form("/key").unwrap();
    fields.push(("agree".to_owned(), "yes".to_owned()));
    let consent = action.join("consent").unwrap();
    let sent = alice.post(&consent, &fields).await;
    assert_eq!(sent.status, StatusCode::FORBIDDEN); // the token is for another deed
    let own = super::ask(&place.vault, "alice").await;
    let question = place.vault.sign_in(&mut alice, &own.url, "alice").await;
    let (action, mut fields) = question.form("/consent").unwrap();
    fields.extend([
        ("agree".to_owned(), "yes".to_owned()),
        ("key".to_owned(), KEY.to_owned()),
    ]);
    let sent = alice.post(&action.join("key").unwrap(), &fields).await;
    assert_eq!(sent.status, StatusCode::FORBIDDEN);
    assert_eq!(place.tried(), 0);
    place.vault.stop().await;
}
