//! Waiting for a person: `GET /v1/elicitations/{id}?wait=` ends when the elicitation does.

use actix_rt::spawn;
use reqwest::Method;
use serde_json::json;

use super::problem;
use crate::support::{Answered, Browser, McpServer, TestVault};

async fn look(server: McpServer, token: String, id: String, wait: &'static str) -> Answered {
    server
        .call(
            Method::GET,
            &format!("/v1/elicitations/{id}{wait}"),
            &[("subject-token", &token)],
            None,
        )
        .await
}

#[actix_web::test]
async fn a_wait_ends_with_the_elicitation() {
    let vault = TestVault::start().await;
    let asked = vault.s1.ensure(&vault.token("alice")).await;
    let id = asked.text("/elicitation/id").to_owned();
    let mut browser = Browser::new();
    let consent = vault
        .sign_in(
            &mut browser,
            asked.text("/elicitation/connect_url"),
            "alice",
        )
        .await;
    let confirm = vault
        .consent(&mut browser, &consent, "alice-at-practice")
        .await;
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            spawn(look(
                vault.s1.clone(),
                vault.token("alice"),
                id.clone(),
                "?wait=55",
            ))
        })
        .collect();
    browser
        .press(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    for answer in waiting {
        let answer = answer.await.unwrap();
        assert_eq!(answer.text("/state"), "completed", "{}", answer.body);
        assert!(answer.text("/grant_id").starts_with("gr_"));
    }
    // What is over is answered at once, however long one would wait.
    let again = look(vault.s1.clone(), vault.token("alice"), id, "?wait=55").await;
    assert_eq!(again.text("/state"), "completed");
    vault.stop().await;
}

#[actix_web::test]
async fn a_cancel_wakes_whoever_waits() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    for by_client in [false, true] {
        let asked = vault.s1.ensure(&token).await;
        let id = asked.text("/elicitation/id").to_owned();
        let waiting = spawn(look(
            vault.s1.clone(),
            token.clone(),
            id.clone(),
            "?wait=55",
        ));
        if by_client {
            let no = json!({ "request_state": asked.text("/request_state"), "input_responses": { "connect:practice": { "action": "cancel" } } });
            assert_eq!(
                vault.s1.ensure_with(&token, no).await.text("/status"),
                "cancelled"
            );
        } else {
            let path = format!("/v1/elicitations/{id}/cancel");
            vault
                .s1
                .call(
                    Method::POST,
                    &path,
                    &[],
                    Some(json!({ "subject_token": token })),
                )
                .await;
        }
        assert_eq!(waiting.await.unwrap().text("/state"), "cancelled");
    }
    vault.stop().await;
}

#[actix_web::test]
async fn the_time_to_wait_is_read_strictly() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let id = vault
        .s1
        .ensure(&token)
        .await
        .text("/elicitation/id")
        .to_owned();
    for wait in [
        "?wait=56",
        "?wait=-1",
        "?wait=",
        "?wait=1.5",
        "?wait=+1",
        "?wait=999999999999",
        "?wait=1&wait=2",
        "?until=1",
        "?Wait=1",
    ] {
        let answer = look(vault.s1.clone(), token.clone(), id.clone(), wait).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "invalid-request"),
            "{wait}"
        );
        assert!(
            answer.body["errors"][0]["parameter"].is_string(),
            "{}",
            answer.body
        );
    }
    for wait in ["", "?wait=0", "?wait=00"] {
        assert_eq!(
            look(vault.s1.clone(), token.clone(), id.clone(), wait)
                .await
                .text("/state"),
            "issued",
            "{wait}"
        );
    }
    vault.stop().await;
}
