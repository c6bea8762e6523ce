//! AT-100, AT-101 and AT-103: what a subject token says, once its signature is good.

use lab::{JwtEdits, LabClient};
use reqwest::Url;
use serde_json::{Value, json};

use super::world::{R2, R3, World};
use super::{audited_for, grants, problem, without_id};
use crate::encoding::{base64url, claims_of, sha256};
use crate::support::{McpServer, RESOURCE, SECRET, TestVault};

/// Checks that a subject token is refused in the one way, on a call with and on a call without body, and that the audit log
/// has the reason and nothing else was done.
pub(crate) async fn refused(vault: &TestVault, server: &McpServer, token: &str, reason: &str) {
    let commits = vault.store.commit_number();
    let in_body = server.ensure(token).await;
    let in_head = grants(server, token).await;
    for answer in [&in_body, &in_head] {
        assert_eq!(
            (answer.status, problem(answer)),
            (403, "subject-token-invalid"),
            "{reason}: {token}"
        );
        let entries = audited_for(vault, answer);
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(
            (&entries[0]["action"], &entries[0]["outcome"]),
            (&json!("subject_refused"), &json!(reason)),
            "{token}"
        );
        assert_eq!(entries[0]["principal"]["kind"], "server");
        assert!(
            entries[0].get("user").is_none(),
            "nobody is proven: {entries:?}"
        );
    }
    assert_eq!(
        without_id(&in_body),
        without_id(&in_head),
        "one answer whatever was wrong"
    );
    assert_eq!(
        vault.store.commit_number(),
        commits,
        "a refused subject changes nothing"
    );
}

/// Checks that a subject token proves somebody.
pub(crate) async fn accepted(server: &McpServer, token: &str, why: &str) {
    let answer = grants(server, token).await;
    assert_eq!(answer.status, 200, "{why}: {}", answer.body);
}

#[actix_web::test]
async fn at_100_only_the_registered_resource_is_the_audience() {
    let world = World::start().await;
    let vault = &world.vault;
    let with = |aud: Value| vault.token_for("alice", RESOURCE, &JwtEdits::claim("aud", aud));
    let wrong = [
        json!(R2),
        json!([R2]),
        json!([RESOURCE, R2]),
        json!([R2, RESOURCE]),
        json!("https://s1.test/mcp/"),
        json!("https://S1.test/mcp"),
        json!("https://s1.test/MCP"),
        json!("https://s1.test:443/mcp"),
        json!("https://s1.test/mcp/x"),
        json!("https://s1.test"),
        json!("https://s1.test/mcp?x"),
        json!("http://s1.test/mcp"),
        json!(format!("{RESOURCE} {R2}")),
        json!("strongroom"),
        json!(vault.connect),
        json!(""),
        json!([]),
        json!([[RESOURCE]]),
        json!([RESOURCE, 5]),
        json!({ "0": RESOURCE }),
        json!(5),
        json!(true),
        Value::Null,
    ];
    for aud in wrong {
        refused(vault, &vault.s1, &with(aud), "audience").await;
    }
    accepted(&vault.s1, &with(json!(RESOURCE)), "a text").await;
    accepted(&vault.s1, &with(json!([RESOURCE])), "a list of one").await;
    // The issuer of tenant t2 allows several audiences; ours must still be among them.
    accepted(
        &world.s3,
        &with(json!([RESOURCE, R3])),
        "several, by policy",
    )
    .await;
    refused(vault, &world.s3, &with(json!([RESOURCE, R2])), "audience").await;
    refused(vault, &world.s3, &with(json!([RESOURCE, [R3]])), "audience").await;
    // A token for one server is of no use to its neighbour, although both have the same issuer; nor after it was remembered.
    let for_s1 = vault.token("alice");
    accepted(&vault.s1, &for_s1, "its own").await;
    refused(vault, &world.s2, &for_s1, "audience").await;
    refused(vault, &world.s3, &for_s1, "audience").await;
    world.stop().await;
}

/// A real sign-in of `client` at the issuer, as an MCP client does it; gives the token answer.
async fn tokens_of_client(vault: &TestVault, client: (&str, &str, &str), scope: &str) -> Value {
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    vault.issuer.sign_in_silently(Some("alice")).unwrap();
    let verifier = "a-verifier-that-is-long-enough-for-rfc-7636-section-4-1";
    let mut url = Url::parse(&format!("{}/authorize", vault.issuer.base_url())).unwrap();
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", client.0),
        ("redirect_uri", client.2),
        ("scope", scope),
        ("state", "s"),
        ("nonce", "n"),
        ("resource", RESOURCE),
        ("code_challenge", &base64url(&sha256(verifier.as_bytes()))),
        ("code_challenge_method", "S256"),
    ]);
    let answer = http.get(url).send().await.unwrap();
    let back = Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap();
    let code = back
        .query_pairs()
        .find(|(name, _)| name == "code")
        .unwrap_or_else(|| panic!("{back}"))
        .1
        .into_owned();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", client.2),
        ("code_verifier", verifier),
    ];
    let fields: Vec<(String, String)> = fields
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let request = http
        .post(format!("{}/token", vault.issuer.base_url()))
        .basic_auth(client.0, Some(client.1));
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(crate::support::encode(&fields));
    let text = request.send().await.unwrap().text().await.unwrap();
    vault.issuer.sign_in_silently(None).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[actix_web::test]
async fn at_101_an_id_token_is_no_access_token() {
    let world = World::start().await;
    let vault = &world.vault;
    let callback = format!("{}/login/callback/corp", vault.connect);
    vault.issuer.add_client(LabClient::basic(
        "mcp-client",
        "its secret",
        "http://127.0.0.1:9/callback",
    ));
    let clients = [
        ("mcp-client", "its secret", "http://127.0.0.1:9/callback"),
        ("strongroom", SECRET, callback.as_str()),
    ];
    for client in clients {
        let answer = tokens_of_client(vault, client, "openid profile").await;
        let id_token = answer["id_token"].as_str().unwrap();
        refused(vault, &vault.s1, id_token, "not-an-access-token").await;
        // `typ` rewritten, which breaks the signature.
        let claims = id_token.split('.').nth(1).unwrap();
        let header = base64url(br#"{"alg":"ES256","kid":"lab-ec-1","typ":"at+jwt"}"#);
        let rewritten = format!("{header}.{claims}.{}", id_token.rsplit('.').next().unwrap());
        refused(vault, &vault.s1, &rewritten, "signature").await;
        // Control: the access token of the same answer is evidence.
        let access = answer["access_token"].as_str().unwrap();
        assert_eq!(claims_of(access)["client_id"], client.0);
        accepted(&vault.s1, access, client.0).await;
    }
    // An issuer that sets no type: the marks of an ID token tell it, and the audience still has to fit.
    for (header, mark) in [
        (Value::Null, "nonce"),
        (json!("JWT"), "at_hash"),
        (Value::Null, "c_hash"),
        (json!("at+jwt"), "nonce"),
    ] {
        let edits = JwtEdits::claim(mark, "x").and_header("typ", header);
        refused(
            vault,
            &world.s3,
            &vault.token_for("alice", R3, &edits),
            "not-an-access-token",
        )
        .await;
    }
    for typ in [
        Value::Null,
        json!("JWT"),
        json!("at+jwt"),
        json!("application/AT+JWT"),
    ] {
        let edits = JwtEdits::default().and_header("typ", typ.clone());
        accepted(
            &world.s3,
            &vault.token_for("alice", R3, &edits),
            "no type demanded",
        )
        .await;
        let strict = vault.token_for("alice", RESOURCE, &edits);
        if typ
            .as_str()
            .is_some_and(|typ| typ.to_lowercase().ends_with("at+jwt"))
        {
            accepted(&vault.s1, &strict, "the type of RFC 9068").await;
        } else {
            refused(vault, &vault.s1, &strict, "not-an-access-token").await;
        }
    }
    world.stop().await;
}

#[actix_web::test]
async fn at_103_times_are_judged_strictly() {
    let vault = TestVault::start().await;
    let now = i64::try_from(vault.clock.seconds()).unwrap();
    let with = |changes: &[(&str, Value)]| {
        let edits = JwtEdits::claim("iat", now - 200)
            .and_claim("exp", now + 200)
            .and_claim("nbf", now - 200);
        let edits = changes.iter().fold(edits, |edits, (name, value)| {
            edits.and_claim(name, value.clone())
        });
        vault.token_for("alice", RESOURCE, &edits)
    };
    let ten_years = 10 * 365 * 86_400;
    let wrong: Vec<Vec<(&str, Value)>> = vec![
        vec![("exp", json!(now - 60))],
        vec![("exp", json!(now - 61))],
        vec![("exp", json!(now - 31))],
        vec![("nbf", json!(now + 61))],
        vec![("nbf", json!(now + 3600))],
        vec![("iat", json!(now + 61)), ("exp", json!(now + 600))],
        vec![("iat", json!(now - ten_years))],
        vec![
            ("iat", json!(now - ten_years)),
            ("exp", json!(now + ten_years)),
        ],
        vec![("iat", json!(now - 86_431 - 60))],
        vec![("exp", json!(now - 200))],
        vec![("exp", Value::Null)],
        vec![("iat", Value::Null)],
    ];
    for changes in &wrong {
        refused(&vault, &vault.s1, &with(changes), "time").await;
    }
    // A wrong type is an error and never "absent", for the optional `nbf` as well.
    let strange = [
        json!("1796126400"),
        json!(true),
        json!(-1),
        json!(1e30),
        json!([now]),
        json!({}),
        json!(""),
    ];
    for name in ["exp", "iat", "nbf"] {
        for value in &strange {
            refused(&vault, &vault.s1, &with(&[(name, value.clone())]), "time").await;
        }
    }
    let header = r#"{"alg":"ES256","kid":"lab-ec-1","typ":"at+jwt"}"#;
    for exp in ["null", "1e999", "-0.0001", "NaN", "0x10"] {
        let claims = format!(
            r#"{{"iss":"{}","sub":"alice","aud":"{RESOURCE}","iat":{now},"exp":{exp}}}"#,
            vault.issuer.base_url()
        );
        let answer = grants(&vault.s1, &vault.issuer.sign(header, &claims).unwrap()).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (403, "subject-token-invalid"),
            "{exp}"
        );
    }
    let good: Vec<Vec<(&str, Value)>> = vec![
        vec![],
        vec![("exp", json!(now - 1))],
        vec![("exp", json!(f64::from(i32::try_from(now).unwrap()) + 30.5))],
        vec![("nbf", Value::Null)],
        vec![("nbf", json!(now + 1))],
        vec![("iat", json!(now + 1))],
        vec![("exp", json!(now + ten_years))],
        vec![("iat", json!(now - 86_000))],
    ];
    for changes in &good {
        accepted(&vault.s1, &with(changes), &format!("{changes:?}")).await;
    }
    // A remembered token ends with its own end, not with the memory of it.
    let short = with(&[("exp", json!(now + 5))]);
    accepted(&vault.s1, &short, "five seconds to live").await;
    vault.clock.move_s(36);
    refused(&vault, &vault.s1, &short, "time").await;
    // Doubled claims are no JSON that we read, whichever of the two is honest.
    let now = vault.clock.seconds();
    let twice = format!(
        r#"{{"iss":"{}","sub":"alice","sub":"bob","aud":"{RESOURCE}","iat":{now},"exp":{}}}"#,
        vault.issuer.base_url(),
        now + 60
    );
    refused(
        &vault,
        &vault.s1,
        &vault.issuer.sign(header, &twice).unwrap(),
        "malformed",
    )
    .await;
    vault.stop().await;
}
