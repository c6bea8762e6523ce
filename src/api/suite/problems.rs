//! Every problem as callers read it, against `snapshots/problems.txt`.

use std::fmt::Write as _;
use std::time::Duration;

use actix_web::body::to_bytes;
use actors::doors::Refusal;
use domain::{NotPermitted, ScopeSet, SubjectRefused};

use super::door::{Script, ctx};
use super::{PUBLIC, ask, post};
use crate::problem::{Kind, Problem};

const SNAPSHOT: &str = include_str!("../snapshots/problems.txt");

const REFUSALS: [fn() -> Refusal; 22] = [
    || Refusal::Caller,
    || Refusal::Subject(SubjectRefused::Malformed),
    || Refusal::Subject(SubjectRefused::Signature),
    || Refusal::Subject(SubjectRefused::NotAnAccessToken),
    || Refusal::Subject(SubjectRefused::Issuer),
    || Refusal::Subject(SubjectRefused::Audience),
    || Refusal::Subject(SubjectRefused::Time),
    || Refusal::Subject(SubjectRefused::Subject),
    || Refusal::Subject(SubjectRefused::Client),
    || Refusal::Subject(SubjectRefused::Assertion),
    || Refusal::Subject(SubjectRefused::KeysUnavailable),
    || Refusal::NotPermitted(NotPermitted::Provider),
    || {
        Refusal::NotPermitted(NotPermitted::Scopes(
            ScopeSet::new(["files.write"]).unwrap(),
        ))
    },
    || Refusal::NotFound,
    || Refusal::RequestState,
    || Refusal::Gone,
    || Refusal::IdempotencyConflict,
    || Refusal::KeyLimit,
    || Refusal::TooMany {
        retry_after: Duration::from_millis(1500),
    },
    || Refusal::Busy {
        retry_after: Duration::ZERO,
    },
    || Refusal::Unavailable,
    || Refusal::Internal,
];

#[actix_web::test]
async fn problems_read_as_they_are_written_down() {
    let mut text = String::new();
    for kind in Kind::ALL {
        let (status, code, title, detail) = kind.facts();
        writeln!(text, "{status} {code}\n  {title}\n  {detail}").unwrap();
    }
    let mut last = String::new();
    for refusal in REFUSALS {
        let refused = format!("{:?}", refusal());
        let script = Script::refusing(refusal);
        let body = r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#;
        let answer = ask(&script, post(&script, "/v1/ensure", body)).await;
        let (status, retry) = (answer.status.as_u16(), answer.header("Retry-After"));
        let told = format!("  {status} retry={retry:?} {}", answer.text);
        // Refusals in a row that are told alike share one line: nobody outside can tell them apart.
        if told != last {
            writeln!(text, "{last}").unwrap();
        }
        writeln!(text, "{refused}").unwrap();
        last = told;
    }
    writeln!(text, "{last}").unwrap();
    assert!(
        text == SNAPSHOT,
        "snapshots/problems.txt is not what is answered now:\n{text}"
    );
}

#[actix_web::test]
async fn retries_are_told_exactly_on_429_and_503() {
    for refusal in REFUSALS {
        let response = Problem::from(refusal()).respond(PUBLIC, ctx().request);
        let status = response.status().as_u16();
        assert_eq!(
            response.headers().contains_key("Retry-After"),
            [429, 503].contains(&status),
            "{status}"
        );
        let body = to_bytes(response.into_body()).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["status"], status);
        let code = body["code"].as_str().unwrap();
        assert_eq!(body["type"], format!("{PUBLIC}/problems/{code}"));
    }
}

#[actix_web::test]
async fn a_panic_behind_the_door_is_one_failed_request() {
    let script = Script::refusing(|| panic!("canary"));
    let body = r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#;
    let answer = ask(&script, post(&script, "/v1/ensure", body)).await;
    assert_eq!(answer.code(), "internal");
    assert!(!answer.text.contains("canary"));
    assert_eq!(answer.header("Cache-Control"), "no-store");
}
