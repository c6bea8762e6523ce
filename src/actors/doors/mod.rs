//! Doors: everything the listeners may ask of the vault, and nothing else.
//!
//! The HTTP room depends on these traits alone. It turns requests into the values here and answers into bytes; it cannot
//! reach a store, a key or the network. Each door belongs to one listener and has nothing in common with the others.

mod admin;
mod browser;
mod own_page;
mod server;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use domain::{NotPermitted, RequestId, SubjectRefused, Timestamp};

pub use admin::*;
pub use browser::*;
pub use own_page::*;
pub use server::*;

/// What every door answers: a boxed future, so that a door is an `Arc<dyn …>`.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// One request: its id for logs and problem documents, and the one reading of the clock that all its steps share.
#[derive(Debug, Clone, Copy)]
pub struct Ctx {
    /// Names the request.
    pub request: RequestId,
    /// The time of all its steps.
    pub now: Timestamp,
}

/// Why a request is refused. The HTTP room is the only one that knows which status and problem type belongs to which.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The caller's own credential is not valid (401).
    #[error("the caller's own credential is not valid")]
    Caller,
    /// The subject is not proven (403 `subject-token-invalid`).
    #[error("the subject is not proven: {0}")]
    Subject(SubjectRefused),
    /// Provider or scopes beyond what the operator allowed this server.
    #[error("{0}")]
    NotPermitted(NotPermitted),
    /// Not there, or not the caller's; nobody is told which.
    #[error("there is no such thing for this caller")]
    NotFound,
    /// A requestState that cannot be used, for whatever reason; one frozen answer.
    #[error("the requestState cannot be used")]
    RequestState,
    /// The elicitation has already ended.
    #[error("the elicitation has already ended")]
    Gone,
    /// The same Idempotency-Key was used with other parameters.
    #[error("the Idempotency-Key was used for another request")]
    IdempotencyConflict,
    /// The server has as many live keys as it may have; revoke one first.
    #[error("the server has two live keys already; revoke one first")]
    KeyLimit,
    /// Too many elicitations for this server and person.
    #[error("too many requests; try again later")]
    TooMany {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// A queue is full, or the store is busy; nothing was changed.
    #[error("the vault is busy; nothing was changed")]
    Busy {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// The store or the audit log does not take writes; the operator must act.
    #[error("the vault cannot write at present")]
    Unavailable,
    /// Something that must not happen happened; the log has the request id.
    #[error("the vault failed; the log has the request id")]
    Internal,
}
