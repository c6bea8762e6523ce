//! Answers of a provider that say something we cannot read: it never counts as if nothing had been said.

use lab::{Misbehaviour, Reply};
use serde_json::{Value, json};

use crate::flow::{CONFIRM, CONSENT, ask, ask_as, grants, has_code};
use crate::support::{Browser, Page, TestVault};

/// Alice's page after the callback, while the provider misbehaves at the exchange.
async fn after_exchange(vault: &TestVault, over: Value, bad: Misbehaviour) -> (Browser, Page) {
    vault.clock.move_s(181);
    let asked = ask_as(&vault.s1, vault.token("alice"), over).await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    vault.provider.misbehave(bad);
    let page = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    vault.provider.behave();
    (alice, page)
}

fn member(name: &str, value: impl Into<Value>) -> Misbehaviour {
    Misbehaviour::default().member("/token", name, value)
}

#[actix_web::test]
async fn a_life_of_zero_or_one_that_cannot_be_read_is_not_endless() {
    for odd in [json!(0), json!(-5), json!("soon"), json!([1])] {
        let vault = TestVault::start().await;
        let bad = member("expires_in", odd.clone());
        let (mut alice, confirm) = after_exchange(&vault, json!({}), bad).await;
        assert_eq!(confirm.h1(), CONFIRM, "{odd}");
        alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
        vault.provider.clear();
        vault.clock.move_s(15 * 60);
        let answer = vault.s1.ensure(&vault.token("alice")).await;
        assert_eq!(answer.body["status"], "connected", "{odd}");
        assert_eq!(vault.provider.count("/token"), 1, "{odd}: refreshed");
        assert!(answer.body["credential"]["expires_at"].is_string(), "{odd}");
        vault.stop().await;
    }
}

#[actix_web::test]
async fn a_token_of_unknown_life_that_cannot_be_refreshed_connects_nothing() {
    let vault = TestVault::start().await;
    for odd in [json!(0), json!(-5), json!("soon")] {
        let bad = member("expires_in", odd).member("/token", "refresh_token", Value::Null);
        let (_, page) = after_exchange(&vault, json!({}), bad).await;
        has_code(&page, "provider-unreadable");
    }
    assert_eq!(grants(&vault, &vault.token("alice")).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_scope_without_one_readable_word_is_not_everything_that_was_asked_for() {
    let vault = TestVault::start().await;
    let both = json!({ "scopes": ["notes.read", "notes.write"] });
    for odd in [json!("\u{e4}"), json!(" "), json!([7]), json!(7)] {
        let (_, page) = after_exchange(&vault, both.clone(), member("scope", odd)).await;
        has_code(&page, "provider-unreadable");
    }
    assert_eq!(grants(&vault, &vault.token("alice")).await, 0);
    vault.stop().await;
}

#[actix_web::test]
async fn a_refresh_with_an_unreadable_scope_leaves_the_scopes_as_granted() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let before = vault.s1.ensure(&vault.token("alice")).await;
    vault.clock.move_s(3541); // usable for a minute more
    vault.provider.misbehave(member("scope", "\u{e4}"));
    let during = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(during.body["status"], "connected");
    assert_eq!(during.body["grant"]["generation"], 2, "{}", during.body);
    let scopes = |answer: &crate::support::Answered| answer.body["credential"]["scopes"].clone();
    assert!(scopes(&before).is_array());
    assert_eq!(scopes(&during), scopes(&before));
    vault.stop().await;
}

#[actix_web::test]
async fn an_account_answer_that_names_two_ids_names_nobody() {
    let vault = TestVault::start().await;
    let body = r#"{"id":"bob-1","name":"Bob","id":"mallory-2","name":"Mallory"}"#;
    let reply = Reply::Raw {
        status: 200,
        content_type: "application/json".to_owned(),
        headers: vec![],
        body: body.to_owned(),
    };
    let bad = Misbehaviour::default().reply("/api/me", None, reply);
    let (_, page) = after_exchange(&vault, json!({}), bad).await;
    has_code(&page, "provider-unreadable");
    assert!(!page.body.contains("Mallory") && !page.body.contains("Bob"));
    vault.stop().await;
}

#[actix_web::test]
async fn a_form_answer_that_names_two_tokens_names_none() {
    let vault = TestVault::start().await;
    for body in [
        "access_token=a&access_token=b&token_type=bearer",
        "access_token=a&token_type=bearer&scope=notes.read&scope=notes.write",
        "access_token=a&access%5Ftoken=b",
    ] {
        let reply = Reply::Raw {
            status: 200,
            content_type: "application/x-www-form-urlencoded".to_owned(),
            headers: vec![],
            body: body.to_owned(),
        };
        let bad = Misbehaviour::default().reply("/token", None, reply);
        let (_, page) = after_exchange(&vault, json!({}), bad).await;
        has_code(&page, "provider-unreadable");
    }
    let asked = ask(&vault, "alice").await;
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}
