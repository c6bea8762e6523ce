//! The story everything is for: ask, connect, fetch, refresh, end.

use reqwest::Method;

use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn a_person_connects_and_the_server_gets_a_token_that_works() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let done = vault.walk(&mut alice, "alice", "alice-at-practice").await;
    assert_eq!(done.h1(), "Connected");

    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
    let header = answer.text("/credential/header/value").to_owned();
    let notes = reqwest::Client::new()
        .get(format!("{}/api/notes", vault.provider.base_url()))
        .header("authorization", header);
    let notes: serde_json::Value = notes
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(notes["account"], "alice-at-practice");
    assert_eq!(vault.audited("grant_activated", "ok"), 1);
    assert_eq!(vault.audited("credential_released", "ok"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn an_expired_token_is_refreshed_once_for_many_callers() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = vault
        .s1
        .ensure(&vault.token("alice"))
        .await
        .text("/credential/header/value")
        .to_owned();
    vault.clock.move_s(3601);
    vault.provider.clear();
    let token = vault.token("alice");
    let calls = (0..20).map(|_| vault.s1.ensure(&token));
    let answers = futures_util::future::join_all(calls).await;
    let tokens: std::collections::BTreeSet<&str> = answers
        .iter()
        .map(|a| a.text("/credential/header/value"))
        .collect();
    assert_eq!(tokens.len(), 1);
    assert!(!tokens.contains(first.as_str()));
    assert_eq!(vault.provider.count("/token"), 1);
    assert_eq!(answers[0].body["grant"]["generation"], 2);
    vault.stop().await;
}

#[actix_web::test]
async fn a_walk_goes_on_after_a_restart_at_every_step() {
    let mut vault = TestVault::start().await;
    let mut alice = Browser::new();
    let url = vault.connect_url("alice").await;
    vault = vault.restart().await;
    let page = alice.open(&url).await;
    assert_eq!(page.h1(), "First, sign in");
    vault = vault.restart().await;
    let at_issuer = alice.press(&page, "/login", &[]).await;
    vault = vault.restart().await;
    let consent = vault.at_lab(&mut alice, at_issuer, "alice").await;
    vault = vault.restart().await;
    let at_provider = alice.press(&consent, "/consent", &[("agree", "yes")]).await;
    vault = vault.restart().await;
    let confirm = vault
        .at_lab(&mut alice, at_provider, "alice-at-practice")
        .await;
    assert_eq!(confirm.h1(), "Is this the right account?");
    vault = vault.restart().await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), "Connected");
    vault = vault.restart().await;
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "connected"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn ending_a_grant_revokes_it_at_the_provider_and_asks_again() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = vault.token("alice");
    let id = vault.s1.ensure(&token).await.text("/grant/id").to_owned();
    let receipt = vault
        .s1
        .call(
            Method::DELETE,
            &format!("/v1/grants/{id}"),
            &[("subject-token", &token)],
            None,
        )
        .await;
    assert_eq!(receipt.status, 200, "{}", receipt.body);
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(vault.s1.ensure(&token).await.text("/status"), "elicit");
    vault.stop().await;
}
