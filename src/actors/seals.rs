//! The slots of the root key: a row for each, and opening the root key with whichever seal was given.
//!
//! Every slot stands by itself: a damaged one does not keep another from opening. There is no trying of keys below this, but
//! a passphrase says not which slot it is for, so it is tried on each slot of its kind; there are eight at most.

use crypto::{
    RootKey,
    seal::{PassphraseParameters, RootSlot, Seal, SealKind},
};
use domain::{Blob, KeyId, Timestamp, VaultId};
use serde::{Deserialize, Serialize};
use storage::{Revision, Store, StoreError, Table};

use crate::rows::{self, Changes, Row, RowKey};
use crate::setup::SetupError;

/// Most slots of an installation.
pub const MOST_SLOTS: u8 = 8;

#[derive(Serialize, Deserialize)]
struct SlotRow {
    number: u8,
    kind: u8,
    parameters: Blob,
    root: KeyId,
    sealed: Blob,
    /// For people who look at the list; nothing rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
}

impl Row for SlotRow {
    /// The slot's number, kind and parameters are also in the context that the root key is sealed in.
    fn belongs_at(&self, key: &[u8]) -> bool {
        key == place(self.number).key
    }
}

/// A slot as the store has it.
pub(crate) struct KeptSlot {
    /// Its number.
    pub(crate) number: u8,
    /// When it was made, if it says so.
    pub(crate) created: Option<Timestamp>,
    /// The slot; nothing when its row cannot be read.
    pub(crate) slot: Option<RootSlot>,
    /// The revision of its row.
    pub(crate) revision: Revision,
}

impl KeptSlot {
    /// Whether a seal opens it.
    pub(crate) fn opens_with(&self, seal: &dyn Seal, vault: VaultId) -> bool {
        self.slot
            .as_ref()
            .filter(|slot| slot.kind == seal.kind())
            .is_some_and(|slot| slot.open(seal, vault).is_ok())
    }
}

/// A slot as operators see it.
#[derive(Debug, Clone)]
pub struct SlotView {
    /// Its number.
    pub number: u8,
    /// What opens it; nothing when its row cannot be read.
    pub kind: Option<SealKind>,
    /// What guessing its passphrase costs.
    pub cost: Option<PassphraseParameters>,
    /// When it was made, if it says so.
    pub created: Option<Timestamp>,
    /// Whether one of the seals that were given opens it.
    pub opens: bool,
}

impl SlotView {
    /// What can be said of a slot, tried with these seals.
    pub(crate) fn of(kept: &KeptSlot, seals: &[&dyn Seal], vault: VaultId) -> Self {
        let passphrase = |slot: &&RootSlot| slot.kind == SealKind::Passphrase;
        let cost = kept.slot.as_ref().filter(passphrase);
        Self {
            number: kept.number,
            kind: kept.slot.as_ref().map(|slot| slot.kind),
            cost: cost.and_then(|slot| PassphraseParameters::of_slot(&slot.parameters)),
            created: kept.created,
            opens: seals.iter().any(|seal| kept.opens_with(*seal, vault)),
        }
    }
}

/// Where a slot is.
pub(crate) fn place(number: u8) -> RowKey {
    rows::keys::meta(&format!("seal/{number}"))
}

/// All slots, damaged ones too.
///
/// # Errors
/// What the store says.
pub(crate) async fn load(store: &dyn Store) -> Result<Vec<KeptSlot>, StoreError> {
    let mut slots = Vec::new();
    for number in 0..MOST_SLOTS {
        let at = place(number);
        let Some(row) = store.read(at.table, &at.key).await? else {
            continue;
        };
        let read = rows::parse::<SlotRow>(Table::Meta, (&at.key, &row.body)).ok();
        slots.push(KeptSlot {
            number,
            created: read.as_ref().and_then(|row| row.created),
            slot: read.and_then(slot_of),
            revision: row.revision,
        });
    }
    Ok(slots)
}

fn slot_of(row: SlotRow) -> Option<RootSlot> {
    Some(RootSlot {
        number: row.number,
        kind: SealKind::from_code(row.kind).ok()?,
        parameters: row.parameters.0,
        root: row.root,
        sealed: crypto::Sealed::parse(row.sealed.0).ok()?,
    })
}

/// Adds the row of a new slot to a commit.
pub(crate) fn create(changes: &mut Changes, slot: RootSlot, now: Timestamp) {
    let row = SlotRow {
        number: slot.number,
        kind: slot.kind.code(),
        parameters: Blob(slot.parameters),
        root: slot.root,
        sealed: Blob(slot.sealed.into_bytes()),
        created: Some(now),
    };
    changes.create(place(row.number), &row);
}

/// Opens the root key with the first seal that opens a slot, and says which one. What failed before is logged.
///
/// # Errors
/// [`SetupError::NoSeal`], [`SetupError::NotDeclared`], [`SetupError::Shut`].
pub(crate) fn open_root<'a>(
    slots: &[&'a KeptSlot],
    seals: &[&dyn Seal],
    vault: VaultId,
) -> Result<(RootKey, &'a KeptSlot), SetupError> {
    let mut there = Vec::new();
    let mut failures = Vec::new();
    for kept in slots {
        match &kept.slot {
            Some(slot) => there.push(format!("slot {} ({})", slot.number, slot.kind)),
            None => failures.push(format!(
                "slot {} cannot be read; restore the data folder from a backup",
                kept.number
            )),
        }
    }
    if there.is_empty() && failures.is_empty() {
        return Err(SetupError::NoSeal);
    }
    let mut tried = 0;
    for seal in seals {
        for kept in slots {
            let Some(slot) = kept.slot.as_ref().filter(|slot| slot.kind == seal.kind()) else {
                continue;
            };
            tried += 1;
            match slot.open(*seal, vault) {
                Ok(root) => {
                    for failure in &failures {
                        tracing::warn!(%failure, opened = slot.number, "not every slot opens; another one did");
                    }
                    tracing::info!(slot = slot.number, seal = %slot.kind, "the root key is opened");
                    return Ok((root, kept));
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
    }
    if tried == 0 && failures.is_empty() {
        return Err(SetupError::NotDeclared(there.join(", ").into()));
    }
    Err(SetupError::Shut(failures.join("; ").into()))
}
