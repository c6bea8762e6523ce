//! `Idempotency-Key`: a repeated create is one elicitation with one link, and nobody else's key is in the way.

use reqwest::Method;
use serde_json::{Value, json};

use super::problem;
use super::world::{R2, World};
use crate::support::{Answered, McpServer, TestVault};

async fn create(server: &McpServer, token: &str, key: Option<&str>, over: Value) -> Answered {
    let mut body =
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
    body.as_object_mut()
        .unwrap()
        .extend(over.as_object().unwrap().clone());
    let headers: Vec<(&str, &str)> = key.iter().map(|key| ("idempotency-key", *key)).collect();
    server
        .call(Method::POST, "/v1/elicitations", &headers, Some(body))
        .await
}

fn link(answer: &Answered) -> (&str, &str) {
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(
        answer.headers["location"],
        format!("/v1/elicitations/{}", answer.text("/elicitation/id"))
    );
    (
        answer.text("/elicitation/id"),
        answer.text("/elicitation/connect_url"),
    )
}

#[actix_web::test]
async fn a_repeated_create_is_one_elicitation() {
    let mut vault = TestVault::start().await;
    let token = vault.token("alice");
    let first = create(&vault.s1, &token, Some("key-1"), json!({})).await;
    let calls = (0..8).map(|_| create(&vault.s1, &token, Some("key-1"), json!({})));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(link(&answer), link(&first));
    }
    vault = vault.restart().await;
    assert_eq!(
        link(&create(&vault.s1, &token, Some("key-1"), json!({})).await),
        link(&first),
        "after a restart, too"
    );
    assert_eq!(vault.audited("elicitation_created", "ok"), 1);
    for key in [Some("key-2"), Some("KEY-1"), None, None] {
        assert_ne!(
            link(&create(&vault.s1, &token, key, json!({})).await),
            link(&first)
        );
    }
    // The same key with another wish is a mistake of the caller, not a second elicitation.
    for over in [
        json!({ "scopes": ["notes.write"] }),
        json!({ "account": "work" }),
        json!({ "reason": "To read." }),
    ] {
        let answer = create(&vault.s1, &token, Some("key-1"), over).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (422, "idempotency-conflict")
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn racing_creates_with_one_key_are_one_elicitation() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let calls = (0..8).map(|_| create(&vault.s1, &token, Some("race"), json!({})));
    let answers = futures_util::future::join_all(calls).await;
    let links: std::collections::BTreeSet<(&str, &str)> = answers.iter().map(link).collect();
    assert_eq!(links.len(), 1, "{links:?}");
    // A try that came too late is taken back in the log.
    let created = vault.audited("elicitation_created", "ok");
    let taken_back = vault.audited("elicitation_created", "not-done");
    assert_eq!(created, taken_back + 1, "{:#?}", vault.audit());
    vault.stop().await;
}

#[actix_web::test]
async fn keys_of_others_are_other_keys() {
    let world = World::start().await;
    let vault = &world.vault;
    let first = create(&vault.s1, &vault.token("alice"), Some("shared"), json!({})).await;
    let bob = create(&vault.s1, &vault.token("bob"), Some("shared"), json!({})).await;
    let s2 = create(
        &world.s2,
        &world.token("alice", R2),
        Some("shared"),
        json!({}),
    )
    .await;
    assert!(link(&bob) != link(&first) && link(&s2) != link(&first));
    world.stop().await;
}

#[actix_web::test]
async fn an_idempotency_key_is_read_strictly() {
    let vault = TestVault::start().await;
    for key in ["", " ", "a b", &"x".repeat(129)] {
        let answer = create(&vault.s1, &vault.token("alice"), Some(key), json!({})).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "invalid-request"),
            "{key:?}"
        );
        assert_eq!(answer.body["errors"][0]["header"], "Idempotency-Key");
    }
    assert_eq!(
        create(
            &vault.s1,
            &vault.token("alice"),
            Some(&"x".repeat(128)),
            json!({})
        )
        .await
        .status,
        201
    );
    vault.stop().await;
}
