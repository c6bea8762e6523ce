//! The store's interface: rows with revisions, compare-and-swap commits, leases with fences.
//!
//! Engine-neutral on purpose. Everything here can be said in PostgreSQL (a row, `where revision = $n`,
//! one transaction, `insert .. on conflict` for a lease) and on one embedded engine. The store sees keys,
//! public facts and sealed bytes; it has no word for a secret.

use std::{fmt, future::Future, pin::Pin};

/// What every store call returns: a boxed future, so that `Arc<dyn Store>` works.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Longest row body in bytes: a sealed record is capped at 64 KiB; this leaves room for its public facts.
pub const BODY_MAX: usize = 96 * 1024;
/// Longest row key in bytes.
pub const KEY_MAX: usize = 512;
/// Most writes in one commit; an operation that needs more is several operations.
pub const WRITES_MAX: usize = 64;
/// Most rows one scan returns, whatever limit was asked for.
pub const SCAN_MAX: usize = 1024;

/// How often a row was written: 1 after it was created, one more with every `Put`.
///
/// A row that is deleted and created again starts at 1 again. A revision therefore only identifies a
/// state of the row *while the row lives*: somebody who kept revision 1 of the old row could overwrite
/// revision 1 of the new one (ABA). Use keys that are never used twice (random ids), or put a `Check`
/// on a parent row that outlives both into the same commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// "No such row": expected when a row is to be created.
    pub const NONE: Self = Self(0);

    /// The revision the row has after one more write.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// One row as the last acknowledged commit left it.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// The key within its table.
    pub key: Vec<u8>,
    /// The row's revision, never [`Revision::NONE`].
    pub revision: Revision,
    /// Opaque to the store: sealed bytes or public facts.
    pub body: Vec<u8>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys may be look-up hashes and bodies sealed records: sizes are all a log needs.
        f.debug_struct("Row")
            .field("key_bytes", &self.key.len())
            .field("revision", &self.revision)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The tables. Numbers are part of the store's format: never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Facts about the vault as a whole: seal, issuers, the latest time.
    Meta = 1,
    /// Wrapped data keys.
    Keys = 2,
    /// Server keys by look-up hash.
    ServerKeys = 3,
    /// Users per tenant.
    Users = 4,
    /// Open elicitations.
    Elicitations = 5,
    /// Single-use tickets in connect links.
    Tickets = 6,
    /// Browser flows: what one browser has proved so far.
    BrowserFlows = 7,
    /// OAuth `state` values waiting for a callback.
    OauthStates = 8,
    /// Browser sessions.
    Sessions = 9,
    /// Logins already spent, so that none counts twice.
    UsedLogins = 10,
    /// Grants: who connected what.
    Grants = 11,
    /// Grants by their public id.
    GrantIds = 12,
    /// Sealed token records.
    Records = 13,
    // 14 and 15 were planned for renewals and revocation jobs and never used: reserved.
    /// Time-ordered index of what ends when.
    Expiry = 16,
    /// Dynamic server state, for example "disabled".
    Servers = 17,
    /// Answers kept for repeated requests.
    Idempotency = 18,
    /// Live elicitations of one person at one server, so that their number is bounded.
    LiveElicitations = 19,
    /// When each grant was used last.
    Uses = 20,
}

impl Table {
    /// Every table, in number order.
    pub const ALL: [Self; 18] = [
        Self::Meta,
        Self::Keys,
        Self::ServerKeys,
        Self::Users,
        Self::Elicitations,
        Self::Tickets,
        Self::BrowserFlows,
        Self::OauthStates,
        Self::Sessions,
        Self::UsedLogins,
        Self::Grants,
        Self::GrantIds,
        Self::Records,
        Self::Expiry,
        Self::Servers,
        Self::Idempotency,
        Self::LiveElicitations,
        Self::Uses,
    ];

    /// The number the store knows the table by.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// One part of a commit. A commit names each row at most once.
#[derive(Clone, PartialEq, Eq)]
pub enum Write {
    /// Creates the row (`expected` is [`Revision::NONE`]) or replaces its body.
    Put {
        /// Where.
        table: Table,
        /// Which row.
        key: Vec<u8>,
        /// The revision the row must have now.
        expected: Revision,
        /// The new body.
        body: Vec<u8>,
    },
    /// Removes the row. `expected` must name a real revision.
    Delete {
        /// Where.
        table: Table,
        /// Which row.
        key: Vec<u8>,
        /// The revision the row must have now.
        expected: Revision,
    },
    /// Changes nothing, but fails the commit unless the row has this revision ([`Revision::NONE`]: is absent).
    Check {
        /// Where.
        table: Table,
        /// Which row.
        key: Vec<u8>,
        /// The revision the row must have now.
        expected: Revision,
    },
}

impl Write {
    /// The table written to or checked.
    pub const fn table(&self) -> Table {
        match self {
            Self::Put { table, .. } | Self::Delete { table, .. } | Self::Check { table, .. } => {
                *table
            }
        }
    }

    /// The key written to or checked.
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } | Self::Check { key, .. } => key,
        }
    }

    /// The revision the row must have for the commit to happen.
    pub const fn expected(&self) -> Revision {
        match self {
            Self::Put { expected, .. }
            | Self::Delete { expected, .. }
            | Self::Check { expected, .. } => *expected,
        }
    }

    /// Bytes of key and body, for limits.
    pub fn size(&self) -> usize {
        match self {
            Self::Put { key, body, .. } => key.len().saturating_add(body.len()),
            Self::Delete { key, .. } | Self::Check { key, .. } => key.len(),
        }
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Put { .. } => "Put",
            Self::Delete { .. } => "Delete",
            Self::Check { .. } => "Check",
        };
        f.debug_struct(verb)
            .field("table", &self.table())
            .field("expected", &self.expected())
            .field("bytes", &self.size())
            .finish()
    }
}

/// Who asks for a lease: one running replica. Random per start; shown to operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder(pub [u8; 16]);

/// Which holding of a lease is meant. Every later claim of the same name gets a greater fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a held lease must be released, a busy one waited for"]
pub enum Claim {
    /// The caller holds the lease until it ends or is released with this fence.
    Held(Fence),
    /// Somebody else holds it; `until_ms` is when it ends by itself, in Unix milliseconds.
    Busy {
        /// End of the other's lease, Unix milliseconds.
        until_ms: i64,
    },
}

/// How the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Reads and commits are served.
    Serving,
    /// A write or sync failed: acknowledged rows can be read, nothing can be committed until the store is reopened.
    ReadOnly,
    /// The store was closed.
    Closed,
}

/// Why the store did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A row did not have the expected revision; nothing was written. Read again and decide anew.
    #[error("a row of {table:?} changed meanwhile; nothing was written: read it again")]
    Conflict {
        /// The table of the first row that was off.
        table: Table,
    },
    /// The store cannot serve this now. After a commit this means **outcome unknown**: read the rows
    /// again once the store is back, and compare, before deciding that nothing was written.
    #[error("the store is unavailable: {what}")]
    Unavailable {
        /// What happened and what to do.
        what: &'static str,
    },
    /// Stored bytes contradict the format or each other. Never the same as "not found".
    #[error("stored data of {table:?} is inconsistent: {what}; restore from a backup")]
    Inconsistent {
        /// Where.
        table: Table,
        /// What is wrong.
        what: &'static str,
    },
    /// A limit of the store was passed; nothing was written.
    #[error("{what} of {size} is over the limit of {limit}")]
    TooLarge {
        /// What was too large: "key bytes", "body bytes", "writes in one commit".
        what: &'static str,
        /// What was asked for.
        size: usize,
        /// What is allowed.
        limit: usize,
    },
    /// The request makes no sense whatever the store holds: a fault of the caller.
    #[error("malformed request to the store: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
    /// The commit queue is full; nothing was written. Answer 503 with Retry-After.
    #[error("the store's commit queue is full; try again shortly")]
    Busy,
}

/// A durable store of rows. Shared as `Arc<dyn Store>`.
///
/// Every engine passes the same suite, `conformance::store_suite`.
pub trait Store: Send + Sync + 'static {
    /// The row, or `None` if there is none. Sees every acknowledged commit and nothing that is not durable.
    ///
    /// # Errors
    /// `TooLarge`, `Unavailable`, `Inconsistent`.
    fn read(&self, table: Table, key: &[u8]) -> Fut<'_, Option<Row>>;

    /// Up to `limit` (at most [`SCAN_MAX`]) rows whose key starts with `prefix` and is greater than `after`, in key order.
    ///
    /// Each row is read for itself; the answer is not a snapshot. Fewer rows than `limit` (or than
    /// [`SCAN_MAX`], if that is less) means that the end was reached.
    ///
    /// # Errors
    /// `TooLarge`, `Unavailable`, `Inconsistent`.
    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Fut<'_, Vec<Row>>;

    /// Does all the writes or none of them; durable before `Ok`. An empty commit is `Ok`.
    ///
    /// Work that was handed over goes on when the future is dropped.
    ///
    /// # Errors
    /// `Conflict` if any expectation is off; `Busy`, `TooLarge`, `Malformed`: nothing written;
    /// `Unavailable`: outcome unknown.
    fn commit(&self, writes: Vec<Write>) -> Fut<'_, ()>;

    /// Claims the lease `name` for `for_ms` milliseconds from `now_ms` (Unix milliseconds; an engine
    /// shared between replicas uses its own clock instead). A lease is not re-entrant.
    ///
    /// # Errors
    /// `TooLarge`, `Malformed`, `Unavailable`.
    fn claim(&self, name: &[u8], holder: Holder, now_ms: i64, for_ms: i64) -> Fut<'_, Claim>;

    /// Frees the lease if it is still the one with this fence; otherwise does nothing.
    ///
    /// # Errors
    /// `TooLarge`, `Unavailable`.
    fn release(&self, name: &[u8], fence: Fence) -> Fut<'_, ()>;

    /// The number of the last durable commit; grows by one with every commit that changes a row.
    fn commit_number(&self) -> u64;

    /// Whether the store serves.
    fn health(&self) -> Health;

    /// Finishes what was handed over, syncs, and lets go of the files. Later calls get `Unavailable`.
    ///
    /// # Errors
    /// `Unavailable` if the last sync failed.
    fn close(&self) -> Fut<'_, ()>;
}
