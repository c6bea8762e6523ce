//! Requests that are not what they should be: each one a problem that says what to do, none of them a panic.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use reqwest::Method;
use serde_json::{Value, json};

use super::{problem, send};
use crate::support::{Answered, TestVault};

type Headers = Vec<(&'static str, String)>;

/// A case: method, path, more headers, body, status, code.
type Case = (Method, String, Headers, Option<Vec<u8>>, u16, &'static str);

fn post(body: impl Into<Vec<u8>>, status: u16, code: &'static str) -> Case {
    (
        Method::POST,
        "/v1/ensure".into(),
        vec![("content-type", "application/json".into())],
        Some(body.into()),
        status,
        code,
    )
}

fn head(headers: Headers, status: u16, code: &'static str) -> Case {
    (
        Method::GET,
        "/v1/grants".into(),
        headers,
        None,
        status,
        code,
    )
}

fn at(method: Method, path: impl Into<String>, status: u16, code: &'static str) -> Case {
    (method, path.into(), vec![], None, status, code)
}

fn bodies(token: &str) -> Vec<Case> {
    let good = json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        post(body.to_string(), 400, "invalid-request")
    };
    let mut deep = "[".repeat(40);
    deep.push_str(&"]".repeat(40));
    let doubled = good.to_string().replacen('{', r#"{"provider":"other","#, 1);
    let many: Vec<u32> = (0..2000).collect();
    let mut cases: Vec<Case> = [
        "",
        " ",
        "{",
        "[]",
        "null",
        "1",
        "\"x\"",
        "{}}",
        "{} {}",
        "nope",
        "{\"a\":}",
        "\u{feff}{}",
        "{'a':1}",
        "{\"a\":1,}",
    ]
    .into_iter()
    .map(|body| post(body, 400, "malformed-json"))
    .collect();
    cases.extend([
        post(&b"{\"a\":\"\xff\xfe\"}"[..], 400, "malformed-json"),
        post(r#"{"a":"\ud800"}"#, 400, "malformed-json"),
        post(doubled, 400, "malformed-json"),
        post(
            format!(r#"{{"mcp":{{"a":{deep}}}}}"#),
            400,
            "malformed-json",
        ),
        post("[".repeat(60_000), 400, "malformed-json"),
        post(json!({ "a": many }).to_string(), 400, "malformed-json"),
        post("x".repeat(64 * 1024 + 1), 413, "too-large"),
        post("{}", 400, "invalid-request"),
        with("extra", json!(1)),
        with("provider", json!("NOT A SLUG")),
        with("provider", json!("")),
        with("provider", json!(null)),
        with("provider", json!(["practice"])),
        with("scopes", json!("notes.read")),
        with("scopes", json!([1])),
        with("scopes", json!(["a b"])),
        with("scopes", json!([""])),
        with("scopes", json!(["\u{e9}"])),
        with("account", json!("UPPER")),
        with("account", json!("a".repeat(33))),
        with("reason", json!("")),
        with("reason", json!("see https://evil.test")),
        with("reason", json!("x".repeat(201))),
        with("reason", json!("line\nline")),
        with("reason", json!("\u{202e}reversed")),
        with("mcp", json!("x")),
        with("mcp", json!({ "unknown": 1 })),
        with("mcp", json!({ "request_digest": "short" })),
        with("mcp", json!({ "protocol_version": "" })),
        with("mcp", json!({ "method": 5 })),
        with("request_state", json!(5)),
        with("input_responses", json!([])),
        with("subject_token", json!(5)),
        with("subject_token", json!("")),
    ]);
    cases
}

fn browser_headers(token: &str) -> Vec<Case> {
    let with = |name, value: &str| {
        let headers = vec![
            ("subject-token", token.to_owned()),
            (name, value.to_owned()),
        ];
        head(headers, 400, "browser-request")
    };
    vec![
        with("cookie", "a=b"),
        with("origin", "null"),
        with("sec-fetch-site", "none"),
    ]
}

fn subjects(token: &str) -> Vec<Case> {
    let bad = |headers: &[(&'static str, &str)]| {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        head(headers.collect(), 400, "invalid-request")
    };
    let good = ("subject-token", token);
    vec![
        bad(&[]),
        bad(&[good, good]),
        bad(&[good, ("subject-assertion", "e30")]),
        bad(&[("subject-token", "two words")]),
        bad(&[("subject-token", "")]),
        bad(&[("subject-assertion", "!!!")]),
        bad(&[("subject-assertion", "bm90IGpzb24")]),
    ]
}

fn kinds_of_body(token: &str) -> Vec<Case> {
    let json = ("content-type", "application/json");
    let typed = |headers: &[(&'static str, &str)], status, code| {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        (
            Method::POST,
            "/v1/ensure".into(),
            headers.collect(),
            Some(b"{}".to_vec()),
            status,
            code,
        )
    };
    let media = |headers: &[(&'static str, &str)]| typed(headers, 415, "unsupported-media-type");
    vec![
        media(&[("content-type", "text/plain")]),
        media(&[("content-type", "application/json; charset=utf-16")]),
        media(&[("content-type", "application/x-www-form-urlencoded")]),
        media(&[("content-type", "multipart/form-data; boundary=x")]),
        media(&[]),
        media(&[json, ("content-encoding", "gzip")]),
        typed(&[json, ("subject-token", token)], 400, "invalid-request"),
    ]
}

fn addresses(token: &str, key: &str) -> Vec<Case> {
    let twice = vec![("authorization", format!("Bearer {key}"))];
    let many = (0..70).map(|_| ("x-more", "y".into())).collect();
    let mut unknown = at(Method::GET, "/v1/grants?x=1", 400, "invalid-request");
    unknown.2.push(("subject-token", token.to_owned()));
    vec![
        unknown,
        at(Method::GET, "/healthz?x=1", 400, "invalid-request"),
        head(twice, 401, "unauthenticated"),
        head(many, 431, "head-too-large"),
        head(
            vec![("x-more", "y".repeat(33 * 1024))],
            431,
            "head-too-large",
        ),
        at(
            Method::GET,
            format!("/v1/grants?{}", "a".repeat(5000)),
            414,
            "url-too-long",
        ),
        at(
            Method::GET,
            format!("/v1/grants?{}", "a&".repeat(40)),
            414,
            "url-too-long",
        ),
        at(Method::GET, "/", 404, "not-found"),
        at(Method::GET, "/v2/grants", 404, "not-found"),
        at(Method::GET, "/v1/grants/", 404, "not-found"),
        at(Method::GET, "/v1//grants", 404, "not-found"),
        at(Method::GET, "/v1/servers", 404, "not-found"),
        at(Method::GET, "/c/x", 404, "not-found"),
        at(Method::GET, "/v1/ensure", 405, "method-not-allowed"),
        at(Method::PUT, "/v1/grants", 405, "method-not-allowed"),
        at(Method::OPTIONS, "/v1/ensure", 405, "method-not-allowed"),
        at(Method::TRACE, "/v1/grants", 405, "method-not-allowed"),
        at(Method::PATCH, "/healthz", 405, "method-not-allowed"),
    ]
}

/// A problem that lists its faults says where each one is.
fn says_where(answer: &Answered) {
    let Some(errors) = answer.body["errors"].as_array() else {
        return;
    };
    assert!(!errors.is_empty() && errors.len() <= 16);
    for error in errors {
        let places = ["pointer", "header", "parameter"]
            .iter()
            .filter(|place| error[**place].is_string())
            .count();
        assert_eq!(places, 1, "{error}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{error}"
        );
    }
}

#[actix_web::test]
async fn every_malformed_request_is_a_clear_problem() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let bearer = format!("Bearer {}", vault.s1.key);
    let commits = vault.store.commit_number();
    let mut cases = bodies(&token);
    cases.extend(browser_headers(&token));
    cases.extend(subjects(&token));
    cases.extend(kinds_of_body(&token));
    cases.extend(addresses(&token, &vault.s1.key));
    for (method, path, more, body, status, code) in cases {
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(more.iter().map(|(name, value)| (*name, value.as_str())));
        let shown = format!(
            "{method} {:.60} {:?} {:.200}",
            path,
            more.iter()
                .map(|(name, value)| format!("{name}: {value:.30}"))
                .take(3)
                .collect::<Vec<_>>(),
            String::from_utf8_lossy(body.as_deref().unwrap_or_default())
        );
        let answer = send(&vault, method, &path, &headers, body).await;
        assert_eq!(answer.status, status, "{shown}: {}", answer.body);
        assert_eq!(problem(&answer), code, "{shown}: {}", answer.body);
        says_where(&answer);
        if matches!(code, "invalid-request" | "malformed-json") {
            assert!(answer.body["errors"].is_array(), "{shown}: {}", answer.body);
        }
        assert_eq!(
            answer.headers.contains_key("allow"),
            status == 405,
            "{shown}"
        );
        assert!(!answer.body.to_string().contains(&token[..40]), "{shown}");
    }
    assert_eq!(vault.store.commit_number(), commits, "nothing was changed");
    assert_eq!(
        vault.s1.ensure(&token).await.text("/status"),
        "elicit",
        "and the vault goes on"
    );
    vault.stop().await;
}

/// Sends bytes as they are and gives the status line and body of the answer, if there is one.
fn raw(vault: &TestVault, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(vault.api.trim_start_matches("http://")).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[actix_web::test]
async fn what_is_no_http_is_refused_without_a_word_too_much() {
    let vault = TestVault::start().await;
    let requests: Vec<Vec<u8>> = vec![
        b"hello\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/9.9\r\n\r\n".to_vec(),
        b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"POST /v1/ensure HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".to_vec(),
        b"POST /v1/ensure HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".to_vec(),
        b"POST /v1/ensure HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        b"POST /v1/ensure HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_vec(),
        b"POST /v1/ensure HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
        b"GET /v1/grants HTTP/1.1\r\nHost: x\r\nSubject-Token : a\r\n\r\n".to_vec(),
        b"GET /v1/grants HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n".to_vec(),
        b"GET /v1/grants\x00 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    ];
    for request in requests {
        let vault = &vault;
        let answer = raw(vault, &request);
        let line = answer.lines().next().unwrap_or_default();
        assert!(
            line.is_empty() || line.starts_with("HTTP/1.1 4"),
            "{}: {line}",
            String::from_utf8_lossy(&request)
        );
        assert!(
            !answer.contains("panick") && !answer.contains("src/"),
            "{answer}"
        );
    }
    assert_eq!(
        send(&vault, Method::GET, "/healthz", &[], None)
            .await
            .status,
        200
    );
    vault.stop().await;
}
