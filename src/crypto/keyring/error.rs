//! Why a keyring cannot be made, said so that an operator knows what to do.

use domain::{KeyId, TenantSlug};

use crate::{KeyPurpose, OpenError, SealError};

/// Why a keyring could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// A wrapped key does not open under the root key.
    #[error(
        "key {key} does not open under this root key; check that store and seal belong together, or restore the row"
    )]
    Open {
        /// The name on the row.
        key: KeyId,
        /// The private reason.
        source: OpenError,
    },
    /// A purpose has no active key.
    #[error("no active {purpose:?} key{} in the store; restore the key rows from a backup", tenant.as_ref().map(|t| format!(" of tenant {t}")).unwrap_or_default())]
    Missing {
        /// The purpose.
        purpose: KeyPurpose,
        /// The tenant, where the purpose is per tenant.
        tenant: Option<TenantSlug>,
    },
    /// Two rows carry one name.
    #[error("two rows are named {0}; restore the key rows from a backup")]
    Twice(KeyId),
    /// The tenant has its keys already.
    #[error("tenant {0} has its keys already")]
    TenantExists(TenantSlug),
    /// The tenant has no keys.
    #[error("tenant {0} has no keys yet; add it to the keyring first")]
    NoTenant(TenantSlug),
    /// A new key could not be wrapped.
    #[error(transparent)]
    Seal(#[from] SealError),
}
