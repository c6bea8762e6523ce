//! How long keys count that cannot be fetched anew.

use super::*;

const DAY: u64 = 24 * 60 * 60;

impl Stage {
    /// A token that is honest at `now`, by the key of the stage.
    fn token_at(&self, now: Timestamp) -> String {
        let mut claims = self.claims();
        claims["iat"] = now.as_seconds().into();
        claims["exp"] = (now.as_seconds() + 60).into();
        self.key.sign(&self.key.header(), &claims)
    }

    async fn verified_at(&self, seconds: u64) -> Option<SubjectRefused> {
        let now = after(seconds);
        self.verify(&self.token_at(now), now).await.err()
    }

    fn go_down(&self) {
        let down = Reply::Full(503, "", String::new());
        self.web
            .on("/.well-known/openid-configuration", down.clone());
        self.web.on("/keys", down);
    }
}

#[tokio::test]
async fn keys_that_cannot_be_fetched_anew_count_for_a_day_and_then_nobody_is_identified() {
    let stage = stage().await;
    assert_eq!(stage.verified_at(0).await, None);
    stage.go_down();
    for seconds in [3600, DAY / 2, DAY - 1] {
        assert_eq!(stage.verified_at(seconds).await, None, "{seconds}");
    }
    for seconds in [DAY, DAY + 1, 365 * DAY] {
        let refused = stage.verified_at(seconds).await;
        assert_eq!(refused, Some(SubjectRefused::KeysUnavailable), "{seconds}");
    }
    let later = after(366 * DAY);
    let rule = stage.upstream.issuer_iss_rule(&stage.issuer, later).await;
    assert_eq!(rule.err(), Some(LoginRefused::Unreachable));
    // It heals by itself.
    stage.web.publish(&[&stage.key]);
    assert_eq!(stage.verified_at(367 * DAY).await, None);
}

#[tokio::test]
async fn keys_fetched_for_an_unknown_key_id_do_not_make_old_metadata_younger() {
    let stage = stage().await;
    assert_eq!(stage.verified_at(0).await, None);
    let down = Reply::Full(503, "", String::new());
    stage.web.on("/.well-known/openid-configuration", down);
    let next = SigningKey::new("k2");
    stage.web.publish_keys(&[&stage.key, &next]);
    let now = after(DAY - 10);
    let mut claims = stage.claims();
    claims["iat"] = now.as_seconds().into();
    claims["exp"] = (now.as_seconds() + 60).into();
    let token = next.sign(&next.header(), &claims);
    assert!(stage.verify(&token, now).await.is_ok());
    let refused = stage.verified_at(DAY).await;
    assert_eq!(refused, Some(SubjectRefused::KeysUnavailable));
}

#[tokio::test]
async fn a_document_that_cannot_be_had_says_nothing_about_the_next_address() {
    let stage = stage().await;
    stage
        .web
        .on("/.well-known/openid-configuration", Reply::Close);
    let metadata = ok(&stage.web.metadata());
    stage
        .web
        .on("/.well-known/oauth-authorization-server", metadata);
    assert_eq!(stage.verified_at(0).await, None);
}
