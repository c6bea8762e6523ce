//! What the store keeps of the audit log: its last entry, as of the last look. A file that was cut or exchanged while the
//! vault did not run is noticed by it.

use serde::{Deserialize, Serialize};
use storage::{Revision, Store, StoreError};

use super::tail::Known;
use crate::rows::{self, Changes, Row, RowKey};

#[derive(Serialize, Deserialize)]
struct HeadRow {
    seq: u64,
    hash: String,
}

impl Row for HeadRow {
    /// There is one of its kind. Another row does not have its form.
    fn belongs_at(&self, _key: &[u8]) -> bool {
        true
    }
}

fn place() -> RowKey {
    rows::keys::meta("audit/head")
}

/// The entry that was last kept.
pub(super) async fn load(store: &dyn Store) -> Result<Option<Known>, StoreError> {
    let row = rows::load::<HeadRow>(store, &place()).await?;
    Ok(row.map(|row| Known {
        seq: row.value.seq,
        hash: row.value.hash,
    }))
}

/// Keeps an entry, which must be on the disk. One that is later stays.
pub(super) async fn keep(store: &dyn Store, last: Known) -> Result<(), StoreError> {
    let row = HeadRow {
        seq: last.seq,
        hash: last.hash,
    };
    for _ in 0..TRIES {
        let revision = match rows::load::<HeadRow>(store, &place()).await? {
            Some(kept) if kept.value.seq >= row.seq => return Ok(()),
            Some(kept) => kept.revision,
            None => Revision::NONE,
        };
        let mut changes = Changes::default();
        changes.put(place(), revision, &row);
        match changes.commit(store).await {
            // Somebody else kept an entry at this moment, which may be an earlier one.
            Err(StoreError::Conflict { .. }) => {}
            other => return other,
        }
    }
    Ok(()) // very many keep entries at this moment, and the next look comes
}

const TRIES: usize = 8;
