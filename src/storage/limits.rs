//! What a request to the store may ask for, checked the same way in front of every engine.

use std::{collections::BTreeSet, ops::Bound};

use crate::engine::{BODY_MAX, KEY_MAX, Revision, SCAN_MAX, StoreError, WRITES_MAX, Write};

/// Refuses commits that are too large or that no store state could make sense of.
pub(crate) fn check_commit(writes: &[Write]) -> Result<(), StoreError> {
    within("writes in one commit", writes.len(), WRITES_MAX)?;
    let mut rows = BTreeSet::new();
    for write in writes {
        check_key(write.key())?;
        if let Write::Put { body, .. } = write {
            within("body bytes", body.len(), BODY_MAX)?;
        }
        if matches!(write, Write::Delete { .. }) && write.expected() == Revision::NONE {
            return Err(StoreError::Malformed {
                what: "a delete must name the revision of an existing row",
            });
        }
        if !rows.insert((write.table(), write.key())) {
            return Err(StoreError::Malformed {
                what: "a commit may name a row only once",
            });
        }
    }
    Ok(())
}

/// Refuses keys, prefixes and lease names that are too long.
pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    within("key bytes", key.len(), KEY_MAX)
}

/// Checks a scan and returns how many rows it may answer.
pub(crate) fn check_scan(
    prefix: &[u8],
    after: Option<&[u8]>,
    limit: usize,
) -> Result<usize, StoreError> {
    check_key(prefix)?;
    check_key(after.unwrap_or_default())?;
    Ok(limit.min(SCAN_MAX))
}

/// Where a scan starts: behind `after`, but never in front of the prefix.
pub(crate) fn scan_start<'a>(prefix: &'a [u8], after: Option<&'a [u8]>) -> Bound<&'a [u8]> {
    match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        Some(_) | None => Bound::Included(prefix),
    }
}

fn within(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit {
        return Err(StoreError::TooLarge { what, size, limit });
    }
    Ok(())
}
