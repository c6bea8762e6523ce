//! The cookie of a browser flow: nobody else ends it, and it ends in time.

use reqwest::StatusCode;

use crate::flow::{
    Asked, CONFIRM, CONSENT, DONE, SIGN_IN, ask, come_back, is_gone, signed_in, state, to_callback,
};
use crate::support::{Browser, Page, TestVault};

const FLOW: &str = "__Host-sr_f_";

fn flow_cookies(browser: &Browser) -> Vec<String> {
    let names = browser.jar.keys().map(|(_, name)| name.clone());
    names.filter(|name| name.starts_with(FLOW)).collect()
}

/// Opens a link as a page of somebody else makes a browser open it.
async fn sent(browser: &mut Browser, asked: &Asked) -> Page {
    browser
        .visit(&asked.url.parse().unwrap(), "cross-site")
        .await
}

#[actix_web::test]
async fn at_059_links_that_others_send_do_not_push_out_somebody_who_is_at_the_provider() {
    let vault = TestVault::start().await;
    let bobs = ask(&vault, "bob").await;
    let mut bob = Browser::new();
    let consent = vault.sign_in(&mut bob, &bobs.url, "bob").await;
    let callback = to_callback(&vault, &mut bob, &consent, "bob-at-practice").await;
    let own = flow_cookies(&bob);
    assert_eq!(own.len(), 1);
    for _ in 0..8 {
        let attackers = ask(&vault, "alice").await;
        sent(&mut bob, &attackers).await;
        assert!(bob.jar.keys().any(|(_, name)| *name == own[0]));
        assert!(flow_cookies(&bob).len() <= 5);
    }
    assert_eq!(come_back(&mut bob, &callback).await.h1(), CONFIRM);
    assert_eq!(vault.audited("flow_poisoned", "other-browser"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_browser_that_is_in_the_middle_of_five_requests_is_told_so() {
    let vault = TestVault::start().await;
    let mut alice = signed_in(&vault, "alice").await;
    let mut callbacks = Vec::new();
    for _ in 0..5 {
        let asked = ask(&vault, "alice").await;
        let consent = alice.open(&asked.url).await;
        callbacks.push(to_callback(&vault, &mut alice, &consent, "alice-at-practice").await);
    }
    let held = flow_cookies(&alice);
    let sixth = ask(&vault, "alice").await;
    let page = sent(&mut alice, &sixth).await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS, "{}", page.body);
    assert!(page.body.contains("too-many-open-requests"));
    assert_eq!(page.header("set-cookie"), None);
    assert_eq!(flow_cookies(&alice), held);
    // Somebody else's link is no more welcome than before, and that is counted.
    let bobs = ask(&vault, "bob").await;
    for wrong in 1..=3 {
        alice.open(&bobs.url).await;
        assert_eq!(
            vault.audited("identity_mismatch", "other-person"),
            wrong,
            "{wrong}"
        );
    }
    assert_eq!(state(&vault, &bobs).await, "cancelled");
    // One that is finished makes room.
    let confirm = come_back(&mut alice, &callbacks[0]).await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    assert_eq!(alice.open(&sixth.url).await.h1(), CONSENT);
    assert_eq!(come_back(&mut alice, &callbacks[4]).await.h1(), CONFIRM);
    vault.stop().await;
}

#[actix_web::test]
async fn whoever_opens_a_link_does_not_push_out_its_owner() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    for _ in 0..12 {
        assert_eq!(Browser::new().open(&asked.url).await.h1(), SIGN_IN);
    }
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    assert_eq!(come_back(&mut alice, &callback).await.h1(), CONFIRM);
    vault.stop().await;
}

#[actix_web::test]
async fn an_owner_with_many_browsers_gives_up_the_oldest_first_page() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut pages = Vec::new();
    for _ in 0..5 {
        let mut browser = Browser::new();
        let page = vault.sign_in(&mut browser, &asked.url, "alice").await;
        assert_eq!(page.h1(), CONSENT);
        pages.push((browser, page.url));
    }
    // A stranger finds no room; somebody who is signed in as the owner does.
    let page = Browser::new().open(&asked.url).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    let before = vault.audited("identity_mismatch", "other-person");
    let page = signed_in(&vault, "bob").await.open(&asked.url).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        vault.audited("identity_mismatch", "other-person"),
        before + 1
    );
    let mut sixth = signed_in(&vault, "alice").await;
    assert_eq!(sixth.open(&asked.url).await.h1(), CONSENT);
    let (first, url) = &mut pages[0];
    is_gone(&first.open(url.as_str()).await);
    let (second, url) = &mut pages[1];
    assert_eq!(second.open(url.as_str()).await.h1(), CONSENT);
    vault.stop().await;
}

#[actix_web::test]
async fn a_copied_cookie_is_worth_nothing_ten_minutes_after_the_last_finished_step() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let sign_in = alice.open(&asked.url).await;
    // Looking is no step.
    vault.clock.move_s(9 * 60);
    assert_eq!(alice.open(sign_in.url.as_str()).await.h1(), SIGN_IN);
    vault.clock.move_s(61);
    is_gone(&alice.open(sign_in.url.as_str()).await);
    is_gone(&alice.press(&sign_in, "/login", &[]).await);

    // The link itself is still good, and a step that is finished gives ten minutes more.
    let asked = ask(&vault, "alice").await;
    alice.open(&asked.url).await;
    vault.clock.move_s(9 * 60);
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    vault.clock.move_s(9 * 60);
    assert_eq!(alice.open(consent.url.as_str()).await.h1(), CONSENT);

    // Her browser forgets the cookie then; a thief who copied it does not.
    let mut thief = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    thief.jar = alice.jar.clone();
    vault.clock.move_s(10 * 60 + 1);
    is_gone(&thief.open(consent.url.as_str()).await);
    is_gone(&thief.press(&consent, "/consent", &[("agree", "yes")]).await);
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    // The elicitation lives on: its link makes a new flow.
    let again = alice.open(&asked.url).await;
    assert_eq!(again.status, StatusCode::OK);
    assert_ne!(again.url, consent.url);
    vault.stop().await;
}
