//! The latest moment this vault has seen, kept in the store: a clock that is set back while the process is down revives
//! nothing that had ended.
//!
//! It is coarse. The janitor writes it once a minute and the end of the process once more, so what ended in the last minute
//! before a kill may live again for as long as the clock was set back.

use std::time::Duration;

use domain::Timestamp;
use serde::{Deserialize, Serialize};
use storage::{Revision, Store, StoreError, Table};

use crate::rows::{self, Changes, Row, RowKey};

#[derive(Serialize, Deserialize)]
struct TimeRow {
    seen: Timestamp,
}

impl Row for TimeRow {
    /// It says what time it is; whoever can write it can write that.
    fn belongs_at(&self, _key: &[u8]) -> bool {
        true
    }
}

/// How far the mark may lag behind while the process runs.
pub(crate) const COARSE: Duration = Duration::from_secs(60);

const NAME: &str = "time";

/// Where the mark stands, for whoever looks at a store without opening it.
pub const TIME_MARK: (Table, &[u8]) = (Table::Meta, NAME.as_bytes());

/// The moment in a body that was read there.
pub fn seen_in(body: &[u8]) -> Option<Timestamp> {
    let row: TimeRow = serde_json::from_slice(body).ok()?;
    Some(row.seen)
}

fn at() -> RowKey {
    rows::keys::meta(NAME)
}

/// The latest moment that was noted.
///
/// # Errors
/// What the store says.
pub async fn seen_until(store: &dyn Store) -> Result<Option<Timestamp>, StoreError> {
    let row = rows::load::<TimeRow>(store, &at()).await?;
    Ok(row.map(|row| row.value.seen))
}

/// Notes that it is `now`, if the mark lags by more than `coarse`. It never goes back.
pub(crate) async fn note(
    store: &dyn Store,
    now: Timestamp,
    coarse: Duration,
) -> Result<(), StoreError> {
    let row = rows::load::<TimeRow>(store, &at()).await?;
    let (seen, revision) = row.map_or((Timestamp::from_ms(0), Revision::NONE), |row| {
        (row.value.seen, row.revision)
    });
    if seen.plus(coarse) >= now {
        return Ok(());
    }
    write(store, now, revision).await
}

/// Takes `now` for true although the mark is later: the operator says so.
///
/// # Errors
/// What the store says.
pub async fn set_back(store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
    match rows::load::<TimeRow>(store, &at()).await? {
        Some(row) if row.value.seen > now => write(store, now, row.revision).await,
        _ => Ok(()),
    }
}

async fn write(store: &dyn Store, now: Timestamp, revision: Revision) -> Result<(), StoreError> {
    let mut changes = Changes::default();
    changes.put(at(), revision, &TimeRow { seen: now });
    changes.commit(store).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::MemoryStore;

    #[actix::test]
    async fn the_mark_is_coarse_and_goes_back_only_on_demand() {
        let store = MemoryStore::new();
        let at = |seconds: i64| Timestamp::from_seconds(1_000_000 + seconds);
        assert_eq!(seen_until(&store).await.unwrap(), None);
        for (now, seen) in [(0, 0), (60, 0), (61, 61), (10, 61)] {
            note(&store, at(now), COARSE).await.unwrap();
            assert_eq!(seen_until(&store).await.unwrap(), Some(at(seen)), "{now}");
        }
        note(&store, at(62), Duration::ZERO).await.unwrap();
        assert_eq!(seen_until(&store).await.unwrap(), Some(at(62)));
        set_back(&store, at(100)).await.unwrap();
        assert_eq!(seen_until(&store).await.unwrap(), Some(at(62)));
        set_back(&store, at(7)).await.unwrap();
        assert_eq!(seen_until(&store).await.unwrap(), Some(at(7)));
    }
}
