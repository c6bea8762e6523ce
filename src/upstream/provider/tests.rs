//! Code exchanges, refreshes and revocations against a scripted provider.

use domain::{AccountSource, AnswerRefused, ClientAuth, IssuerUrl};
use serde_json::{Value, json};

use super::*;
use crate::failure::OauthErrorCode;
use crate::testing::{
    NOW, Reply, Scripted, after, oauth, ok, outbound, provider, returned, same_person, upstream,
};

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        NOW
    }
}

struct Stage {
    web: Scripted,
    upstream: Upstream,
    provider: Provider,
}

async fn stage() -> Stage {
    let web = Scripted::start().await;
    let mut provider = provider(web.url("/a").as_str(), web.url("/token").as_str());
    let Endpoints::Pinned { revocation, .. } = &mut oauth(&mut provider).endpoints else {
        unreachable!()
    };
    *revocation = Some(web.url("/revoke"));
    Stage {
        web,
        upstream: upstream(),
        provider,
    }
}

fn scopes(names: &[&'static str]) -> ScopeSet {
    ScopeSet::new(names.iter().copied()).unwrap()
}

fn code(text: &str) -> OauthErrorCode {
    OauthErrorCode::new(text)
}

impl Stage {
    async fn exchange(&self) -> Result<ExchangedTokens, ProviderFailure> {
        self.exchange_all().await.map_err(|unkept| unkept.failure)
    }

    async fn exchange_all(&self) -> Result<ExchangedTokens, Unkept<ProviderFailure>> {
        let code = ProviderCode {
            code: secret::AuthorizationCode::new("the code".into()),
            verifier: &secret::PkceVerifier::new("the verifier".into()),
            asked: &scopes(&["read", "write"]),
        };
        self.upstream
            .exchange(&returned(), &self.provider, code, &Stopped)
            .await
    }

    async fn redeem(&self) -> Result<ExchangedTokens, RefreshFailure> {
        self.redeem_all().await.map_err(|unkept| unkept.failure)
    }

    async fn redeem_all(&self) -> Result<ExchangedTokens, Unkept<RefreshFailure>> {
        let what = Redemption {
            refresh: &RefreshToken::new("the refresh token".into()),
            granted: &scopes(&["read"]),
        };
        let (us, provider) = (&self.upstream, &self.provider);
        let endpoint = us.token_endpoint(provider, NOW).await?;
        us.redeem(provider, &endpoint, what, &Stopped).await
    }

    async fn redeem_after(&self, reply: Reply) -> Option<RefreshFailure> {
        self.web.on("/token", reply);
        self.redeem().await.err()
    }
}

fn full(status: u16, body: &str) -> Reply {
    Reply::Full(status, "", body.into())
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn a_code_becomes_tokens() {
    let mut stage = stage().await;
    oauth(&mut stage.provider)
        .token_extra
        .push(("audience".into(), "api".into()));
    stage.web.on("/token", ok(&json!({
        "access_token": "at", "refresh_token": "rt", "token_type": "bearer", "expires_in": "3600", "scope": "read",
    })));
    let tokens = assert_send(stage.exchange()).await.unwrap();
    assert_eq!(tokens.access.reveal(), "at");
    assert_eq!(
        tokens.refresh.as_ref().map(secret::Reveal::reveal),
        Some("rt")
    );
    assert_eq!(tokens.expires, Some(after(3600)));
    assert_eq!(tokens.scopes, scopes(&["read"]));
    let requests = stage.web.seen("/token");
    for (name, value) in [
        ("grant_type", "authorization_code"),
        ("code", "the code"),
        ("code_verifier", "the verifier"),
        ("redirect_uri", "https://vault.test/cb/git"),
        ("client_id", "our client"),
        ("client_secret", "p%41:+/= "),
        ("audience", "api"),
    ] {
        assert_eq!(requests[0].field(name).as_deref(), Some(value), "{name}");
    }
    let head = requests[0].head.to_ascii_lowercase();
    assert!(head.contains("accept: application/json"));
    assert!(head.contains(concat!(
        "user-agent: strongroom/",
        env!("CARGO_PKG_VERSION")
    )));
    assert!(head.contains("accept-encoding: identity"));
    assert!(!head.contains("authorization:"));
}

#[tokio::test]
async fn a_public_client_sends_its_id_and_no_secret_and_pkce_may_be_off() {
    let mut stage = stage().await;
    oauth(&mut stage.provider).client.auth = ClientAuth::Public;
    oauth(&mut stage.provider).pkce = Pkce::Off;
    stage.web.on("/token", ok(&json!({ "access_token": "at" })));
    assert!(stage.exchange().await.is_ok());
    assert!(stage.redeem().await.is_ok());
    for request in stage.web.seen("/token") {
        assert_eq!(request.field("client_id").as_deref(), Some("our client"));
        assert_eq!(request.field("client_secret"), None);
        assert_eq!(request.field("code_verifier"), None);
        assert_eq!(request.field("scope"), None);
    }
}

#[tokio::test]
async fn answers_are_read_in_many_forms() {
    let stage = stage().await;
    let form = "access_token=at&scope=read%2Cwrite&token_type=bearer&expires_in=60";
    for reply in [
        ok(&json!({ "access_token": "at" })),
        ok(
            &json!({ "access_token": "at", "scope": null, "expires_in": null, "refresh_token": null }),
        ),
        Reply::Full(
            201,
            "content-type: text/plain\r\n",
            r#"{"access_token":"at"}"#.into(),
        ),
        full(
            200,
            "\u{feff}{\"access_token\":\"at\",\"scope\":[\"read\",\"write\"]}",
        ),
        Reply::Full(
            200,
            "content-type: application/x-www-form-urlencoded\r\n",
            form.into(),
        ),
    ] {
        stage.web.on("/token", reply);
        let tokens = stage.exchange().await.unwrap();
        assert_eq!(tokens.access.reveal(), "at");
        assert_eq!(tokens.scopes, scopes(&["read", "write"]));
        assert!(tokens.refresh.is_none());
    }
}

#[tokio::test]
async fn tokens_that_cannot_be_used_are_refused() {
    let stage = stage().await;
    for (field, value, expected) in [
        ("token_type", json!("mac"), AnswerRefused::TokenType),
        ("token_type", json!(["bearer"]), AnswerRefused::TokenType),
        ("access_token", json!("a b"), AnswerRefused::Token),
        ("access_token", json!(""), AnswerRefused::Token),
        ("refresh_token", json!("x\r\ny"), AnswerRefused::Token),
    ] {
        let mut answer = json!({ "access_token": "at" });
        answer[field] = value;
        stage.web.on("/token", ok(&answer));
        assert_eq!(
            stage.exchange().await.err(),
            Some(expected.into()),
            "{answer}"
        );
        assert_eq!(
            stage.redeem().await.err(),
            Some(expected.into()),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_refused_exchange_says_why_and_nothing_of_the_answer() {
    let stage = stage().await;
    for (reply, expected) in [
        (
            full(
                400,
                r#"{"error":"invalid_grant","error_description":"canary"}"#,
            ),
            ProviderFailure::Refused(code("invalid_grant")),
        ),
        (
            full(200, r#"{"error":"bad_verification_code"}"#),
            ProviderFailure::Refused(code("bad_verification_code")),
        ),
        (
            full(400, r#"{"error":"canary canary"}"#),
            ProviderFailure::Refused(code("unnamed")),
        ),
        (
            full(200, r#"{"ok":false,"access_tokens":"canary"}"#),
            ProviderFailure::Unreadable,
        ),
        (
            full(200, r#"{"access_token":{"canary":1}}"#),
            ProviderFailure::Unreadable,
        ),
        (full(200, "<html>canary"), ProviderFailure::Unreadable),
        (full(200, ""), ProviderFailure::Unreadable),
        (full(403, "<html>canary"), ProviderFailure::Unreadable),
        (full(502, "<html>canary"), ProviderFailure::Unreachable),
        (
            full(500, r#"{"error":"invalid_grant"}"#),
            ProviderFailure::Unreachable,
        ),
        (Reply::Close, ProviderFailure::Unreachable),
        (Reply::Endless, ProviderFailure::Unreadable),
    ] {
        stage.web.on("/token", reply);
        let failure = stage.exchange().await.err().unwrap();
        assert_eq!(failure, expected);
        assert!(!format!("{failure:?} {failure}").contains("canary"));
    }
}

#[tokio::test]
async fn redirects_are_not_followed_anywhere() {
    let (mut stage, other) = (stage().await, Scripted::start().await);
    for status in [301, 302, 303, 307, 308] {
        let location: &'static str = format!("location: {}\r\n", other.url("/x")).leak();
        let away = Reply::Full(status, location, String::new());
        for path in [
            "/token",
            "/revoke",
            "/me",
            "/.well-known/oauth-authorization-server",
        ] {
            stage.web.on(path, away.clone());
        }
        assert!(stage.exchange().await.is_err());
        assert!(stage.redeem().await.is_err());
        let token = AccessToken::new("at".into());
        let outcome = stage
            .upstream
            .revoke(&stage.provider, TokenToRevoke::Access(&token), NOW)
            .await;
        assert!(matches!(outcome, RevokeOutcome::Failed(_)));
        let mut discovered = provider("https://as.test", "https://as.test");
        oauth(&mut discovered).endpoints =
            Endpoints::Discovered(IssuerUrl::parse(&stage.web.origin).unwrap());
        assert!(
            stage
                .upstream
                .expected_issuer(&discovered, NOW)
                .await
                .is_err()
        );
        stage.upstream = upstream();
    }
    assert!(other.seen("/x").is_empty());
}

#[tokio::test]
async fn without_leave_loopback_is_not_spoken_to() {
    let mut stage = stage().await;
    stage.upstream = Upstream::new(outbound(false), Url::parse("https://vault.test").unwrap());
    let port = stage.web.url("/").port().unwrap();
    for host in [
        "http://127.0.0.1",
        "https://127.0.0.1",
        "https://localhost",
        "https://[::1]",
        "https://2130706433",
    ] {
        let at = format!("{host}:{port}/token");
        stage.provider = provider(&at, &at);
        assert!(stage.exchange().await.is_err(), "{host}");
    }
    assert!(stage.web.seen("/token").is_empty());
}

#[tokio::test]
async fn the_account_comes_from_the_answer_or_from_an_endpoint() {
    let mut stage = stage().await;
    stage.web.on(
        "/token",
        ok(&json!({ "access_token": "at", "owner": { "id": 7, "login": "ann" } })),
    );
    let (id, name) = ("/owner/id", "/owner/login");
    stage.provider.account = AccountSource::TokenAnswer {
        id: id.into(),
        name: Some(name.into()),
    };
    let account = stage.exchange().await.unwrap().account.unwrap();
    assert_eq!((&*account.id, account.name.as_deref()), ("7", Some("ann")));

    stage.provider.account = AccountSource::Endpoint {
        url: stage.web.url("/me"),
        id: "/id".into(),
        name: None,
    };
    stage.web.on("/me", ok(&json!({ "id": "u1" })));
    let account = stage.exchange().await.unwrap().account.unwrap();
    assert_eq!((&*account.id, account.name), ("u1", None));
    assert!(
        stage.web.seen("/me")[0]
            .head
            .to_ascii_lowercase()
            .contains("authorization: bearer at")
    );
}

#[tokio::test]
async fn discovered_endpoints_come_from_the_issuers_own_metadata() {
    let mut stage = stage().await;
    let issuer = format!("{}/t1", stage.web.origin);
    oauth(&mut stage.provider).endpoints =
        Endpoints::Discovered(IssuerUrl::parse(&issuer).unwrap());
    // The first address belongs to somebody else, the second is not there, the third is right.
    stage.web.on(
        "/.well-known/oauth-authorization-server/t1",
        ok(&stage.web.metadata()),
    );
    let mut metadata = stage.web.metadata();
    metadata["issuer"] = Value::from(issuer.clone());
    stage
        .web
        .on("/t1/.well-known/openid-configuration", ok(&metadata));
    let expected = stage
        .upstream
        .expected_issuer(&stage.provider, NOW)
        .await
        .unwrap();
    let known = KnownIssuer::Named(IssuerUrl::parse(&issuer).unwrap());
    assert_eq!(expected.issuer, known);
    assert!(expected.required);
    let request = AuthorizationRequest {
        state: "s",
        code_challenge: "c",
        scopes: &scopes(&["read"]),
        account_chooser: false,
    };
    let url = stage
        .upstream
        .authorization_url(&same_person(), &stage.provider, &request, NOW)
        .await
        .unwrap();
    assert!(url.as_str().starts_with(&format!(
        "{}/authorize?response_type=code&",
        stage.web.origin
    )));
    stage.web.on("/token", ok(&json!({ "access_token": "at" })));
    assert!(stage.exchange().await.is_ok());
    assert_eq!(
        stage.web.seen("/t1/.well-known/openid-configuration").len(),
        1
    );
}

mod discovery;
mod hosts;
mod refresh;
mod unkept;
