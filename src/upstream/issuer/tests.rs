//! Subject tokens and browser logins against a scripted issuer.

use serde_json::{Value, json};

use super::*;
use crate::testing::{
    NOW, Reply, Scripted, SigningKey, after, issuer, message, ok, server, upstream,
};

struct Stage {
    web: Scripted,
    key: SigningKey,
    upstream: Upstream,
    issuer: Issuer,
}

async fn stage() -> Stage {
    let web = Scripted::start().await;
    let key = SigningKey::new("k1");
    web.publish(&[&key]);
    let issuer = issuer(&web.origin);
    Stage {
        web,
        key,
        upstream: upstream(),
        issuer,
    }
}

impl Stage {
    fn claims(&self) -> Value {
        let at = NOW.as_seconds();
        json!({
            "iss": self.web.origin, "aud": "https://notes.test/mcp", "sub": "ann", "client_id": "desk",
            "iat": at - 10, "exp": at + 600, "jti": "1",
        })
    }

    fn honest(&self) -> String {
        self.key.sign(&self.key.header(), &self.claims())
    }

    async fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedSubject, SubjectRefused> {
        let token = SubjectToken::new(token.to_owned());
        self.upstream
            .verify_subject(&token, &server(), &self.issuer, now)
            .await
    }

    async fn refusal(&self, token: &str) -> SubjectRefused {
        self.verify(token, NOW).await.expect_err("must be refused")
    }
}

#[tokio::test]
async fn an_honest_token_names_its_person_and_client() {
    let stage = stage().await;
    let subject = stage.verify(&stage.honest(), NOW).await.unwrap();
    assert_eq!(
        subject.identity().subject.values().collect::<Vec<_>>(),
        ["ann"]
    );
    assert_eq!(
        *subject.client(),
        domain::McpClient::Verified("desk".into())
    );
}

#[tokio::test]
async fn no_token_is_verified_by_anything_but_the_issuers_key_and_our_algorithms() {
    let stage = stage().await;
    let (key, claims) = (&stage.key, stage.claims());
    let foreign = SigningKey::new("k1");
    let with = |name: &str, value: Value| {
        let mut header = key.header();
        header[name] = value;
        header
    };
    let public = serde_json::to_string(&key.jwk()).unwrap();
    let hmac = jsonwebtoken::crypto::sign(
        message(&with("alg", "HS256".into()), &claims).as_bytes(),
        &jsonwebtoken::EncodingKey::from_secret(public.as_bytes()).unwrap(),
        jsonwebtoken::Algorithm::HS256,
    )
    .unwrap();
    for token in [
        foreign.sign(&foreign.header(), &claims),
        foreign.sign(&with("jwk", foreign.jwk()), &claims),
        foreign.sign(
            &with("jku", format!("{}/keys2", stage.web.origin).into()),
            &claims,
        ),
        format!("{}.{hmac}", message(&with("alg", "HS256".into()), &claims)),
        format!("{}.", message(&with("alg", "none".into()), &claims)),
        key.sign(&with("alg", "ES384".into()), &claims),
        key.sign(&with("alg", "RS256".into()), &claims),
        format!("{}.", message(&key.header(), &claims)),
        key.sign(&with("kid", "k2".into()), &claims),
    ] {
        assert_eq!(
            stage.refusal(&token).await,
            SubjectRefused::Signature,
            "{token}"
        );
    }
    assert!(stage.web.seen("/keys2").is_empty());
    let critical = key.sign(&with("crit", json!(["exp"])), &claims);
    assert_eq!(stage.refusal(&critical).await, SubjectRefused::Malformed);
}

#[tokio::test]
async fn an_honest_key_counts_only_with_an_algorithm_accepted_from_this_issuer() {
    let mut stage = stage().await;
    stage.issuer.algorithms = vec![SignatureAlgorithm::Rs256, SignatureAlgorithm::EdDsa];
    assert_eq!(
        stage.refusal(&stage.honest()).await,
        SubjectRefused::Signature
    );
    assert!(
        stage.web.seen("/keys").is_empty(),
        "nothing is fetched for it"
    );
}

#[tokio::test]
async fn a_good_signature_is_not_enough() {
    let stage = stage().await;
    let mut claims = stage.claims();
    claims["aud"] = "https://other.test".into();
    let token = stage.key.sign(&stage.key.header(), &claims);
    assert_eq!(stage.refusal(&token).await, SubjectRefused::Audience);
    let header = json!({ "alg": "ES256", "typ": "JWT", "kid": "k1" });
    let token = stage.key.sign(&header, &stage.claims());
    assert_eq!(
        stage.refusal(&token).await,
        SubjectRefused::NotAnAccessToken
    );
}

#[tokio::test]
async fn a_token_without_kid_is_verified_by_the_only_key_that_fits() {
    let stage = stage().await;
    let token = stage
        .key
        .sign(&json!({ "alg": "ES256", "typ": "at+jwt" }), &stage.claims());
    assert!(stage.verify(&token, NOW).await.is_ok());
}

#[tokio::test]
async fn made_up_key_ids_cannot_make_us_fetch_at_will() {
    let stage = stage().await;
    for number in 0..20 {
        let mut header = stage.key.header();
        header["kid"] = format!("made-up-{number}").into();
        let token = stage.key.sign(&header, &stage.claims());
        assert_eq!(stage.refusal(&token).await, SubjectRefused::Signature);
    }
    assert_eq!(
        stage.web.seen("/keys").len(),
        2,
        "the first fetch and one for a miss"
    );
    let next = SigningKey::new("k2");
    stage.web.publish_keys(&[&stage.key, &next]);
    let token = next.sign(&next.header(), &stage.claims());
    assert!(stage.verify(&token, after(29)).await.is_err());
    assert!(stage.verify(&token, after(30)).await.is_ok());
    assert_eq!(stage.web.seen("/keys").len(), 3);
    assert_eq!(stage.web.seen("/.well-known/openid-configuration").len(), 1);
}

#[tokio::test]
async fn many_first_callers_cause_one_fetch() {
    let stage = stage().await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..16 {
        let mut claims = stage.claims();
        claims["jti"] = number.into();
        let token = SubjectToken::new(stage.key.sign(&stage.key.header(), &claims));
        let (upstream, issuer) = (stage.upstream.clone(), issuer(&stage.web.origin));
        calls.spawn(async move {
            upstream
                .verify_subject(&token, &server(), &issuer, NOW)
                .await
                .is_ok()
        });
    }
    assert!(calls.join_all().await.into_iter().all(|good| good));
    assert_eq!(stage.web.seen("/keys").len(), 1);
}

#[tokio::test]
async fn an_old_snapshot_serves_while_the_issuer_is_down() {
    let stage = stage().await;
    assert!(stage.verify(&stage.honest(), NOW).await.is_ok());
    stage.web.on(
        "/.well-known/openid-configuration",
        Reply::Full(503, "", String::new()),
    );
    stage.web.on("/keys", Reply::Close);
    for later in [599, 600, 601, 602] {
        let mut claims = stage.claims();
        claims["exp"] = (after(later).as_seconds() + 60).into();
        let token = stage.key.sign(&stage.key.header(), &claims);
        assert!(stage.verify(&token, after(later)).await.is_ok(), "{later}");
    }
    // One refetch when the snapshot became old, which found nothing; then a pause.
    assert_eq!(stage.web.seen("/.well-known/openid-configuration").len(), 2);
}

#[tokio::test]
async fn without_keys_nothing_is_verified_and_it_recovers() {
    let stage = stage().await;
    stage.web.on("/keys", Reply::Full(500, "", String::new()));
    assert_eq!(
        stage.refusal(&stage.honest()).await,
        SubjectRefused::KeysUnavailable
    );
    stage.web.publish(&[&stage.key]);
    assert_eq!(
        stage.refusal(&stage.honest()).await,
        SubjectRefused::KeysUnavailable
    );
    assert!(stage.verify(&stage.honest(), after(2)).await.is_ok());
}

#[tokio::test]
async fn metadata_of_another_issuer_or_with_foreign_keys_is_not_believed() {
    for (name, value) in [
        ("issuer", json!("http://127.0.0.1:1")),
        ("issuer", json!("$origin/")),
        ("issuer", Value::Null),
        ("jwks_uri", json!("http://127.0.0.2:1/keys")),
        ("jwks_uri", json!("https://keys.test/keys")),
        ("jwks_uri", json!("http://10.0.0.1/keys")),
        ("token_endpoint", json!("http://as.test/token")),
        ("jwks_uri", Value::Null),
    ] {
        let stage = stage().await;
        let mut metadata = stage.web.metadata();
        metadata[name] = match &value {
            Value::String(text) => text.replace("$origin", &stage.web.origin).into(),
            other => other.clone(),
        };
        stage
            .web
            .on("/.well-known/openid-configuration", ok(&metadata));
        let refusal = stage.refusal(&stage.honest()).await;
        assert_eq!(refusal, SubjectRefused::KeysUnavailable, "{name} {value}");
        let request = LoginRequest {
            state: "s",
            nonce: &secret::Nonce::new("n".into()),
            code_challenge: "c",
            fresh: false,
        };
        let login = stage.upstream.login_url(&stage.issuer, &request, NOW).await;
        assert_eq!(login, Err(LoginRefused::Misconfigured), "{name} {value}");
    }
}

#[tokio::test]
async fn a_verified_token_is_remembered_for_a_minute_and_never_past_its_end() {
    let stage = stage().await;
    let token = stage.honest();
    assert!(stage.verify(&token, NOW).await.is_ok());
    // Without the memory, a key that is gone would be noticed.
    let other = SigningKey::new("k9");
    stage.web.publish(&[&other]);
    let unknown = other.sign(&other.header(), &stage.claims());
    assert!(stage.verify(&unknown, NOW).await.is_ok());
    assert!(stage.verify(&token, after(59)).await.is_ok());
    assert!(stage.verify(&token, after(60)).await.is_err());
    let mut claims = stage.claims();
    claims["exp"] = (NOW.as_seconds() + 5).into();
    let short = other.sign(&other.header(), &claims);
    assert!(stage.verify(&short, NOW).await.is_ok());
    assert_eq!(
        stage.verify(&short, after(40)).await.err(),
        Some(SubjectRefused::Time)
    );
    // Another server's token is judged again, whatever is remembered.
    let mut elsewhere = server();
    elsewhere.slug = domain::ServerSlug::parse("other").unwrap();
    elsewhere.resource = "https://other.test".into();
    let token = SubjectToken::new(short);
    let refused = stage
        .upstream
        .verify_subject(&token, &elsewhere, &stage.issuer, NOW)
        .await;
    assert_eq!(refused.err(), Some(SubjectRefused::Audience));
}

mod hosts;
mod login;
mod stale;
