//! What ends when: a time-ordered index that the janitor walks. An entry is a hint; the row itself decides.

use domain::{BrowserFlowId, Digest, ElicitationId, Timestamp};
use storage::{Store, StoreError, Table};

use super::{Changes, RowKey};

/// What is to be looked at when its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// An elicitation's hard end has passed: it, its ticket and its flows may go.
    Elicitation(ElicitationId),
    /// Pending tokens were not confirmed.
    Pending(BrowserFlowId),
    /// A session's absolute end has passed.
    Session(Digest),
    /// A used login need no longer be remembered.
    UsedLogin(Digest),
    /// What was kept for an `Idempotency-Key` may go.
    Repeat(Digest),
}

/// The index row for something due at `at`.
pub(crate) fn expiry_row(at: Timestamp, due: &Due) -> RowKey {
    let (code, id): (u8, &[u8]) = match due {
        Due::Elicitation(id) => (1, id.as_bytes()),
        Due::Pending(id) => (2, id.as_bytes()),
        Due::Session(hash) => (3, &hash.0),
        Due::UsedLogin(hash) => (4, &hash.0),
        Due::Repeat(hash) => (5, &hash.0),
    };
    let mut key = order(at).to_vec();
    key.push(code);
    key.extend_from_slice(id);
    RowKey {
        table: Table::Expiry,
        key,
    }
}

/// Adds an index row to a commit unless it is there already, as after a sweep that was cut off.
///
/// # Errors
/// What the store says.
pub(crate) async fn look_at(
    store: &dyn Store,
    changes: &mut Changes,
    (at, due): (Timestamp, &Due),
) -> Result<(), StoreError> {
    let entry = expiry_row(at, due);
    if store.read(entry.table, &entry.key).await?.is_none() {
        changes.create(entry, &());
    }
    Ok(())
}

impl Due {
    /// Reads an index key; `None` for one that this program did not write.
    pub(crate) fn parse(key: &[u8]) -> Option<(Timestamp, Self)> {
        let (at, rest) = key.split_first_chunk::<8>()?;
        let (code, id) = rest.split_first()?;
        let due = match code {
            1 => Self::Elicitation(ElicitationId::from_bytes(id.try_into().ok()?)),
            2 => Self::Pending(BrowserFlowId::from_bytes(id.try_into().ok()?)),
            3 => Self::Session(Digest(id.try_into().ok()?)),
            4 => Self::UsedLogin(Digest(id.try_into().ok()?)),
            5 => Self::Repeat(Digest(id.try_into().ok()?)),
            _ => return None,
        };
        Some((Timestamp::from_ms(i64::from_be_bytes(*at)), due))
    }
}

/// Times after 1970 are positive, so their big-endian bytes sort by time.
fn order(at: Timestamp) -> [u8; 8] {
    at.as_ms().max(0).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_sort_by_time_and_read_back() {
        let due = Due::Pending(BrowserFlowId::from_bytes([7; 16]));
        let early = expiry_row(Timestamp::from_ms(1_000), &due);
        let late = expiry_row(
            Timestamp::from_ms(70_000_000_000),
            &Due::Session(Digest([1; 32])),
        );
        assert!(early.key < late.key);
        assert_eq!(
            Due::parse(&early.key),
            Some((Timestamp::from_ms(1_000), due))
        );
        assert_eq!(Due::parse(&late.key[..12]), None);
        let kept = Due::Repeat(Digest([2; 32]));
        let entry = expiry_row(Timestamp::from_ms(5), &kept);
        assert_eq!(Due::parse(&entry.key), Some((Timestamp::from_ms(5), kept)));
    }
}
