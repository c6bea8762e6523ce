//! Api: the HTTP room. It turns requests into the values of the doors and their answers into bytes, and knows nothing else.
//!
//! Three listeners: api ([`server_app`], for MCP servers), admin ([`admin_app`], for operators) and connect ([`browser`],
//! for people). The first two have one route table and one entrance each (`listener.rs`): head checks, route, the caller's
//! credential, then the body, then the subject, then the door. Every refusal of theirs is an RFC 9457 problem document;
//! `refusal.rs` is the only map from refusals to problems, `kind.rs` the list of them. [`serve_tcp`] and [`serve_unix`]
//! build the servers: without `h1_allow_half_closed(false)`, which they set, a waiting request would outlive its client.

mod admin;
mod authn;
mod body;
pub mod browser;
mod crowd;
mod fields;
mod guard;
mod headers;
mod json;
mod kind;
mod limits;
mod listener;
mod problem;
mod refusal;
mod serve;
mod settings;
#[cfg(test)]
mod suite;
mod v1;

pub use admin::admin_app;
pub use crowd::Caps;
pub use serve::{DRAIN, serve_tcp, serve_unix};
pub use settings::{AdminAuth, AdminSettings, ApiSettings};
pub use v1::server_app;
