//! What a server sees while a person decides: nothing before the end, and the end at once.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::{Asked, DECLINED, DONE, ask, grants, rows, state, to_confirm};
use crate::support::{Answered, Browser, McpServer, TestVault};

#[actix_web::test]
async fn at_017_accept_without_any_browser_visit_is_worth_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let before = rows(&vault).await;
    for _ in 0..10 {
        let resolved = vault
            .s1
            .resolve(&asked.token, &asked.state, json!({}))
            .await;
        assert_eq!(resolved.text("/state"), "issued");
        let over = json!({ "request_state": asked.state, "input_responses": { "connect:practice": { "action": "accept", "content": { "code": "x" } } } });
        let answer = vault.s1.ensure_with(&asked.token, over).await;
        assert_eq!(answer.text("/status"), "waiting", "{}", answer.body);
        assert!(answer.body.get("credential").is_none());
    }
    assert_eq!(rows(&vault).await, before);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    assert!(vault.provider.recorded().is_empty());
    assert_eq!(vault.audited("credential_released", "ok"), 0);
    // Asking over and over is limited, and a minute later it is allowed again.
    let mut polled = 200;
    for _ in 0..60 {
        polled = vault
            .s1
            .resolve(&asked.token, &asked.state, json!({}))
            .await
            .status;
    }
    assert_eq!(polled, 429);
    vault.clock.move_s(61);
    let resolved = vault
        .s1
        .resolve(&asked.token, &asked.state, json!({}))
        .await;
    assert_eq!(resolved.text("/state"), "issued");
    // Without requestState each call makes a new link, and that is limited as well.
    let mut last = 200;
    for _ in 0..11 {
        last = vault.s1.ensure(&asked.token).await.status;
    }
    assert_eq!(last, 429);
    super::still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn no_and_cancel_in_the_client_end_it() {
    let vault = TestVault::start().await;
    for (action, status, state_of) in [
        ("decline", "declined", "declined"),
        ("cancel", "cancelled", "cancelled"),
    ] {
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        let over = json!({ "request_state": asked.state, "input_responses": { "connect:practice": { "action": action } } });
        let answer = vault.s1.ensure_with(&asked.token, over).await;
        assert_eq!(answer.text("/status"), status, "{}", answer.body);
        assert_eq!(state(&vault, &asked).await, state_of);
        super::is_gone(&alice.press(&consent, "/consent", &[("agree", "yes")]).await);
    }
    assert!(vault.provider.recorded().is_empty());
    vault.stop().await;
}

#[actix_web::test]
async fn somebody_elses_request_state_is_refused() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let bob = vault.token("bob");
    for _ in 0..2 {
        assert_eq!(
            vault.s1.resolve(&bob, &asked.state, json!({})).await.code(),
            "request-state-invalid"
        );
    }
    assert!(vault.audited("state_refused", "other-principal") >= 1);
    let over = json!({ "request_state": asked.state, "input_responses": { "connect:practice": { "action": "decline" } } });
    assert!(vault.s1.ensure_with(&bob, over).await.status >= 400);
    assert_eq!(state(&vault, &asked).await, "issued");
    vault.stop().await;
}

/// Waits for the end of an elicitation, at most as long as a server may.
async fn wait(server: McpServer, asked: &Asked) -> Answered {
    let path = format!("/v1/elicitations/{}?wait=55", asked.id);
    let headers = [("subject-token", asked.token.as_str())];
    let waiting = server.call(Method::GET, &path, &headers, None);
    // Only so that a wait that nobody ends fails here and not after a minute.
    tokio::time::timeout(Duration::from_secs(40), waiting)
        .await
        .expect("the end did not wake the server that waits")
}

#[actix_web::test]
async fn a_waiting_server_is_woken_by_the_end_and_not_before() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let walk = async {
        let mut alice = Browser::new();
        let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
        alice.press(&confirm, "/confirm", &[("mine", "yes")]).await
    };
    let (answer, done) = futures_util::join!(wait(vault.s1.clone(), &asked), walk);
    assert_eq!(done.h1(), DONE);
    assert_eq!(answer.text("/state"), "completed");
    let id = vault
        .s1
        .ensure(&asked.token)
        .await
        .text("/grant/id")
        .to_owned();
    assert_eq!(answer.text("/grant_id"), id);
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_and_a_cancel_wake_it_too() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let decline = async {
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        alice.press(&consent, "/decline", &[]).await
    };
    let (answer, page) = futures_util::join!(wait(vault.s1.clone(), &asked), decline);
    assert_eq!(
        (answer.text("/state"), page.h1().as_str()),
        ("declined", DECLINED)
    );

    let asked = ask(&vault, "alice").await;
    let path = format!("/v1/elicitations/{}/cancel", asked.id);
    let cancel = vault.s1.call(
        Method::POST,
        &path,
        &[],
        Some(json!({ "subject_token": asked.token })),
    );
    let (answer, _) = futures_util::join!(wait(vault.s1.clone(), &asked), cancel);
    assert_eq!(answer.text("/state"), "cancelled");

    // Three wrong people.
    let asked = ask(&vault, "alice").await;
    let mut bob = super::signed_in(&vault, "bob").await;
    let opens = async {
        for _ in 0..3 {
            bob.open(&asked.url).await;
        }
    };
    let (answer, ()) = futures_util::join!(wait(vault.s1.clone(), &asked), opens);
    assert_eq!(
        (answer.text("/state"), &answer.body["mismatch"]),
        ("cancelled", &json!(true))
    );
    vault.stop().await;
}

#[actix_web::test]
async fn others_cannot_look_or_take_back() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let bob = vault.token("bob");
    let path = format!("/v1/elicitations/{}", asked.id);
    assert_eq!(
        vault
            .s1
            .call(Method::GET, &path, &[("subject-token", &bob)], None)
            .await
            .status,
        404
    );
    let cancelled = vault
        .s1
        .call(
            Method::POST,
            &format!("{path}/cancel"),
            &[],
            Some(json!({ "subject_token": bob })),
        )
        .await;
    assert_eq!(cancelled.status, 404);
    assert_eq!(state(&vault, &asked).await, "issued");
    vault.stop().await;
}

#[actix_web::test]
async fn what_the_operator_did_not_allow_is_not_even_asked() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    for over in [
        json!({ "scopes": ["profile.read"] }),
        json!({ "scopes": ["notes.read", "admin"] }),
        json!({ "provider": "other" }),
    ] {
        let answer = super::create(&vault.s1, &token, over.clone()).await;
        assert_eq!(answer.status, 403, "{over}: {}", answer.body);
        assert_eq!(vault.s1.ensure_with(&token, over).await.status, 403);
    }
    assert_eq!(vault.audited("elicitation_created", "ok"), 0);
    assert_eq!(vault.audited("request_not_permitted", "scopes"), 4);
    assert_eq!(vault.audited("request_not_permitted", "provider"), 2);
    vault.stop().await;
}
