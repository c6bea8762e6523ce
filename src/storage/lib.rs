//! Strongroom room: storage. Rows, revisions, leases: what every engine promises, and the engines.
//!
//! Storage sees ids, public facts, hashes and sealed bytes. It cannot name a secret and knows no HTTP;
//! what a body means is decided by the rooms above. [`memory`] is the reference every other engine is
//! compared with, [`sled`] the durable default. What is absent: queries, secondary indexes, time.

mod engine;
mod leases;
mod limits;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod memory;
pub mod sled;

pub use engine::{
    BODY_MAX, Claim, Fence, Fut, Health, Holder, KEY_MAX, Revision, Row, SCAN_MAX, Store,
    StoreError, Table, WRITES_MAX, Write,
};
pub use memory::MemoryStore;
pub use sled::{HeldStore, Looked, OpenError, Settings, SledStore};
