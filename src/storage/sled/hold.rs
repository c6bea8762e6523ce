//! A store that is held without being opened, for whoever wants to remove what an interrupted set-up left.

use std::{fs::File, path::Path};

use super::{
    OpenError, SledStore,
    error::io_error,
    open::lock_sidecar,
    sidecar::{self, SLOT, Sidecar, Witness},
};

/// A store that nobody has open, and nobody can open for as long as this lives.
pub struct HeldStore {
    _lock: File,
    witness: Option<Witness>,
    length: u64,
}

impl SledStore {
    /// Takes the lock of the store in `dir` and reads its sidecar. Opens and changes nothing. `None`: it has no sidecar.
    ///
    /// # Errors
    /// `InUse`; `Io` when the sidecar cannot be read.
    pub fn hold(dir: &Path) -> Result<Option<HeldStore>, OpenError> {
        let lock = match lock_sidecar(&sidecar::path_of(dir), false) {
            Err(OpenError::SidecarLost { .. }) => return Ok(None),
            lock => lock?,
        };
        let witness = Sidecar::read(&lock).map_err(io_error("reading the sidecar"))?;
        let facts = lock.metadata().map_err(io_error("reading the sidecar"))?;
        Ok(Some(HeldStore {
            _lock: lock,
            witness,
            length: facts.len(),
        }))
    }
}

impl HeldStore {
    /// Whether it was made for this vault.
    pub fn is_of(&self, vault: &[u8]) -> bool {
        let witness = self.witness.as_ref();
        witness.is_some_and(|witness| witness.vault == vault)
    }

    /// Whether no commit to it was ever acknowledged, and it can be this vault's: it names it, or the making of it was cut off
    /// before anything was named. A sidecar that is longer than the first thing written to it was whole once; when nobody
    /// can read it, the store behind it may hold anything.
    pub fn was_never_used(&self, vault: &[u8]) -> bool {
        match &self.witness {
            Some(witness) => witness.vault == vault && witness.number == 0,
            None => usize::try_from(self.length).is_ok_and(|length| length <= SLOT),
        }
    }
}
