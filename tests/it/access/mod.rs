//! Attacks and accidents at the api and admin listeners and at the store: every test asks through the wire, and then looks
//! at everything that can be seen from outside: answers, audit entries, what reached the labs, what stands in the store.

pub(crate) mod admin;
mod allowance;
mod aloud;
mod architecture;
mod broken;
#[cfg(feature = "test-hooks")]
pub(crate) mod commands;
mod configuration;
mod crossing;
mod dependencies;
mod ensure;
mod habits;
mod issuers;
mod keys;
mod leaks;
mod malformed;
mod outages;
mod payloads;
mod refresh;
mod repeats;
pub(crate) mod rows;
#[cfg(feature = "test-hooks")]
mod seals;
mod setup;
mod signatures;
mod states;
pub(crate) mod tokens;
mod waiting;
pub(crate) mod world;

use reqwest::Method;
use serde_json::Value;

use crate::support::{Answered, McpServer, TestVault};

/// Any request at the api listener, exactly as given: no key unless it is among the headers.
pub(crate) async fn send(
    vault: &TestVault,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Vec<u8>>,
) -> Answered {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.request(method, format!("{}{path}", vault.api));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.body(body);
    }
    read(request.send().await.unwrap()).await
}

/// Reads an answer.
pub(crate) async fn read(answer: reqwest::Response) -> Answered {
    Answered::read(answer).await
}

/// What a server has of a person's grants: the shortest call that needs nothing but a proven subject.
pub(crate) async fn grants(server: &McpServer, token: &str) -> Answered {
    server
        .call(Method::GET, "/v1/grants", &[("subject-token", token)], None)
        .await
}

/// A problem without the one member that differs from request to request.
pub(crate) fn without_id(answer: &Answered) -> Value {
    let mut body = answer.body.clone();
    let id = body
        .as_object_mut()
        .and_then(|members| members.remove("request_id"));
    assert!(
        id.is_some_and(|id| id.as_str().is_some_and(|id| !id.is_empty())),
        "no request_id: {body}"
    );
    body
}

/// Checks that an answer is a problem document that says what to do, and gives its code.
pub(crate) fn problem(answer: &Answered) -> &str {
    assert_eq!(
        answer.headers["content-type"], "application/problem+json",
        "{}",
        answer.body
    );
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(answer.body["status"], answer.status);
    let code = answer.code();
    assert!(
        answer.text("/type").ends_with(&format!("/problems/{code}")),
        "{}",
        answer.body
    );
    assert!(answer.text("/detail").len() > 20, "{}", answer.body);
    assert!(!answer.text("/title").is_empty() && !answer.text("/request_id").is_empty());
    code
}

/// The audit entries of one request.
pub(crate) fn audited_for(vault: &TestVault, answer: &Answered) -> Vec<Value> {
    let id = answer.text("/request_id");
    vault
        .audit()
        .into_iter()
        .filter(|entry| entry["request"] == id)
        .collect()
}

/// The id of the connected grant in an answer of `ensure`.
pub(crate) fn header_value(answer: &Answered) -> String {
    assert_eq!(answer.body["status"], "connected", "{}", answer.body);
    answer.text("/credential/header/value").to_owned()
}
