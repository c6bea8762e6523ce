//! Rows: the vault's facts as the store keeps them, and the one way to read and change them.
//!
//! Bodies are JSON of domain types with sealed parts inside; keys are built in [`keys`] alone. Every change is a
//! compare-and-swap on the revision that was read, and [`Changes`] joins several rows into one commit.

mod expiry;
mod home;
pub(crate) mod keys;
mod people;
mod servers;

use std::ops::ControlFlow;

use serde::{Serialize, de::DeserializeOwned};
use storage::{Revision, Store, StoreError, Table, Write};

pub(crate) use expiry::{Due, expiry_row, look_at};
pub(crate) use keys::RowKey;
pub(crate) use people::{SessionRow, UserRow, WrappedRow};
pub(crate) use servers::{LiveList, LiveOne, RepeatRow, ServerKeyRow, ServerRow};

/// A value that stands in a row of its own.
pub(crate) trait Row: DeserializeOwned {
    /// Whether the row at `key` is the one that its value belongs to. Whoever can write to the disk can copy a row to
    /// another key; a value that says itself what it is about is believed only in its own place. What says nothing of the
    /// kind is bound to its key by its seal or its keyed hash, as noted at each type.
    fn belongs_at(&self, key: &[u8]) -> bool;
}

/// A row that was read: its value and the revision that a change must name.
#[derive(Debug, Clone)]
pub(crate) struct Stored<T> {
    /// What it says.
    pub(crate) value: T,
    /// Its revision.
    pub(crate) revision: Revision,
}

/// Reads one row.
///
/// # Errors
/// What the store says; a body that is not what it should be, or belongs to another key, is `Inconsistent`.
pub(crate) async fn load<T: Row>(
    store: &dyn Store,
    key: &RowKey,
) -> Result<Option<Stored<T>>, StoreError> {
    let Some(row) = store.read(key.table, &key.key).await? else {
        return Ok(None);
    };
    Ok(Some(Stored {
        value: parse(key.table, (&key.key, &row.body))?,
        revision: row.revision,
    }))
}

/// Reads a row's JSON body.
///
/// # Errors
/// `Inconsistent` when it is not one of `T`, or belongs to another key.
pub(crate) fn parse<T: Row>(table: Table, (key, body): (&[u8], &[u8])) -> Result<T, StoreError> {
    let value: T = serde_json::from_slice(body).map_err(|_| StoreError::Inconsistent {
        table,
        what: "a row does not have its form",
    })?;
    if value.belongs_at(key) {
        Ok(value)
    } else {
        Err(StoreError::Inconsistent {
            table,
            what: "a row stands in the place of another one",
        })
    }
}

/// Shows all rows of a table whose key begins with `prefix`, each with its key, in order, until `see` has seen enough.
///
/// # Errors
/// What the store says; one row that is not what it should be ends it.
pub(crate) async fn each<T: Row>(
    store: &dyn Store,
    (table, prefix): (Table, &[u8]),
    mut see: impl FnMut(&[u8], T) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let page = store
            .scan(table, prefix, after.as_deref(), storage::SCAN_MAX)
            .await?;
        for row in &page {
            if see(&row.key, parse(table, (&row.key, &row.body))?).is_break() {
                return Ok(());
            }
        }
        match page.last() {
            Some(last) if page.len() == storage::SCAN_MAX => after = Some(last.key.clone()),
            _ => return Ok(()),
        }
    }
}

/// Several writes that happen together or not at all.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    writes: Vec<Write>,
    unwritable: bool,
}

impl Changes {
    /// Creates a row; the commit fails when it is there already.
    pub(crate) fn create<T: Serialize>(&mut self, key: RowKey, value: &T) {
        self.put(key, Revision::NONE, value);
    }

    /// Replaces a row that had this revision.
    pub(crate) fn put<T: Serialize>(&mut self, key: RowKey, expected: Revision, value: &T) {
        match serde_json::to_vec(value) {
            Ok(body) => self.put_bytes(key, expected, body),
            Err(_) => self.unwritable = true,
        }
    }

    /// Replaces a row whose body is not JSON (a sealed record).
    pub(crate) fn put_bytes(&mut self, key: RowKey, expected: Revision, body: Vec<u8>) {
        self.writes.push(Write::Put {
            table: key.table,
            key: key.key,
            expected,
            body,
        });
    }

    /// Removes a row that had this revision.
    pub(crate) fn delete(&mut self, key: RowKey, expected: Revision) {
        self.writes.push(Write::Delete {
            table: key.table,
            key: key.key,
            expected,
        });
    }

    /// Fails the commit unless the row still has this revision.
    pub(crate) fn check(&mut self, key: RowKey, expected: Revision) {
        self.writes.push(Write::Check {
            table: key.table,
            key: key.key,
            expected,
        });
    }

    /// Whether the commit would find all rows as they were read, as far as can be told beforehand.
    ///
    /// # Errors
    /// `Conflict` when one has changed since; what the store says.
    pub(crate) async fn still_fit(&self, store: &dyn Store) -> Result<(), StoreError> {
        for write in &self.writes {
            let (Write::Put {
                table,
                key,
                expected,
                ..
            }
            | Write::Delete {
                table,
                key,
                expected,
            }
            | Write::Check {
                table,
                key,
                expected,
            }) = write;
            let now = store.read(*table, key).await?;
            if now.map_or(Revision::NONE, |row| row.revision) != *expected {
                return Err(StoreError::Conflict { table: *table });
            }
        }
        Ok(())
    }

    /// Commits.
    ///
    /// # Errors
    /// What the store says; `Conflict` means that nothing was written and the rows must be read again.
    pub(crate) async fn commit(self, store: &dyn Store) -> Result<(), StoreError> {
        if self.unwritable {
            return Err(StoreError::Malformed {
                what: "a row cannot be written as JSON",
            });
        }
        store.commit(self.writes).await
    }
}
