//! Answers of `ensure` and of the calls that look at one thing, to the letter.

use std::time::Duration;

use actix_web::http::Method;
use actors::doors::{Ensured, Refusal};
use domain::{ElicitationState, FailureCode};
use serde_json::{Value, json};

use super::door::{Script, credential, grant, link, view};
use super::heads::address;
use super::{about, ask, post};

const BODY: &str = r#"{"provider":"acme-files","scopes":["files.read"],"subject_token":"a.b.c"}"#;

/// What `ensure` answers when the door says so.
pub(crate) async fn ensured(answer: Given) -> Value {
    let script = Script::ensured(answer);
    let answer = ask(&script, post(&script, "/v1/ensure", BODY)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// An answer of the door to `ensure`.
type Given = fn() -> Result<Ensured, Refusal>;

/// Every kind of answer that `ensure` can give, and its status.
pub(crate) const ANSWERS: [(&str, Given); 13] = [
    ("connected", || {
        Ok(Ensured::Connected {
            credential: credential(),
            grant: grant(),
        })
    }),
    ("elicit", || Ok(Ensured::Elicit(link()))),
    ("waiting", || {
        Ok(Ensured::Waiting {
            view: view(ElicitationState::Consented),
            request_state: "srs1.fresh".into(),
        })
    }),
    ("declined", || {
        Ok(Ensured::Ended(view(ElicitationState::Declined)))
    }),
    ("cancelled", || {
        Ok(Ensured::Ended(view(ElicitationState::Cancelled)))
    }),
    ("expired", || {
        Ok(Ensured::Ended(view(ElicitationState::Expired)))
    }),
    ("mismatch", || {
        let mut view = view(ElicitationState::Cancelled);
        view.mismatched = true;
        Ok(Ensured::Ended(view))
    }),
    ("mismatch", || Ok(failed(FailureCode::WrongBrowser))),
    ("needs_operator", || {
        Ok(failed(FailureCode::ProviderMisconfigured))
    }),
    ("declined", || Ok(failed(FailureCode::ProviderRefused))),
    ("provider_down", || {
        Ok(failed(FailureCode::ProviderUnreachable))
    }),
    ("provider_down", || {
        Ok(Ensured::ProviderDown {
            retry_after: Duration::from_secs(30),
        })
    }),
    ("needs_operator", || {
        Ok(Ensured::NeedsOperator {
            code: FailureCode::ProviderMisconfigured,
        })
    }),
];

fn failed(code: FailureCode) -> Ensured {
    Ensured::Ended(view(ElicitationState::Failed { code }))
}

#[actix_web::test]
async fn every_answer_of_ensure_says_its_status_and_what_to_do() {
    for (status, answer) in ANSWERS {
        let answer = ensured(answer).await;
        assert_eq!(answer["status"], status);
        if status != "connected" {
            let text = &answer["payloads"]["tool_result"]["content"][0]["text"];
            assert!(
                text.as_str().is_some_and(|text| text.len() > 40),
                "{answer}"
            );
        }
        if !["connected", "elicit", "waiting"].contains(&status) {
            assert_eq!(answer["recommended"], "tool_result");
            assert_eq!(
                answer["payloads"].as_object().map(serde_json::Map::len),
                Some(1)
            );
        }
    }
}

#[actix_web::test]
async fn a_credential_says_how_to_use_it() {
    let (_, connected) = ANSWERS[0];
    assert_eq!(
        ensured(connected).await,
        json!({
            "status": "connected",
            "credential": {
                "header": {"name": "Authorization", "value": "Bearer canary\"\\token"},
                "expires_at": null, "scopes": ["files.read"], "allowed_hosts": ["api.acme.test"],
            },
            "grant": {
                "id": format!("gr_{}", "02".repeat(16)), "provider": "acme-files", "account": "default",
                "status": "active", "scopes": ["files.read"], "created_at": "1970-01-01T00:16:40Z",
                "access_expires_at": "1970-01-01T01:16:40Z", "generation": 1,
            },
        })
    );
}

#[actix_web::test]
async fn a_link_comes_with_every_payload_when_the_call_says_nothing_about_mcp() {
    let (id, url) = (
        format!("el_{}", "01".repeat(16)),
        "https://connect.vault.test/c/ticket",
    );
    let message = "Connect your Acme Files account to continue.";
    let (_, elicit) = ANSWERS[1];
    assert_eq!(
        ensured(elicit).await,
        json!({
            "status": "elicit",
            "elicitation": {
                "id": id, "provider": "acme-files", "account": "default", "scopes": ["files.read"], "state": "issued",
                "connect_url": url, "created_at": "1970-01-01T00:16:40Z", "expires_at": "1970-01-01T00:31:40Z",
            },
            "request_state": "srs1.sealed",
            "recommended": "tool_result",
            "payloads": {
                "input_required_result": {
                    "resultType": "input_required",
                    "inputRequests": {"connect:acme-files": {
                        "method": "elicitation/create", "params": {"mode": "url", "url": url, "message": message},
                    }},
                    "requestState": "srs1.sealed",
                },
                "url_elicitation_required": {
                    "code": -32042, "message": message,
                    "data": {"elicitations": [{"mode": "url", "elicitationId": id, "url": url, "message": message}]},
                },
                "elicitation_create": {"mode": "url", "elicitationId": id, "url": url, "message": message},
                "tool_result": {
                    "content": [{"type": "text", "text": format!("{message} Open {url} in your browser, then ask again.")}],
                    "isError": true,
                },
                "missing_capability": {
                    "code": -32021,
                    "message": "Connecting your Acme Files account needs URL-mode elicitation, which this client does not declare.",
                    "data": {"requiredCapabilities": {"elicitation": {"url": {}}}},
                },
            },
        })
    );
}

#[actix_web::test]
async fn an_elicitation_shows_what_came_of_it_and_never_its_link() {
    let script = Script::new();
    let id = address("/v1/elicitations/{id}");
    let got = ask(&script, about(&script, Method::GET, &id)).await.json();
    assert_eq!(got["state"], "completed");
    assert_eq!(got["grant_id"], format!("gr_{}", "02".repeat(16)));
    assert_eq!(got.get("connect_url"), None);
    let body = r#"{"request_state":"srs1.x","subject_token":"a.b.c"}"#;
    let resolved = ask(&script, post(&script, "/v1/elicitations/resolve", body))
        .await
        .json();
    assert_eq!(resolved["failure_code"], "provider-refused");
}

#[actix_web::test]
async fn ending_a_grant_answers_with_a_receipt() {
    let script = Script::new();
    let id = address("/v1/grants/{id}");
    let receipt = ask(&script, about(&script, Method::DELETE, &id))
        .await
        .json();
    assert_eq!(receipt["provider_revocation"], "no_endpoint");
    assert_eq!(receipt["ended_at"], "1970-01-01T00:33:20Z");
    assert!(
        receipt["detail"]
            .as_str()
            .unwrap()
            .contains("account settings")
    );
}
