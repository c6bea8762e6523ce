//! A person's own page: it shows them what is theirs and nobody else anything, and ends what they want ended.

use reqwest::{Method, StatusCode, Url};
use serde_json::json;

use super::{DONE, ask, entry, grants, is_gone, signed_in, state};
use crate::support::{Browser, Page, TestVault};

const ME: &str = "Your connections";

/// Signs in to the own page; gives it.
async fn enter(vault: &TestVault, browser: &mut Browser, person: &str) -> Page {
    let page = browser.open(&format!("{}/me", vault.connect)).await;
    assert_eq!(page.h1(), ME, "{}", page.body);
    let at_issuer = browser.press(&page, "/me/login/corp", &[]).await;
    let own = vault.at_lab(browser, at_issuer, person).await;
    assert_eq!(
        (own.h1().as_str(), own.url.path()),
        (ME, "/me"),
        "{}",
        own.body
    );
    own
}

/// Looks at the own page again.
async fn look(vault: &TestVault, browser: &mut Browser) -> Page {
    browser.open(&format!("{}/me", vault.connect)).await
}

/// How many forms on a page end a connection.
fn ends(page: &Page) -> usize {
    page.body.matches("action=\"/me/end/").count()
}

async fn connect(vault: &TestVault, person: &str) {
    let mut browser = Browser::new();
    let done = vault
        .walk(&mut browser, person, &format!("{person}-at-practice"))
        .await;
    assert_eq!(done.h1(), DONE, "{}", done.body);
    assert!(done.body.contains("href=\"/me\""), "{}", done.body);
}

#[actix_web::test]
async fn everybody_sees_what_is_theirs_and_when_it_was_used() {
    let vault = TestVault::start().await;
    connect(&vault, "alice").await;
    connect(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let page = enter(&vault, &mut alice, "alice").await;
    assert_eq!(ends(&page), 1);
    for shown in ["Alice at Practice", "Never", "Waiting for you: 1"] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    assert!(!page.body.contains("Bob"), "{}", page.body);
    // A use is on the page at once, and still there after a stop and a start.
    let released = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(released.text("/status"), "connected", "{}", released.body);
    assert!(!look(&vault, &mut alice).await.body.contains("Never"));
    let vault = vault.restart().await;
    let page = look(&vault, &mut alice).await;
    assert!(
        ends(&page) == 1 && !page.body.contains("Never"),
        "{}",
        page.body
    );
    let mut bob = Browser::new();
    let page = enter(&vault, &mut bob, "bob").await;
    assert!(page.body.contains("Bob at Practice") && page.body.contains("Never"));
    assert!(!page.body.contains("Alice") && !page.body.contains("Waiting"));
    assert_eq!(state(&vault, &asked).await, "issued");
    vault.stop().await;
}

#[actix_web::test]
async fn only_a_fresh_login_of_its_own_opens_the_page_and_only_for_a_quarter_of_an_hour() {
    let vault = TestVault::start().await;
    connect(&vault, "alice").await;
    // Signed in by a link: not here.
    let mut alice = signed_in(&vault, "alice").await;
    let page = look(&vault, &mut alice).await;
    assert_eq!(ends(&page), 0, "{}", page.body);
    // The session of a link under the name of this page's, and the other way round, opens nothing.
    let host = "localhost".to_owned();
    let session = alice.jar[&(host.clone(), "__Host-sr_s".to_owned())].clone();
    alice
        .jar
        .insert((host.clone(), "__Host-sr_p".to_owned()), session);
    let page = look(&vault, &mut alice).await;
    assert_eq!(ends(&page), 0, "{}", page.body);
    let mut fresh = Browser::new();
    assert_eq!(ends(&enter(&vault, &mut fresh, "alice").await), 1);
    assert!(
        !fresh
            .jar
            .contains_key(&(host.clone(), "__Host-sr_s".to_owned()))
    );
    let own = fresh.jar[&(host.clone(), "__Host-sr_p".to_owned())].clone();
    fresh.jar.insert((host, "__Host-sr_s".to_owned()), own);
    let asked = ask(&vault, "alice").await;
    assert_eq!(fresh.open(&asked.url).await.h1(), super::SIGN_IN);
    vault.clock.move_s(14 * 60);
    assert_eq!(ends(&look(&vault, &mut fresh).await), 1);
    vault.clock.move_s(61);
    assert_eq!(ends(&look(&vault, &mut fresh).await), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn ending_a_connection_ends_it_here_and_at_the_provider_and_says_so() {
    let vault = TestVault::start().await;
    connect(&vault, "alice").await;
    let mut alice = Browser::new();
    let page = enter(&vault, &mut alice, "alice").await;
    let (action, fields) = page.form(&end_of(&page)).unwrap();
    let ended = alice.post(&action, &fields).await;
    assert_eq!(
        (ended.status, ended.h1().as_str()),
        (StatusCode::OK, "Ended")
    );
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert_eq!(grants(&vault, &vault.token("alice")).await, 0);
    let last = entry(&vault, "grant_revoked");
    assert_eq!(last["principal"]["kind"], "person", "{last}");
    assert_eq!(ends(&look(&vault, &mut alice).await), 0);
    // Once more: it has ended already, and the provider is not asked again.
    assert_eq!(alice.post(&action, &fields).await.h1(), "Ended");
    assert_eq!(vault.provider.count("/revoke"), 1);
    // Who has signed out ends nothing.
    let page = look(&vault, &mut alice).await;
    let out = alice.press(&page, "/me/leave", &[]).await;
    assert!(out.form("/me/login/corp").is_some(), "{}", out.body);
    assert_eq!(vault.audited("signed_out", "ok"), 1);
    vault.stop().await;
}

/// The action of the one form that ends a connection.
fn end_of(page: &Page) -> String {
    let (_, rest) = page.body.split_once("action=\"/me/end/").unwrap();
    format!("/me/end/{}", rest.split('"').next().unwrap())
}

#[actix_web::test]
async fn nobody_ends_or_declines_what_is_anothers_and_no_other_site_does() {
    let vault = TestVault::start().await;
    connect(&vault, "alice").await;
    connect(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    let (mut alice, mut bob) = (Browser::new(), Browser::new());
    let hers = enter(&vault, &mut alice, "alice").await;
    let his = enter(&vault, &mut bob, "bob").await;
    let (end, of_alice) = hers.form(&end_of(&hers)).unwrap();
    let (_, of_bob) = his.form(&end_of(&his)).unwrap();
    let decline = Url::parse(&format!("{}/me/decline/{}", vault.connect, asked.id)).unwrap();
    // Bob with her token, with his own, and with none.
    for fields in [&of_alice, &of_bob, &Vec::new()] {
        for action in [&end, &decline] {
            let page = bob.post(action, fields).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{}", page.body);
        }
    }
    // Her own form, from another site; and from nobody who is signed in.
    let headers = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
        ("origin", "https://evil.example"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = crate::support::encode(&of_alice);
    let page = alice.send(Method::POST, &end, &headers, Some(body)).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    let page = Browser::new().post(&end, &of_alice).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(grants(&vault, &vault.token("alice")).await, 1);
    assert_eq!(grants(&vault, &vault.token("bob")).await, 1);
    assert_eq!(state(&vault, &asked).await, "issued");
    assert_eq!(vault.provider.count("/revoke"), 0);
    assert!(vault.audited("form_refused", "form-token") >= 6);
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_on_the_own_page_ends_the_request_and_its_server_learns_it() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let page = enter(&vault, &mut alice, "alice").await;
    let decline = format!("/me/decline/{}", asked.id);
    let (action, fields) = page.form(&decline).unwrap();
    let page = alice.press(&page, &decline, &[]).await;
    assert!(
        page.body.contains("You have no connections"),
        "{}",
        page.body
    );
    assert!(page.form(&decline).is_none());
    assert_eq!(state(&vault, &asked).await, "declined");
    is_gone(&Browser::new().open(&asked.url).await);
    let last = entry(&vault, "declined");
    assert_eq!(last["principal"]["kind"], "person", "{last}");
    // A second no says nothing new.
    assert_eq!(
        alice.post(&action, &fields).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(vault.audited("declined", "ok"), 1);
    let answer = super::create(&vault.s1, &asked.token, json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    vault.stop().await;
}
