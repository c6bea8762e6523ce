//! A discovered provider whose metadata moves its endpoints (AT-037).

use domain::EndpointHosts;

use super::*;

const DAY: u64 = 24 * 60 * 60;

/// A discovered provider and a host that it may move to.
async fn discovered() -> (Stage, Scripted) {
    let mut stage = stage().await;
    let issuer = IssuerUrl::parse(&stage.web.origin).unwrap();
    oauth(&mut stage.provider).endpoints = Endpoints::Discovered(issuer);
    let metadata = stage.web.metadata();
    stage
        .web
        .on("/.well-known/oauth-authorization-server", ok(&metadata));
    let other = Scripted::start().await;
    for web in [&stage.web, &other] {
        web.on("/token", ok(&json!({ "access_token": "at" })));
        web.on("/revoke", full(200, ""));
    }
    (stage, other)
}

fn moves(stage: &Stage, other: &Scripted) {
    let mut metadata = stage.web.metadata();
    for (name, path) in [
        ("token_endpoint", "/token"),
        ("revocation_endpoint", "/revoke"),
    ] {
        metadata[name] = format!("{}{path}", other.origin).into();
    }
    stage
        .web
        .on("/.well-known/oauth-authorization-server", ok(&metadata));
}

struct At(Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

impl Stage {
    async fn redeem_at(&self, now: Timestamp) -> Option<RefreshFailure> {
        let refresh = RefreshToken::new("the refresh token".into());
        let granted = scopes(&["read"]);
        let endpoint = match self.upstream.token_endpoint(&self.provider, now).await {
            Ok(endpoint) => endpoint,
            Err(failure) => return Some(failure),
        };
        let what = Redemption {
            refresh: &refresh,
            granted: &granted,
        };
        self.upstream
            .redeem(&self.provider, &endpoint, what, &At(now))
            .await
            .err()
            .map(|unkept| unkept.failure)
    }

    async fn revoke_at(&self, now: Timestamp) -> RevokeOutcome {
        let token = AccessToken::new("at".into());
        self.upstream
            .revoke(&self.provider, TokenToRevoke::Access(&token), now)
            .await
    }
}

#[tokio::test]
async fn endpoints_that_move_to_another_host_get_nothing_until_the_operator_declares_it() {
    let (mut stage, other) = discovered().await;
    assert_eq!(stage.redeem_at(NOW).await, None);
    moves(&stage, &other);
    let later = after(601);
    let refused = stage.redeem_at(later).await;
    assert_eq!(refused, Some(RefreshFailure::Misconfigured));
    assert_eq!(
        stage.revoke_at(later).await,
        RevokeOutcome::Failed(RevokeFailure::Misconfigured)
    );
    let request = AuthorizationRequest {
        state: "s",
        code_challenge: "c",
        scopes: &scopes(&["read"]),
        account_chooser: false,
    };
    let url = stage
        .upstream
        .authorization_url(&same_person(), &stage.provider, &request, later)
        .await;
    assert_eq!(url, Err(ProviderFailure::Misconfigured));
    assert_eq!(other.connections(), 0);
    assert_eq!(stage.web.seen("/token").len(), 1, "nor to the old host");

    let host = other.origin.trim_start_matches("http://");
    oauth(&mut stage.provider).endpoint_hosts = EndpointHosts::new([host]);
    assert_eq!(stage.redeem_at(later).await, None);
    assert_eq!(stage.revoke_at(later).await, RevokeOutcome::Revoked);
    assert_eq!(other.seen("/token").len(), 1);
}

#[tokio::test]
async fn endpoints_whose_document_cannot_be_had_serve_for_a_week() {
    let (stage, _) = discovered().await;
    assert_eq!(stage.redeem_at(NOW).await, None);
    stage
        .web
        .on("/.well-known/oauth-authorization-server", full(503, ""));
    assert_eq!(stage.redeem_at(after(7 * DAY - 1)).await, None);
    assert_eq!(
        stage.redeem_at(after(7 * DAY)).await,
        Some(RefreshFailure::Unavailable { retry_after: None })
    );
    assert_eq!(stage.web.seen("/token").len(), 2);
}
