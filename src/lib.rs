//! Strongroom: a self-hosted token vault for MCP servers.
//!
//! This package is the composition root. It reads the configuration, opens seal and store, builds the rooms from the
//! bottom up, binds the three listeners and stops everything in order. Nothing else knows it.
#![doc = include_str!("ARCHITECTURE.md")]

#[cfg(all(
    any(feature = "test-hooks", feature = "kill-switch"),
    not(debug_assertions)
))]
compile_error!(
    "test-hooks and kill-switch are for builds of tests; a release is built without them"
);

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
mod descriptors;
pub mod dev;
mod dumps;
pub mod foundation;
mod listeners;
mod sockets;
mod telemetry;

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
