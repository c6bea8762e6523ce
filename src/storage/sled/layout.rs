//! How rows lie in sled: one tree per table, a row's revision in front of its body.

use std::collections::BTreeMap;

use ::sled::{Db, IVec, Tree};

use crate::engine::{Revision, Row, StoreError, Table};

/// Key of the format marker in the store's own tree.
pub(super) const FORMAT_KEY: &[u8] = b"format";
/// Key of the vault id in the store's own tree.
pub(super) const VAULT_KEY: &[u8] = b"vault";
/// Key of the commit number in the store's own tree.
pub(super) const NUMBER_KEY: &[u8] = b"number";

/// Handles to everything in one open database. Clones share the database; the last one closes it.
#[derive(Clone)]
pub(super) struct Trees {
    pub(super) db: Db,
    /// What the store knows about itself; no caller reaches it.
    pub(super) own: Tree,
    tables: BTreeMap<Table, Tree>,
}

impl Trees {
    pub(super) fn open(db: Db) -> ::sled::Result<Self> {
        let own = db.open_tree("store")?;
        let mut tables = BTreeMap::new();
        for table in Table::ALL {
            // Trees are named by number: numbers are the format, names are only for reading.
            let tree = db.open_tree(format!("table-{}", table.number()))?;
            tables.insert(table, tree);
        }
        Ok(Self { db, own, tables })
    }

    pub(super) fn table(&self, table: Table) -> Result<&Tree, StoreError> {
        self.tables.get(&table).ok_or(StoreError::Inconsistent {
            table,
            what: "the table has no tree",
        })
    }

    /// The commit number in the store, or `None` if it is absent or not a number.
    pub(super) fn number(&self) -> ::sled::Result<Option<u64>> {
        let bytes = self.own.get(NUMBER_KEY)?;
        Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?))))
    }
}

/// A row as sled keeps it.
pub(super) fn encode(revision: Revision, body: &[u8]) -> IVec {
    let mut value = Vec::with_capacity(body.len().saturating_add(8));
    value.extend_from_slice(&revision.0.to_be_bytes());
    value.extend_from_slice(body);
    IVec::from(value)
}

/// Reads a kept row.
pub(super) fn decode(table: Table, key: &[u8], value: &[u8]) -> Result<Row, StoreError> {
    let (revision, body) = split(table, value)?;
    Ok(Row {
        key: key.to_vec(),
        revision,
        body: body.to_vec(),
    })
}

/// The revision of a kept row, or of no row.
pub(super) fn revision(table: Table, value: Option<&IVec>) -> Result<Revision, StoreError> {
    value.map_or(Ok(Revision::NONE), |value| {
        split(table, value).map(|(revision, _)| revision)
    })
}

fn split(table: Table, value: &[u8]) -> Result<(Revision, &[u8]), StoreError> {
    match value.split_first_chunk::<8>() {
        Some((revision, body)) if *revision != [0; 8] => {
            Ok((Revision(u64::from_be_bytes(*revision)), body))
        }
        Some(_) | None => Err(StoreError::Inconsistent {
            table,
            what: "a row without a revision",
        }),
    }
}
