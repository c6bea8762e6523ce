//! How long flows may take: every lease, limit and patience that depends on another is a sum of its parts, here.

use std::time::Duration;

use upstream::budgets::{DISCOVERY, SHORT_CALL, TOKEN_CALL};

use crate::desk::PATIENCE;

/// Reads, seals and commits of one flow, with room for a slow disk.
const OWN_WORK: Duration = Duration::from_secs(3);
/// A revocation that ends a flow: leave to make it, where to make it, the call.
const REVOCATION: Duration = PATIENCE
    .saturating_add(DISCOVERY)
    .saturating_add(SHORT_CALL);

/// How often it is tried to keep refreshed tokens.
pub(crate) const KEEP_TRIES: u32 = 60;
/// The pause between two tries.
pub(crate) const KEEP_PAUSE: Duration = Duration::from_millis(200);
/// All tries to keep refreshed tokens.
const KEEP: Duration = KEEP_PAUSE.saturating_mul(KEEP_TRIES);

/// The lease of a refresh: all that happens under it. Where the endpoint is was learnt before, and what is revoked is
/// revoked after the grant has moved on, when nobody redeems its refresh token any more.
pub(crate) const LEASE: Duration = TOKEN_CALL.saturating_add(KEEP).saturating_add(OWN_WORK);

/// How long a caller waits for a refresh; the refresh goes on without it.
pub(crate) const OBTAIN: Duration = TOKEN_CALL.saturating_add(PATIENCE);

/// A code exchange, from the spent `state` to pending tokens or to a failure that is written; one that takes longer was
/// interrupted. What cannot be kept is revoked after that.
pub(crate) const EXCHANGE: Duration = DISCOVERY
    .saturating_add(TOKEN_CALL)
    .saturating_add(SHORT_CALL)
    .saturating_add(OWN_WORK);

const WHOLE_REFRESH: Duration = PATIENCE
    .saturating_add(DISCOVERY)
    .saturating_add(LEASE)
    .saturating_add(REVOCATION);
const WHOLE_EXCHANGE: Duration = EXCHANGE.saturating_add(REVOCATION);

/// The longest flow from its start to its end: how long a process that stops waits for those that run.
pub const LONGEST_FLOW: Duration = if WHOLE_REFRESH.as_millis() > WHOLE_EXCHANGE.as_millis() {
    WHOLE_REFRESH
} else {
    WHOLE_EXCHANGE
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_waits_for_leave_then_for_metadata_and_then_for_its_answer() {
        assert_eq!(REVOCATION, Duration::from_secs(25));
        assert_eq!(EXCHANGE, Duration::from_secs(53));
        assert_eq!(LONGEST_FLOW, Duration::from_secs(85));
    }

    #[test]
    fn a_lease_outlives_all_that_happens_under_it() {
        assert!(LEASE > TOKEN_CALL.saturating_add(KEEP));
        assert_eq!(LEASE, Duration::from_secs(45));
        assert!(LONGEST_FLOW > LEASE && LONGEST_FLOW > EXCHANGE);
    }
}
