//! Setting a vault up and opening it: keys in their rows, and what may never change about an issuer.

use std::ops::ControlFlow;
use std::sync::Arc;

use crypto::{
    Keyring, RootKey, WrappedKey,
    seal::{RootSlot, Seal, SlotError},
};
use domain::{Issuer, Registry, TenantSlug, Timestamp, VaultId};
use secret::Entropy;
use serde::{Deserialize, Serialize};
use storage::{Revision, Store, StoreError, Table};

use crate::rows::{self, Changes, Row, UserRow, WrappedRow};
use crate::seals;

/// A vault cannot be set up or opened.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// There is no seal slot in the store.
    #[error(
        "the store holds no seal; was `strongroom init` interrupted? Remove the data folder and run it again"
    )]
    NoSeal,
    /// A slot for the root key cannot be made.
    #[error("the root key cannot be sealed: {0}")]
    Seal(#[from] SlotError),
    /// None of the seals opens the root key.
    #[error("the seal does not open this vault: {0}")]
    Shut(Box<str>),
    /// There are slots, and none for what was given.
    #[error(
        "the root key of this vault is in {0}, and [seal] declares nothing of that kind; write seal.key_file or seal.passphrase"
    )]
    NotDeclared(Box<str>),
    /// A key row was changed or is missing.
    #[error("the keys of this vault cannot be opened: {0}; restore the data folder from a backup")]
    Keys(#[from] crypto::KeyringError),
    /// A stored row is not one of ours.
    #[error("a row of the key table cannot be read; restore the data folder from a backup")]
    BadRow,
    /// An issuer's identity was changed after people had been identified by it.
    #[error(
        "issuer `{slug}`: people are known under {before}, and the configuration says {now}. Both are part of every \
         person's identity and never change; put the former back, or declare a new issuer under another slug"
    )]
    IssuerChanged {
        /// The issuer.
        slug: Box<str>,
        /// Its url and claims when the first person came.
        before: Box<str>,
        /// Those of the configuration.
        now: Box<str>,
    },
}

#[derive(Serialize, Deserialize, PartialEq)]
struct PinnedIssuer {
    url: String,
    subject_claims: Vec<Box<str>>,
    id_token_claims: Vec<Box<str>>,
}

impl Row for PinnedIssuer {
    /// In another issuer's place it does not fit that issuer, and the start is refused.
    fn belongs_at(&self, _key: &[u8]) -> bool {
        true
    }
}

/// Makes all keys of a new vault and seals the root key in a slot for each seal, from 0 on.
///
/// # Errors
/// [`SetupError`].
pub async fn create_keys(
    store: &dyn Store,
    vault: VaultId,
    (seals, tenants): (&[&dyn Seal], &[TenantSlug]),
    now: Timestamp,
    entropy: &dyn Entropy,
) -> Result<Arc<Keyring>, SetupError> {
    let root = RootKey::generate(entropy);
    let (keyring, keys) = Keyring::create(&root, vault, tenants, now.as_ms(), entropy)?;
    let mut changes = Changes::default();
    for (number, seal) in (0..seals::MOST_SLOTS).zip(seals) {
        let slot = RootSlot::create(number, *seal, vault, &root, entropy)?;
        seals::create(&mut changes, slot, now);
    }
    add(&mut changes, &keys);
    changes.commit(store).await?;
    Ok(Arc::new(keyring))
}

fn add(changes: &mut Changes, keys: &[WrappedKey]) {
    for key in keys {
        changes.create(rows::keys::wrapped(key.facts.id), &WrappedRow::from(key));
    }
}

/// Opens the keys of a vault, making those of tenants that were declared since.
///
/// # Errors
/// [`SetupError`].
pub async fn open_keys(
    store: &dyn Store,
    vault: VaultId,
    (seals, tenants): (&[&dyn Seal], &[TenantSlug]),
    now: Timestamp,
    entropy: &dyn Entropy,
) -> Result<Arc<Keyring>, SetupError> {
    let slots = seals::load(store).await?;
    let (root, _) = seals::open_root(&slots.iter().collect::<Vec<_>>(), seals, vault)?;
    let mut keyring = Keyring::open(&root, vault, &stored_keys(store).await?)?;
    for tenant in tenants {
        if keyring.tenant_key(tenant).is_none() {
            let (wider, keys) = keyring.add_tenant(&root, tenant, now.as_ms(), entropy)?;
            let mut changes = Changes::default();
            add(&mut changes, &keys);
            changes.commit(store).await?;
            keyring = wider;
        }
    }
    Ok(Arc::new(keyring))
}

async fn stored_keys(store: &dyn Store) -> Result<Vec<WrappedKey>, SetupError> {
    let mut keys = Vec::new();
    rows::each(store, (Table::Keys, &[]), |_, row: WrappedRow| {
        keys.push(row.to_key());
        ControlFlow::Continue(())
    })
    .await?;
    keys.into_iter()
        .collect::<Option<_>>()
        .ok_or(SetupError::BadRow)
}

/// Remembers each issuer's identity when it is first seen, and refuses one whose identity was changed after somebody had
/// been identified by it. Before that a slip of the pen can be mended.
///
/// # Errors
/// [`SetupError::IssuerChanged`].
pub async fn pin_issuers(store: &dyn Store, registry: &Registry) -> Result<(), SetupError> {
    for issuer in registry.issuers() {
        let at = rows::keys::meta(&format!("issuer/{}", issuer.slug));
        let pinned = pinned(issuer);
        match rows::load::<PinnedIssuer>(store, &at).await? {
            None => {
                let mut changes = Changes::default();
                changes.put(at, Revision::NONE, &pinned);
                changes.commit(store).await?;
            }
            Some(stored) if stored.value == pinned => {}
            Some(stored) if !has_people(store, issuer).await? => {
                tracing::info!(issuer = %issuer.slug, before = %stored.value, now = %pinned, "an issuer that knows nobody yet was changed");
                let mut changes = Changes::default();
                changes.put(at, stored.revision, &pinned);
                changes.commit(store).await?;
            }
            Some(stored) => {
                return Err(SetupError::IssuerChanged {
                    slug: issuer.slug.as_str().into(),
                    before: stored.value.to_string().into(),
                    now: pinned.to_string().into(),
                });
            }
        }
    }
    Ok(())
}

/// Whether anybody was ever identified by this issuer.
async fn has_people(store: &dyn Store, issuer: &Issuer) -> Result<bool, SetupError> {
    let mut any = false;
    rows::each(store, (Table::Users, &[]), |_, user: UserRow| {
        any |= user.issuer == issuer.slug;
        if any {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .await?;
    Ok(any)
}

impl std::fmt::Display for PinnedIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            url,
            subject_claims,
            id_token_claims,
        } = self;
        let (tokens, logins) = (subject_claims.join(", "), id_token_claims.join(", "));
        write!(f, "{url} with the claims [{tokens}], at login [{logins}]")
    }
}

fn pinned(issuer: &Issuer) -> PinnedIssuer {
    PinnedIssuer {
        url: issuer.url.as_str().to_owned(),
        subject_claims: issuer.subject_claims.clone(),
        id_token_claims: issuer.id_token_claims.clone(),
    }
}
