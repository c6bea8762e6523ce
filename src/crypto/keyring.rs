//! The opened keys of a running process: one immutable snapshot, replaced whole when a tenant or a key is added.

mod assemble;
mod error;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use domain::{IssuerSlug, KeyId, ProviderSlug, ServerSlug, TenantSlug, UserId, VaultId};
use secret::{Entropy, KeyBytes, SecretBytes, ServerKeyText};

use self::assemble::{Entry, PROCESS_PURPOSES, assemble, open_entry};
pub use self::error::KeyringError;
use crate::hierarchy::new_key_id;
use crate::request_state::Caller;
use crate::{
    AccountPseudonym, BadRequestState, KeyFacts, KeyPurpose, KeyState, LookupHash, LookupLabel,
    MacKey, OpenError, Pseudonym, RequestState, RootKey, SealContext, SealError, SealKey, Sealed,
    ServerKeyHash, WrappedKey,
};

/// The active keys of one tenant.
#[derive(Debug, Clone)]
struct TenantKeys {
    tenant: Arc<SealKey>,
    flow: Arc<SealKey>,
}

/// The hashing keys of one purpose.
#[derive(Debug)]
struct Macs {
    active: Arc<MacKey>,
    /// Those that only verify, newest first.
    previous: Vec<Arc<MacKey>>,
}

impl Macs {
    fn all(&self) -> impl Iterator<Item = &Arc<MacKey>> {
        std::iter::once(&self.active).chain(&self.previous)
    }
}

/// Opened tenant keys, flow keys and purpose keys. Data keys are opened one at a time and cached elsewhere.
///
/// A keyring never changes; adding a tenant makes a new one that shares the keys. Put it behind an `Arc`.
#[derive(Debug)]
pub struct Keyring {
    vault: VaultId,
    entries: HashMap<KeyId, Entry>,
    tenants: HashMap<TenantSlug, TenantKeys>,
    request_state: Arc<SealKey>,
    lookup: Macs,
    server_key: Macs,
    pseudonym: Arc<MacKey>,
    audit_seed: Arc<KeyBytes>,
}

impl Keyring {
    /// Makes all keys of a new installation. The second value is what storage keeps.
    ///
    /// # Errors
    /// [`KeyringError::TenantExists`] when a tenant is named twice.
    pub fn create(
        root: &RootKey,
        vault: VaultId,
        tenants: &[TenantSlug],
        now_ms: i64,
        entropy: &dyn Entropy,
    ) -> Result<(Self, Vec<WrappedKey>), KeyringError> {
        let mut wanted: Vec<_> = PROCESS_PURPOSES.map(|purpose| (purpose, None)).into();
        for (position, tenant) in tenants.iter().enumerate() {
            if tenants
                .iter()
                .take(position)
                .any(|earlier| earlier == tenant)
            {
                return Err(KeyringError::TenantExists(tenant.clone()));
            }
            wanted.extend(tenant_purposes(tenant));
        }
        let rows = wanted
            .into_iter()
            .map(|(purpose, tenant)| {
                fresh(
                    root.as_parent(),
                    vault,
                    facts(purpose, tenant, now_ms),
                    entropy,
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((Self::open(root, vault, &rows)?, rows))
    }

    /// Opens the keys of an installation. Data keys among the rows are passed over.
    ///
    /// # Errors
    /// [`KeyringError`] when a row was changed, is missing or stands twice.
    pub fn open(root: &RootKey, vault: VaultId, rows: &[WrappedKey]) -> Result<Self, KeyringError> {
        let mut entries = HashMap::with_capacity(rows.len());
        for row in rows
            .iter()
            .filter(|row| row.facts.purpose != KeyPurpose::Data)
        {
            let key = row.facts.id;
            let entry = open_entry(row, root, vault)
                .map_err(|source| KeyringError::Open { key, source })?;
            if entries.insert(key, entry).is_some() {
                return Err(KeyringError::Twice(key));
            }
        }
        assemble(vault, entries)
    }

    /// This keyring and the keys of one more tenant. The second value is what storage keeps in addition.
    ///
    /// # Errors
    /// [`KeyringError::TenantExists`].
    pub fn add_tenant(
        &self,
        root: &RootKey,
        tenant: &TenantSlug,
        now_ms: i64,
        entropy: &dyn Entropy,
    ) -> Result<(Self, Vec<WrappedKey>), KeyringError> {
        if self.tenants.contains_key(tenant) {
            return Err(KeyringError::TenantExists(tenant.clone()));
        }
        let mut entries = self.entries.clone();
        let mut rows = Vec::new();
        for (purpose, tenant) in tenant_purposes(tenant) {
            let row = fresh(
                root.as_parent(),
                self.vault,
                facts(purpose, tenant, now_ms),
                entropy,
            )?;
            let key = row.facts.id;
            let entry = open_entry(&row, root, self.vault)
                .map_err(|source| KeyringError::Open { key, source })?;
            entries.insert(key, entry);
            rows.push(row);
        }
        Ok((assemble(self.vault, entries)?, rows))
    }

    /// The installation these keys belong to.
    pub const fn vault(&self) -> VaultId {
        self.vault
    }

    /// The active tenant key: seals the tenant's own secrets at providers.
    pub fn tenant_key(&self, tenant: &TenantSlug) -> Option<&Arc<SealKey>> {
        self.tenants.get(tenant).map(|keys| &keys.tenant)
    }

    /// The active flow key: seals what exists before the user has a data key.
    pub fn flow_key(&self, tenant: &TenantSlug) -> Option<&Arc<SealKey>> {
        self.tenants.get(tenant).map(|keys| &keys.flow)
    }

    /// The sealing key of that name, active or not, but never one that belongs to another tenant.
    pub fn key(&self, id: KeyId, tenant: Option<&TenantSlug>) -> Option<&Arc<SealKey>> {
        let entry = self.entries.get(&id)?;
        if entry.facts.tenant.is_some() && entry.facts.tenant.as_ref() != tenant {
            None
        } else {
            entry.seal_key()
        }
    }

    /// Opens a record under the tenant key or flow key it names. There is no trying of keys.
    ///
    /// # Errors
    /// [`OpenError`]; a name that is not in the keyring is [`OpenError::WrongKeyOrContext`].
    pub fn open_record(
        &self,
        context: &SealContext<'_>,
        sealed: &Sealed,
    ) -> Result<SecretBytes, OpenError> {
        let key = self
            .key(sealed.key_id(), context.tenant)
            .ok_or(OpenError::WrongKeyOrContext)?;
        key.open(context, sealed)
    }

    /// A fresh data key for a new user. The second value is what storage keeps; erasing the person destroys it.
    ///
    /// # Errors
    /// [`KeyringError::NoTenant`].
    pub fn new_data_key(
        &self,
        tenant: &TenantSlug,
        user: UserId,
        now_ms: i64,
        entropy: &dyn Entropy,
    ) -> Result<(SealKey, WrappedKey), KeyringError> {
        let parent = self
            .tenant_key(tenant)
            .ok_or_else(|| KeyringError::NoTenant(tenant.clone()))?;
        let facts = KeyFacts {
            user: Some(user),
            ..facts(KeyPurpose::Data, Some(tenant.clone()), now_ms)
        };
        let row = fresh(parent, self.vault, facts, entropy)?;
        let key = row.facts.id;
        let data_key = self
            .open_data_key(&row)
            .map_err(|source| KeyringError::Open { key, source })?;
        Ok((data_key, row))
    }

    /// Opens a user's data key under the tenant key its row names.
    ///
    /// # Errors
    /// [`OpenError`] when the row was changed or its tenant key is not here.
    pub fn open_data_key(&self, row: &WrappedKey) -> Result<SealKey, OpenError> {
        if row.facts.purpose != KeyPurpose::Data {
            return Err(OpenError::WrongKeyOrContext);
        }
        let parent = self
            .entries
            .get(&row.facts.parent)
            .ok_or(OpenError::WrongKeyOrContext)?;
        if parent.facts.purpose != KeyPurpose::Tenant || parent.facts.tenant != row.facts.tenant {
            return Err(OpenError::WrongKeyOrContext);
        }
        let parent = parent.seal_key().ok_or(OpenError::WrongKeyOrContext)?;
        Ok(SealKey::new(row.facts.id, row.unwrap(parent, self.vault)?))
    }

    /// What storage keeps instead of a ticket, cookie or state.
    pub fn lookup_hash(&self, label: LookupLabel, value: &[u8]) -> LookupHash {
        self.lookup.active.lookup_hash(label, value)
    }

    /// Under which hashes a presented value may stand: the active key's first, then those of keys being replaced.
    pub fn lookup_candidates(
        &self,
        label: LookupLabel,
        value: &[u8],
    ) -> impl Iterator<Item = LookupHash> {
        self.lookup
            .all()
            .map(move |key| key.lookup_hash(label, value))
    }

    /// What storage keeps instead of a new server key: the active key's hash; see [`MacKey::server_key_hash`].
    pub fn server_key_hash(&self, key: &ServerKeyText, owner: &str) -> ServerKeyHash {
        self.server_key.active.server_key_hash(key, owner)
    }

    /// Under which hashes a presented server key of this owner may stand.
    pub fn server_key_candidates(
        &self,
        key: &ServerKeyText,
        owner: &str,
    ) -> impl Iterator<Item = ServerKeyHash> {
        self.server_key
            .all()
            .map(move |mac| mac.server_key_hash(key, owner))
    }

    /// Stands for a person; see [`MacKey::pseudonym`].
    pub fn pseudonym(
        &self,
        tenant: &TenantSlug,
        issuer: &IssuerSlug,
        issuer_url: &str,
        subject: &[u8],
    ) -> Pseudonym {
        self.pseudonym
            .pseudonym(tenant, issuer, issuer_url, subject)
    }

    /// Stands for an account at a provider; see [`MacKey::account_pseudonym`].
    pub fn account_pseudonym(
        &self,
        tenant: &TenantSlug,
        provider: &ProviderSlug,
        provider_url: &str,
        account: &str,
    ) -> AccountPseudonym {
        self.pseudonym
            .account_pseudonym(tenant, provider, provider_url, account)
    }

    /// The seed of the audit signing key.
    pub fn audit_seed(&self) -> &KeyBytes {
        &self.audit_seed
    }

    /// Seals a requestState text under the active key; see [`RequestState`].
    ///
    /// # Errors
    /// [`SealError`], which the fixed layout never causes.
    pub fn seal_request_state(
        &self,
        state: &RequestState,
        entropy: &dyn Entropy,
    ) -> Result<String, SealError> {
        state.seal_under(&self.request_state, self.vault, entropy)
    }

    /// Opens a requestState text that this server of this tenant presented.
    ///
    /// # Errors
    /// [`BadRequestState`] for every fault alike, expiry included.
    pub fn open_request_state(
        &self,
        tenant: &TenantSlug,
        server: &ServerSlug,
        now_ms: i64,
        text: &str,
    ) -> Result<RequestState, BadRequestState> {
        let caller = Caller {
            vault: self.vault,
            tenant,
            server,
            now_ms,
        };
        RequestState::open_with(&caller, text, |id| {
            let entry = self.entries.get(&id)?;
            if entry.facts.purpose == KeyPurpose::RequestState {
                entry.seal_key().map(Arc::as_ref)
            } else {
                None
            }
        })
    }
}

/// What each tenant needs.
fn tenant_purposes(tenant: &TenantSlug) -> [(KeyPurpose, Option<TenantSlug>); 2] {
    [
        (KeyPurpose::Tenant, Some(tenant.clone())),
        (KeyPurpose::Flow, Some(tenant.clone())),
    ]
}

/// The facts of a new active key; name and parent are filled in when it is wrapped.
fn facts(purpose: KeyPurpose, tenant: Option<TenantSlug>, now_ms: i64) -> KeyFacts {
    KeyFacts {
        id: KeyId::from_bytes([0; 16]),
        parent: KeyId::from_bytes([0; 16]),
        purpose,
        state: KeyState::Active,
        created_ms: now_ms,
        not_after_ms: None,
        tenant,
        user: None,
    }
}

/// A new random key with a new random name, wrapped.
fn fresh(
    parent: &SealKey,
    vault: VaultId,
    facts: KeyFacts,
    entropy: &dyn Entropy,
) -> Result<WrappedKey, SealError> {
    let facts = KeyFacts {
        id: new_key_id(entropy),
        ..facts
    };
    WrappedKey::wrap(parent, vault, facts, &KeyBytes::generate(entropy), entropy)
}
