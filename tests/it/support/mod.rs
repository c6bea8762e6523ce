//! What all integration tests stand on.

mod browser;
mod clock;
mod kill;
mod log;
mod ports;
mod server;
mod vault;

pub(crate) use browser::{Browser, Page, cookie_value, encode};
pub(crate) use clock::ManualClock;
pub(crate) use log::log;
pub(crate) use server::{Answered, McpServer};
pub(crate) use vault::{RESOURCE, SECRET, Setup, TestVault};
