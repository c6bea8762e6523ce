//! The reference engine: a map behind a lock. Durable engines are compared with it; tests run on it.
//!
//! It keeps every promise of [`Store`] except that nothing survives the process.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    engine::{Claim, Fence, Fut, Health, Holder, Revision, Row, Store, StoreError, Table, Write},
    leases::Leases,
    limits::{check_commit, check_key, check_scan, scan_start},
};

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    leases: Leases,
}

#[derive(Debug, Default)]
struct State {
    tables: BTreeMap<Table, BTreeMap<Vec<u8>, Row>>,
    number: u64,
    closed: bool,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            leases: Leases::new(),
        }
    }

    /// A panic cannot leave the state half changed: commits are checked before the first change.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the store was closed.
    fn open(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.lock();
        if state.closed {
            return Err(StoreError::Unavailable {
                what: "it was closed",
            });
        }
        Ok(state)
    }

    fn read_now(&self, table: Table, key: &[u8]) -> Result<Option<Row>, StoreError> {
        check_key(key)?;
        Ok(self.open()?.row(table, key).cloned())
    }

    fn scan_now(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let limit = check_scan(prefix, after, limit)?;
        let state = self.open()?;
        let range = (scan_start(prefix, after), Bound::Unbounded);
        let rows = state
            .tables
            .get(&table)
            .into_iter()
            .flat_map(|rows| rows.range::<[u8], _>(range))
            .map(|(_, row)| row)
            .take_while(|row| row.key.starts_with(prefix));
        Ok(rows.take(limit).cloned().collect())
    }

    fn commit_now(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        check_commit(&writes)?;
        let mut state = self.open()?;
        for write in &writes {
            if state.revision(write.table(), write.key()) != write.expected() {
                return Err(StoreError::Conflict {
                    table: write.table(),
                });
            }
        }
        let mut changed = false;
        for write in writes {
            changed |= state.apply(write);
        }
        state.number = state.number.saturating_add(u64::from(changed));
        Ok(())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn row(&self, table: Table, key: &[u8]) -> Option<&Row> {
        self.tables.get(&table)?.get(key)
    }

    fn revision(&self, table: Table, key: &[u8]) -> Revision {
        self.row(table, key)
            .map_or(Revision::NONE, |row| row.revision)
    }

    /// Does one checked write; says whether it changed a row.
    fn apply(&mut self, write: Write) -> bool {
        match write {
            Write::Put {
                table,
                key,
                expected,
                body,
            } => {
                let revision = expected.next();
                let row = Row {
                    key: key.clone(),
                    revision,
                    body,
                };
                self.tables.entry(table).or_default().insert(key, row);
                true
            }
            Write::Delete { table, key, .. } => {
                self.tables.entry(table).or_default().remove(&key);
                true
            }
            Write::Check { .. } => false,
        }
    }
}

impl Store for MemoryStore {
    fn read(&self, table: Table, key: &[u8]) -> Fut<'_, Option<Row>> {
        let key = key.to_vec();
        Box::pin(async move { self.read_now(table, &key) })
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Fut<'_, Vec<Row>> {
        let (prefix, after) = (prefix.to_vec(), after.map(<[u8]>::to_vec));
        Box::pin(async move { self.scan_now(table, &prefix, after.as_deref(), limit) })
    }

    fn commit(&self, writes: Vec<Write>) -> Fut<'_, ()> {
        Box::pin(async move { self.commit_now(writes) })
    }

    fn claim(&self, name: &[u8], holder: Holder, now_ms: i64, for_ms: i64) -> Fut<'_, Claim> {
        let name = name.to_vec();
        Box::pin(async move {
            drop(self.open()?);
            self.leases.claim(&name, holder, now_ms, for_ms)
        })
    }

    fn release(&self, name: &[u8], fence: Fence) -> Fut<'_, ()> {
        let name = name.to_vec();
        Box::pin(async move {
            drop(self.open()?);
            self.leases.release(&name, fence)
        })
    }

    fn commit_number(&self) -> u64 {
        self.lock().number
    }

    fn health(&self) -> Health {
        if self.lock().closed {
            Health::Closed
        } else {
            Health::Serving
        }
    }

    fn close(&self) -> Fut<'_, ()> {
        Box::pin(async move {
            self.lock().closed = true;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn the_reference_passes_the_suite() {
        crate::conformance::store_suite(async || Arc::new(MemoryStore::new()) as Arc<dyn Store>)
            .await;
    }
}
