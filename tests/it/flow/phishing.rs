//! Links, pages and callbacks in the wrong hands: only the person that was asked gets anywhere (C6, C9).

use lab::{JwtEdits, LabClient, Misbehaviour, Person};
use serde_json::{Value, json};
use storage::Table;

use super::{
    CONSENT, DONE, approve, ask, ask_as, authorize_url, come_back, count, entry, grants, has_code,
    is_gone, is_mismatch, names_nobody, parameter, signed_in, state, still_usable,
};
use crate::support::{Browser, Setup, TestVault};

#[actix_web::test]
async fn at_001_alices_link_opened_by_signed_in_bob() {
    let vault = TestVault::start().await;
    let mut bob = signed_in(&vault, "bob").await;
    let bobs = entry(&vault, "signed_in")["principal"]["id"].clone();
    let asked = ask(&vault, "alice").await;
    let alices = entry(&vault, "elicitation_created")["user"].clone();
    vault.provider.clear();

    let page = bob.open(&asked.url).await;
    is_mismatch(&page);
    let leaving = bob
        .visit(
            &page
                .url
                .join(&format!("{}/leaving", page.url.path()))
                .unwrap(),
            "same-origin",
        )
        .await;
    is_mismatch(&bob.follow(leaving).await);
    assert!(
        vault.provider.recorded().is_empty(),
        "the provider heard of it"
    );
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    assert_eq!(
        count(&vault, Table::OauthStates).await,
        0,
        "a state was minted"
    );
    let noted = entry(&vault, "identity_mismatch");
    assert_eq!(noted["outcome"], "other-person");
    assert_eq!((&noted["user"], &noted["other_user"]), (&alices, &bobs));
    assert_ne!(alices, bobs);
    assert_eq!(state(&vault, &asked).await, "issued");

    still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_001_the_third_wrong_person_ends_the_link() {
    let vault = TestVault::start().await;
    let mut bob = signed_in(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    is_mismatch(&bob.open(&asked.url).await);
    is_mismatch(&bob.open(&asked.url).await);
    assert_eq!(state(&vault, &asked).await, "issued");
    is_gone(&bob.open(&asked.url).await);
    assert_eq!(state(&vault, &asked).await, "cancelled");
    is_gone(&Browser::new().open(&asked.url).await);
    let told = vault
        .s1
        .ensure_with(&asked.token, json!({ "request_state": asked.state }))
        .await;
    assert_eq!(told.text("/status"), "mismatch", "{}", told.body);
    assert!(vault.audited("identity_mismatch", "other-person") >= 3);
    vault.stop().await;
}

#[actix_web::test]
async fn at_002_alices_link_opened_by_bob_who_signs_in() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut bob = Browser::new();
    let sign_in = bob.open(&asked.url).await;
    names_nobody(&sign_in);
    let at_issuer = bob.press(&sign_in, "/login", &[]).await;
    let page = vault.at_lab(&mut bob, at_issuer, "bob").await;
    is_mismatch(&page);
    assert!(
        vault.provider.recorded().is_empty(),
        "the provider heard of it"
    );
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    assert_eq!(
        count(&vault, Table::OauthStates).await,
        0,
        "a state was minted"
    );
    assert_eq!(vault.audited("signed_in", "ok"), 1);
    assert!(vault.audited("identity_mismatch", "other-person") >= 1);
    assert_eq!(state(&vault, &asked).await, "issued");

    // Bob is Bob from now on, for what is his own and for nothing else.
    let own = ask(&vault, "bob").await;
    assert_eq!(bob.open(&own.url).await.h1(), CONSENT);
    still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_004_forwarded_authorize_url_while_bob_has_his_own_flow() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let forwarded = authorize_url(&vault, &mut alice, &consent).await;

    let mut bob = Browser::new();
    let own = ask(&vault, "bob").await;
    let consent = vault.sign_in(&mut bob, &own.url, "bob").await;
    let waiting = bob.press(&consent, "/consent", &[("agree", "yes")]).await;

    let at_provider = bob.open(forwarded.as_str()).await;
    let callback = approve(&vault, &mut bob, &at_provider, "bob-at-practice").await;
    assert_eq!(
        parameter(&callback, "state"),
        parameter(&forwarded, "state")
    );
    let before = seen_states(&vault, &own).await;
    is_gone(&come_back(&mut bob, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(vault.audited("flow_poisoned", "other-browser"), 1);
    assert_eq!(seen_states(&vault, &own).await, before);

    // Alice's flow is dead, for her too, and the callback is worth nothing in her own browser.
    has_code(&alice.open(&consent_page(&alice)).await, "wrong-browser");
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);

    // Bob's own flow goes on and gets its own code.
    let own_callback = approve(&vault, &mut bob, &waiting, "bob-at-practice").await;
    let confirm = come_back(&mut bob, &own_callback).await;
    assert!(confirm.body.contains("Bob at Practice"));
    assert_eq!(
        bob.press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    let requests: Vec<_> = vault
        .provider
        .recorded()
        .into_iter()
        .filter(|request| request.path == "/token")
        .collect();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].form_param("code"),
        Some(parameter(&own_callback, "code"))
    );
    assert_eq!(grants(&vault, &asked.token).await, 0);
    assert_eq!(grants(&vault, &own.token).await, 1);
    vault.stop().await;
}

async fn seen_states(vault: &TestVault, asked: &super::Asked) -> Value {
    super::seen(vault, asked).await
}

/// The address of the flow that this browser walked last.
fn consent_page(browser: &Browser) -> String {
    let flow = browser
        .trail
        .iter()
        .rev()
        .find(|url| url.path().starts_with("/f/bf_") && url.path().matches('/').count() == 2);
    flow.unwrap_or_else(|| panic!("no flow was walked"))
        .to_string()
}

/// Subjects that a careless comparison takes for the same.
const ALIKE: [&str; 7] = [
    "bob",
    "Bob",
    "bob ",
    "b\u{f6}b",
    "bo\u{308}b",
    "\u{0}\u{0}\u{0}\u{3}bob",
    "corp|bob",
];

#[actix_web::test]
async fn at_019_look_alike_subjects_are_different_people() {
    let setup = Setup {
        issuer: Some(Box::new(|lab| {
            lab.people = ALIKE
                .iter()
                .map(|id| Person::new(id, "Somebody", &[]))
                .collect();
        })),
        ..Setup::default()
    };
    let vault = TestVault::start_with(setup).await;
    vault.provider.clear();
    for here in ALIKE {
        vault.clock.move_s(120);
        let mut browser = signed_in(&vault, here).await;
        for other in ALIKE.iter().filter(|other| **other != here) {
            let asked = ask(&vault, other).await;
            let page = browser.open(&asked.url).await;
            is_mismatch(&page);
            assert_eq!(
                state(&vault, &asked).await,
                "issued",
                "{here:?} opened the link of {other:?}"
            );
        }
    }
    assert!(vault.provider.recorded().is_empty());
    assert_eq!(count(&vault, Table::OauthStates).await, 0);

    // A connection of one of them is nobody else's.
    vault.clock.move_s(3600);
    let mut bob = Browser::new();
    let done = vault.walk(&mut bob, "bob", "bob-at-practice").await;
    assert_eq!(done.h1(), DONE);
    for other in ALIKE {
        let token = vault.token(other);
        let count = usize::from(other == "bob");
        assert_eq!(grants(&vault, &token).await, count, "{other:?}");
        let status = if other == "bob" {
            "connected"
        } else {
            "elicit"
        };
        assert_eq!(
            vault.s1.ensure(&token).await.text("/status"),
            status,
            "{other:?}"
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn at_019_look_alike_issuers_are_different_issuers() {
    let more = r#"
[[issuer]]
slug = "slash"
url = "{issuer}/"
client_id = "strongroom-slash"
client_secret = "file:{folder}/lab.secret"
require_at_jwt = true

[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "slash"
allow = [{ provider = "practice", scopes = ["notes.read"] }]
"#;
    let vault = TestVault::start_with(Setup {
        more: more.to_owned(),
        ..Setup::default()
    })
    .await;
    let back = format!("{}/login/callback/slash", vault.connect);
    vault.issuer.add_client(LabClient::basic(
        "strongroom-slash",
        crate::support::SECRET,
        &back,
    ));
    let s2 = vault.server("s2").await;
    let alike = format!("{}/", vault.issuer.base_url());
    let of_corp = ask(&vault, "bob").await;
    let mut at_corp = signed_in(&vault, "bob").await;

    // The nearly right issuer in a token is not the right one, for neither server.
    let wrong = vault.token_for(
        "bob",
        crate::support::RESOURCE,
        &JwtEdits::claim("iss", alike.as_str()),
    );
    assert_eq!(
        vault.s1.ensure(&wrong).await.code(),
        "subject-token-invalid"
    );

    // The lab now is the issuer with the slash, as far as anybody can see.
    vault.issuer.misbehave(as_issuer(&alike));
    let wrong = vault.token_for("bob", "https://s2.test/mcp", &JwtEdits::default());
    assert_eq!(s2.ensure(&wrong).await.code(), "subject-token-invalid");
    let token = vault.token_for(
        "bob",
        "https://s2.test/mcp",
        &JwtEdits::claim("iss", alike.as_str()),
    );
    let of_slash = ask_as(&s2, token.clone(), json!({})).await;
    is_mismatch(&at_corp.open(&of_slash.url).await);
    let mut at_slash = Browser::new();
    let consent = vault.sign_in(&mut at_slash, &of_slash.url, "bob").await;
    assert_eq!(consent.h1(), CONSENT, "{}", consent.body);
    is_mismatch(&at_slash.open(&of_corp.url).await);
    let confirm = vault
        .consent(&mut at_slash, &consent, "bob-at-practice")
        .await;
    assert_eq!(
        at_slash
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    vault.issuer.behave();
    assert_eq!(s2.ensure(&token).await.text("/status"), "connected");
    assert_eq!(grants(&vault, &of_corp.token).await, 0);
    vault.stop().await;
}

/// A lab that calls itself `issuer` wherever it names itself.
fn as_issuer(issuer: &str) -> Misbehaviour {
    let mut all =
        Misbehaviour::default().member("/.well-known/openid-configuration", "issuer", issuer);
    all.id_token = JwtEdits::claim("iss", issuer);
    all.callback
        .replace
        .insert("iss".to_owned(), issuer.to_owned());
    all
}
