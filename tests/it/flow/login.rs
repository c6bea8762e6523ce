//! The login leg (C5): an issuer that lies, answers from elsewhere, and answers that come late or twice.

use lab::{Misbehaviour, Reply};
use reqwest::StatusCode;

use super::{
    CONSENT, FAILED, SIGN_IN, ask, come_back, entry, is_gone, names_nobody, parameter, with_query,
};
use crate::support::{Browser, Page, Setup, TestVault};

/// Tries to sign in as Alice by a link that is not yet used up; gives the page after the issuer's answer.
async fn try_login(vault: &TestVault, browser: &mut Browser, url: &str) -> Page {
    let page = browser.open(url).await;
    assert_eq!(page.h1(), SIGN_IN, "{}", page.body);
    let at_issuer = browser.press(&page, "/login", &[]).await;
    vault.at_lab(browser, at_issuer, "alice").await
}

/// The login was refused for this reason, said on the page and in the audit log, and nobody is named.
fn refused(vault: &TestVault, browser: &Browser, page: &Page, (case, code): (&str, &str)) {
    assert!(page.body.contains(code), "{case}: no {code}: {}", page.body);
    let last = entry(vault, "login_refused");
    let outcome = code.strip_prefix("login-").unwrap();
    assert_eq!(last["outcome"], outcome, "{case}");
    assert!(
        page.status.is_client_error() || page.status == 503 || page.status == 500,
        "{case}: {}",
        page.status
    );
    assert!(
        page.status != 500 || page.body.contains("login-misconfigured"),
        "{case}: {}",
        page.body
    );
    assert_eq!(page.h1(), FAILED, "{case}: {}", page.body);
    names_nobody(page);
    assert!(
        !browser.jar.keys().any(|(_, name)| name == "__Host-sr_s"),
        "{case}: a session began"
    );
    assert_eq!(vault.audited("signed_in", "ok"), 0, "{case}");
}

#[actix_web::test]
async fn id_tokens_that_do_not_fit_make_no_session() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let all = lab::catalogue().unwrap();
    let cases: Vec<_> = all
        .into_iter()
        .filter(|case| case.name.starts_with("id-token-"))
        .collect();
    assert!(cases.len() >= 14);
    for case in cases {
        vault.issuer.misbehave(case.switches);
        let mut alice = Browser::new();
        let page = try_login(&vault, &mut alice, &asked.url).await;
        refused(&vault, &alice, &page, (&case.name, "login-id-token"));
    }
    assert!(vault.audited("login_refused", "id-token") >= 14);
    still_works(&vault, &asked.url).await;
    vault.stop().await;
}

/// What was refused was refused for what the issuer did: an honest one is believed.
async fn still_works(vault: &TestVault, url: &str) {
    vault.issuer.behave();
    let page = try_login(vault, &mut Browser::new(), url).await;
    assert_eq!(page.h1(), CONSENT, "{}", page.body);
    assert!(vault.provider.recorded().is_empty());
}

#[actix_web::test]
async fn id_token_claims_beyond_the_catalogue() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let now = i64::try_from(vault.clock.seconds()).unwrap();
    let empty = serde_json::Value::from("");
    for (name, value) in [
        ("nbf", (now + 3600).into()),
        ("iat", (now - 3600).into()),
        ("iat", serde_json::Value::Null),
        ("iat", "soon".into()),
        ("iat", (now + 120).into()),
        ("sub", empty.clone()),
        ("sub", 7.into()),
        ("sub", "x".repeat(300).into()),
        ("aud", empty),
        ("azp", 1.into()),
        ("exp", (now - 1).into()),
        ("nbf", "x".into()),
    ] {
        let text = format!("{name} = {value}");
        vault.issuer.clear();
        let id_token = lab::JwtEdits::claim(name, value);
        vault.issuer.misbehave(Misbehaviour {
            id_token,
            ..Misbehaviour::default()
        });
        let mut alice = Browser::new();
        let page = try_login(&vault, &mut alice, &asked.url).await;
        refused(&vault, &alice, &page, (&text, "login-id-token"));
        assert_eq!(vault.issuer.count("/token"), 1, "{text}");
    }
    still_works(&vault, &asked.url).await;
    vault.stop().await;
}

#[actix_web::test]
async fn answers_of_the_issuer_that_do_not_belong_to_the_login_are_refused() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    for (case, code) in [
        ("iss-wrong", "login-wrong-answer"),
        ("iss-missing", "login-wrong-answer"),
        ("iss-twice", "login-wrong-answer"),
        ("state-missing", "login-wrong-answer"),
        ("state-wrong", "login-wrong-answer"),
        ("code-twice", "login-wrong-answer"),
        ("denied", "login-refused"),
        ("code-and-error", "login-wrong-answer"),
        ("markup", "login-refused"),
    ] {
        vault.issuer.clear();
        vault
            .issuer
            .misbehave(Misbehaviour::named(&format!("callback-{case}")).unwrap());
        let mut alice = Browser::new();
        let page = try_login(&vault, &mut alice, &asked.url).await;
        refused(&vault, &alice, &page, (case, code));
        assert!(!page.body.contains("script>alert"), "{case}");
        assert_eq!(vault.issuer.count("/token"), 0, "{case}");
    }
    still_works(&vault, &asked.url).await;
    vault.stop().await;
}

#[actix_web::test]
async fn an_issuer_that_cannot_answer_ends_the_login_and_not_the_request() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let html = Reply::Raw {
        status: 200,
        content_type: "text/html".to_owned(),
        headers: vec![],
        body: "<html>Alice</html>".to_owned(),
    };
    let denied = Reply::OauthError {
        status: 400,
        error: "invalid_grant".to_owned(),
        description: Some("Alice".to_owned()),
    };
    let client = Reply::OauthError {
        status: 401,
        error: "invalid_client".to_owned(),
        description: None,
    };
    let huge = Reply::Huge {
        bytes: 64 << 20,
        declared: false,
    };
    let away = Reply::Redirect {
        status: 307,
        location: "https://evil.example/token".to_owned(),
    };
    let down = Reply::Raw {
        status: 500,
        content_type: "text/plain".to_owned(),
        headers: vec![],
        body: String::new(),
    };
    for (reply, code) in [
        (html, "login-unreachable"),
        (denied, "login-refused"),
        (client, "login-misconfigured"),
        (huge, "login-unreachable"),
        (away, "login-unreachable"),
        (down, "login-unreachable"),
        (Reply::Cut, "login-unreachable"),
    ] {
        vault
            .issuer
            .misbehave(Misbehaviour::default().reply("/token", None, reply));
        let mut alice = Browser::new();
        let page = try_login(&vault, &mut alice, &asked.url).await;
        refused(&vault, &alice, &page, (code, code));
    }
    still_works(&vault, &asked.url).await;
    vault.stop().await;
}

/// Alice's browser at the issuer, with the answer that has not yet come back to us.
async fn to_answer(
    vault: &TestVault,
    browser: &mut Browser,
    url: &str,
    person: &str,
) -> reqwest::Url {
    let page = browser.open(url).await;
    let at_issuer = browser.press(&page, "/login", &[]).await;
    let chosen = browser
        .press_only(&at_issuer, "/authorize/account", &[("account", person)])
        .await;
    let answered = match chosen.form("/authorize/consent") {
        Some(_) => {
            browser
                .press_only(&chosen, "/authorize/consent", &[("consent", "yes")])
                .await
        }
        None => chosen,
    };
    browser
        .follow_until(answered, &format!("{}/login/callback/", vault.connect))
        .await
}

#[actix_web::test]
async fn nobody_is_signed_in_as_somebody_else_by_a_foreign_answer() {
    let vault = TestVault::start().await;
    let (alices, bobs) = (ask(&vault, "alice").await, ask(&vault, "bob").await);
    let mut alice = Browser::new();
    let attack = to_answer(&vault, &mut alice, &alices.url, "alice").await;
    // A browser that started nothing.
    let mut stranger = Browser::new();
    let page = come_back(&mut stranger, &attack).await;
    refused(
        &vault,
        &stranger,
        &page,
        ("not started", "login-not-started-here"),
    );
    // A browser that started its own login.
    let mut bob = Browser::new();
    let honest = to_answer(&vault, &mut bob, &bobs.url, "bob").await;
    let page = come_back(&mut bob, &attack).await;
    refused(
        &vault,
        &bob,
        &page,
        ("another's answer", "login-wrong-answer"),
    );
    let mixed = with_query(
        &honest,
        &[
            ("code", &parameter(&attack, "code")),
            ("state", &parameter(&attack, "state")),
            ("iss", vault.issuer.base_url()),
        ],
    );
    let page = come_back(&mut bob, &mixed).await;
    refused(
        &vault,
        &bob,
        &page,
        ("another's state", "login-wrong-answer"),
    );
    assert_eq!(vault.issuer.count("/token"), 0);
    assert_eq!(vault.audited("login_refused", "wrong-answer"), 2);
    // None of this has ended Bob's own login, which counts once.
    assert_eq!(come_back(&mut bob, &honest).await.h1(), CONSENT);
    assert!(come_back(&mut bob, &honest).await.status.is_client_error());
    assert_eq!(vault.audited("signed_in", "ok"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn an_answer_with_another_code_is_refused_by_pkce_and_nonce() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    // The issuer refuses by PKCE; where it does not look at that, the nonce of the ID token is another.
    for (ignore_pkce, code) in [(false, "login-refused"), (true, "login-id-token")] {
        let mut mallory = Browser::new();
        let theirs = to_answer(&vault, &mut mallory, &asked.url, "bob").await;
        let mut alice = Browser::new();
        let hers = to_answer(&vault, &mut alice, &asked.url, "alice").await;
        vault.issuer.misbehave(Misbehaviour {
            ignore_pkce,
            ..Misbehaviour::default()
        });
        let injected = with_query(
            &hers,
            &[
                ("code", &parameter(&theirs, "code")),
                ("state", &parameter(&hers, "state")),
                ("iss", vault.issuer.base_url()),
            ],
        );
        let page = come_back(&mut alice, &injected).await;
        refused(&vault, &alice, &page, ("injected code", code));
        vault.issuer.behave();
    }
    vault.stop().await;
}

#[actix_web::test]
async fn a_login_that_takes_longer_than_ten_minutes_is_too_late() {
    let setup = Setup {
        issuer: Some(Box::new(|lab| lab.code_life = 7200)),
        ..Setup::default()
    };
    let vault = TestVault::start_with(setup).await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let answer = to_answer(&vault, &mut alice, &asked.url, "alice").await;
    vault.clock.move_s(10 * 60 + 1);
    let page = come_back(&mut alice, &answer).await;
    refused(&vault, &alice, &page, ("late", "login-not-started-here"));
    assert_eq!(vault.issuer.count("/token"), 0);
    // In time at the second try.
    let mut alice = Browser::new();
    let answer = to_answer(&vault, &mut alice, &asked.url, "alice").await;
    vault.clock.move_s(60);
    assert_eq!(come_back(&mut alice, &answer).await.h1(), CONSENT);
    vault.stop().await;
}

#[actix_web::test]
async fn a_login_for_a_request_that_has_ended_meanwhile_leads_nowhere() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let answer = to_answer(&vault, &mut alice, &asked.url, "alice").await;
    let path = format!("/v1/elicitations/{}/cancel", asked.id);
    let body = serde_json::json!({ "subject_token": asked.token });
    vault
        .s1
        .call(reqwest::Method::POST, &path, &[], Some(body))
        .await;
    is_gone(&come_back(&mut alice, &answer).await);
    assert_eq!(super::state(&vault, &asked).await, "cancelled");
    assert!(vault.provider.recorded().is_empty());
    vault.stop().await;
}

#[actix_web::test]
async fn an_issuer_whose_metadata_or_keys_are_wrong_signs_nobody_in() {
    for (case, code) in [
        ("metadata-issuer-wrong", "login-misconfigured"),
        ("metadata-inner-address", "login-misconfigured"),
        ("jwks-empty", "login-id-token"),
        ("jwks-huge", "login-unreachable"),
        ("jwks-503", "login-unreachable"),
    ] {
        let vault = TestVault::start().await;
        // The link is asked for while all is well; then the keys change, so that they have to be fetched again.
        let asked = ask(&vault, "alice").await;
        vault.issuer.misbehave(Misbehaviour::named(case).unwrap());
        vault.issuer.rotate_keys(false).unwrap();
        let vault = vault.restart().await;
        let mut alice = Browser::new();
        let page = alice.open(&asked.url).await;
        let mut page = alice.press(&page, "/login", &[]).await;
        if page.form("/authorize/account").is_some() {
            page = vault.at_lab(&mut alice, page, "alice").await;
        }
        refused(&vault, &alice, &page, (case, code));
        assert_ne!(page.status, StatusCode::OK, "{case}");
        vault.stop().await;
    }
}
