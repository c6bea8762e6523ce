//! Who said yes and has not come back yet sees the question again; a second yes starts anew.

use reqwest::StatusCode;

use super::{
    CONFIRM, CONSENT, DECLINED, DONE, approve, ask, authorize_url, come_back, grants, is_gone,
    state, to_callback,
};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn going_back_from_the_leaving_page_shows_the_question_and_a_second_yes_kills_the_first() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let first = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let again = alice.visit(&consent.url, "same-origin").await;
    assert_eq!(again.h1(), CONSENT);
    assert_eq!(alice.open(&asked.url).await.h1(), CONSENT);
    let stale = alice
        .press_only(&consent, "/consent", &[("agree", "yes")])
        .await;
    assert_eq!(stale.status, StatusCode::FORBIDDEN);
    let unticked = alice.press_only(&again, "/consent", &[]).await;
    assert_eq!(unticked.status, StatusCode::UNPROCESSABLE_ENTITY);
    let at_provider = authorize_url(&vault, &mut alice, &again).await;
    is_gone(&come_back(&mut alice, &first).await);
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(state(&vault, &asked).await, "consented");
    let page = alice.visit(&at_provider, "cross-site").await;
    let second = approve(&vault, &mut alice, &page, "alice-at-practice").await;
    let confirm = come_back(&mut alice, &second).await;
    assert_eq!(confirm.h1(), CONFIRM);
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(grants(&vault, &asked.token).await, 1);
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_after_going_back_ends_it_and_a_late_callback_finds_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let first = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let again = alice.visit(&consent.url, "same-origin").await;
    assert_eq!(alice.press(&again, "/decline", &[]).await.h1(), DECLINED);
    is_gone(&come_back(&mut alice, &first).await);
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_yes_whose_state_has_ended_is_asked_for_again() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    vault.clock.move_s(5 * 60);
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    vault.clock.move_s(60);
    let first = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    // At six minutes the yes left ten more; one second before the end of both, and the page still asks.
    vault.clock.move_s(10 * 60 - 1);
    let again = alice.visit(&consent.url, "same-origin").await;
    assert_eq!(again.h1(), CONSENT);
    let second = to_callback(&vault, &mut alice, &again, "alice-at-practice").await;
    vault.clock.move_s(2);
    is_gone(&come_back(&mut alice, &first).await);
    assert_eq!(come_back(&mut alice, &second).await.h1(), CONFIRM);
    vault.stop().await;
}
