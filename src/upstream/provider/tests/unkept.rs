//! Tokens that came and cannot be kept are handed on, so that the provider can be told.

use super::*;

#[tokio::test]
async fn a_scope_that_cannot_be_read_leaves_a_refresh_as_granted() {
    let stage = stage().await;
    for scope in [json!(false), json!({}), json!(" "), json!([1])] {
        let answer = json!({ "access_token": "at2", "refresh_token": "rt2", "scope": scope });
        stage.web.on("/token", ok(&answer));
        let tokens = stage.redeem().await.unwrap();
        assert!(tokens.refresh.is_some());
        assert_eq!(tokens.scopes, scopes(&["read"]));
        let first = stage.exchange_all().await.err().unwrap();
        assert_eq!(first.failure, AnswerRefused::Scope.into());
        assert!(first.tokens.unwrap().refresh.is_some());
    }
}

#[tokio::test]
async fn a_refused_answer_hands_on_its_tokens_and_says_whether_the_old_one_was_replaced() {
    let stage = stage().await;
    for (refresh, replaced) in [
        (json!("rt2"), Some("rt2")),
        (json!("the refresh token"), None),
        (json!(null), None),
    ] {
        let answer =
            json!({ "access_token": "at2", "token_type": "mac", "refresh_token": refresh });
        stage.web.on("/token", ok(&answer));
        let unkept = stage.redeem_all().await.err().unwrap();
        assert_eq!(unkept.failure, AnswerRefused::TokenType.into());
        let tokens = unkept.tokens.unwrap();
        assert_eq!(tokens.access.reveal(), "at2");
        let refresh = tokens.refresh.as_ref().map(secret::Reveal::reveal);
        assert_eq!(refresh, replaced);
    }
}

#[tokio::test]
async fn tokens_whose_account_cannot_be_learnt_are_handed_on_to_be_revoked() {
    let mut stage = stage().await;
    stage.web.on(
        "/token",
        ok(&json!({ "access_token": "at", "refresh_token": "rt" })),
    );
    stage.web.on("/me", full(500, ""));
    stage.provider.account = AccountSource::Endpoint {
        url: stage.web.url("/me"),
        id: "/id".into(),
        name: None,
    };
    let unkept = stage.exchange_all().await.err().unwrap();
    assert_eq!(unkept.failure, ProviderFailure::Unreachable);
    let refresh = unkept.tokens.unwrap().refresh.unwrap();
    assert_eq!(refresh.reveal(), "rt");
}
