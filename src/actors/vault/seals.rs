//! Changing the seals, by a command that has the store to itself. The root key is opened for the time of a call and is not
//! kept; no listener leads here.

use crypto::seal::{RootSlot, Seal, SlotError};
use domain::{AuditAbout, AuditAction, AuditClass, Principal};
use storage::StoreError;

use super::Vault;
use crate::doors::Refusal;
use crate::flows::audit_trail::event;
use crate::rows::Changes;
use crate::seals::{self, KeptSlot, MOST_SLOTS, SlotView};
use crate::setup::SetupError;

/// The seals cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum SealsError {
    /// The root key cannot be opened.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The new slot cannot be made.
    #[error("{0}")]
    Slot(#[from] SlotError),
    /// The seal opens a slot already.
    #[error("slot {0} opens with it already; nothing was changed")]
    Opens(u8),
    /// All slots are taken.
    #[error(
        "all {MOST_SLOTS} slots are taken; remove one first (`strongroom seal list` shows them)"
    )]
    Full,
    /// There is no such slot.
    #[error("there is no slot {0}; `strongroom seal list` shows them")]
    NoSuchSlot(u8),
    /// The only slot.
    #[error(
        "slot {0} is the only one, and without it nobody can ever open this vault; add another first"
    )]
    Last(u8),
    /// What is declared opens no other slot.
    #[error(
        "slot {number} stays: a slot is removed only while another one was just opened with what [seal] declares, and none was \
         ({why}). Declare the seal of the slot that is to stay, then try again"
    )]
    WouldLock {
        /// The slot.
        number: u8,
        /// Why no other one opened.
        why: SetupError,
    },
    /// The change could not be accounted for or committed.
    #[error("not done: {0}")]
    Refused(#[from] Refusal),
}

impl Vault {
    /// All slots, each tried with these seals.
    ///
    /// # Errors
    /// [`SealsError::Store`].
    pub async fn seal_slots(&self, seals: &[&dyn Seal]) -> Result<Vec<SlotView>, SealsError> {
        let slots = seals::load(&*self.core.store).await?;
        let vault = self.core.vault;
        Ok(slots
            .iter()
            .map(|kept| SlotView::of(kept, seals, vault))
            .collect())
    }

    /// Opens the root key with one of `seals` and seals it in a new slot for `fresh`, after trying that it opens again.
    /// One durable commit, after its audit entry.
    ///
    /// # Errors
    /// [`SealsError`]; then nothing was changed, unless the refusal says that it is not known.
    pub async fn add_seal(&self, seals: &[&dyn Seal], fresh: &dyn Seal) -> Result<u8, SealsError> {
        let core = &self.core;
        let slots = seals::load(&*core.store).await?;
        let (root, _) = seals::open_root(&slots.iter().collect::<Vec<_>>(), seals, core.vault)?;
        if let Some(kept) = slots.iter().find(|kept| kept.opens_with(fresh, core.vault)) {
            return Err(SealsError::Opens(kept.number));
        }
        let is_free = |number: &u8| slots.iter().all(|kept| kept.number != *number);
        let number = (0..MOST_SLOTS).find(is_free).ok_or(SealsError::Full)?;
        let slot = RootSlot::create(number, fresh, core.vault, &root, &*core.entropy)?;
        slot.open(fresh, core.vault)?;
        let mut changes = Changes::default();
        seals::create(&mut changes, slot, core.now());
        self.commit_seals(changes, (AuditAction::SealAdded, number))
            .await?;
        Ok(number)
    }

    /// Removes a slot, while another one opens with one of `seals`. One durable commit, after its audit entry.
    ///
    /// # Errors
    /// [`SealsError`], as [`Vault::add_seal`].
    pub async fn remove_seal(&self, seals: &[&dyn Seal], number: u8) -> Result<(), SealsError> {
        let core = &self.core;
        let slots = seals::load(&*core.store).await?;
        let gone = slots
            .iter()
            .find(|kept| kept.number == number)
            .ok_or(SealsError::NoSuchSlot(number))?;
        let others: Vec<&KeptSlot> = slots.iter().filter(|kept| kept.number != number).collect();
        if others.is_empty() {
            return Err(SealsError::Last(number));
        }
        let (_, stays) = seals::open_root(&others, seals, core.vault)
            .map_err(|why| SealsError::WouldLock { number, why })?;
        let mut changes = Changes::default();
        changes.check(seals::place(stays.number), stays.revision);
        changes.delete(seals::place(number), gone.revision);
        self.commit_seals(changes, (AuditAction::SealRemoved, number))
            .await
    }

    async fn commit_seals(
        &self,
        changes: Changes,
        (action, number): (AuditAction, u8),
    ) -> Result<(), SealsError> {
        let about = AuditAbout {
            seal: Some(number),
            ..AuditAbout::default()
        };
        let entry = event((AuditClass::Admin, action), Principal::Operator, about);
        let done = self.core.commit_audited(self.ctx(), changes, entry).await;
        Ok(done.map_err(Refusal::from)?)
    }
}
