//! When each grant was used last, for the person's own page. No decision rests on it, so a release only notes it in memory;
//! the janitor keeps what was noted about once a minute, and so does a stop in good order.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{GrantId, Timestamp};
use storage::{Revision, StoreError};

use crate::core::Core;
use crate::rows::{self, Changes};

/// What was noted and not yet kept.
#[derive(Default)]
pub(crate) struct Uses {
    noted: Mutex<HashMap<GrantId, Timestamp>>,
}

/// Grants noted at once at most, so that memory is bounded; one more is not noted before the next keeping.
const MOST: usize = 200_000;
/// Rows in one commit.
const BATCH: usize = 64;

impl Uses {
    /// A credential of this grant was released.
    pub(crate) fn note(&self, grant: GrantId, now: Timestamp) {
        let mut noted = self.noted();
        if noted.len() < MOST || noted.contains_key(&grant) {
            let last = noted.entry(grant).or_insert(now);
            *last = (*last).max(now);
        }
    }

    /// What is in memory about a grant.
    fn of(&self, grant: GrantId) -> Option<Timestamp> {
        self.noted().get(&grant).copied()
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<GrantId, Timestamp>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a grant was used last.
///
/// # Errors
/// What the store says.
pub(crate) async fn last(core: &Core, grant: GrantId) -> Result<Option<Timestamp>, StoreError> {
    let noted = core.uses.of(grant);
    let row = rows::load::<Timestamp>(&*core.store, &rows::keys::last_use(grant)).await?;
    Ok(noted.max(row.map(|row| row.value)))
}

/// Keeps what was noted. What the store does not take is noted again.
///
/// # Errors
/// What the store says.
pub(crate) async fn keep(core: &Core) -> Result<(), StoreError> {
    let noted: Vec<_> = std::mem::take(&mut *core.uses.noted())
        .into_iter()
        .collect();
    for (at, batch) in noted.chunks(BATCH).enumerate() {
        if let Err(error) = commit(core, batch).await {
            for (grant, now) in noted.iter().skip(at * BATCH) {
                core.uses.note(*grant, *now);
            }
            return Err(error);
        }
    }
    Ok(())
}

async fn commit(core: &Core, batch: &[(GrantId, Timestamp)]) -> Result<(), StoreError> {
    let mut changes = Changes::default();
    for (grant, now) in batch {
        let key = rows::keys::last_use(*grant);
        let row = rows::load::<Timestamp>(&*core.store, &key).await?;
        let revision = row.as_ref().map_or(Revision::NONE, |row| row.revision);
        changes.put(key, revision, &row.map_or(*now, |row| row.value.max(*now)));
    }
    changes.commit(&*core.store).await
}
