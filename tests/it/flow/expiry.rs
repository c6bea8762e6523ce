//! AT-014: time runs out at every step, and a clock that is set back revives nothing.

use storage::Table;

use super::{
    Asked, CONSENT, SIGN_IN, ask, come_back, count, grants, has_code, is_gone, state, to_callback,
    to_confirm,
};
use crate::support::{Browser, TestVault};

/// Looks after everything that is due, as happens by itself every few seconds.
async fn sweep(vault: &TestVault) {
    vault.app.vault().sweep().await.unwrap();
}

async fn is_expired(vault: &TestVault, asked: &Asked) {
    let young = Asked {
        token: vault.token("alice"),
        url: String::new(),
        id: asked.id.clone(),
        state: String::new(),
    };
    assert_eq!(state(vault, &young).await, "expired");
    assert_eq!(grants(vault, &young.token).await, 0);
}

#[actix_web::test]
async fn at_014_before_the_link_is_opened() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let url = asked.url.parse().unwrap();
    vault.clock.move_s(15 * 60 + 1);
    // The link itself is refused, and not only the page behind it: no flow, no cookie, no entry that it was opened.
    let mut late = Browser::new();
    is_gone(&late.visit(&url, "none").await);
    assert!(late.jar.is_empty());
    assert_eq!(count(&vault, Table::BrowserFlows).await, 0);
    assert_eq!(vault.audited("link_opened", "ok"), 0);
    sweep(&vault).await;
    vault.clock.move_s(-600);
    is_gone(&late.visit(&url, "none").await);
    is_expired(&vault, &asked).await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_between_sign_in_and_consent() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    vault.clock.move_s(8 * 60);
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    vault.clock.move_s(10 * 60 + 1); // the session lives on, the elicitation does not
    is_gone(&alice.press(&consent, "/consent", &[("agree", "yes")]).await);
    sweep(&vault).await;
    vault.clock.move_s(-600);
    is_gone(&alice.open(consent.url.as_str()).await);
    is_gone(&alice.press(&consent, "/consent", &[("agree", "yes")]).await);
    is_gone(&alice.open(&asked.url).await);
    assert!(vault.provider.recorded().is_empty());
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    is_expired(&vault, &asked).await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_between_consent_and_callback() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    vault.clock.move_s(4 * 60);
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    vault.clock.move_s(11 * 60 + 1); // both `state` and elicitation have ended
    has_code(&come_back(&mut alice, &callback).await, "wrong-callback");
    assert_eq!(vault.audited("flow_poisoned", "late"), 1);
    sweep(&vault).await;
    vault.clock.move_s(-600);
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    is_expired(&vault, &asked).await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_a_state_ends_before_its_elicitation() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    vault.clock.move_s(10 * 60 + 1);
    has_code(&come_back(&mut alice, &callback).await, "wrong-callback");
    vault.clock.move_s(-600);
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(state(&vault, &asked).await, "consented");
    assert_eq!(alice.open(&asked.url).await.h1(), CONSENT);
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_between_exchange_and_confirm() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    vault.clock.move_s(14 * 60);
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    vault.clock.move_s(9 * 60);
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let confirm = come_back(&mut alice, &callback).await;
    assert_eq!(vault.provider.live_grants().len(), 1);
    vault.clock.move_s(7 * 60 + 1); // thirty minutes after the beginning; the tokens are seven minutes old
    is_gone(&alice.press(&confirm, "/confirm", &[("mine", "yes")]).await);
    sweep(&vault).await;
    assert_eq!(
        vault.provider.count("/revoke"),
        1,
        "the provider was not told"
    );
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(vault.audited("pending_destroyed", "revoked"), 1);
    vault.clock.move_s(-600);
    is_gone(&alice.press(&confirm, "/confirm", &[("mine", "yes")]).await);
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    is_expired(&vault, &asked).await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_pending_tokens_end_after_ten_minutes() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    sweep(&vault).await;
    assert_eq!(vault.provider.count("/revoke"), 0);
    vault.clock.move_s(10 * 60 + 1);
    let late = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    is_gone(&late); // the cookie of the flow has ended with the tokens
    sweep(&vault).await;
    sweep(&vault).await;
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(vault.audited("pending_destroyed", "revoked"), 1);
    vault.clock.move_s(-600);
    let late = alice.open(confirm.url.as_str()).await;
    has_code(&late, "not-confirmed");
    assert!(late.form("/again").is_some());
    let refused = alice
        .press_only(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_a_session_ends_after_a_quarter_of_an_hour_without_deeds_and_after_an_hour() {
    let vault = TestVault::start().await;
    let mut alice = super::signed_in(&vault, "alice").await;
    vault.clock.move_s(15 * 60 - 1);
    let asked = ask(&vault, "alice").await;
    let consent = alice.open(&asked.url).await;
    assert_eq!(consent.h1(), CONSENT);
    vault.clock.move_s(2); // opening a link is a look, not a deed
    assert_eq!(alice.open(&asked.url).await.h1(), SIGN_IN);
    let stale = alice
        .press_only(&consent, "/consent", &[("agree", "yes")])
        .await;
    assert_eq!(alice.follow(stale).await.h1(), SIGN_IN);
    assert_eq!(vault.audited("consent_given", "ok"), 0);

    let mut alice = super::signed_in(&vault, "alice").await;
    for _ in 0..6 {
        vault.clock.move_s(9 * 60 + 50);
        let asked = ask(&vault, "alice").await;
        let consent = alice.open(&asked.url).await;
        assert_eq!(consent.h1(), CONSENT);
        alice.press(&consent, "/decline", &[]).await;
    }
    vault.clock.move_s(61);
    let asked = ask(&vault, "alice").await;
    assert_eq!(
        alice.open(&asked.url).await.h1(),
        SIGN_IN,
        "an hour is over"
    );
    vault.stop().await;
}
