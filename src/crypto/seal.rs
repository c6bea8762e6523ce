//! Seals: what opens the root key when the process starts.
//!
//! Each slot keeps the root key wrapped under one seal's own key, independently of the other slots, as in disk
//! encryption: a recovery slot can lie in a safe, and moving to another seal is adding a slot, then removing one. The
//! wrap is bound to installation, slot number, seal type and parameters.

mod key_file;
mod passphrase;
#[cfg(test)]
mod tests;

use domain::{KeyId, VaultId};
use secret::{Entropy, KeyBytes, RevealKey};

pub use self::key_file::{KeyFileError, KeyFileSeal};
pub use self::passphrase::{
    PassphraseError, PassphraseParameters, PassphraseSeal, SHORTEST_PASSPHRASE,
};
use crate::hierarchy::{key_of, new_key_id};
use crate::{
    Kind, MetadataDigest, OpenError, RootKey, SealContext, SealError, SealKey, Sealed, UnknownCode,
};

/// The type of a seal, as a slot keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SealKind {
    /// A file with 32 random bytes.
    KeyFile = 1,
    /// A passphrase, stretched with Argon2id.
    Passphrase = 2,
}

impl std::fmt::Display for SealKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::KeyFile => "key file",
            Self::Passphrase => "passphrase",
        })
    }
}

impl SealKind {
    /// The stored number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Reads the stored number.
    ///
    /// # Errors
    /// [`UnknownCode`] for a number that is not assigned.
    pub const fn from_code(code: u8) -> Result<Self, UnknownCode> {
        match code {
            1 => Ok(Self::KeyFile),
            2 => Ok(Self::Passphrase),
            other => Err(UnknownCode(other)),
        }
    }
}

/// Why a slot could not be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// The slot is for another type of seal.
    #[error("slot {number} is for a {slot}, not for a {given}; name the right one in [seal]")]
    OtherSeal {
        /// The slot.
        number: u8,
        /// What the slot wants.
        slot: SealKind,
        /// What was given.
        given: SealKind,
    },
    /// The seal's key does not open the slot. Another key and changed clear columns look alike: the commitment covers both.
    #[error(
        "slot {number} does not open with this {seal}: it is another {seal} than the one the slot was made for, or the slot's \
         number, kind, salt or cost was changed"
    )]
    Shut {
        /// The slot.
        number: u8,
        /// What was tried.
        seal: SealKind,
        /// The private reason.
        source: OpenError,
    },
    /// The right key, since the commitment holds, and a damaged text under it.
    #[error(
        "slot {number} is damaged: this {seal} is the right one, and what it sealed was changed; open with another slot, or restore the \
         data folder from a backup"
    )]
    Damaged {
        /// The slot.
        number: u8,
        /// What was tried.
        seal: SealKind,
        /// The private reason.
        source: OpenError,
    },
    /// The passphrase's parameters cannot be used.
    #[error(transparent)]
    Passphrase(#[from] PassphraseError),
    /// The root key could not be wrapped.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Something that yields a 256-bit key for a slot: the same key each time for the same parameters.
pub trait Seal {
    /// Its type.
    fn kind(&self) -> SealKind;

    /// The parameters for a new slot: not secret, kept in the slot.
    ///
    /// # Errors
    /// [`SlotError`] when no new slot may be made with this seal.
    fn new_parameters(&self, entropy: &dyn Entropy) -> Result<Vec<u8>, SlotError>;

    /// The key for a slot with these parameters.
    ///
    /// # Errors
    /// [`SlotError`] when the parameters are outside what this seal accepts.
    fn key(&self, parameters: &[u8]) -> Result<KeyBytes, SlotError>;
}

/// The root key as one seal keeps it. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSlot {
    /// The number of the slot, unique in the installation.
    pub number: u8,
    /// The type of seal.
    pub kind: SealKind,
    /// The seal's parameters.
    pub parameters: Vec<u8>,
    /// The name of the root key inside.
    pub root: KeyId,
    /// The wrapped root key.
    pub sealed: Sealed,
}

impl RootSlot {
    /// Puts the root key into a new slot.
    ///
    /// # Errors
    /// [`SlotError::Passphrase`] when the passphrase is weak or its cost outside the limits.
    pub fn create(
        number: u8,
        seal: &dyn Seal,
        vault: VaultId,
        root: &RootKey,
        entropy: &dyn Entropy,
    ) -> Result<Self, SlotError> {
        let (kind, parameters) = (seal.kind(), seal.new_parameters(entropy)?);
        let key = SealKey::new(new_key_id(entropy), seal.key(&parameters)?);
        let metadata = digest(number, kind, &parameters, root.id());
        let context = SealContext {
            metadata,
            ..SealContext::new(Kind::RootKeySlot, vault)
        };
        let sealed = key.seal(&context, root.reveal_key(), entropy)?;
        Ok(Self {
            number,
            kind,
            parameters,
            root: root.id(),
            sealed,
        })
    }

    /// Opens the root key with the seal this slot was made for.
    ///
    /// # Errors
    /// [`SlotError`] when it is another seal, or the slot was changed.
    pub fn open(&self, seal: &dyn Seal, vault: VaultId) -> Result<RootKey, SlotError> {
        let (number, slot, given) = (self.number, self.kind, seal.kind());
        if slot != given {
            return Err(SlotError::OtherSeal {
                number,
                slot,
                given,
            });
        }
        let key = SealKey::new(self.sealed.key_id(), seal.key(&self.parameters)?);
        let context = SealContext {
            version: self.sealed.record_version(),
            metadata: digest(number, slot, &self.parameters, self.root),
            ..SealContext::new(Kind::RootKeySlot, vault)
        };
        let seal = slot;
        let shut = |source| match source {
            OpenError::WrongKeyOrContext => SlotError::Shut {
                number,
                seal,
                source,
            },
            source => SlotError::Damaged {
                number,
                seal,
                source,
            },
        };
        let bytes = key_of(&key.open(&context, &self.sealed).map_err(shut)?).map_err(shut)?;
        Ok(RootKey::new(self.root, bytes))
    }
}

/// LP(slot number) ‖ LP(seal type) ‖ LP(parameters) ‖ LP(root key id), hashed.
fn digest(number: u8, kind: SealKind, parameters: &[u8], root: KeyId) -> MetadataDigest {
    MetadataDigest::of_parts(&[&[number], &[kind.code()], parameters, root.as_bytes()])
}
