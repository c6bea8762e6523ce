//! AT-097 and AT-098: who signed a subject token, and whose keys count.

use lab::{JwtEdits, LabConfig, Misbehaviour, Signing};
use serde_json::{Value, json};

use super::tokens::refused;
use super::{grants, send};
use crate::encoding::{base64, base64url, from_base64url, hs256};
use crate::support::{RESOURCE, SECRET, Setup, TestVault};

async fn with_rsa() -> TestVault {
    let setup = Setup {
        issuer: Some(Box::new(|config: &mut LabConfig| config.rsa = true)),
        ..Setup::default()
    };
    TestVault::start_with(setup).await
}

/// Header and claims of an honest token, as JSON texts.
fn honest(vault: &TestVault) -> (Value, Value) {
    let token = vault.token("alice");
    let mut parts = token.split('.').map(from_base64url);
    let mut next = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
    (next(), next())
}

#[actix_web::test]
async fn at_097_a_public_key_is_never_an_hmac_secret() {
    let vault = with_rsa().await;
    let (mut header, claims) = honest(&vault);
    let jwks = vault.issuer.jwks().unwrap();
    let (ec, rsa) = (jwks["keys"][0].clone(), jwks["keys"][1].clone());
    let pem = vault.issuer.public_key_pem().unwrap();
    let der: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let der = from_base64url(der.trim_end_matches('='));
    assert!(pem.contains(&base64(&der)[..40]));
    let modulus = from_base64url(rsa["n"].as_str().unwrap());
    let secrets: [&[u8]; 10] = [
        pem.as_bytes(),
        pem.trim_end().as_bytes(),
        &der,
        ec.to_string().as_bytes(),
        ec["x"].as_str().unwrap().as_bytes(),
        rsa.to_string().as_bytes(),
        rsa["n"].as_str().unwrap().as_bytes(),
        &modulus,
        SECRET.as_bytes(),
        b"",
    ]
    .map(|secret| -> &[u8] { Box::leak(secret.to_vec().into_boxed_slice()) });
    for secret in secrets {
        for (alg, kid) in [
            ("HS256", &ec["kid"]),
            ("HS256", &rsa["kid"]),
            ("ES256", &ec["kid"]),
            ("RS256", &rsa["kid"]),
        ] {
            header["alg"] = alg.into();
            header["kid"] = kid.clone();
            refused(
                &vault,
                &vault.s1,
                &hs256(secret, &header.to_string(), &claims.to_string()),
                "signature",
            )
            .await;
        }
    }
    for signing in [
        Signing::HmacOfPublicKey,
        Signing::HmacOfRsaPublicKey,
        Signing::Unsigned,
        Signing::Foreign,
        Signing::Broken,
    ] {
        let token = vault.token_for("alice", RESOURCE, &JwtEdits::default().signed(signing));
        refused(&vault, &vault.s1, &token, "signature").await;
    }
    // Control: both real keys are good.
    for signing in [Signing::Own, Signing::Rsa] {
        let token = vault.token_for("alice", RESOURCE, &JwtEdits::default().signed(signing));
        assert_eq!(grants(&vault.s1, &token).await.status, 200, "{signing:?}");
    }
    vault.stop().await;
}

#[actix_web::test]
async fn at_097_metadata_never_extends_the_list_of_algorithms() {
    let vault = with_rsa().await;
    let (mut header, claims) = honest(&vault);
    let secret = b"a secret that the key set itself hands out";
    let mut keys = vault.issuer.jwks().unwrap()["keys"]
        .as_array()
        .unwrap()
        .clone();
    keys.push(json!({ "kty": "oct", "kid": "shared", "use": "sig", "alg": "HS256", "k": base64url(secret) }));
    let lists = ["HS256", "none", "ES256"];
    let bad = Misbehaviour::default()
        .member(
            "/.well-known/openid-configuration",
            "id_token_signing_alg_values_supported",
            json!(lists),
        )
        .member(
            "/.well-known/oauth-authorization-server",
            "id_token_signing_alg_values_supported",
            json!(lists),
        )
        .member("/jwks", "keys", keys);
    assert_eq!(grants(&vault.s1, &vault.token("alice")).await.status, 200); // the old snapshot
    vault.issuer.misbehave(bad);
    vault.clock.move_s(1200);
    vault.issuer.clear();
    let (_, claims) = {
        drop(claims);
        honest(&vault)
    };
    assert_eq!(grants(&vault.s1, &vault.token("alice")).await.status, 200);
    assert_eq!(vault.issuer.count("/jwks"), 1, "the new metadata was read");
    for kid in ["shared", "lab-ec-1"] {
        header["kid"] = kid.into();
        for alg in ["HS256", "none", "HS512"] {
            header["alg"] = alg.into();
            refused(
                &vault,
                &vault.s1,
                &hs256(secret, &header.to_string(), &claims.to_string()),
                "signature",
            )
            .await;
        }
    }
    vault.stop().await;
}

#[actix_web::test]
async fn at_098_keys_that_a_token_brings_along_are_not_keys() {
    let vault = with_rsa().await;
    assert_eq!(grants(&vault.s1, &vault.token("bob")).await.status, 200); // keys are known from here on
    vault.issuer.clear();
    let outside = vault.provider.base_url();
    let jwks = vault.issuer.jwks().unwrap();
    let urls = [
        format!("{outside}/jwks"),
        "http://169.254.169.254/latest/meta-data".into(),
        "http://127.0.0.1:7603/v1/grants".into(),
        "file:///etc/passwd".into(),
    ];
    let mut headers: Vec<(&str, Value)> = vec![
        ("jwk", jwks["keys"][0].clone()),
        (
            "jwk",
            json!({ "kty": "oct", "k": base64url(b"known to all") }),
        ),
        ("x5c", json!(["MIIBszCCAVmgAwIBAgIUattacker"])),
        ("x5t", json!("1kcuXW6TKtq3Gmcgkbm0bTI3sJc")),
        ("x5t#S256", json!("1kcuXW6TKtq3Gmcgkbm0bTI3sJc")),
    ];
    headers.extend(
        urls.iter()
            .flat_map(|url| [("jku", json!(url)), ("x5u", json!(url))]),
    );
    for (name, value) in &headers {
        for signing in [Signing::Foreign, Signing::ForeignInHeader] {
            let edits = JwtEdits::default()
                .signed(signing)
                .and_header(name, value.clone());
            refused(
                &vault,
                &vault.s1,
                &vault.token_for("alice", RESOURCE, &edits),
                "signature",
            )
            .await;
        }
        // The same header on an honest token is ignored: it is no source of keys, so it changes nothing either.
        let edits = JwtEdits::default().and_header(name, value.clone());
        assert_eq!(
            grants(&vault.s1, &vault.token_for("alice", RESOURCE, &edits))
                .await
                .status,
            200,
            "{name}"
        );
    }
    assert_eq!(
        vault.provider.recorded().len(),
        0,
        "nothing was fetched from the attacker"
    );
    assert_eq!(vault.issuer.count("/jwks"), 0, "a known kid makes no fetch");
    // Unknown key ids make us look once, not once for each of them.
    for number in 0..20 {
        let edits = JwtEdits::default()
            .signed(Signing::Foreign)
            .and_header("kid", format!("unknown-{number}"));
        refused(
            &vault,
            &vault.s1,
            &vault.token_for("alice", RESOURCE, &edits),
            "signature",
        )
        .await;
    }
    assert!(
        vault.issuer.count("/jwks") <= 1,
        "{} fetches",
        vault.issuer.count("/jwks")
    );
    vault.stop().await;
}

#[actix_web::test]
async fn at_097_texts_that_are_no_jwt_are_refused_alike() {
    let vault = TestVault::start().await;
    let good = vault.token("alice");
    let (message, signature) = good.rsplit_once('.').unwrap();
    let mut texts: Vec<String> = [
        "",
        " ",
        "a",
        "a.b",
        "a.b.c",
        "..",
        "a.b.c.d.e",
        "null",
        "Bearer x",
        "%00",
    ]
    .map(String::from)
    .to_vec();
    texts.extend([
        format!("{good}."),
        format!(".{good}"),
        format!("{good}="),
        format!("{good}\n"),
        message.to_owned(),
        format!("{message}."),
        format!("{good}{}", "A".repeat(20_000)),
        format!(
            "{}.{}.{signature}",
            base64url(b"{\"alg\":\"ES256\",\"alg\":\"none\"}"),
            base64url(b"{}")
        ),
        format!(
            "{}.{}.{signature}",
            base64url(b"{\"alg\":\"ES256\",\"crit\":[\"exp\"]}"),
            base64url(b"{}")
        ),
    ]);
    for text in texts {
        let body =
            json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": text });
        let key = format!("Bearer {}", vault.s1.key);
        let headers = [
            ("authorization", key.as_str()),
            ("content-type", "application/json"),
        ];
        let answer = send(
            &vault,
            reqwest::Method::POST,
            "/v1/ensure",
            &headers,
            Some(body.to_string().into_bytes()),
        )
        .await;
        let code = super::problem(&answer);
        let expected = if text.is_empty() {
            (400, "invalid-request")
        } else {
            (403, "subject-token-invalid")
        };
        assert_eq!((answer.status, code), expected, "{text:?}");
        let shown = answer.body.to_string();
        assert!(
            text.len() < 5 || !shown.contains(&text),
            "the token is not repeated"
        );
    }
    vault.stop().await;
}
