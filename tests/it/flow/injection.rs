//! Answers to other questions: codes and states moved between flows, providers and people (C9, C10, C11).

use lab::{Lab, LabClient, LabConfig};
use reqwest::{Method, Url};
use secret::PkceVerifier;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::{
    Asked, DONE, approve, ask, ask_as, authorize_url, come_back, grants, has_code, is_gone,
    parameter, rows, signed_in, to_callback, with_query,
};
use crate::support::{Browser, ManualClock, SECRET, Setup, TestVault};

/// A second provider, `other`, and a server `s2` that may ask for both.
struct Two {
    vault: TestVault,
    other: Lab,
    s2: crate::support::McpServer,
}

impl Two {
    async fn start() -> Self {
        let clock = ManualClock::new();
        let config = LabConfig {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3)), 0),
            ..LabConfig::provider()
        };
        let other = Lab::start(config, Arc::new(move || clock.seconds())).unwrap();
        let at = other.base_url();
        let host = at.trim_start_matches("http://");
        let more = format!(
            r#"
[[provider]]
slug = "other"
name = "Other Notes"
client_id = "strongroom-other"
client_secret = "file:{{folder}}/lab.secret"
authorization_url = "{at}/authorize"
token_url = "{at}/token"
revocation_url = "{at}/revoke"
callback_issuer = "{at}"
callback_issuer_required = true
allowed_hosts = ["{host}"]
account = {{ from = "endpoint", url = "{at}/api/me", id = "/id", name = "/name" }}
scope = [{{ name = "notes.read", effect = "see", words = "your other notes" }}]

[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{{ provider = "practice", scopes = ["notes.read"] }}, {{ provider = "other", scopes = ["notes.read"] }}]
"#
        );
        let vault = TestVault::start_with(Setup {
            more,
            ..Setup::default()
        })
        .await;
        other.add_client(LabClient::basic(
            "strongroom-other",
            SECRET,
            &format!("{}/cb/other", vault.connect),
        ));
        let s2 = vault.server("s2").await;
        Self { vault, other, s2 }
    }

    async fn ask(&self, person: &str, provider: &str) -> Asked {
        let token = self
            .vault
            .token_for(person, "https://s2.test/mcp", &lab::JwtEdits::default());
        ask_as(&self.s2, token, json!({ "provider": provider })).await
    }

    /// Bob's flow at one provider up to the callback, in a browser that he may use for others as well.
    async fn callback(&self, bob: &mut Browser, provider: &str) -> Url {
        let asked = self.ask("bob", provider).await;
        let consent = self.vault.sign_in(bob, &asked.url, "bob").await;
        to_callback(&self.vault, bob, &consent, "bob-at-practice").await
    }

    fn token_requests(&self) -> usize {
        self.vault.provider.count("/token") + self.other.count("/token")
    }

    async fn stop(self) {
        self.vault.stop().await;
        self.other.stop().await;
    }
}

#[actix_web::test]
async fn at_010_state_swapped_between_two_of_ones_own_flows() {
    let two = Two::start().await;
    let (practice, other) = (
        two.vault.provider.base_url().to_owned(),
        two.other.base_url().to_owned(),
    );
    for (round, [iss_at_practice, iss_at_other]) in [[&other, &practice], [&practice, &other]]
        .into_iter()
        .enumerate()
    {
        let mut bob = Browser::new();
        let at_practice = two.callback(&mut bob, "practice").await;
        let at_other = two.callback(&mut bob, "other").await;
        let swapped = |to: &Url, code: &Url, state: &Url, iss: &str| {
            with_query(
                to,
                &[
                    ("code", &parameter(code, "code")),
                    ("state", &parameter(state, "state")),
                    ("iss", iss),
                ],
            )
        };
        let one = swapped(&at_practice, &at_other, &at_other, iss_at_practice);
        has_code(&come_back(&mut bob, &one).await, "wrong-callback");
        let two_ = swapped(&at_other, &at_practice, &at_practice, iss_at_other);
        has_code(&come_back(&mut bob, &two_).await, "wrong-callback");
        assert_eq!(
            two.vault.audited("flow_poisoned", "other-provider"),
            2 * (round + 1)
        );
        // Both flows are dead: the honest answers come too late.
        is_gone(&come_back(&mut bob, &at_practice).await);
        is_gone(&come_back(&mut bob, &at_other).await);
        assert_eq!(two.token_requests(), 0, "a provider saw a code");
    }
    assert_eq!(two.vault.audited("tokens_pending", "ok"), 0);
    two.stop().await;
}

#[actix_web::test]
async fn at_031_an_attackers_code_forced_into_the_victims_flow() {
    let two = Two::start().await;
    let vault = &two.vault;
    let asked = two.ask("bob", "practice").await;
    let mut bob = Browser::new();
    let consent = vault.sign_in(&mut bob, &asked.url, "bob").await;
    let waiting = bob.press(&consent, "/consent", &[("agree", "yes")]).await;
    let at_other = two.ask("bob", "other").await;
    let other_consent = bob.open(&at_other.url).await;
    let other_callback = to_callback(vault, &mut bob, &other_consent, "bob-at-practice").await;
    let other_state = parameter(&other_callback, "state");
    let code = attackers_code(vault).await;

    let lure = |pairs: &[(&str, &str)]| {
        with_query(
            &format!("{}/cb/practice", vault.connect).parse().unwrap(),
            pairs,
        )
    };
    let iss = vault.provider.base_url();
    let guess = "A".repeat(43);
    let before = rows(vault).await;
    for pairs in [
        vec![("code", code.as_str()), ("iss", iss)],
        vec![("code", &code), ("iss", iss), ("state", "")],
        vec![("code", &code), ("iss", iss), ("state", "guessed")],
        vec![("code", &code), ("iss", iss), ("state", &guess)],
        vec![("error", "access_denied"), ("iss", iss), ("state", &guess)],
    ] {
        is_gone(&bob.visit(&lure(&pairs), "cross-site").await);
    }
    // `state` in a cookie only.
    bob.jar.insert(
        ("localhost".to_owned(), "state".to_owned()),
        other_state.clone(),
    );
    is_gone(
        &bob.visit(&lure(&[("code", &code), ("iss", iss)]), "cross-site")
            .await,
    );
    assert_eq!(rows(vault).await, before);
    // The `state` of a flow at the other provider harms that flow and no other.
    let crossed = bob
        .visit(
            &lure(&[("code", &code), ("iss", iss), ("state", &other_state)]),
            "cross-site",
        )
        .await;
    has_code(&bob.follow(crossed).await, "wrong-callback");
    assert_eq!(two.token_requests(), 0);
    assert!(vault.audited("callback_refused", "unknown-state") >= 3);
    assert!(vault.audited("callback_refused", "malformed") >= 3);

    let callback = approve(vault, &mut bob, &waiting, "bob-at-practice").await;
    let confirm = come_back(&mut bob, &callback).await;
    assert!(confirm.body.contains("Bob at Practice"));
    assert_eq!(
        bob.press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(two.token_requests(), 1);
    two.stop().await;
}

/// A code that the provider gave to somebody else, who asked for it without us.
async fn attackers_code(vault: &TestVault) -> String {
    let back = format!("{}/cb/practice", vault.connect);
    let challenge = upstream::code_challenge(&PkceVerifier::new("attackers-verifier".repeat(3)));
    let mut url: Url = format!("{}/authorize", vault.provider.base_url())
        .parse()
        .unwrap();
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", "strongroom"),
        ("redirect_uri", &back),
        ("scope", "notes.read"),
        ("state", "mine"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    let mut mallory = Browser::new();
    let page = mallory.open(url.as_str()).await;
    let callback = approve(vault, &mut mallory, &page, "alice-at-practice").await;
    parameter(&callback, "code")
}

#[actix_web::test]
async fn at_041_a_code_from_ones_own_earlier_flow() {
    let vault = TestVault::start().await;
    let mut bob = Browser::new();
    let first = ask(&vault, "bob").await;
    let consent = vault.sign_in(&mut bob, &first.url, "bob").await;
    let stolen = parameter(
        &to_callback(&vault, &mut bob, &consent, "bob-at-practice").await,
        "code",
    );

    let second = ask(&vault, "bob").await;
    let consent = bob.open(&second.url).await;
    let sent = authorize_url(&vault, &mut bob, &consent).await;
    let at_provider = bob.visit(&sent, "cross-site").await;
    let honest = approve(&vault, &mut bob, &at_provider, "bob-at-practice").await;
    let state = parameter(&honest, "state");
    let injected = with_query(
        &honest,
        &[
            ("code", &stolen),
            ("state", &state),
            ("iss", vault.provider.base_url()),
        ],
    );
    has_code(&come_back(&mut bob, &injected).await, "provider-refused");

    let requests: Vec<_> = vault
        .provider
        .recorded()
        .into_iter()
        .filter(|request| request.path == "/token")
        .collect();
    assert_eq!(requests.len(), 1, "no second attempt");
    assert_eq!(
        requests[0].form_param("code").as_deref(),
        Some(stolen.as_str())
    );
    let verifier = PkceVerifier::new(requests[0].form_param("code_verifier").unwrap());
    assert_eq!(
        upstream::code_challenge(&verifier),
        parameter(&sent, "code_challenge"),
        "the verifier is that of the second flow"
    );
    assert_eq!(vault.audited("exchange_failed", "provider-refused"), 1);
    // The spent `state` does not come back for the honest code.
    is_gone(&come_back(&mut bob, &honest).await);
    assert_eq!(vault.provider.count("/token"), 1);
    assert_eq!(grants(&vault, &second.token).await, 0);
    assert_eq!(vault.audited("tokens_pending", "ok"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_callback_counts_once_even_twice_at_once() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let mut twins: Vec<Browser> = (0..5).map(|_| Browser::new()).collect();
    for twin in &mut twins {
        twin.jar.clone_from(&alice.jar);
    }
    let answers = futures_util::future::join_all(
        twins
            .iter_mut()
            .map(|twin| twin.visit(&callback, "cross-site")),
    )
    .await;
    assert!(
        answers
            .iter()
            .all(|page| !page.status.is_server_error() || page.status == 503)
    );
    assert_eq!(vault.provider.count("/token"), 1);
    assert_eq!(alice.open(consent.url.as_str()).await.h1(), super::CONFIRM);
    vault.stop().await;
}

#[actix_web::test]
async fn a_callback_for_another_person_in_the_same_browser_kills_the_flow() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let session = ("localhost".to_owned(), "__Host-sr_s".to_owned());
    let bob = signed_in(&vault, "bob").await;
    let alices = alice
        .jar
        .insert(session.clone(), bob.jar[&session].clone())
        .unwrap();
    let page = come_back(&mut alice, &callback).await;
    has_code(&page, "wrong-browser");
    assert_eq!(vault.audited("flow_poisoned", "other-person"), 1);
    alice.jar.insert(session, alices);
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_callback_takes_get_navigations_and_nothing_else() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    for (method, mode, dest, status) in [
        (Method::POST, "navigate", "document", 405),
        (Method::PUT, "cors", "empty", 405),
        (Method::GET, "no-cors", "image", 403),
        (Method::GET, "cors", "empty", 403),
        (Method::GET, "navigate", "iframe", 403),
        (Method::HEAD, "navigate", "document", 204),
    ] {
        let headers = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", mode),
            ("sec-fetch-dest", dest),
        ];
        let page = alice.send(method.clone(), &callback, &headers, None).await;
        assert_eq!(page.status.as_u16(), status, "{method} {dest}");
    }
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(come_back(&mut alice, &callback).await.h1(), super::CONFIRM);
    vault.stop().await;
}
