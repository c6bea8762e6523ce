//! What a call says about the MCP request behind it: the era, what the client can do, the request's digest.
//!
//! Everything here came from the MCP client through the server. It decides which payloads are legal to show that client,
//! and nothing about who may have what.

use domain::Digest;
use serde_json::{Map, Value};

use super::subject::client_id;
use crate::fields::{Faults, Fields};

/// A family of protocol revisions that share their way of eliciting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: elicitations are values in `InputRequiredResult`.
    Modern,
    /// 2025-11-25: URL mode by request or by error -32042.
    Legacy,
    /// Any other revision: no URL mode that we know.
    Other,
}

/// What is known about the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Client {
    /// The era, if the call says it.
    pub(crate) era: Option<Era>,
    /// Whether URL mode was declared; `None` when the call says neither era nor capabilities.
    pub(crate) url: Option<bool>,
    /// Whether the MCP method may be answered with `InputRequiredResult` (R6).
    pub(crate) may_ask_for_input: bool,
}

/// The member `mcp` of a body.
pub(crate) struct Mcp {
    pub(crate) client: Client,
    pub(crate) digest: Option<Digest>,
    pub(crate) client_id: Option<Box<str>>,
}

/// Methods whose answer may be an `InputRequiredResult`.
const MAY_ASK: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Takes `mcp` out of a body; all of it is optional.
pub(crate) fn from_body(fields: &mut Fields, faults: &mut Faults) -> Mcp {
    let Some(mut mcp) = fields.object("mcp", faults) else {
        return Mcp {
            client: Client {
                may_ask_for_input: true,
                ..Client::default()
            },
            digest: None,
            client_id: None,
        };
    };
    let version = mcp.read(
        "protocol_version",
        "this must be a protocol revision, such as 2026-07-28",
        faults,
        |text| short(text).then(|| era_of(text)),
    );
    let capabilities = mcp.object("client_capabilities", faults);
    let declared = capabilities.map(|capabilities| declares_url(&capabilities.rest()));
    let method = mcp.read(
        "method",
        "this must be the name of an MCP method",
        faults,
        |text| short(text).then(|| MAY_ASK.contains(&text)),
    );
    let digest = mcp.read(
        "request_digest",
        "this must be base64url without padding of a SHA-256, 43 characters",
        faults,
        Digest::parse,
    );
    let client_id = client_id(&mut mcp, faults);
    mcp.finish(faults);
    Mcp {
        client: Client {
            era: version,
            // A request that says its era and no capabilities declares none.
            url: declared.or(version.map(|_| false)),
            may_ask_for_input: method.unwrap_or(true),
        },
        digest,
        client_id,
    }
}

fn short(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| (0x21..=0x7e).contains(&b))
}

fn era_of(version: &str) -> Era {
    match version {
        "2026-07-28" => Era::Modern,
        "2025-11-25" => Era::Legacy,
        _ => Era::Other,
    }
}

/// `{"elicitation": {"url": {…}}}`. An empty `elicitation` means form mode alone (R2).
fn declares_url(capabilities: &Map<String, Value>) -> bool {
    capabilities
        .get("elicitation")
        .and_then(|elicitation| elicitation.get("url"))
        .is_some_and(Value::is_object)
}
