//! The switches: each does what it says, and nothing else changes.

use serde_json::{Value, json};

use super::{Bench, claims, encoded, part, refreshing, send, text, value};
use crate::{CallbackEdits, JwtEdits, Misbehaviour, Moment, RefreshRule, Reply, Signing};

fn oauth_error(error: &str) -> Reply {
    Reply::OauthError {
        status: 400,
        error: error.to_owned(),
        description: None,
    }
}

#[actix_web::test]
async fn callback_issuer_wrong_missing_and_twice() {
    let bench = Bench::issuer();
    let edit = |edits: CallbackEdits| Misbehaviour {
        callback: edits,
        ..Misbehaviour::default()
    };
    let evil = ("iss".to_owned(), "https://evil.example".to_owned());
    bench.lab.misbehave(edit(CallbackEdits {
        replace: [evil.clone()].into(),
        ..CallbackEdits::default()
    }));
    assert_eq!(
        value(&bench.callback("alice", &[]).await, "iss"),
        Some(evil.1.clone())
    );
    bench.lab.misbehave(edit(CallbackEdits {
        remove: vec!["iss".to_owned()],
        ..CallbackEdits::default()
    }));
    assert_eq!(value(&bench.callback("alice", &[]).await, "iss"), None);
    bench.lab.misbehave(edit(CallbackEdits {
        append: vec![evil],
        ..CallbackEdits::default()
    }));
    let twice = bench.callback("alice", &[]).await;
    assert_eq!(twice.iter().filter(|(name, _)| name == "iss").count(), 2);
    bench
        .lab
        .misbehave(Misbehaviour::named("callback-code-and-error").expect("a case"));
    let both = bench.callback("alice", &[]).await;
    assert!(value(&both, "code").is_some() && value(&both, "error").is_some());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn counted_errors_come_first_and_leave_the_token_alone() {
    let bench = Bench::provider();
    let tokens = bench.tokens("alice-at-practice", &[]).await;
    let refresh = text(&tokens, "refresh_token");
    bench.lab.misbehave(Misbehaviour::default().reply(
        "/token",
        Some(2),
        oauth_error("invalid_grant"),
    ));
    for _ in 0..2 {
        assert_eq!(
            text(&bench.refresh(refresh).await.json(), "error"),
            "invalid_grant"
        );
    }
    assert_eq!(bench.refresh(refresh).await.status, 200);
    bench.lab.stop().await;
}

#[actix_web::test]
async fn an_answer_lost_after_acting_leaves_a_rotated_token() {
    let bench = Bench::provider();
    let tokens = bench.tokens("alice-at-practice", &[]).await;
    let refresh = text(&tokens, "refresh_token");
    bench
        .lab
        .misbehave(Misbehaviour::default().reply_after_acting("/token", Some(1), Reply::Cut));
    let body = encoded(&refreshing(refresh));
    let lost = send(bench.lab.addr(), "POST", "/token", &[], &body).await;
    assert!(lost.is_err(), "{lost:?}");
    assert!(!bench.lab.is_active(refresh));
    assert_eq!(bench.lab.live_grants().len(), 1);
    assert_eq!(bench.refresh(refresh).await.status, 400);
    assert!(bench.lab.live_grants().is_empty());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn gate_holds_before_answering_and_before_acting() {
    let bench = Bench::provider();
    let tokens = bench.tokens("alice-at-practice", &[]).await;
    let refresh = text(&tokens, "refresh_token").to_owned();
    for (moment, still_good) in [
        (Moment::BeforeActing, true),
        (Moment::BeforeAnswering, false),
    ] {
        let gate = bench.lab.hold("/token", moment);
        let held = if moment == Moment::BeforeActing {
            "unknown".to_owned()
        } else {
            refresh.clone()
        };
        let (addr, body) = (bench.lab.addr(), encoded(&refreshing(&held)));
        let waiting = tokio::spawn(async move { send(addr, "POST", "/token", &[], &body).await });
        gate.arrived(1).await;
        assert_eq!(gate.count(), 1);
        assert_eq!(bench.lab.is_active(&refresh), still_good);
        gate.open();
        assert!(waiting.await.expect("the task ends").is_ok());
    }
    // A gate that is gone holds nobody.
    drop(bench.lab.hold("/api/me", Moment::BeforeActing));
    assert_eq!(bench.get("/api/me", &[]).await.status, 401);
    bench.lab.stop().await;
}

#[actix_web::test]
async fn replies_replace_status_body_and_location() {
    let bench = Bench::issuer();
    let location = "http://127.0.0.1:9/".to_owned();
    let raw = Reply::Raw {
        status: 503,
        content_type: "text/html".to_owned(),
        headers: vec![("retry-after".to_owned(), "7".to_owned())],
        body: "<h1>later</h1>".to_owned(),
    };
    let bad = Misbehaviour::default()
        .reply("/token", Some(1), raw)
        .reply(
            "/token",
            Some(1),
            Reply::Redirect {
                status: 307,
                location,
            },
        )
        .reply(
            "/jwks",
            Some(1),
            Reply::Huge {
                bytes: 3_000_000,
                declared: false,
            },
        )
        .reply(
            "/jwks",
            Some(1),
            Reply::Huge {
                bytes: 40_000,
                declared: true,
            },
        );
    bench.lab.misbehave(bad);
    let got = bench.redeem("x").await;
    assert_eq!(
        (got.status, got.header("retry-after"), got.text().as_str()),
        (503, Some("7"), "<h1>later</h1>")
    );
    let got = bench.redeem("x").await;
    assert_eq!(
        (got.status, got.header("location")),
        (307, Some("http://127.0.0.1:9/"))
    );
    let got = bench.get("/jwks", &[]).await;
    assert!(got.header("content-length").is_none() && got.body.len() > 3_000_000);
    let got = bench.get("/jwks", &[]).await;
    assert_eq!(
        (got.header("content-length"), got.body.len()),
        (Some("40000"), 40_000)
    );
    assert_eq!(bench.get("/jwks", &[]).await.status, 200);
    bench.lab.stop().await;
}

#[actix_web::test]
async fn members_edit_good_answers_only() {
    let bench = Bench::issuer();
    let bad = Misbehaviour::default()
        .member("/token", "token_type", Value::Null)
        .member("/userinfo", "sub", "mallory")
        .member(
            "/.well-known/openid-configuration",
            "issuer",
            "https://evil.example",
        )
        .member("/jwks", "keys", json!([]));
    bench.lab.misbehave(bad);
    let tokens = bench.tokens("alice", &[]).await;
    assert!(tokens.get("token_type").is_none());
    let who = bench
        .api("/userinfo", text(&tokens, "access_token"))
        .await
        .json();
    assert_eq!(who["sub"], "mallory");
    let document = bench.get_json("/.well-known/openid-configuration").await;
    assert_eq!(document["issuer"], "https://evil.example");
    assert_eq!(bench.get_json("/jwks").await, json!({ "keys": [] }));
    assert!(bench.redeem("x").await.json().get("token_type").is_none());
    bench.lab.behave();
    let document = bench
        .get_json("/.well-known/oauth-authorization-server")
        .await;
    assert_eq!(document["issuer"], bench.lab.base_url());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn id_token_edits_and_signing() {
    let bench = Bench::issuer();
    let bad = |edits: JwtEdits| Misbehaviour {
        id_token: edits,
        ..Misbehaviour::default()
    };
    let more = [("nonce", "n")];
    for (name, wrong) in [
        ("aud", json!("other")),
        ("iss", json!("https://evil.example")),
        ("nonce", json!("m")),
        ("azp", json!("other")),
        ("exp", json!(1)),
    ] {
        bench
            .lab
            .misbehave(bad(JwtEdits::claim(name, wrong.clone())));
        let tokens = bench.tokens("alice", &more).await;
        assert_eq!(claims(text(&tokens, "id_token"))[name], wrong);
        assert_ne!(claims(text(&tokens, "access_token"))[name], wrong);
    }
    for (signing, alg) in [
        (Signing::Unsigned, "none"),
        (Signing::HmacOfPublicKey, "HS256"),
    ] {
        bench
            .lab
            .misbehave(bad(JwtEdits::default().signed(signing)));
        let tokens = bench.tokens("alice", &more).await;
        assert_eq!(part(text(&tokens, "id_token"), 0)["alg"], alg);
    }
    bench
        .lab
        .misbehave(bad(JwtEdits::default().signed(Signing::ForeignInHeader)));
    let tokens = bench.tokens("alice", &more).await;
    assert_eq!(part(text(&tokens, "id_token"), 0)["jwk"]["kty"], "EC");
    bench
        .lab
        .misbehave(Misbehaviour::named("id-token-missing").expect("a case"));
    assert!(bench.tokens("alice", &more).await.get("id_token").is_none());
    bench.lab.stop().await;
}

#[actix_web::test]
async fn refresh_rules_scope_and_lax_checks() {
    let bench = Bench::provider();
    let set = |bad: Misbehaviour| bench.lab.misbehave(bad);
    let first = bench.tokens("alice-at-practice", &[]).await;
    let token = text(&first, "refresh_token");
    set(Misbehaviour {
        refresh: RefreshRule::SameToken,
        ..Misbehaviour::default()
    });
    assert_eq!(bench.refresh(token).await.json()["refresh_token"], token);
    set(Misbehaviour {
        refresh: RefreshRule::Silent,
        ..Misbehaviour::default()
    });
    assert!(
        bench
            .refresh(token)
            .await
            .json()
            .get("refresh_token")
            .is_none()
    );
    assert!(bench.lab.is_active(token));

    set(Misbehaviour {
        scope: Some("profile.read".to_owned()),
        ..Misbehaviour::default()
    });
    let narrow = bench
        .tokens("alice-at-practice", &[("scope", "notes.read")])
        .await;
    assert_eq!(text(&narrow, "scope"), "profile.read");
    assert_eq!(
        bench
            .api("/api/notes", text(&narrow, "access_token"))
            .await
            .status,
        403
    );

    set(Misbehaviour {
        accept_used_codes: true,
        ignore_pkce: true,
        ..Misbehaviour::default()
    });
    let code = bench
        .code("alice-at-practice", &[("code_challenge", &"x".repeat(43))])
        .await;
    assert_eq!(bench.redeem(&code).await.status, 200);
    assert_eq!(bench.redeem(&code).await.status, 200);

    set(Misbehaviour {
        pretend_revocation: true,
        ..Misbehaviour::default()
    });
    let form = [("client_id", "app"), ("token", token)];
    assert_eq!(bench.post("/revoke", &form, &[]).await.status, 200);
    assert!(bench.lab.is_active(token));
    bench.lab.stop().await;
}

#[actix_web::test]
async fn recorder_sees_everything_and_key_rotation_shows() {
    let bench = Bench::issuer();
    bench.lab.clear();
    let body = [("client_id", "app"), ("token", "t 1")];
    bench
        .post("/revoke?x=1", &body, &[("X-Trace", "abc")])
        .await;
    let seen = bench.lab.recorded();
    assert_eq!(
        (
            seen.len(),
            bench.lab.count("/revoke"),
            bench.lab.count("/token")
        ),
        (1, 1, 0)
    );
    assert_eq!(
        (seen[0].method.as_str(), seen[0].query.as_str()),
        ("POST", "x=1")
    );
    assert_eq!(seen[0].header("x-trace"), Some("abc"));
    assert_eq!(seen[0].form_param("token").as_deref(), Some("t 1"));
    let kids = |set: Value| set["keys"].as_array().map_or(0, Vec::len);
    let before = bench.get_json("/jwks").await;
    bench.lab.rotate_keys(true).expect("rotation");
    let both = bench.get_json("/jwks").await;
    assert_eq!(kids(both.clone()), 2);
    assert_eq!(both["keys"][1], before["keys"][0]);
    bench.lab.rotate_keys(false).expect("rotation");
    assert_eq!(kids(bench.get_json("/jwks").await), 1);
    bench.lab.stop().await;
}
