//! Refreshes and revocations.

use super::*;

#[tokio::test]
async fn only_a_structured_invalid_grant_in_a_4xx_ends_a_grant() {
    let stage = stage().await;
    let unavailable = RefreshFailure::Unavailable { retry_after: None };
    for (reply, expected) in [
        (
            full(400, r#"{"error":"invalid_grant"}"#),
            RefreshFailure::InvalidGrant,
        ),
        (
            full(401, r#"{"error":"invalid_grant"}"#),
            RefreshFailure::InvalidGrant,
        ),
        (
            full(401, r#"{"error":"invalid_client"}"#),
            RefreshFailure::ClientConfig(code("invalid_client")),
        ),
        (
            full(400, r#"{"error":"invalid_scope"}"#),
            RefreshFailure::ClientConfig(code("invalid_scope")),
        ),
        (
            full(200, r#"{"error":"invalid_grant"}"#),
            RefreshFailure::ClientConfig(code("invalid_grant")),
        ),
        (
            full(500, r#"{"error":"invalid_grant"}"#),
            unavailable.clone(),
        ),
        (
            full(400, r#"{"error":"temporarily_unavailable"}"#),
            unavailable.clone(),
        ),
        (
            full(429, r#"{"error":"invalid_grant"}"#),
            unavailable.clone(),
        ),
        (full(403, "<html>invalid_grant"), unavailable.clone()),
        (full(400, ""), unavailable.clone()),
        (full(302, ""), unavailable.clone()),
        (full(200, "<html>"), RefreshFailure::Unreadable),
        (Reply::Close, RefreshFailure::OutcomeUnknown),
    ] {
        assert_eq!(stage.redeem_after(reply).await, Some(expected));
    }
    let busy = Reply::Full(503, "retry-after: 120\r\n", String::new());
    let expected = RefreshFailure::Unavailable {
        retry_after: Some(Duration::from_secs(120)),
    };
    assert_eq!(stage.redeem_after(busy).await, Some(expected));
}

#[tokio::test]
async fn a_refresh_that_was_never_sent_leaves_the_token_unused() {
    let mut stage = stage().await;
    // Nobody listens on port 1.
    stage.provider = provider("http://127.0.0.1:1/a", "http://127.0.0.1:1/token");
    let unavailable = RefreshFailure::Unavailable { retry_after: None };
    assert_eq!(stage.redeem().await.err(), Some(unavailable));
    stage.provider = provider("https://10.0.0.1/a", "https://10.0.0.1/token");
    assert_eq!(
        stage.redeem().await.err(),
        Some(RefreshFailure::Misconfigured)
    );
}

#[tokio::test]
async fn a_refresh_keeps_what_the_answer_does_not_name() {
    let stage = stage().await;
    stage.web.on(
        "/token",
        ok(&json!({ "access_token": "at2", "expires_in": 60 })),
    );
    let tokens = assert_send(stage.redeem()).await.unwrap();
    assert!(tokens.refresh.is_none());
    assert_eq!(tokens.scopes, scopes(&["read"]));
    let request = &stage.web.seen("/token")[0];
    assert_eq!(
        request.field("grant_type").as_deref(),
        Some("refresh_token")
    );
    assert_eq!(
        request.field("refresh_token").as_deref(),
        Some("the refresh token")
    );
}

#[tokio::test]
async fn a_revocation_says_what_became_of_it() {
    let mut stage = stage().await;
    let refused = |text| RevokeOutcome::Failed(RevokeFailure::Refused(code(text)));
    for (reply, expected) in [
        (full(200, ""), RevokeOutcome::Revoked),
        (full(204, ""), RevokeOutcome::Revoked),
        (full(200, "{}"), RevokeOutcome::Revoked),
        (
            full(400, r#"{"error":"invalid_token"}"#),
            RevokeOutcome::Revoked,
        ),
        (
            full(400, r#"{"error":"unsupported_token_type"}"#),
            refused("unsupported_token_type"),
        ),
        (full(200, r#"{"error":"nope"}"#), refused("nope")),
        (
            full(503, ""),
            RevokeOutcome::Failed(RevokeFailure::Unavailable),
        ),
        (
            Reply::Close,
            RevokeOutcome::Failed(RevokeFailure::Unavailable),
        ),
    ] {
        stage.web.on("/revoke", reply);
        let token = RefreshToken::new("rt".into());
        let outcome = assert_send(stage.upstream.revoke(
            &stage.provider,
            TokenToRevoke::Refresh(&token),
            NOW,
        ))
        .await;
        assert_eq!(outcome, expected);
    }
    let request = &stage.web.seen("/revoke")[0];
    assert_eq!(request.field("token").as_deref(), Some("rt"));
    assert_eq!(
        request.field("token_type_hint").as_deref(),
        Some("refresh_token")
    );
    stage.provider = provider("https://as.test", "https://as.test");
    let token = AccessToken::new("at".into());
    let outcome = stage
        .upstream
        .revoke(&stage.provider, TokenToRevoke::Access(&token), NOW)
        .await;
    assert_eq!(outcome, RevokeOutcome::NoEndpoint);
}
