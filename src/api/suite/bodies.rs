//! Bodies: what is read, what is refused, and what the refusal says.

use actix_web::http::Method;

use super::door::Script;
use super::{ask, keyed, post};
use crate::limits::MAX_BODY;

/// Pointers of the faults of a body at `POST /v1/ensure`; the good members are added.
async fn faults(members: &str) -> Vec<String> {
    let script = Script::new();
    let body = format!(
        r#"{{"provider":"acme-files","scopes":["files.read"],"subject_token":"a.b.c",{members}}}"#
    );
    let answer = ask(&script, post(&script, "/v1/ensure", &body)).await;
    if answer.status.is_success() {
        return Vec::new();
    }
    assert_eq!(
        answer.code(),
        "invalid-request",
        "{members}: {}",
        answer.text
    );
    assert_eq!(script.calls(), ["authenticate"], "{members}");
    answer.places()
}

#[actix_web::test]
async fn all_faults_of_a_body_are_told_at_once() {
    let script = Script::new();
    let body = r#"{"provider":"A","scopes":["a b"],"account":7,"subject":{"iss":"i","sub":"s"},"mcp":{"x/y":1,"request_digest":"abc"},"tenant_id":"t"}"#;
    let answer = ask(&script, post(&script, "/v1/ensure", body)).await;
    let places = [
        "/mcp/request_digest",
        "/mcp/x~1y",
        "/subject/tid",
        "/subject/oid",
        "/subject/sub",
        "/provider",
        "/scopes",
        "/account",
        "/tenant_id",
    ];
    assert_eq!(answer.places(), places);
    let none = ask(&script, post(&script, "/v1/ensure", "{}")).await;
    assert_eq!(none.places(), ["/subject_token", "/provider", "/scopes"]);
}

#[actix_web::test]
async fn at_125_members_that_nobody_asked_for_are_refused() {
    for name in [
        "tenant_id",
        "server_id",
        "issuer",
        "status",
        "offline",
        "scopes_granted",
        "version",
        "is_admin",
        "Provider",
        "wait",
    ] {
        assert_eq!(
            faults(&format!(r#""{name}":1"#)).await,
            [format!("/{name}")]
        );
        let nested = format!(r#""mcp":{{"{name}":1}}"#);
        assert_eq!(faults(&nested).await, [format!("/mcp/{name}")]);
    }
}

#[actix_web::test]
async fn members_have_one_type_and_null_is_not_absent() {
    for (members, place) in [
        (r#""account":null"#, "/account"),
        (r#""account":"a/b""#, "/account"),
        (r#""account":"""#, "/account"),
        (r#""request_state":1"#, "/request_state"),
        (r#""reason":"""#, "/reason"),
        (r#""reason":"see https://evil.test""#, "/reason"),
        (r#""reason":"a\u0000b""#, "/reason"),
        (r#""reason":"a\u200bb""#, "/reason"),
        (r#""reason":"evil.example/login""#, "/reason"),
        (r#""reason":"mailto:x@y.z""#, "/reason"),
        (r#""reason":"javascript:alert(1)""#, "/reason"),
        (r#""mcp":[]"#, "/mcp"),
        (
            r#""mcp":{"client_capabilities":"url"}"#,
            "/mcp/client_capabilities",
        ),
        (
            r#""mcp":{"protocol_version":20260728}"#,
            "/mcp/protocol_version",
        ),
        (r#""locale":"""#, "/locale"),
        (r#""locale":"zh_CN""#, "/locale"),
        (r#""locale":"zh-CN,en;q=0.5""#, "/locale"),
        (r#""locale":["zh"]"#, "/locale"),
        (
            r#""locale":"en-x-abcdefgh-abcdefgh-abcdefgh-abcdefgh""#,
            "/locale",
        ),
        (r#""mcp":{"protocol_version":""}"#, "/mcp/protocol_version"),
        (r#""mcp":{"method":"a b"}"#, "/mcp/method"),
        (
            r#""mcp":{"request_digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU="}"#,
            "/mcp/request_digest",
        ),
        (r#""mcp":{"client_id":"c"}"#, "/mcp/client_id"),
        (r#""input_responses":[]"#, "/input_responses"),
        (
            r#""input_responses":{"connect:acme-files":"accept"}"#,
            "/input_responses/connect:acme-files",
        ),
        (
            r#""input_responses":{"connect:acme-files":{}}"#,
            "/input_responses/connect:acme-files/action",
        ),
        (
            r#""input_responses":{"connect:acme-files":{"action":"Accept"}}"#,
            "/input_responses/connect:acme-files/action",
        ),
        (
            r#""subject":{"iss":"i","tid":"t","oid":"o"}"#,
            "/subject_token",
        ),
    ] {
        assert_eq!(faults(members).await, [place], "{members}");
    }
    assert!(
        faults(r#""account":"work-2","reason":"Lists your files.","locale":"tlh-Latn""#)
            .await
            .is_empty()
    );
}

#[actix_web::test]
async fn ensure_hands_over_what_the_body_says_and_nothing_else() {
    let script = Script::new();
    let body = r#"{"provider":"acme-files","scopes":["b","a","a"],"account":"work","locale":"zh-Hans",
        "subject":{"iss":"https://id.corp.test","oid":"o","tid":"t"},
        "mcp":{"client_id":"https://client.test/id","request_digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"},
        "request_state":"srs1.x",
        "input_responses":{"connect:acme-files":{"action":"decline","content":{"code":"4/secret"}},"connect:other":{"action":"accept"},"x":7}}"#;
    let answer = ask(&script, post(&script, "/v1/ensure", body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let wanted = concat!(
        "ensure Wanted { provider: acme-files, scopes: a b, alias: work, request_digest: Some(Digest(..)), reason: None, locale: Some(zh-Hans) } ",
        r#"Some("srs1.x") Some(Decline)"#
    );
    let subject = r#"subject https://id.corp.test ["t", "o"] Some("https://client.test/id")"#;
    assert_eq!(script.calls(), ["authenticate", subject, wanted]);
}

#[actix_web::test]
async fn at_124_only_json_is_read_and_only_after_the_key() {
    let script = Script::new();
    let good = r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-16",
        "application/json, text/plain",
    ] {
        let request = keyed(&script, Method::POST, "/v1/ensure")
            .insert_header(("Content-Type", kind))
            .set_payload(good);
        assert_eq!(
            ask(&script, request).await.code(),
            "unsupported-media-type",
            "{kind}"
        );
    }
    let untyped = keyed(&script, Method::POST, "/v1/ensure").set_payload(good);
    assert_eq!(ask(&script, untyped).await.code(), "unsupported-media-type");
    let packed = post(&script, "/v1/ensure", good).insert_header(("Content-Encoding", "gzip"));
    assert_eq!(ask(&script, packed).await.code(), "unsupported-media-type");
    let keyless = post(&script, "/v1/ensure", "{").insert_header(("Authorization", "Bearer x"));
    assert_eq!(ask(&script, keyless).await.code(), "unauthenticated");
    for body in [
        "",
        "{",
        "[]",
        "{}{}",
        r#"{"scopes":[],"scopes":[]}"#,
        r#"{"mcp":{"a":1,"a":1}}"#,
    ] {
        let answer = ask(&script, post(&script, "/v1/ensure", body)).await;
        assert_eq!(answer.code(), "malformed-json", "{body}");
        assert_eq!(answer.places().len(), 1, "{body}");
    }
}

#[actix_web::test]
async fn a_post_names_its_subject_in_the_body_alone() {
    let script = Script::new();
    let body = r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#;
    for header in ["Subject-Token", "Subject-Assertion"] {
        let request = post(&script, "/v1/ensure", body).insert_header((header, "d.e.f"));
        assert_eq!(ask(&script, request).await.places(), [header]);
    }
}

#[actix_web::test]
async fn a_body_may_have_64_kib() {
    let script = Script::new();
    let sized = |size: usize| {
        let start = r#"{"provider":"acme-files","scopes":[],"subject_token":""#;
        let fill = size - start.len() - 2;
        format!("{start}{}\"}}", "a".repeat(fill))
    };
    assert_eq!(
        ask(&script, post(&script, "/v1/ensure", &sized(MAX_BODY)))
            .await
            .status,
        200
    );
    let large = ask(&script, post(&script, "/v1/ensure", &sized(MAX_BODY + 1))).await;
    assert_eq!(large.code(), "too-large");
    // Declared too large: refused before a byte is read.
    let declared = post(&script, "/v1/ensure", "{}").insert_header(("Content-Length", "65537"));
    assert_eq!(ask(&script, declared).await.code(), "too-large");
}

#[actix_web::test]
async fn an_idempotency_key_is_visible_ascii() {
    let script = Script::new();
    let body = r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#;
    let create =
        |key: &str| post(&script, "/v1/elicitations", body).insert_header(("Idempotency-Key", key));
    for wrong in ["", "a b", "\u{e4}", &"k".repeat(129)] {
        let answer = ask(&script, create(wrong)).await;
        assert_eq!(answer.places(), ["Idempotency-Key"], "{wrong:?}");
    }
    let answer = ask(&script, create(&"k".repeat(128))).await;
    assert_eq!(answer.status, 201);
    assert_eq!(
        answer.header("Location"),
        format!("/v1/elicitations/el_{}", "01".repeat(16))
    );
    let last = script.calls().pop().unwrap();
    assert_eq!(
        last,
        format!("create acme-files Some({:?})", "k".repeat(128))
    );
}

#[actix_web::test]
async fn at_118_any_request_state_goes_to_the_door_whatever_it_looks_like() {
    for state in ["", "\\u0000", "{\\\"a\\\":1}", &"x".repeat(60_000)] {
        let script = Script::new();
        let body = format!(r#"{{"request_state":"{state}","subject_token":"a.b.c"}}"#);
        let answer = ask(&script, post(&script, "/v1/elicitations/resolve", &body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(script.calls().last().unwrap().starts_with("resolve "));
    }
}
