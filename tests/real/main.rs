//! Real parts on every side: the program as operators run it, npm's `oidc-provider` as issuer and as third-party provider,
//! headless Chromium, and MCP servers and clients on the official SDKs and fastmcp in both protocol eras.
//!
//! `scripts/setup-tests` installs what is needed; without it these tests fail and say so. Screenshots of every page go to
//! `tests/real/out`.

#[cfg(test)]
mod attacks;
#[cfg(test)]
#[path = "../support/canary.rs"]
#[expect(
    dead_code,
    reason = "the search itself is the last step of scripts/test"
)]
mod canary;
#[cfg(test)]
#[path = "../support/configuration.rs"]
mod configuration;
#[cfg(test)]
#[path = "../support/encoding.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod encoding;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod interop;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod peer;
#[cfg(test)]
#[path = "../support/program.rs"]
#[expect(dead_code, reason = "the crash test uses more of it")]
mod program;
#[cfg(test)]
#[path = "../support/remains.rs"]
#[expect(dead_code, reason = "the program's log comes with the program here")]
mod remains;
#[cfg(test)]
mod sample;
#[cfg(test)]
#[path = "../it/support/server.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod server;
#[cfg(test)]
mod walks;
