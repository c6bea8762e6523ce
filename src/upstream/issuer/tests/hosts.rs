//! An issuer whose metadata names endpoints on other hosts than its own.

use domain::EndpointHosts;

use super::*;

/// The issuer and a second host that has its keys and its token endpoint, as Google has them.
async fn split() -> (Stage, Scripted) {
    let stage = stage().await;
    let other = Scripted::start().await;
    other.publish_keys(&[&stage.key]);
    let mut metadata = stage.web.metadata();
    metadata["jwks_uri"] = format!("{}/keys", other.origin).into();
    metadata["token_endpoint"] = format!("{}/token", other.origin).into();
    stage
        .web
        .on("/.well-known/openid-configuration", ok(&metadata));
    (stage, other)
}

fn host(web: &Scripted) -> EndpointHosts {
    EndpointHosts::new([web.origin.trim_start_matches("http://")])
}

async fn finish(stage: &Stage) -> Result<VerifiedLogin, LoginRefused> {
    let expectation = domain::LoginExpectation {
        state: b"s",
        expires: after(600),
        issuer: "corp",
        anew_since: None,
    };
    let login = LoginCode {
        code: secret::AuthorizationCode::new("the code".into()),
        nonce: &secret::Nonce::new("the nonce".into()),
        verifier: &secret::PkceVerifier::new("the verifier".into()),
    };
    let answer = expectation.matches(b"s", "corp", NOW).unwrap();
    let issuer = &stage.issuer;
    stage
        .upstream
        .finish_login(&answer, issuer, login, NOW)
        .await
}

async fn login_url(stage: &Stage) -> Result<Url, LoginRefused> {
    let request = LoginRequest {
        state: "s",
        nonce: &secret::Nonce::new("n".into()),
        code_challenge: "c",
        fresh: false,
    };
    stage.upstream.login_url(&stage.issuer, &request, NOW).await
}

#[tokio::test]
async fn keys_and_token_endpoint_on_a_declared_host_serve_logins_and_subject_tokens() {
    let (mut stage, other) = split().await;
    stage.issuer.endpoint_hosts = host(&other);
    assert!(stage.verify(&stage.honest(), NOW).await.is_ok());
    assert!(login_url(&stage).await.is_ok());
    let at = NOW.as_seconds();
    let claims = json!({
        "iss": stage.web.origin, "aud": "our client", "sub": "ann", "nonce": "the nonce", "iat": at, "exp": at + 300,
    });
    let id_token = stage
        .key
        .sign(&json!({ "alg": "ES256", "kid": "k1" }), &claims);
    let answer = json!({ "access_token": "at", "id_token": id_token });
    other.on("/token", ok(&answer));
    assert!(finish(&stage).await.is_ok());
}

#[tokio::test]
async fn a_host_that_nobody_declared_gets_nothing_and_is_not_believed() {
    let (stage, other) = split().await;
    let refused = stage.refusal(&stage.honest()).await;
    assert_eq!(refused, SubjectRefused::KeysUnavailable);
    assert_eq!(login_url(&stage).await, Err(LoginRefused::Misconfigured));
    assert_eq!(
        finish(&stage).await.err(),
        Some(LoginRefused::Misconfigured)
    );
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_foreign_token_endpoint_alone_stops_logins_and_not_subject_tokens() {
    let (stage, other) = split().await;
    let mut metadata = stage.web.metadata();
    metadata["token_endpoint"] = format!("{}/token", other.origin).into();
    stage
        .web
        .on("/.well-known/openid-configuration", ok(&metadata));
    assert!(stage.verify(&stage.honest(), NOW).await.is_ok());
    assert_eq!(login_url(&stage).await, Err(LoginRefused::Misconfigured));
    assert_eq!(
        finish(&stage).await.err(),
        Some(LoginRefused::Misconfigured)
    );
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn what_one_declaration_allows_another_of_the_same_issuer_does_not_get() {
    let (mut stage, other) = split().await;
    stage.issuer.endpoint_hosts = host(&other);
    assert!(stage.verify(&stage.honest(), NOW).await.is_ok());
    stage.issuer.endpoint_hosts = EndpointHosts::default();
    stage.issuer.slug = domain::IssuerSlug::parse("second").unwrap();
    let refused = stage.refusal(&stage.honest()).await;
    assert_eq!(refused, SubjectRefused::KeysUnavailable);
}
