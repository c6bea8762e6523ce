//! What `strongroom dev` says: where everything is, and what to type next.

use std::net::SocketAddr;

use serde_json::json;

use super::practice::{Practice, RESOURCE, SERVER};
use crate::app::Addresses;
use crate::cli::say;

/// Everything a first visitor needs.
pub(super) struct Notes<'a> {
    /// The labs.
    pub(super) practice: &'a Practice,
    /// The listeners.
    pub(super) addresses: &'a Addresses,
    /// A key of the practice server.
    pub(super) key: &'a str,
    /// Where subject tokens are given out.
    pub(super) desk: SocketAddr,
    /// A link for Alice, ready to be opened.
    pub(super) link: &'a str,
}

impl Notes<'_> {
    /// For scripts.
    pub(super) fn json(&self) -> String {
        let at = self.addresses;
        let notes = json!({
            "connect": format!("http://localhost:{}", at.connect.port()),
            "api": format!("http://{}", at.api),
            "desk": format!("http://{}", self.desk),
            "issuer": self.practice.issuer.base_url(),
            "provider": self.practice.provider.base_url(),
            "server": SERVER,
            "resource": RESOURCE,
            "server_key": self.key,
            "practice_key": self.practice.key,
        });
        notes.to_string()
    }

    /// For people.
    pub(super) fn print(&self) {
        let (api, port) = (self.addresses.api, self.addresses.connect.port());
        let provider = self.practice.provider.base_url();
        let (key, link) = (self.key, self.link);
        say(&format!(
            r#"
  PRACTICE ONLY. This vault is for trying things on this machine. It listens on loopback, its people are
  Alice and Bob, its key file lies beside its data, and all of it is removed when you stop it (Ctrl-C).

  vault, for browsers     http://localhost:{port}
  vault, for MCP servers  http://{api}
  practice issuer         {issuer}   (where Alice and Bob sign in)
  practice provider       {provider}   (what they connect: a few notes)
  subject tokens          http://{desk}/token/alice

  1. Play the MCP server: ask for Alice's credential. (In another terminal.)

     export STRONGROOM_KEY={key}
     TOKEN=$({ask})
     curl -s http://{api}/v1/ensure \
       -H "Authorization: Bearer $STRONGROOM_KEY" -H 'Content-Type: application/json' \
       -d '{{"provider":"practice","scopes":["notes.read"],"subject_token":"'"$TOKEN"'",
            "mcp":{{"protocol_version":"2025-11-25","client_capabilities":{{"elicitation":{{"url":{{}}}}}}}}}}'

     The answer has "status":"elicit" and a connect_url.

  2. Open the connect_url in a browser. Sign in as Alice, say yes, pick an account, confirm it.
     One was asked for already, good for fifteen minutes:

     {link}

  3. Ask again. The answer has "status":"connected" and a credential that works at the provider:

     curl -s {provider}/api/notes -H 'Authorization: Bearer prac_at_...'

  4. The same with a key that a person types in: ask with "provider":"practice-key","scopes":[] and give, as Alice,

     {practice_key}
"#,
            practice_key = self.practice.key,
            issuer = self.practice.issuer.base_url(),
            ask = self.ask_for_token(),
            desk = self.desk,
        ));
    }
}

impl Notes<'_> {
    /// How to get a subject token: by this program, or, where the desk is not at its usual distance, from the desk itself.
    fn ask_for_token(&self) -> String {
        match self.addresses.connect.port() {
            7601 => format!("{} dev token alice", program()),
            port if port.checked_add(3) == Some(self.desk.port()) => {
                format!("{} dev token alice --port {port}", program())
            }
            _ => format!("curl -s http://{}/token/alice", self.desk),
        }
    }
}

/// This program as it can be typed in another terminal.
fn program() -> String {
    std::env::current_exe().map_or_else(
        |_| String::from("strongroom"),
        |path| path.display().to_string(),
    )
}
