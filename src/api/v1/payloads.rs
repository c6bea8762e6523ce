//! Payloads that an MCP server may return to its client as they are, in the spelling of the MCP texts.
//!
//! Only what is legal for the request's revision and declared capabilities is in an answer: a modern client never gets
//! error -32042 or an `elicitationId`, a legacy one never an `InputRequiredResult`, and nobody a URL elicitation without
//! having declared URL mode (R2, R5, R6, R7). A call that says nothing about its MCP request gets all of them to choose
//! from. Form mode is never produced.

use actors::doors::{ConnectLink, ElicitationView};
use serde_json::{Map, Value, json};

use super::mcp::{Client, Era};
use super::words::{Saying, Voice};

/// Ready-made payloads by name, and the one to use.
pub(crate) struct Payloads {
    pub(crate) recommended: &'static str,
    pub(crate) payloads: Map<String, Value>,
}

const INPUT_REQUIRED: &str = "input_required_result";
const URL_REQUIRED: &str = "url_elicitation_required";
const CREATE: &str = "elicitation_create";
const TOOL_RESULT: &str = "tool_result";
const MISSING: &str = "missing_capability";

/// For a fresh link.
pub(crate) fn for_link(client: Client, link: &ConnectLink) -> Payloads {
    let view = &link.view;
    let voice = Voice::new(view.locale.as_ref(), &view.provider_name);
    let message = voice.say(Saying::Connect);
    let says_url = client.url.unwrap_or(true);
    let legal = |era: Era| client.era.is_none_or(|said| said == era);
    let modern = legal(Era::Modern) && says_url && client.may_ask_for_input;
    let legacy = legal(Era::Legacy) && says_url;
    let missing = legal(Era::Modern) && client.url != Some(true);
    let text = voice.both(&message, &voice.open(&link.url));
    let candidates = [
        (modern, INPUT_REQUIRED, input_required(link, &message)),
        (legacy, URL_REQUIRED, url_required(link, &message)),
        (legacy, CREATE, elicitation(view, &link.url, &message)),
        (true, TOOL_RESULT, tool_result(&text)),
        (missing, MISSING, missing_capability(&view.provider_name)),
    ];
    let recommended = match client.era {
        Some(Era::Modern) if modern => INPUT_REQUIRED,
        Some(Era::Legacy) if legacy => URL_REQUIRED,
        _ => TOOL_RESULT,
    };
    keep(recommended, candidates)
}

/// For a link that is out: the client may ask again with the state alone, without a second prompt.
pub(crate) fn for_waiting(client: Client, view: &ElicitationView, state: &str) -> Payloads {
    let modern = client.era.is_none_or(|era| era == Era::Modern)
        && client.url.unwrap_or(true)
        && client.may_ask_for_input;
    let voice = Voice::new(view.locale.as_ref(), &view.provider_name);
    let text = voice.say(Saying::Unfinished);
    let again = json!({"resultType": "input_required", "requestState": state});
    // Not the state-only result: clients ask again at once and give up after about ten rounds, long before a person is done.
    let recommended = TOOL_RESULT;
    let candidates = [
        (modern, INPUT_REQUIRED, again),
        (true, TOOL_RESULT, tool_result(&text)),
    ];
    keep(recommended, candidates)
}

/// For an end without a credential: an ordinary result that explains, so that no client loops.
pub(crate) fn for_end(text: &str) -> Payloads {
    keep(TOOL_RESULT, [(true, TOOL_RESULT, tool_result(text))])
}

fn keep<const N: usize>(
    recommended: &'static str,
    candidates: [(bool, &'static str, Value); N],
) -> Payloads {
    let legal = candidates.into_iter().filter(|(legal, ..)| *legal);
    Payloads {
        recommended,
        payloads: legal.map(|(_, name, value)| (name.into(), value)).collect(),
    }
}

/// `InputRequiredResult` of 2026-07-28. The key tells the answers of several providers apart.
fn input_required(link: &ConnectLink, message: &str) -> Value {
    let key = format!("connect:{}", link.view.provider);
    json!({
        "resultType": "input_required",
        "inputRequests": {
            key: {
                "method": "elicitation/create",
                "params": {"mode": "url", "url": &link.url, "message": message},
            },
        },
        "requestState": &link.request_state,
    })
}

/// Error -32042 of 2025-11-25.
fn url_required(link: &ConnectLink, message: &str) -> Value {
    json!({
        "code": -32042,
        "message": message,
        "data": {"elicitations": [elicitation(&link.view, &link.url, message)]},
    })
}

/// Parameters of `elicitation/create` of 2025-11-25.
fn elicitation(view: &ElicitationView, url: &str, message: &str) -> Value {
    json!({
        "mode": "url",
        "elicitationId": view.id.to_string(),
        "url": url,
        "message": message,
    })
}

fn tool_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// Error -32021 of 2026-07-28, for servers that would rather refuse than show a link as text.
fn missing_capability(provider: &str) -> Value {
    json!({
        "code": -32021,
        "message": format!("Connecting your {provider} account needs URL-mode elicitation, which this client does not declare."),
        "data": {"requiredCapabilities": {"elicitation": {"url": {}}}},
    })
}
