//! What readers must still see while newer rows are in sled but not yet on the disk.
//!
//! sled shows a transaction to readers before it is durable. A token answered from such a row would be
//! gone after a power cut although somebody already uses it. So the committer first puts the rows'
//! former values into the veil, then writes, syncs, lifts the veil, and only then acknowledges.
//! A reader reads sled *first* and the veil *second*: if the veil is gone by then, what it read is durable.
//! When a sync fails the veil stays for good, and readers go on seeing acknowledged rows only.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{PoisonError, RwLock},
};

use ::sled::IVec;

use crate::{engine::Table, limits::scan_start};

/// A row's value before the change; `None` where there was no row.
type Before = Option<IVec>;

/// Former values of rows changed since the last sync.
#[derive(Debug, Default)]
pub(super) struct Veil {
    tables: RwLock<BTreeMap<Table, BTreeMap<Vec<u8>, Before>>>,
}

impl Veil {
    /// Hides what is about to be written; the oldest value of a row is the durable one and stays.
    pub(super) fn cover(&self, rows: impl Iterator<Item = (Table, Vec<u8>, Before)>) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for (table, key, before) in rows {
            tables
                .entry(table)
                .or_default()
                .entry(key)
                .or_insert(before);
        }
    }

    /// Shows everything: it is durable now.
    pub(super) fn lift(&self) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.clear();
    }

    /// The value to show for a row, given what was just read from sled.
    pub(super) fn see(&self, table: Table, key: &[u8], found: Before) -> Before {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        match tables.get(&table).and_then(|rows| rows.get(key)) {
            Some(before) => before.clone(),
            None => found,
        }
    }

    /// Corrects a piece of a scan just read from sled: keys with `prefix`, behind `after`, up to and including `last`.
    pub(super) fn correct(
        &self,
        found: &mut BTreeMap<Vec<u8>, IVec>,
        table: Table,
        prefix: &[u8],
        (after, last): (Option<&[u8]>, Option<&[u8]>),
    ) {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let Some(rows) = tables.get(&table) else {
            return;
        };
        let hidden = rows
            .range::<[u8], _>((scan_start(prefix, after), Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .take_while(|(key, _)| last.is_none_or(|last| key.as_slice() <= last));
        for (key, before) in hidden {
            match before {
                Some(value) => found.insert(key.clone(), value.clone()),
                None => found.remove(key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Table = Table::Grants;

    fn value(text: &str) -> IVec {
        IVec::from(text.as_bytes())
    }

    #[test]
    fn readers_see_the_oldest_value_until_the_veil_is_lifted() {
        let veil = Veil::default();
        veil.cover([(T, b"a".to_vec(), Some(value("durable")))].into_iter());
        veil.cover([(T, b"a".to_vec(), Some(value("not yet")))].into_iter());
        veil.cover([(T, b"new".to_vec(), None)].into_iter());
        assert_eq!(
            veil.see(T, b"a", Some(value("newest"))),
            Some(value("durable"))
        );
        assert_eq!(veil.see(T, b"new", Some(value("newest"))), None);
        assert_eq!(veil.see(T, b"other", Some(value("x"))), Some(value("x")));
        veil.lift();
        assert_eq!(
            veil.see(T, b"a", Some(value("newest"))),
            Some(value("newest"))
        );
    }

    #[test]
    fn a_scan_gets_deleted_rows_back_and_loses_new_ones() {
        let veil = Veil::default();
        let rows = [
            ("p1", None),
            ("p2", Some(value("deleted"))),
            ("p9", Some(value("later"))),
            ("q", None),
        ];
        veil.cover(
            rows.into_iter()
                .map(|(key, before)| (T, key.into(), before)),
        );
        let mut found = BTreeMap::from([
            (b"p1".to_vec(), value("new")),
            (b"p3".to_vec(), value("old")),
        ]);
        veil.correct(&mut found, T, b"p", (None, Some(b"p3")));
        let keys: Vec<_> = found.keys().map(Vec::as_slice).collect();
        assert_eq!(keys, [b"p2", b"p3"]);
    }
}
