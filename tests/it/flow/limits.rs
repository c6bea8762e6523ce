//! How many elicitations there may be, and how long each of them lives.

use super::{CONSENT, DONE, ask, come_back, create, is_gone, state, to_callback};
use crate::support::{Answered, Browser, TestVault};
use serde_json::json;

fn retry_after(answer: &Answered) -> i64 {
    assert_eq!(answer.status, 429, "{}", answer.body);
    answer.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[actix_web::test]
async fn the_eleventh_in_a_minute_and_the_twenty_first_at_once_are_refused() {
    let vault = TestVault::start().await;
    for _ in 0..10 {
        ask(&vault, "alice").await;
    }
    let answer = create(&vault.s1, &vault.token("alice"), json!({})).await;
    assert_eq!(retry_after(&answer), 60);
    assert_eq!(vault.s1.ensure(&vault.token("alice")).await.status, 429);
    ask(&vault, "bob").await; // another person is not held up
    vault.clock.move_s(59);
    assert_eq!(
        retry_after(&create(&vault.s1, &vault.token("alice"), json!({})).await),
        1
    );
    vault.clock.move_s(2);
    for _ in 0..10 {
        ask(&vault, "alice").await;
    }
    vault.clock.move_s(61);
    let wait = retry_after(&create(&vault.s1, &vault.token("alice"), json!({})).await);
    assert_eq!(wait, 30 * 60 - 122);
    vault.clock.move_s(wait + 1);
    ask(&vault, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn an_elicitation_lives_fifteen_minutes_ten_more_a_step_and_thirty_at_most() {
    let vault = TestVault::start().await;
    let unopened = ask(&vault, "alice").await;
    vault.clock.move_s(15 * 60);
    vault.clock.move_s(-1);
    let fresh = || vault.token("alice");
    assert_eq!(state_now(&vault, &unopened.id, &fresh()).await, "issued");
    vault.clock.move_s(2);
    assert_eq!(state_now(&vault, &unopened.id, &fresh()).await, "expired");
    is_gone(&Browser::new().open(&unopened.url).await);

    // Signed in at 14:00, so until 24:00; consented at 23:00, so until 30:00 and not until 33:00.
    let asked = ask(&vault, "alice").await;
    vault.clock.move_s(14 * 60);
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    vault.clock.move_s(9 * 60);
    assert_eq!(state_now(&vault, &asked.id, &fresh()).await, "signed_in");
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    vault.clock.move_s(7 * 60 - 1);
    assert_eq!(state_now(&vault, &asked.id, &fresh()).await, "consented");
    vault.provider.rotate_keys(true).unwrap();
    vault.clock.move_s(2);
    assert_eq!(state_now(&vault, &asked.id, &fresh()).await, "expired");
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn every_second_until_the_end_can_be_used() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    vault.clock.move_s(15 * 60 - 1);
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    vault.clock.move_s(10 * 60 - 1);
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    vault.clock.move_s(5 * 60);
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE,
        "{}",
        confirm.body
    );
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "connected"
    );
    vault.stop().await;
}

/// As [`state`], with a token that is young enough.
async fn state_now(vault: &TestVault, id: &str, token: &str) -> String {
    let asked = super::Asked {
        url: String::new(),
        id: id.to_owned(),
        state: String::new(),
        token: token.to_owned(),
    };
    state(vault, &asked).await
}
