//! The sample MCP servers of `tests/interop`, each on another SDK, and the SDKs' own clients that drive them.

use std::process::Command;

use crate::installation::{Installation, RESOURCE};
use crate::peer::{Peer, Said, python, run, typescript};
use crate::remains;

/// A sample server.
pub(crate) struct Sample {
    program: fn() -> Command,
    /// Protocol eras that its SDK speaks.
    pub(crate) eras: &'static [&'static str],
}

/// The official Python SDK, 2.x.
pub(crate) const PYTHON: Sample = Sample {
    program: || python("mcp_server.py"),
    eras: &["modern", "legacy"],
};

/// fastmcp, 4.x.
pub(crate) const FASTMCP: Sample = Sample {
    program: || python("fastmcp_server.py"),
    eras: &["modern", "legacy"],
};

/// The official TypeScript SDK, 2.x.
pub(crate) const TYPESCRIPT_2: Sample = Sample {
    program: || typescript("server2.ts"),
    eras: &["modern", "legacy"],
};

/// The official TypeScript SDK, 1.x.
pub(crate) const TYPESCRIPT_1: Sample = Sample {
    program: || typescript("server1.ts"),
    eras: &["legacy"],
};

/// Starts a sample server for this vault.
pub(crate) fn start(sample: &Sample, vault: &Installation, more: &[&str]) -> Peer {
    let mut command = (sample.program)();
    let api = format!("{}/api/notes", vault.provider());
    command
        .args(["--vault", &vault.api, "--issuer", vault.issuer()])
        .args(["--api", &api, "--resource", RESOURCE])
        .args(more)
        .env("STRONGROOM_KEY", &vault.server.key);
    Peer::start(command)
}

/// An SDK's own client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Of the Python SDK.
    Python,
    /// Of the TypeScript SDK 2.x.
    TypeScript,
}

impl Client {
    /// Calls the tool of a sample server for this person.
    pub(crate) async fn call(
        self,
        vault: &Installation,
        server: &Peer,
        person: &str,
        arguments: &[&str],
    ) -> Said {
        let mut command = match self {
            Self::Python => python("mcp_client.py"),
            Self::TypeScript => typescript("client.ts"),
        };
        command
            .arg(&server.address)
            .args(["--as", person])
            .args(arguments)
            .env("MCP_TOKEN", vault.token(person).await);
        let said = run(command).await;
        // The link is for the client; nothing else that the vault knows is.
        remains::said("what an MCP client was told", &["ticket"], &said.all);
        said
    }
}
