//! R2 and R5 of the MCP requirements as a table: which payloads an answer may hold, for every revision and capability.

use serde_json::{Value, json};

use super::answers::ANSWERS;
use super::door::Script;
use super::{ask, post};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const OLD: &str = "2025-06-18";

async fn told(answer: usize, mcp: &Value) -> (String, Vec<String>, Value) {
    let script = Script::ensured(ANSWERS[answer].1);
    let mut body = json!({"provider": "acme-files", "scopes": [], "subject_token": "a.b.c"});
    if !mcp.is_null() {
        body["mcp"] = mcp.clone();
    }
    let answer = ask(&script, post(&script, "/v1/ensure", &body.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    let names = answer["payloads"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    (
        answer["recommended"].as_str().unwrap().into(),
        names,
        answer,
    )
}

/// Capability objects, and whether they declare URL mode.
fn capabilities() -> [(Value, bool); 10] {
    [
        (Value::Null, false), // absent
        (json!({}), false),
        (json!({"elicitation": {}}), false),
        (json!({"elicitation": {"form": {}}}), false),
        (json!({"elicitation": {"url": true}}), false),
        (json!({"elicitation": {"url": null}}), false),
        (json!({"elicitation": "url"}), false),
        (json!({"url": {}}), false),
        (json!({"elicitation": {"url": {}}}), true),
        (
            json!({"elicitation": {"form": {}, "url": {}}, "roots": {}}),
            true,
        ),
    ]
}

fn mcp(version: &str, capabilities: &Value) -> Value {
    let mut mcp = json!({"protocol_version": version});
    if !capabilities.is_null() {
        mcp["client_capabilities"] = capabilities.clone();
    }
    mcp
}

#[actix_web::test]
async fn r2_and_r5_a_link_is_offered_only_in_ways_the_client_declared_and_its_revision_knows() {
    for (capabilities, url) in capabilities() {
        for version in [MODERN, LEGACY, OLD, "2027-01-01"] {
            let (recommended, names, answer) = told(1, &mcp(version, &capabilities)).await;
            let (best, legal): (_, &[&str]) = match (version, url) {
                (MODERN, true) => (
                    "input_required_result",
                    &["input_required_result", "tool_result"],
                ),
                (MODERN, false) => ("tool_result", &["missing_capability", "tool_result"]),
                (LEGACY, true) => (
                    "url_elicitation_required",
                    &[
                        "elicitation_create",
                        "tool_result",
                        "url_elicitation_required",
                    ],
                ),
                _ => ("tool_result", &["tool_result"]),
            };
            assert_eq!(names, legal, "{version} {capabilities}");
            assert_eq!(recommended, best, "{version} {capabilities}");
            let text = answer["payloads"].to_string();
            if version == MODERN {
                assert!(
                    !text.contains("elicitationId") && !text.contains("-32042"),
                    "{text}"
                );
            } else {
                assert!(
                    !text.contains("input_required") && !text.contains("-32021"),
                    "{text}"
                );
            }
            assert!(
                !text.contains("\"form\"") && !text.contains("requestedSchema"),
                "{text}"
            );
        }
    }
}

#[actix_web::test]
async fn a_waiting_client_is_told_to_ask_again_later() {
    for (capabilities, url) in capabilities() {
        for version in [MODERN, LEGACY, OLD] {
            let (recommended, names, answer) = told(2, &mcp(version, &capabilities)).await;
            if version == MODERN && url {
                assert_eq!(names, ["input_required_result", "tool_result"]);
                assert_eq!(recommended, "tool_result");
                let again = &answer["payloads"]["input_required_result"];
                assert_eq!(
                    *again,
                    json!({"resultType": "input_required", "requestState": "srs1.fresh"})
                );
            } else {
                assert_eq!(names, ["tool_result"], "{version} {capabilities}");
                assert_eq!(recommended, "tool_result");
            }
        }
    }
    assert_eq!(
        told(2, &Value::Null).await.1,
        ["input_required_result", "tool_result"]
    );
}

#[actix_web::test]
async fn r6_input_is_asked_for_only_where_the_method_allows_it() {
    let with = |method: &str| json!({"protocol_version": MODERN, "client_capabilities": {"elicitation": {"url": {}}}, "method": method});
    for method in ["tools/call", "prompts/get", "resources/read"] {
        assert_eq!(told(1, &with(method)).await.0, "input_required_result");
    }
    for method in ["tools/list", "completion/complete", "Tools/Call"] {
        assert_eq!(told(1, &with(method)).await.1, ["tool_result"], "{method}");
    }
}

#[actix_web::test]
async fn a_call_that_names_no_revision_still_keeps_to_what_the_client_declared() {
    let declared = json!({"client_capabilities": {"elicitation": {"url": {}}}});
    let (recommended, names, _) = told(1, &declared).await;
    assert_eq!(
        names,
        [
            "elicitation_create",
            "input_required_result",
            "tool_result",
            "url_elicitation_required"
        ]
    );
    assert_eq!(recommended, "tool_result");
    let silent = json!({"client_capabilities": {}});
    assert_eq!(
        told(1, &silent).await.1,
        ["missing_capability", "tool_result"]
    );
    assert_eq!(told(1, &json!({})).await.1.len(), 5);
}
