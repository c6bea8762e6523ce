//! Keys under keys: what a wrapped key row says, and how a parent wraps and unwraps it.
//!
//! The root key wraps tenant keys and purpose keys; a tenant key wraps data keys. All are random, so destroying one
//! wrapped key destroys exactly what hangs below it, and replacing a parent touches no data.

#[cfg(test)]
mod tests;

use domain::{KeyId, TenantSlug, UserId, VaultId};
use secret::{Entropy, KeyBytes, RevealKey, SecretBytes};
use zeroize::Zeroizing;

use crate::{Kind, MetadataDigest, OpenError, SealContext, SealError, SealKey, Sealed};

/// A number from storage that stands for nothing this program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stored number {0} is not known here; it may come from a newer version of this program")]
pub struct UnknownCode(pub u8);

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$item:meta])* $variant:ident = $code:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$item])* $variant = $code),+
        }

        impl $name {
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
                    $($code => Ok(Self::$variant),)+
                    other => Err(UnknownCode(other)),
                }
            }
        }
    };
}

codes! {
    /// What a key is for. A key is used for one purpose only; the number is bound to the wrap.
    KeyPurpose {
        /// Wraps the data keys of one tenant and seals the tenant's own secrets at providers.
        Tenant = 1,
        /// Seals the records of one user.
        Data = 2,
        /// Seals what exists in one tenant before the user has a data key.
        Flow = 3,
        /// Seals requestState texts.
        RequestState = 4,
        /// Hashes tickets, cookies and states.
        Lookup = 5,
        /// Hashes server keys and admin keys.
        ServerKeyHash = 6,
        /// Makes pseudonyms.
        Pseudonym = 7,
        /// The seed of the audit signing key.
        AuditSeed = 8,
    }
}

codes! {
    /// Where a key is in its life (NIST SP 800-57 part 1, section 7).
    KeyState {
        /// Made, not yet used.
        PreActive = 1,
        /// Seals and opens.
        Active = 2,
        /// Opens only.
        Deactivated = 3,
        /// Opens only so that what it sealed can be sealed anew.
        Compromised = 4,
        /// Gone.
        Destroyed = 5,
    }
}

impl KeyPurpose {
    /// The kind of the record that holds such a key.
    pub const fn wrap_kind(self) -> Kind {
        match self {
            Self::Tenant => Kind::WrappedTenantKey,
            Self::Data => Kind::WrappedDataKey,
            _ => Kind::WrappedPurposeKey,
        }
    }
}

/// The clear columns of a wrapped key's row. All of them are bound to the wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFacts {
    /// The key's own name.
    pub id: KeyId,
    /// The key it is wrapped by.
    pub parent: KeyId,
    /// What it is for.
    pub purpose: KeyPurpose,
    /// Where it is in its life.
    pub state: KeyState,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it should be replaced, in milliseconds since 1970. Rotation reads it; opening does not.
    pub not_after_ms: Option<i64>,
    /// The tenant, for tenant, data and flow keys.
    pub tenant: Option<TenantSlug>,
    /// The person, for data keys.
    pub user: Option<UserId>,
}

impl KeyFacts {
    /// SHA-256 over id ‖ parent ‖ purpose ‖ state ‖ created (i64) ‖ not after (i64, −1 for none). Tenant and user stand in
    /// the associated data itself.
    pub fn digest(&self) -> MetadataDigest {
        let mut bytes = Vec::with_capacity(50);
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.parent.as_bytes());
        bytes.extend_from_slice(&[self.purpose.code(), self.state.code()]);
        bytes.extend_from_slice(&self.created_ms.to_be_bytes());
        bytes.extend_from_slice(&self.not_after_ms.unwrap_or(-1).to_be_bytes());
        MetadataDigest::of_bytes(&bytes)
    }

    fn context(&self, vault: VaultId, version: u64) -> SealContext<'_> {
        SealContext {
            tenant: self.tenant.as_ref(),
            user: self.user,
            version,
            metadata: self.digest(),
            ..SealContext::new(self.purpose.wrap_kind(), vault)
        }
    }
}

/// A key as storage keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The clear columns.
    pub facts: KeyFacts,
    /// The key itself, sealed under its parent. Its record version counts how often it was wrapped.
    pub sealed: Sealed,
}

impl WrappedKey {
    /// Wraps `key` under `parent`, whose name goes into the facts.
    ///
    /// # Errors
    /// [`SealError`], which 32 bytes never cause.
    pub fn wrap(
        parent: &SealKey,
        vault: VaultId,
        facts: KeyFacts,
        key: &KeyBytes,
        entropy: &dyn Entropy,
    ) -> Result<Self, SealError> {
        let facts = KeyFacts {
            parent: parent.id(),
            ..facts
        };
        let sealed = parent.seal(&facts.context(vault, 1), key.reveal_key(), entropy)?;
        Ok(Self { facts, sealed })
    }

    /// Unwraps the key; fails when any clear column was changed.
    ///
    /// # Errors
    /// [`OpenError`] when the row was changed or belongs to another parent, tenant, user or installation.
    pub fn unwrap(&self, parent: &SealKey, vault: VaultId) -> Result<KeyBytes, OpenError> {
        if self.facts.parent != parent.id() {
            return Err(OpenError::WrongKeyOrContext);
        }
        let context = self.facts.context(vault, self.sealed.record_version());
        key_of(&parent.open(&context, &self.sealed)?)
    }

    /// The same key with changed clear columns (a new state, usually), wrapped anew with the next record version.
    ///
    /// # Errors
    /// [`OpenError`] when this row does not unwrap or cannot be wrapped again.
    pub fn rewrap(
        &self,
        parent: &SealKey,
        vault: VaultId,
        state: KeyState,
        entropy: &dyn Entropy,
    ) -> Result<Self, OpenError> {
        let key = self.unwrap(parent, vault)?;
        let facts = KeyFacts {
            state,
            ..self.facts.clone()
        };
        let version = self
            .sealed
            .record_version()
            .checked_add(1)
            .ok_or(OpenError::Malformed)?;
        let sealed = parent
            .seal(&facts.context(vault, version), key.reveal_key(), entropy)
            .map_err(|_| OpenError::Malformed)?;
        Ok(Self { facts, sealed })
    }
}

/// The key everything else hangs from. It exists in the open only in a running process; a seal slot keeps it.
#[derive(Debug)]
pub struct RootKey(SealKey);

impl RootKey {
    /// A fresh random root key with a fresh name.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let id = new_key_id(entropy);
        Self(SealKey::new(id, KeyBytes::generate(entropy)))
    }

    /// Takes over a root key that a seal opened.
    pub const fn new(id: KeyId, bytes: KeyBytes) -> Self {
        Self(SealKey::new(id, bytes))
    }

    /// Its name.
    pub const fn id(&self) -> KeyId {
        self.0.id()
    }

    /// As the parent of tenant keys and purpose keys.
    pub const fn as_parent(&self) -> &SealKey {
        &self.0
    }
}

impl RevealKey for RootKey {
    fn reveal_key(&self) -> &[u8; 32] {
        self.0.key_bytes().reveal_key()
    }
}

/// A fresh random key name.
pub(crate) fn new_key_id(entropy: &dyn Entropy) -> KeyId {
    let mut id = [0; 16];
    entropy.fill(&mut id);
    KeyId::from_bytes(id)
}

/// The key in an opened key record.
pub(crate) fn key_of(plaintext: &SecretBytes) -> Result<KeyBytes, OpenError> {
    let mut bytes = Zeroizing::new([0; 32]);
    if plaintext.expose().len() != bytes.len() {
        return Err(OpenError::Malformed);
    }
    bytes.copy_from_slice(plaintext.expose());
    Ok(KeyBytes::from_bytes(bytes))
}
