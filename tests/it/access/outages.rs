//! An outage is not a revocation: whatever goes wrong at the provider, a grant ends only by its clear word.

use lab::{LabClient, Misbehaviour, Reply};
use serde_json::json;

use super::header_value;
use crate::support::{Answered, Browser, TestVault};

async fn connected() -> (TestVault, String) {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = header_value(&vault.s1.ensure(&vault.token("alice")).await);
    vault.provider.clear();
    (vault, token)
}

async fn ask(vault: &TestVault) -> Answered {
    vault.s1.ensure(&vault.token("alice")).await
}

fn raw(status: u16, content_type: &str, body: &str) -> Reply {
    let headers = if status == 429 || status == 503 {
        vec![("retry-after".into(), "7".into())]
    } else {
        vec![]
    };
    Reply::Raw {
        status,
        content_type: content_type.into(),
        headers,
        body: body.into(),
    }
}

/// Answers that say nothing about the grant.
fn outages() -> Vec<Reply> {
    vec![
        raw(500, "application/json", r#"{"error":"server_error"}"#),
        raw(500, "application/json", r#"{"error":"invalid_grant"}"#),
        raw(502, "text/html", "<h1>Bad gateway</h1>"),
        raw(503, "text/plain", "later"),
        raw(429, "application/json", r#"{"error":"slow_down"}"#),
        raw(200, "text/html", "<h1>Maintenance: invalid_grant</h1>"),
        raw(200, "application/json", "{}"),
        raw(200, "application/json", r#"{"access_token":"#),
        raw(400, "text/html", "<p>invalid_grant</p>"),
        Reply::Redirect {
            status: 307,
            location: "https://evil.test/token".into(),
        },
        Reply::Huge {
            bytes: 2_000_000,
            declared: true,
        },
        Reply::Huge {
            bytes: 2_000_000,
            declared: false,
        },
        Reply::Cut,
    ]
}

#[actix_web::test]
async fn a_token_with_life_left_is_given_while_the_provider_is_down() {
    let (vault, first) = connected().await;
    // Less than a minute is left: worth refreshing, and still better than nothing.
    vault.clock.move_s(3600 - 50);
    for reply in outages() {
        vault
            .provider
            .misbehave(Misbehaviour::default().reply("/token", None, reply.clone()));
        vault.provider.clear();
        assert_eq!(header_value(&ask(&vault).await), first, "{reply:?}");
        assert_eq!(vault.provider.count("/token"), 1, "{reply:?}: it was asked");
    }
    vault.provider.behave();
    assert_ne!(header_value(&ask(&vault).await), first);
    vault.stop().await;
}

#[actix_web::test]
async fn an_expired_token_waits_for_the_provider_and_the_grant_is_kept() {
    let (vault, first) = connected().await;
    vault.clock.move_s(3601);
    for reply in outages() {
        vault
            .provider
            .misbehave(Misbehaviour::default().reply("/token", None, reply.clone()));
        vault.provider.clear();
        let answer = ask(&vault).await;
        let what = answer.body.to_string();
        assert_eq!(
            (answer.status, answer.text("/status")),
            (200, "provider_down"),
            "{reply:?}: {what}"
        );
        assert!(
            answer.body["retry_after"]
                .as_u64()
                .is_some_and(|seconds| (1..=3600).contains(&seconds)),
            "{what}"
        );
        if let Reply::Raw {
            status: 429 | 503, ..
        } = reply
        {
            assert_eq!(answer.body["retry_after"], 7, "the provider's own word");
        }
        let text = answer.body["payloads"]["tool_result"]["content"][0]["text"]
            .as_str()
            .unwrap();
        assert!(text.contains("Nothing is lost"), "{text}");
        assert!(
            !what.contains("invalid_grant") && !what.contains("evil.test"),
            "no text of the provider: {what}"
        );
        assert!(
            answer.body.get("elicitation").is_none() && answer.body.get("credential").is_none()
        );
        assert_eq!(vault.provider.count("/token"), 1, "{reply:?}");
    }
    vault.provider.behave();
    assert_ne!(
        header_value(&ask(&vault).await),
        first,
        "it is back, and so is the token"
    );
    assert_eq!(vault.audited("refresh_refused", "invalid-grant"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn an_answer_lost_after_rotation_is_survived_where_the_provider_allows() {
    for (grace, after) in [(60, "connected"), (0, "elicit")] {
        let (vault, _) = connected().await;
        vault.clock.move_s(3601);
        let lost = Misbehaviour {
            reuse_grace: grace,
            ..Misbehaviour::default().reply_after_acting("/token", Some(1), Reply::Cut)
        };
        vault.provider.misbehave(lost);
        assert_eq!(
            ask(&vault).await.text("/status"),
            "provider_down",
            "the outcome is not known, so nothing is ended"
        );
        assert_eq!(ask(&vault).await.text("/status"), after, "grace {grace}");
        vault.stop().await;
    }
}

#[actix_web::test]
async fn a_wrong_registration_is_the_operators_and_no_grant_is_lost() {
    let (vault, first) = connected().await;
    vault.clock.move_s(3601);
    let callback = format!("{}/cb/practice", vault.connect);
    vault
        .provider
        .add_client(LabClient::basic("strongroom", "another secret", &callback));
    let answer = ask(&vault).await;
    assert_eq!(answer.text("/status"), "needs_operator", "{}", answer.body);
    assert_eq!(answer.text("/failure_code"), "provider-misconfigured");
    for error in [
        "unauthorized_client",
        "invalid_scope",
        "unsupported_grant_type",
        "invalid_request",
    ] {
        let reply = Reply::OauthError {
            status: 400,
            error: error.into(),
            description: Some("see https://evil.test".into()),
        };
        vault
            .provider
            .misbehave(Misbehaviour::default().reply("/token", None, reply));
        let answer = ask(&vault).await;
        assert_eq!(
            answer.text("/status"),
            "needs_operator",
            "{error}: {}",
            answer.body
        );
        assert!(!answer.body.to_string().contains("evil.test"));
    }
    vault.provider.behave();
    vault.provider.add_client(LabClient::basic(
        "strongroom",
        crate::support::SECRET,
        &callback,
    ));
    assert_ne!(
        header_value(&ask(&vault).await),
        first,
        "set right, it goes on with the old refresh token"
    );
    vault.stop().await;
}

/// C11: tokens that cannot be used are not kept, and the old ones stay.
#[actix_web::test]
async fn an_answer_of_another_kind_is_not_kept() {
    let (vault, first) = connected().await;
    vault.clock.move_s(3600 - 30);
    let odd = [
        ("token_type", json!("mac")),
        ("token_type", json!("DPoP")),
        ("token_type", json!(7)),
        ("access_token", json!("")),
        ("access_token", json!("with a space")),
        ("access_token", json!("line\r\nSet-Cookie: a=b")),
        ("access_token", json!("x".repeat(65 * 1024))),
        ("access_token", json!("t\u{f6}ken")),
        ("access_token", json!(null)),
    ];
    // A new refresh token ends this: see `mended::unkept`.
    for (member, value) in odd {
        let shape = Misbehaviour {
            refresh: lab::RefreshRule::SameToken,
            ..Misbehaviour::default().member("/token", member, value.clone())
        };
        vault.provider.misbehave(shape);
        let answer = ask(&vault).await;
        assert_eq!(header_value(&answer), first, "{member}: {value}");
        assert_eq!(answer.body["grant"]["generation"], 1);
    }
    vault.provider.behave();
    assert_ne!(header_value(&ask(&vault).await), first);
    vault.stop().await;
}

#[actix_web::test]
async fn a_revocation_that_fails_is_told_and_ends_the_grant_here_all_the_same() {
    let replies = [
        raw(500, "text/html", "<h1>no"),
        Reply::Cut,
        Reply::OauthError {
            status: 400,
            error: "unsupported_token_type".into(),
            description: None,
        },
    ];
    for reply in replies {
        let (vault, _) = connected().await;
        let token = vault.token("alice");
        let id = ask(&vault).await.text("/grant/id").to_owned();
        vault
            .provider
            .misbehave(Misbehaviour::default().reply("/revoke", None, reply.clone()));
        let path = format!("/v1/grants/{id}");
        let receipt = vault
            .s1
            .call(
                reqwest::Method::DELETE,
                &path,
                &[("subject-token", &token)],
                None,
            )
            .await;
        assert_eq!(
            (receipt.status, receipt.text("/provider_revocation")),
            (200, "failed"),
            "{reply:?}: {}",
            receipt.body
        );
        assert_eq!(ask(&vault).await.text("/status"), "elicit");
        let records = vault
            .store
            .scan(storage::Table::Records, &[], None, 10)
            .await
            .unwrap();
        assert!(records.is_empty(), "the tokens are destroyed");
        vault.stop().await;
    }
}
