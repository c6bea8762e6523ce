//! People who say no, forget the tick, or want another account: what was pending is gone, here and at the provider.

use lab::Misbehaviour;
use reqwest::StatusCode;
use serde_json::json;

use super::{CONFIRM, CONSENT, DECLINED, DONE, ask, grants, has_code, state, to_confirm};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn no_at_consent_ends_it_without_the_provider_hearing_of_it() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let declined = alice.press(&consent, "/decline", &[]).await;
    assert_eq!(declined.h1(), DECLINED);
    assert_eq!(state(&vault, &asked).await, "declined");
    assert!(vault.provider.recorded().is_empty());
    assert_eq!(vault.audited("declined", "ok"), 1);
    let told = vault
        .s1
        .ensure_with(&asked.token, json!({ "request_state": asked.state }))
        .await;
    assert_eq!(told.text("/status"), "declined");
    // A page that is still open in a tab is worth nothing now.
    let stale = alice
        .press_only(&consent, "/consent", &[("agree", "yes")])
        .await;
    assert!(stale.status.is_client_error());
    assert_eq!(alice.open(consent.url.as_str()).await.h1(), DECLINED);
    vault.stop().await;
}

#[actix_web::test]
async fn no_at_confirm_revokes_what_is_pending() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    assert_eq!(alice.press(&confirm, "/decline", &[]).await.h1(), DECLINED);
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(vault.audited("pending_destroyed", "revoked"), 1);
    assert_eq!(state(&vault, &asked).await, "declined");
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn no_holds_even_when_the_provider_cannot_be_told() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    vault
        .provider
        .misbehave(Misbehaviour::named("revoke-503").unwrap());
    assert_eq!(alice.press(&confirm, "/decline", &[]).await.h1(), DECLINED);
    assert_eq!(vault.audited("pending_destroyed", "revocation-failed"), 1);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn another_account_starts_again_and_destroys_the_first_tokens() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    let consent = alice.press(&confirm, "/again", &[]).await;
    assert_eq!(consent.h1(), CONSENT);
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert!(vault.provider.live_grants().is_empty());
    let refused = alice
        .press_only(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let second = super::connect_as(&vault, &mut alice, &consent, "bob-at-practice").await;
    assert!(second.body.contains("Bob at Practice"), "{}", second.body);
    assert_eq!(
        alice
            .press(&second, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    let answer = vault.s1.ensure(&asked.token).await;
    assert!(
        vault.provider.is_active(
            answer
                .text("/credential/header/value")
                .trim_start_matches("Bearer ")
        )
    );
    assert_eq!(vault.provider.live_grants().len(), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn a_forgotten_tick_brings_the_page_back_and_changes_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let back = alice.press_only(&consent, "/consent", &[]).await;
    assert_eq!(
        (back.status, back.h1().as_str()),
        (StatusCode::UNPROCESSABLE_ENTITY, CONSENT)
    );
    assert!(vault.provider.recorded().is_empty());
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    let confirm = vault.consent(&mut alice, &back, "alice-at-practice").await;
    let back = alice.press_only(&confirm, "/confirm", &[]).await;
    assert_eq!(
        (back.status, back.h1().as_str()),
        (StatusCode::UNPROCESSABLE_ENTITY, CONFIRM)
    );
    assert_eq!(state(&vault, &asked).await, "consented");
    assert_eq!(
        alice
            .press(&back, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    vault.stop().await;
}

#[actix_web::test]
async fn the_provider_says_no_and_the_person_may_try_again() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let at_provider = alice.press(&consent, "/consent", &[("agree", "yes")]).await;
    let chosen = super::choose(&mut alice, &at_provider, "alice-at-practice").await;
    let refused = alice
        .press(&chosen, "/authorize/consent", &[("consent", "no")])
        .await;
    has_code(&refused, "provider-refused");
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(vault.audited("exchange_failed", "provider-refused"), 1);
    let consent = alice.press(&refused, "/again", &[]).await;
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    vault.stop().await;
}
