//! Browser logins.

use super::*;

fn matched(anew_since: Option<Timestamp>) -> LoginAnswer {
    let expectation = domain::LoginExpectation {
        state: b"s",
        expires: after(600),
        issuer: "corp",
        anew_since,
    };
    expectation.matches(b"s", "corp", NOW).unwrap()
}

impl Stage {
    fn id_claims(&self) -> Value {
        let at = NOW.as_seconds();
        json!({
            "iss": self.web.origin, "aud": "our client", "sub": "ann", "nonce": "the nonce",
            "iat": at, "exp": at + 300, "name": "Ann", "preferred_username": "ann@corp.test",
        })
    }

    async fn login(&self, id_token: &str) -> Result<VerifiedLogin, LoginRefused> {
        let answer = json!({ "access_token": "at", "token_type": "Bearer", "expires_in": "300", "id_token": id_token });
        self.web.on("/token", ok(&answer));
        self.finish().await
    }

    async fn finish(&self) -> Result<VerifiedLogin, LoginRefused> {
        self.finish_anew(None).await
    }

    async fn finish_anew(&self, since: Option<Timestamp>) -> Result<VerifiedLogin, LoginRefused> {
        let login = LoginCode {
            code: secret::AuthorizationCode::new("the code".into()),
            nonce: &secret::Nonce::new("the nonce".into()),
            verifier: &secret::PkceVerifier::new("the verifier".into()),
        };
        self.upstream
            .finish_login(&matched(since), &self.issuer, login, NOW)
            .await
    }
}

#[tokio::test]
async fn a_login_ends_with_the_person_of_the_id_token() {
    let stage = stage().await;
    let header = json!({ "alg": "ES256", "kid": "k1" });
    let login = stage
        .login(&stage.key.sign(&header, &stage.id_claims()))
        .await
        .unwrap();
    assert_eq!(
        login.identity().subject.values().collect::<Vec<_>>(),
        ["ann"]
    );
    assert_eq!(login.login(), Some("ann@corp.test"));
    let requests = stage.web.seen("/token");
    assert_eq!(requests.len(), 1);
    for (name, value) in [
        ("grant_type", "authorization_code"),
        ("code", "the code"),
        ("code_verifier", "the verifier"),
        ("redirect_uri", "https://vault.test/login/callback/corp"),
    ] {
        assert_eq!(requests[0].field(name).as_deref(), Some(value));
    }
    // Basic, id and secret form-encoded first (RFC 6749 section 2.3.1); the secret is not in the body.
    let basic = base64::engine::general_purpose::STANDARD;
    let expected = base64::Engine::encode(&basic, "our+client:p%2541%3A%2B%2F%3D+");
    assert!(
        requests[0].head.contains(&format!("Basic {expected}")),
        "{}",
        requests[0].head
    );
    assert_eq!(requests[0].field("client_secret"), None);
}

#[tokio::test]
async fn an_id_token_that_is_not_for_this_login_is_refused() {
    let stage = stage().await;
    let header = json!({ "alg": "ES256", "kid": "k1" });
    let at = NOW.as_seconds();
    for (name, value) in [
        ("nonce", json!("another")),
        ("nonce", Value::Null),
        ("aud", json!("another client")),
        ("aud", json!(["our client", "another"])),
        ("azp", json!("another client")),
        ("iss", json!("https://evil.test")),
        ("exp", json!(at - 1)),
        ("iat", json!(at - 900)),
        ("nbf", json!(at + 900)),
        ("sub", Value::Null),
    ] {
        let mut claims = stage.id_claims();
        claims[name] = value.clone();
        let login = stage.login(&stage.key.sign(&header, &claims)).await;
        assert_eq!(login.err(), Some(LoginRefused::IdToken), "{name} {value}");
    }
    let foreign = SigningKey::new("k1");
    let login = stage
        .login(&foreign.sign(&header, &stage.id_claims()))
        .await;
    assert_eq!(login.err(), Some(LoginRefused::IdToken));
    // Metadata lists `none` and HS256, and the client has a secret; neither helps.
    for alg in ["none", "HS256"] {
        let token = message(&json!({ "alg": alg }), &stage.id_claims());
        let login = stage.login(&format!("{token}.c2ln")).await;
        assert_eq!(login.err(), Some(LoginRefused::IdToken), "{alg}");
    }
}

#[tokio::test]
async fn after_a_demand_to_sign_in_anew_the_id_token_must_say_that_it_happened() {
    let stage = stage().await;
    let header = json!({ "alg": "ES256", "kid": "k1" });
    let at = NOW.as_seconds();
    let since = NOW.minus(std::time::Duration::from_secs(100));
    for (auth_time, demanded, ordinary) in [
        (json!(at), true, true),
        (json!(at - 160), true, true),
        (json!(at - 161), false, true),
        (json!(at - 86_400), false, true),
        (json!(at + 61), false, true),
        (Value::Null, false, true),
    ] {
        let mut claims = stage.id_claims();
        claims["auth_time"] = auth_time.clone();
        let login = stage.login(&stage.key.sign(&header, &claims)).await;
        assert_eq!(login.is_ok(), ordinary, "{auth_time} {login:?}");
        let login = stage.finish_anew(Some(since)).await;
        assert_eq!(login.is_ok(), demanded, "{auth_time} {login:?}");
    }
}

#[tokio::test]
async fn a_failed_code_exchange_says_who_has_to_act() {
    let stage = stage().await;
    for (status, body, expected) in [
        (400, r#"{"error":"invalid_grant"}"#, LoginRefused::Refused),
        (
            401,
            r#"{"error":"invalid_client"}"#,
            LoginRefused::Misconfigured,
        ),
        (502, "<html>", LoginRefused::Unreachable),
        (200, r#"{"access_token":"at"}"#, LoginRefused::IdToken),
    ] {
        stage.web.on("/token", Reply::Full(status, "", body.into()));
        assert_eq!(
            stage.finish().await.err(),
            Some(expected),
            "{status} {body}"
        );
    }
}

#[tokio::test]
async fn the_callback_of_a_login_must_name_the_issuer_where_it_says_it_will() {
    let stage = stage().await;
    let rule = stage
        .upstream
        .issuer_iss_rule(&stage.issuer, NOW)
        .await
        .unwrap();
    assert!(rule.required);
    assert_eq!(rule.issuer, KnownIssuer::Named(stage.issuer.url.clone()));
}

#[tokio::test]
async fn a_login_can_be_driven_from_any_thread() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let stage = stage().await;
    assert!(assert_send(stage.finish()).await.is_err());
    let request = LoginRequest {
        state: "s",
        nonce: &secret::Nonce::new("n".into()),
        code_challenge: "c",
        fresh: false,
    };
    let url = assert_send(stage.upstream.login_url(&stage.issuer, &request, NOW))
        .await
        .unwrap();
    assert!(
        url.as_str()
            .starts_with(&format!("{}/authorize?", stage.web.origin))
    );
}

#[tokio::test]
async fn an_id_token_by_a_key_that_is_new_is_accepted() {
    let stage = stage().await;
    let rule = stage.upstream.issuer_iss_rule(&stage.issuer, NOW).await;
    assert!(rule.is_ok());
    let next = SigningKey::new("k2");
    stage.web.publish_keys(&[&next]);
    let token = next.sign(&json!({ "alg": "ES256", "kid": "k2" }), &stage.id_claims());
    assert!(stage.login(&token).await.is_ok());
}

#[tokio::test]
async fn times_of_an_id_token_are_read_as_those_of_an_access_token() {
    let stage = stage().await;
    let header = json!({ "alg": "ES256", "kid": "k1" });
    let at = f64::from(u32::try_from(NOW.as_seconds()).unwrap());
    let mut claims = stage.id_claims();
    for name in ["iat", "nbf", "auth_time"] {
        claims[name] = json!(at + 0.25);
    }
    claims["exp"] = json!(at + 300.75);
    let token = stage.key.sign(&header, &claims);
    assert!(stage.login(&token).await.is_ok());
    assert!(stage.finish_anew(Some(NOW)).await.is_ok());
    for (name, value) in [
        ("nbf", json!("soon")),
        ("nbf", Value::Null),
        ("iat", json!(-1)),
        ("iat", json!(1e30)),
    ] {
        let mut wrong = claims.clone();
        wrong[name] = value.clone();
        let login = stage.login(&stage.key.sign(&header, &wrong)).await;
        assert_eq!(login.err(), Some(LoginRefused::IdToken), "{name} {value}");
    }
}
