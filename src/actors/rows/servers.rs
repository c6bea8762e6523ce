//! Servers: their keys, whether they are disabled, and how many elicitations they have out for a person.

use domain::{Blob, Digest, ElicitationId, ServerSlug, Timestamp};
use serde::{Deserialize, Serialize};

/// A server key, found by its public id. The secret is not here, only a keyed hash of the whole key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerKeyRow {
    /// Whose key; `None` for an admin key.
    pub(crate) server: Option<ServerSlug>,
    /// Keyed hash of the whole key.
    pub(crate) hash: Digest,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// When it was revoked.
    pub(crate) revoked: Option<Timestamp>,
}

/// What changes about a declared server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerRow {
    /// Whether the operator disabled it.
    pub(crate) disabled: bool,
}

/// What a request that is repeated with its `Idempotency-Key` finds again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RepeatRow {
    /// The elicitation made for it.
    pub(crate) elicitation: ElicitationId,
    /// The elicitation's connect ticket, sealed under the tenant's flow key.
    pub(crate) ticket: Blob,
    /// When the key is forgotten.
    pub(crate) ends: Timestamp,
}

/// Elicitations of one person at one server that may still be live.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LiveList {
    /// Oldest first.
    pub(crate) elicitations: Vec<LiveOne>,
}

/// One of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LiveOne {
    /// Its id.
    pub(crate) id: ElicitationId,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// Its hard end.
    pub(crate) ends: Timestamp,
}

impl LiveList {
    /// Most live elicitations of one person at one server.
    pub(crate) const MAX: usize = 20;
    /// Most new ones in a minute.
    pub(crate) const MAX_PER_MINUTE: usize = 10;

    /// Drops those that are over.
    pub(crate) fn prune(&mut self, now: Timestamp) {
        self.elicitations.retain(|one| !one.ends.passed(now));
    }

    /// Takes out one that has ended, and those whose time is over; whether any was there.
    pub(crate) fn forget(&mut self, ended: ElicitationId, now: Timestamp) -> bool {
        let before = self.elicitations.len();
        self.elicitations.retain(|one| one.id != ended);
        self.prune(now);
        self.elicitations.len() < before
    }

    /// Whether it is as long as it may be.
    pub(crate) fn is_full(&self) -> bool {
        self.elicitations.len() >= Self::MAX
    }

    /// Whether one more is allowed; otherwise how long to wait.
    ///
    /// # Errors
    /// How long to wait.
    pub(crate) fn room(&self, now: Timestamp) -> Result<(), std::time::Duration> {
        let minute = std::time::Duration::from_secs(60);
        let young: Vec<&LiveOne> = self
            .elicitations
            .iter()
            .filter(|one| !one.created.plus(minute).passed(now))
            .collect();
        if young.len() >= Self::MAX_PER_MINUTE {
            return Err(young
                .first()
                .map_or(minute, |one| one.created.plus(minute).left(now)));
        }
        if self.is_full() {
            return Err(self
                .elicitations
                .first()
                .map_or(minute, |one| one.ends.left(now)));
        }
        Ok(())
    }
}
