//! The answer of an issuer counts once, whatever comes of it.

use reqwest::Url;

use crate::flow::{CONSENT, FAILED, SIGN_IN, ask, come_back, parameter, with_query};
use crate::support::{Browser, TestVault};

/// A browser that has left for the issuer, and the `state` it left with.
async fn left(url: &str) -> (Browser, String) {
    let mut browser = Browser::new();
    let page = browser.open(url).await;
    let at_issuer = browser.press(&page, "/login", &[]).await;
    (browser, parameter(&at_issuer.url, "state"))
}

fn callback(vault: &TestVault, (name, value): (&str, &str), state: &str) -> Url {
    let url = Url::parse(&format!("{}/login/callback/corp", vault.connect)).unwrap();
    let iss = vault.issuer.base_url();
    with_query(&url, &[(name, value), ("state", state), ("iss", iss)])
}

#[actix_web::test]
async fn one_state_makes_one_token_request_however_often_the_answer_fails() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let (mut mallory, state) = left(&asked.url).await;
    let jar = mallory.jar.clone();
    vault.issuer.clear();
    for number in 0..5 {
        mallory.jar = jar.clone(); // a script keeps its cookies
        let guess = callback(&vault, ("code", &format!("guess{number}")), &state);
        let page = come_back(&mut mallory, &guess).await;
        assert_eq!(page.h1(), FAILED);
    }
    assert_eq!(vault.issuer.count("/token"), 1);
    assert_eq!(vault.audited("login_refused", "refused"), 1);
    assert_eq!(vault.audited("login_refused", "wrong-answer"), 4);
    // Whoever it was may start again, by a new click and with a new `state`.
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_of_the_issuer_spends_the_state_as_well() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let (mut alice, state) = left(&asked.url).await;
    let jar = alice.jar.clone();
    vault.issuer.clear();
    let denied = callback(&vault, ("error", "access_denied"), &state);
    assert_eq!(come_back(&mut alice, &denied).await.h1(), FAILED);
    alice.jar = jar;
    let late = callback(&vault, ("code", "injected"), &state);
    assert_eq!(come_back(&mut alice, &late).await.h1(), FAILED);
    assert_eq!(vault.issuer.count("/token"), 0);
    assert_eq!(alice.open(&asked.url).await.h1(), SIGN_IN);
    vault.stop().await;
}

#[actix_web::test]
async fn an_answer_that_names_another_issuer_spends_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let (mut mallory, state) = left(&asked.url).await;
    let jar = mallory.jar.clone();
    vault.issuer.clear();
    let mixed = with_query(
        &callback(&vault, ("code", "x"), &state),
        &[
            ("code", "x"),
            ("state", &state),
            ("iss", "https://evil.example"),
        ],
    );
    assert_eq!(come_back(&mut mallory, &mixed).await.h1(), FAILED);
    assert_eq!(vault.issuer.count("/token"), 0);
    mallory.jar = jar;
    let guess = callback(&vault, ("code", "guess"), &state);
    assert_eq!(come_back(&mut mallory, &guess).await.h1(), FAILED);
    assert_eq!(vault.issuer.count("/token"), 1);
    vault.stop().await;
}
