//! The shapes of MCP payloads as both revisions define them (2025-11-25 and 2026-07-28), checked member by member, the two
//! faults that their JSON schemas do not catch included.

use serde_json::{Value, json};

/// An object with exactly these members, all of them there.
fn members<'v>(value: &'v Value, names: &[&str]) -> Vec<&'v Value> {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    let mut there: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut wanted = names.to_vec();
    there.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(there, wanted, "{value}");
    names.iter().map(|name| &object[*name]).collect()
}

fn words(value: &Value) -> &str {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| panic!("no text: {value}"))
}

/// `InputRequiredResult` of 2026-07-28 with one URL elicitation under `connect:{provider}`; gives its URL.
pub(crate) fn input_required(value: &Value, provider: &str) -> String {
    let [kind, requests, state] =
        members(value, &["resultType", "inputRequests", "requestState"])[..]
    else {
        panic!()
    };
    assert_eq!(kind, "input_required");
    assert!(words(state).starts_with("srs1."));
    let [request] = members(requests, &[&format!("connect:{provider}")])[..] else {
        panic!()
    };
    let [method, params] = members(request, &["method", "params"])[..] else {
        panic!()
    };
    assert_eq!(method, "elicitation/create");
    // No `elicitationId`: the modern schema would let it pass, and clients would be confused.
    let [mode, url, message] = members(params, &["mode", "url", "message"])[..] else {
        panic!()
    };
    assert_eq!(mode, "url");
    plain(words(message));
    words(url).to_owned()
}

/// `InputRequiredResult` without a second prompt: the state alone, for a client that asks again.
pub(crate) fn state_only(value: &Value) {
    let [kind, state] = members(value, &["resultType", "requestState"])[..] else {
        panic!()
    };
    assert_eq!(kind, "input_required");
    assert!(words(state).starts_with("srs1."));
}

/// Parameters of `elicitation/create` of 2025-11-25; gives URL and id.
pub(crate) fn create(value: &Value) -> (String, String) {
    let [mode, id, url, message] = members(value, &["mode", "elicitationId", "url", "message"])[..]
    else {
        panic!()
    };
    assert_eq!(mode, "url");
    plain(words(message));
    (words(url).to_owned(), words(id).to_owned())
}

/// Error -32042 of 2025-11-25; gives URL and id of its one elicitation.
pub(crate) fn url_required(value: &Value) -> (String, String) {
    let [code, message, data] = members(value, &["code", "message", "data"])[..] else {
        panic!()
    };
    assert_eq!(code, -32042);
    plain(words(message));
    let [elicitations] = members(data, &["elicitations"])[..] else {
        panic!()
    };
    assert_eq!(elicitations.as_array().unwrap().len(), 1);
    create(&elicitations[0])
}

/// Error -32021 of 2026-07-28.
pub(crate) fn missing_capability(value: &Value) {
    let [code, message, data] = members(value, &["code", "message", "data"])[..] else {
        panic!()
    };
    assert_eq!(code, -32021);
    plain(words(message));
    assert_eq!(
        data,
        &json!({ "requiredCapabilities": { "elicitation": { "url": {} } } })
    );
}

/// A `CallToolResult` that explains; gives its text.
pub(crate) fn tool_result(value: &Value) -> String {
    let [content, error] = members(value, &["content", "isError"])[..] else {
        panic!()
    };
    assert_eq!(error, true);
    assert_eq!(content.as_array().unwrap().len(), 1);
    let [kind, text] = members(&content[0], &["type", "text"])[..] else {
        panic!()
    };
    assert_eq!(kind, "text");
    plain(words(text));
    words(text).to_owned()
}

/// Sentences for people: no markup, no control characters, a full stop.
fn plain(text: &str) {
    assert!(
        !text.contains(['<', '>', '{', '}', '\n']) && !text.chars().any(char::is_control),
        "{text}"
    );
    assert!(text.ends_with('.'), "{text}");
}

/// The names of all payloads in an answer.
pub(crate) fn names(answer: &Value) -> Vec<&str> {
    let payloads = answer["payloads"]
        .as_object()
        .unwrap_or_else(|| panic!("no payloads: {answer}"));
    assert!(
        payloads.contains_key(words(&answer["recommended"])),
        "the recommended one is there: {answer}"
    );
    let mut names: Vec<&str> = payloads.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
