//! Every status of `POST /v1/ensure`, with the payloads that go with it.

use reqwest::Method;
use serde_json::{Value, json};

use super::payloads::{
    create, input_required, missing_capability, names, state_only, tool_result, url_required,
};
use super::problem;
use crate::support::{Answered, Browser, TestVault};

fn mcp(version: &str, capabilities: &Value, method: &str) -> Value {
    json!({ "mcp": { "protocol_version": version, "client_capabilities": capabilities, "method": method } })
}

#[actix_web::test]
async fn a_link_comes_with_payloads_that_are_legal_for_the_client() {
    let vault = TestVault::start().await;
    let (url, form) = (
        json!({ "elicitation": { "url": {}, "form": {} } }),
        json!({ "elicitation": { "form": {} } }),
    );
    let empty = json!({ "elicitation": {} });
    let all = [
        "elicitation_create",
        "input_required_result",
        "missing_capability",
        "tool_result",
        "url_elicitation_required",
    ];
    let modern = ["input_required_result", "tool_result"];
    let legacy = [
        "elicitation_create",
        "tool_result",
        "url_elicitation_required",
    ];
    let (text, refused) = (["tool_result"], ["missing_capability", "tool_result"]);
    let cases: Vec<(Value, &[&str], &str)> = vec![
        (json!({}), &all, "tool_result"),
        (
            mcp("2026-07-28", &url, "tools/call"),
            &modern,
            "input_required_result",
        ),
        (
            mcp("2026-07-28", &url, "prompts/get"),
            &modern,
            "input_required_result",
        ),
        (mcp("2026-07-28", &url, "tools/list"), &text, "tool_result"),
        (
            mcp("2026-07-28", &form, "tools/call"),
            &refused,
            "tool_result",
        ),
        (
            mcp("2026-07-28", &empty, "tools/call"),
            &refused,
            "tool_result",
        ),
        (
            mcp("2026-07-28", &json!({}), "tools/call"),
            &refused,
            "tool_result",
        ),
        (
            mcp("2025-11-25", &url, "tools/call"),
            &legacy,
            "url_elicitation_required",
        ),
        (
            mcp("2025-11-25", &empty, "tools/call"),
            &text,
            "tool_result",
        ),
        (mcp("2025-06-18", &url, "tools/call"), &text, "tool_result"),
    ];
    for (over, expected, recommended) in cases {
        vault.clock.move_s(60);
        let answer = vault
            .s1
            .ensure_with(&vault.token("alice"), over.clone())
            .await;
        assert_eq!(
            (answer.status, answer.text("/status")),
            (200, "elicit"),
            "{}",
            answer.body
        );
        assert_eq!(
            (names(&answer.body), answer.text("/recommended")),
            (expected.to_vec(), recommended),
            "{over}"
        );
        shapes(&answer);
    }
    vault.stop().await;
}

/// Every payload has its shape, and all of them say the same link.
fn shapes(answer: &Answered) {
    let (url, id) = (
        answer.text("/elicitation/connect_url"),
        answer.text("/elicitation/id"),
    );
    for (name, payload) in answer.body["payloads"].as_object().unwrap() {
        match name.as_str() {
            "input_required_result" => {
                assert_eq!(input_required(payload, "practice"), url);
                assert_eq!(payload["requestState"], answer.body["request_state"]);
            }
            "url_elicitation_required" => {
                assert_eq!(url_required(payload), (url.to_owned(), id.to_owned()));
            }
            "elicitation_create" => assert_eq!(create(payload), (url.to_owned(), id.to_owned())),
            "missing_capability" => missing_capability(payload),
            "tool_result" => assert!(
                tool_result(payload).contains(url),
                "the link is in the text"
            ),
            other => panic!("{other}"),
        }
    }
    // Nothing in a link says anything about the person or the request.
    let ticket = url.rsplit('/').next().unwrap();
    assert!(
        ticket.len() == 43
            && !url.contains(['?', '#'])
            && !url.contains("alice")
            && !url.contains("practice"),
        "{url}"
    );
}

/// Asks again with the state, as a client that was answered.
async fn again(vault: &TestVault, first: &Answered, response: Value) -> Answered {
    let mut body = mcp(
        "2026-07-28",
        &json!({ "elicitation": { "url": {} } }),
        "tools/call",
    );
    body["request_state"] = first.body["request_state"].clone();
    if !response.is_null() {
        body["input_responses"] = json!({ "connect:practice": response, "somebody:else": { "action": "accept", "content": {} } });
    }
    vault.s1.ensure_with(&vault.token("alice"), body).await
}

async fn asked(vault: &TestVault) -> Answered {
    let answer = vault.s1.ensure_with(&vault.token("alice"), json!({})).await;
    assert_eq!(answer.text("/status"), "elicit");
    answer
}

fn ended(answer: &Answered, status: &str) -> String {
    assert_eq!(
        (answer.status, answer.text("/status")),
        (200, status),
        "{}",
        answer.body
    );
    assert_eq!(
        names(&answer.body),
        ["tool_result"],
        "an end is an ordinary result, so that no client loops"
    );
    assert!(answer.body.get("request_state").is_none() && answer.body.get("credential").is_none());
    assert!(answer.body.pointer("/elicitation/connect_url").is_none());
    tool_result(&answer.body["payloads"]["tool_result"])
}

#[actix_web::test]
async fn waiting_gives_a_fresh_state_and_no_second_prompt() {
    let vault = TestVault::start().await;
    let first = asked(&vault).await;
    for response in [
        Value::Null,
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "x": 1 } }),
    ] {
        let answer = again(&vault, &first, response).await;
        assert_eq!(
            answer.text("/status"),
            "waiting",
            "\"accept\" proves nothing: {}",
            answer.body
        );
        assert_eq!(
            names(&answer.body),
            ["input_required_result", "tool_result"]
        );
        state_only(&answer.body["payloads"]["input_required_result"]);
        tool_result(&answer.body["payloads"]["tool_result"]);
        assert_ne!(answer.text("/request_state"), first.text("/request_state"));
        assert_eq!(
            answer.text("/elicitation/id"),
            first.text("/elicitation/id")
        );
        assert!(
            answer.body.pointer("/elicitation/connect_url").is_none(),
            "a link is shown once"
        );
    }
    // The state of an elicitation that completed leads to the credential.
    let mut browser = Browser::new();
    let consent = vault
        .sign_in(
            &mut browser,
            first.text("/elicitation/connect_url"),
            "alice",
        )
        .await;
    assert_eq!(
        again(&vault, &first, Value::Null)
            .await
            .text("/elicitation/state"),
        "signed_in"
    );
    let confirm = vault
        .consent(&mut browser, &consent, "alice-at-practice")
        .await;
    assert_eq!(
        again(&vault, &first, Value::Null).await.text("/status"),
        "waiting",
        "not confirmed is not connected"
    );
    browser
        .press(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    let done = again(&vault, &first, json!({ "action": "accept" })).await;
    assert_eq!(done.text("/status"), "connected", "{}", done.body);
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_in_the_client_ends_the_elicitation() {
    let vault = TestVault::start().await;
    for (action, status) in [("decline", "declined"), ("cancel", "cancelled")] {
        let first = asked(&vault).await;
        ended(
            &again(&vault, &first, json!({ "action": action })).await,
            status,
        );
        ended(
            &again(&vault, &first, json!({ "action": "accept" })).await,
            status,
        );
        let page = Browser::new()
            .open(first.text("/elicitation/connect_url"))
            .await;
        assert!(
            page.form("/login").is_none(),
            "the link is dead: {}",
            page.h1()
        );
        assert_eq!(
            asked(&vault).await.text("/status"),
            "elicit",
            "asking again makes a new link"
        );
    }
    for bad in [
        json!({ "action": "maybe" }),
        json!({}),
        json!("accept"),
        json!({ "action": 1 }),
    ] {
        let answer = again(&vault, &asked(&vault).await, bad).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "invalid-request"),
            "{}",
            answer.body
        );
        vault.clock.move_s(61);
    }
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_on_our_page_and_a_cancel_by_the_server_are_told_apart() {
    let vault = TestVault::start().await;
    let first = asked(&vault).await;
    let mut browser = Browser::new();
    let consent = vault
        .sign_in(
            &mut browser,
            first.text("/elicitation/connect_url"),
            "alice",
        )
        .await;
    browser.press(&consent, "/decline", &[]).await;
    assert!(
        ended(&again(&vault, &first, Value::Null).await, "declined")
            .contains("You chose not to connect")
    );
    let second = asked(&vault).await;
    let path = format!("/v1/elicitations/{}/cancel", second.text("/elicitation/id"));
    let about = json!({ "subject_token": vault.token("alice") });
    let cancelled = vault
        .s1
        .call(Method::POST, &path, &[], Some(about.clone()))
        .await;
    assert_eq!(cancelled.text("/state"), "cancelled", "{}", cancelled.body);
    let twice = vault.s1.call(Method::POST, &path, &[], Some(about)).await;
    assert_eq!((twice.status, problem(&twice)), (410, "elicitation-gone"));
    ended(&again(&vault, &second, Value::Null).await, "cancelled");
    assert_eq!(vault.audited("elicitation_cancelled", "ok"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn what_nobody_used_expires() {
    let vault = TestVault::start().await;
    let first = asked(&vault).await;
    vault.clock.move_s(14 * 60 + 59);
    assert_eq!(
        again(&vault, &first, Value::Null).await.text("/status"),
        "waiting"
    );
    vault.clock.move_s(2);
    assert!(
        ended(&again(&vault, &first, Value::Null).await, "expired").contains("not used in time")
    );
    vault.stop().await;
}

#[actix_web::test]
async fn a_link_that_wrong_people_open_ends_as_a_mismatch() {
    let vault = TestVault::start().await;
    let first = asked(&vault).await;
    for _ in 0..domain::Elicitation::MAX_MISMATCHES {
        let page = vault
            .sign_in(
                &mut Browser::new(),
                first.text("/elicitation/connect_url"),
                "bob",
            )
            .await;
        assert!(
            page.form("/consent").is_none() && !page.body.contains("alice"),
            "{}",
            page.h1()
        );
    }
    // One entry for each sign-in, and one for each time the page about it was looked at.
    let created = vault
        .audit()
        .into_iter()
        .find(|entry| entry["action"] == "elicitation_created")
        .unwrap();
    let noted: Vec<Value> = vault
        .audit()
        .into_iter()
        .filter(|entry| entry["action"] == "identity_mismatch")
        .collect();
    assert!(noted.len() >= usize::from(domain::Elicitation::MAX_MISMATCHES));
    assert!(
        noted
            .iter()
            .all(|entry| entry["user"] == created["user"] && entry["other_user"].is_string()),
        "{noted:?}"
    );
    let text = ended(&again(&vault, &first, Value::Null).await, "mismatch");
    assert!(!text.contains("bob"), "who it was is not told: {text}");
    vault.stop().await;
}
