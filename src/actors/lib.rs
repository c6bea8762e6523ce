//! Actors: permission, order and time; and the flows that do the work.
//!
//! Actors are thin here. A [`grant_shard`] lets callers share one refresh, a [`desk`] bounds calls to one outside service,
//! an [`elicitation_shard`] keeps those who wait, the audit log's actor gathers disk syncs, the [`janitor`] schedules. They
//! hold ids, waiters and permits, never the truth: that is in the store, and any of them may die at any time. The work
//! itself is plain async functions in [`flows`], and the decisions are pure functions of the domain.
//!
//! What others see is [`doors`] (three traits, one for each listener) and [`Vault`], which answers them.
//!
//! Invariants: no secret in a message; no actor waits for IO in its handler; no state in memory is needed for correctness;
//! reading a fresh token crosses no mailbox. The message graph has no cycle: doors ask shards, shards start flows, flows
//! ask desks; everyone may ask the audit log, which asks nobody.

mod audit;
mod core;
mod desk;
pub mod doors;
mod elicitation_shard;
#[cfg(feature = "fill")]
mod fill;
mod flows;
mod grant_shard;
mod janitor;
mod polls;
mod rows;
mod sealing;
mod seals;
mod setup;
mod supervise;
mod time_mark;
mod uses;
mod vault;

pub use audit::{AuditError, record_alone};
pub use flows::budgets::LONGEST_FLOW;
pub use seals::{MOST_SLOTS, SlotView};
pub use setup::{SetupError, create_keys, open_keys, pin_issuers};
pub use time_mark::{TIME_MARK, seen_in, seen_until, set_back};
pub use vault::{Parts, SealsError, Vault};
