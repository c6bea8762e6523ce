//! A look at a store that may have gone back, before anybody takes it as it is.

use std::{cell::RefCell, path::Path};

use super::{
    OpenError, Settings, SledStore,
    error::{io_error, sled_error},
    layout,
    open::{lock_sidecar, must_exist},
    raw::{identify, wait_for_sled},
    sidecar::{self, Sidecar},
    trial,
};
use crate::engine::Table;

/// What a store says that was looked at and not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The last commit in the store.
    pub store: u64,
    /// The last commit known to be acknowledged; `None` when the sidecar is lost or belongs to another vault.
    pub sidecar: Option<u64>,
    /// The body of the row that was asked for.
    pub body: Option<Vec<u8>>,
}

impl SledStore {
    /// Looks at the commit numbers of the store in `dir` and at one row, on a copy. Blocks on the disk.
    ///
    /// # Errors
    /// Any [`OpenError`] but `Exists`, `RolledBack` and `SidecarLost`.
    pub fn look(
        dir: &Path,
        format: &str,
        settings: Settings,
        (table, key): (Table, &[u8]),
    ) -> Result<Looked, OpenError> {
        must_exist(dir)?;
        let lock = match lock_sidecar(&sidecar::path_of(dir), false) {
            Err(OpenError::SidecarLost { .. }) => None,
            lock => Some(lock?),
        };
        let witness = match &lock {
            Some(file) => Sidecar::read(file).map_err(io_error("reading the sidecar"))?,
            None => None,
        };
        wait_for_sled(dir)?;
        let found = RefCell::new((0, None, None));
        trial::pass(dir, settings, &|trees| {
            let (vault, store) = identify(trees, format)?;
            let known = witness.as_ref().filter(|witness| witness.vault == vault);
            let row = match trees.table(table) {
                Ok(tree) => tree.get(key).map_err(sled_error)?,
                Err(_) => None,
            };
            let row = row.and_then(|value| layout::decode(table, key, &value).ok());
            let sidecar = known.map(|witness| witness.number);
            *found.borrow_mut() = (store, sidecar, row.map(|row| row.body));
            Ok(())
        })?;
        let (store, sidecar, body) = found.into_inner();
        Ok(Looked {
            store,
            sidecar,
            body,
        })
    }
}
