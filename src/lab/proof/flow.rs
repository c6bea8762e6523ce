//! Good flows, and the refusals of a well-behaved server.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde_json::{Value, json};

use super::{Bench, CALLBACK, authorize, claims, part, redemption, refreshing, text, value};
use crate::{ConsentRule, JwtEdits, LabClient, LabConfig, LabError};

type Form<'a> = &'a [(&'a str, &'a str)];

fn verify(lab: &crate::Lab, token: &str, audience: &str) -> Value {
    let set: JwkSet = serde_json::from_value(lab.jwks().expect("key set")).expect("JWK set");
    let key = DecodingKey::from_jwk(&set.keys[0]).expect("key");
    let mut rules = Validation::new(Algorithm::ES256);
    rules.set_audience(&[audience]);
    rules.set_issuer(&[lab.base_url()]);
    decode::<Value>(token, &key, &rules)
        .expect("a good token")
        .claims
}

#[actix_web::test]
async fn pages_login_consent_and_callback() {
    let bench = Bench::issuer();
    let login = bench.get(&authorize(&[]), &[]).await;
    assert!(login.is_login_page() && login.text().contains("not a real login"));
    let transaction = login.transaction();
    let form = [("transaction", transaction.as_str()), ("account", "alice")];
    let consent = bench.post("/authorize/account", &form, &[]).await;
    assert!(consent.is_consent_page());
    let cookie = consent
        .header("set-cookie")
        .expect("a cookie")
        .split(';')
        .next()
        .expect("pair");
    let form = [("transaction", transaction.as_str()), ("consent", "yes")];
    let back = bench
        .post("/authorize/consent", &form, &[("cookie", cookie)])
        .await;
    assert_eq!(back.status, 303);
    let params = back.location();
    assert!(value(&params, "code").is_some());
    assert_eq!(value(&params, "state").as_deref(), Some("st"));
    assert_eq!(value(&params, "iss").as_deref(), Some(bench.lab.base_url()));
    let replay = bench
        .post("/authorize/consent", &form, &[("cookie", cookie)])
        .await;
    assert_eq!(replay.status, 400);

    // The browser is remembered, unless the client asks for the login page.
    assert!(
        bench
            .get(&authorize(&[]), &[("cookie", cookie)])
            .await
            .is_consent_page()
    );
    for prompt in ["login", "select_account"] {
        let page = bench
            .get(&authorize(&[("prompt", prompt)]), &[("cookie", cookie)])
            .await;
        assert!(page.is_login_page());
    }
    bench.pass(100);
    assert!(
        bench
            .get(&authorize(&[("max_age", "99")]), &[("cookie", cookie)])
            .await
            .is_login_page()
    );
    bench.get("/logout", &[("cookie", cookie)]).await;
    assert!(
        bench
            .get(&authorize(&[]), &[("cookie", cookie)])
            .await
            .is_login_page()
    );
    bench.lab.stop().await;
}

#[actix_web::test]
async fn pages_no_and_other_account() {
    let bench = Bench::provider();
    let transaction = bench.get(&authorize(&[]), &[]).await.transaction();
    let wrong = [("transaction", transaction.as_str()), ("account", "nobody")];
    assert_eq!(
        bench.post("/authorize/account", &wrong, &[]).await.status,
        400
    );
    let form = [
        ("transaction", transaction.as_str()),
        ("account", "bob-at-practice"),
    ];
    assert!(
        bench
            .post("/authorize/account", &form, &[])
            .await
            .is_consent_page()
    );
    let other = [("transaction", transaction.as_str()), ("consent", "other")];
    assert!(
        bench
            .post("/authorize/consent", &other, &[])
            .await
            .is_login_page()
    );
    bench.post("/authorize/account", &form, &[]).await;
    let no = [("transaction", transaction.as_str()), ("consent", "no")];
    let params = bench.post("/authorize/consent", &no, &[]).await.location();
    assert_eq!(value(&params, "error").as_deref(), Some("access_denied"));
    assert!(value(&params, "code").is_none() && value(&params, "iss").is_some());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn silent_prompt_and_consent_once() {
    let mut config = LabConfig::issuer();
    config.consent = ConsentRule::Once;
    let bench = Bench::new(config);
    let none = authorize(&[("prompt", "none")]);
    let params = bench.get(&none, &[]).await.location();
    assert_eq!(value(&params, "error").as_deref(), Some("login_required"));
    let transaction = bench.get(&authorize(&[]), &[]).await.transaction();
    let form = [("transaction", transaction.as_str()), ("account", "alice")];
    let page = bench.post("/authorize/account", &form, &[]).await;
    let cookie = page
        .header("set-cookie")
        .expect("a cookie")
        .split(';')
        .next()
        .expect("pair");
    let params = bench.get(&none, &[("cookie", cookie)]).await.location();
    assert_eq!(value(&params, "error").as_deref(), Some("consent_required"));
    let form = [("transaction", transaction.as_str()), ("consent", "yes")];
    bench
        .post("/authorize/consent", &form, &[("cookie", cookie)])
        .await;
    let params = bench.get(&none, &[("cookie", cookie)]).await.location();
    assert!(value(&params, "code").is_some());
    let asked = authorize(&[("prompt", "consent")]);
    assert!(
        bench
            .get(&asked, &[("cookie", cookie)])
            .await
            .is_consent_page()
    );
    bench.lab.stop().await;
}

#[actix_web::test]
async fn issuer_tokens_verify_and_rotate_and_reuse_ends_the_grant() {
    let bench = Bench::issuer();
    let more = [
        ("nonce", "n-1"),
        ("scope", "openid mcp"),
        ("resource", "https://mcp.example/a"),
    ];
    let first = bench.tokens("alice", &more).await;
    let id = verify(&bench.lab, text(&first, "id_token"), "app");
    assert_eq!(
        (text(&id, "nonce"), text(&id, "sub"), text(&id, "name")),
        ("n-1", "alice", "Alice")
    );
    let access = text(&first, "access_token");
    let seen = verify(&bench.lab, access, "https://mcp.example/a");
    assert_eq!(
        (text(&seen, "client_id"), text(&seen, "scope")),
        ("app", "openid mcp")
    );
    assert_eq!(part(access, 0)["typ"], "at+jwt");
    assert_eq!(bench.api("/userinfo", access).await.json()["sub"], "alice");

    let second = bench.refresh(text(&first, "refresh_token")).await.json();
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert!(claims(text(&second, "id_token")).get("nonce").is_none());
    assert_eq!(bench.lab.live_grants().len(), 1);
    let reuse = bench.refresh(text(&first, "refresh_token")).await;
    assert_eq!(
        (reuse.status, text(&reuse.json(), "error")),
        (400, "invalid_grant")
    );
    let newest = bench.refresh(text(&second, "refresh_token")).await;
    assert_eq!(text(&newest.json(), "error"), "invalid_grant");
    assert!(bench.lab.live_grants().is_empty());
    assert_eq!(
        bench
            .api("/userinfo", text(&second, "access_token"))
            .await
            .status,
        401
    );
    bench.lab.stop().await;
}

#[actix_web::test]
async fn code_is_good_once_for_its_verifier_and_its_time() {
    let bench = Bench::issuer();
    let code = bench.code("alice", &[]).await;
    for (name, wrong) in [
        ("code_verifier", "wrong"),
        ("redirect_uri", "http://127.0.0.1:9/other"),
    ] {
        let form =
            redemption(&code).map(|(key, good)| (key, if key == name { wrong } else { good }));
        assert_eq!(
            text(&bench.post("/token", &form, &[]).await.json(), "error"),
            "invalid_grant"
        );
    }
    let tokens = bench.redeem(&code).await.json();
    assert!(bench.lab.is_active(text(&tokens, "refresh_token")));
    assert_eq!(bench.redeem(&code).await.status, 400);
    assert!(!bench.lab.is_active(text(&tokens, "refresh_token")));
    let late = bench.code("alice", &[]).await;
    bench.pass(61);
    assert_eq!(
        text(&bench.redeem(&late).await.json(), "error"),
        "invalid_grant"
    );
    bench.lab.stop().await;
}

#[actix_web::test]
async fn provider_api_checks_scope_time_and_revocation() {
    let bench = Bench::provider();
    let tokens = bench
        .tokens("bob-at-practice", &[("scope", "notes.read")])
        .await;
    let access = text(&tokens, "access_token");
    assert!(
        access.starts_with("prac_at_") && text(&tokens, "refresh_token").starts_with("prac_rt_")
    );
    assert_eq!(
        bench.api("/api/me", access).await.json()["id"],
        "bob-at-practice"
    );
    let notes = bench.api("/api/notes", access).await.json();
    assert_eq!(notes["notes"].as_array().map(Vec::len), Some(2));
    let narrow = bench
        .tokens("bob-at-practice", &[("scope", "profile.read")])
        .await;
    assert_eq!(
        bench
            .api("/api/notes", text(&narrow, "access_token"))
            .await
            .status,
        403
    );
    assert_eq!(bench.get("/api/me", &[]).await.status, 401);
    bench.pass(3_600);
    assert_eq!(bench.api("/api/me", access).await.status, 401);

    let again = bench.refresh(text(&tokens, "refresh_token")).await.json();
    let access = text(&again, "access_token");
    let form = [("client_id", "app"), ("token", access)];
    assert_eq!(
        bench.post("/introspect", &form, &[]).await.json()["active"],
        json!(true)
    );
    assert_eq!(bench.post("/revoke", &form, &[]).await.status, 200);
    assert_eq!(
        bench.post("/introspect", &form, &[]).await.json(),
        json!({ "active": false })
    );
    let refresh = text(&again, "refresh_token");
    assert!(bench.lab.is_active(refresh));
    let form = [("client_id", "app"), ("token", refresh)];
    assert_eq!(bench.post("/revoke", &form, &[]).await.status, 200);
    assert!(!bench.lab.is_active(refresh));
    assert_eq!(bench.lab.end_grants("bob-at-practice"), 1);
    assert_eq!(bench.get("/jwks", &[]).await.status, 404);
    bench.lab.stop().await;
}

#[actix_web::test]
async fn client_authentication_is_exactly_as_registered() {
    let bench = Bench::provider();
    bench.lab.add_client(LabClient::basic("b", "s:1", CALLBACK));
    bench.lab.add_client(LabClient::post("p", "s2", CALLBACK));
    let basic = format!("Basic {}", STANDARD.encode("b:s%3A1"));
    let bad = format!("Basic {}", STANDARD.encode("b:other"));
    let cases: [(Form<'_>, &str, u16); 8] = [
        (&[], &basic, 200),
        (&[], &bad, 401),
        (&[("client_id", "b"), ("client_secret", "s:1")], "", 401),
        (&[("client_id", "p"), ("client_secret", "s2")], "", 200),
        (&[("client_id", "p")], "", 401),
        (&[("client_id", "app"), ("client_secret", "x")], "", 401),
        (&[("client_id", "b"), ("client_secret", "s:1")], &basic, 400),
        (&[("client_id", "app")], &basic, 401),
    ];
    for (form, line, status) in cases {
        let form: Vec<_> = form.iter().copied().chain([("token", "x")]).collect();
        let headers = if line.is_empty() {
            Vec::new()
        } else {
            vec![("authorization", line)]
        };
        let got = bench.post("/introspect", &form, &headers).await;
        assert_eq!(got.status, status, "{form:?} {line}");
    }
    let form = refreshing("unknown").map(|(k, v)| (k, if k == "client_id" { "nobody" } else { v }));
    assert_eq!(bench.post("/token", &form, &[]).await.status, 401);
    bench.lab.stop().await;
}

#[actix_web::test]
async fn bad_requests_redirect_only_to_a_known_address() {
    let bench = Bench::issuer();
    let unknown = [
        ("client_id", "nobody"),
        ("redirect_uri", "http://127.0.0.1:9/callback/"),
    ];
    for more in unknown {
        assert_eq!(bench.get(&authorize(&[more]), &[]).await.status, 400);
    }
    let twice = format!("{}&state=again", authorize(&[]));
    assert_eq!(bench.get(&twice, &[]).await.status, 400);
    for (more, error) in [
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", ""), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("scope", "admin"), "invalid_scope"),
        (("resource", "not-absolute"), "invalid_target"),
    ] {
        let params = bench.get(&authorize(&[more]), &[]).await.location();
        assert_eq!(value(&params, "error").as_deref(), Some(error));
        assert_eq!(value(&params, "state").as_deref(), Some("st"));
    }
    bench.lab.stop().await;
}

#[actix_web::test]
async fn minted_tokens_verify_and_take_edits() {
    let bench = Bench::issuer();
    let lab = &bench.lab;
    let token = lab.mint_access_token("alice", "https://mcp.example", &JwtEdits::default());
    let token = token.expect("token");
    assert_eq!(
        text(&verify(lab, &token, "https://mcp.example"), "sub"),
        "alice"
    );
    let edits = JwtEdits::claim("sub", "eve")
        .and_claim("exp", Value::Null)
        .and_header("typ", "JWT");
    let token = lab.mint_access_token("bob", "a", &edits).expect("token");
    assert_eq!(
        (&claims(&token)["sub"], &part(&token, 0)["typ"]),
        (&json!("eve"), &json!("JWT"))
    );
    assert!(claims(&token).get("exp").is_none());
    let double = r#"{"sub":"alice","sub":"eve"}"#;
    let free = lab
        .sign(r#"{"alg":"ES256","crit":["x"]}"#, double)
        .expect("token");
    assert_eq!(
        (
            part(&free, 0)["crit"][0].as_str(),
            text(&claims(&free), "sub")
        ),
        (Some("x"), "eve")
    );
    let unknown = lab.mint_access_token("nobody", "a", &JwtEdits::default());
    assert!(matches!(unknown, Err(LabError::UnknownPerson(_))));
    lab.stop().await;
}
