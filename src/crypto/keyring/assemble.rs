//! From opened rows to a keyring: which key of each purpose is the active one, and whether one is missing.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{KeyId, TenantSlug, VaultId};
use secret::KeyBytes;

use super::{Keyring, KeyringError, Macs, TenantKeys};
use crate::{KeyFacts, KeyPurpose, KeyState, MacKey, OpenError, RootKey, SealKey, WrappedKey};

/// The purposes that exist once per installation.
pub(super) const PROCESS_PURPOSES: [KeyPurpose; 5] = [
    KeyPurpose::RequestState,
    KeyPurpose::Lookup,
    KeyPurpose::ServerKeyHash,
    KeyPurpose::Pseudonym,
    KeyPurpose::AuditSeed,
];

/// An opened key in the form its purpose needs; it cannot be used in another.
#[derive(Debug, Clone)]
enum Material {
    Seal(Arc<SealKey>),
    Mac(Arc<MacKey>),
    Seed(Arc<KeyBytes>),
}

/// An opened row.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) facts: KeyFacts,
    material: Material,
}

impl Entry {
    pub(super) fn seal_key(&self) -> Option<&Arc<SealKey>> {
        if let Material::Seal(key) = &self.material {
            Some(key)
        } else {
            None
        }
    }

    fn mac_key(&self) -> Option<&Arc<MacKey>> {
        if let Material::Mac(key) = &self.material {
            Some(key)
        } else {
            None
        }
    }

    fn seed(&self) -> Option<&Arc<KeyBytes>> {
        if let Material::Seed(seed) = &self.material {
            Some(seed)
        } else {
            None
        }
    }
}

/// Opens one row under the root key.
pub(super) fn open_entry(
    row: &WrappedKey,
    root: &RootKey,
    vault: VaultId,
) -> Result<Entry, OpenError> {
    let key = row.unwrap(root.as_parent(), vault)?;
    let material = match row.facts.purpose {
        KeyPurpose::Lookup | KeyPurpose::ServerKeyHash | KeyPurpose::Pseudonym => {
            Material::Mac(Arc::new(MacKey::new(&key)))
        }
        KeyPurpose::AuditSeed => Material::Seed(Arc::new(key)),
        KeyPurpose::Tenant | KeyPurpose::Data | KeyPurpose::Flow | KeyPurpose::RequestState => {
            Material::Seal(Arc::new(SealKey::new(row.facts.id, key)))
        }
    };
    Ok(Entry {
        facts: row.facts.clone(),
        material,
    })
}

/// Chooses the active keys. Keys marked destroyed are left out even when their bytes are still there.
pub(super) fn assemble(
    vault: VaultId,
    mut entries: HashMap<KeyId, Entry>,
) -> Result<Keyring, KeyringError> {
    entries.retain(|_, entry| entry.facts.state != KeyState::Destroyed);
    let mut tenants = HashMap::new();
    for entry in entries.values() {
        if let (Some(tenant), false) = (
            &entry.facts.tenant,
            tenants.contains_key(&entry.facts.tenant),
        ) {
            let keys = TenantKeys {
                tenant: active(&entries, KeyPurpose::Tenant, Some(tenant), Entry::seal_key)?,
                flow: active(&entries, KeyPurpose::Flow, Some(tenant), Entry::seal_key)?,
            };
            tenants.insert(entry.facts.tenant.clone(), keys);
        }
    }
    let tenants = tenants
        .into_iter()
        .filter_map(|(tenant, keys)| Some((tenant?, keys)))
        .collect();
    Ok(Keyring {
        vault,
        tenants,
        request_state: active(&entries, KeyPurpose::RequestState, None, Entry::seal_key)?,
        lookup: active_and_previous(&entries, KeyPurpose::Lookup)?,
        server_key: active_and_previous(&entries, KeyPurpose::ServerKeyHash)?,
        pseudonym: active(&entries, KeyPurpose::Pseudonym, None, Entry::mac_key)?,
        audit_seed: active(&entries, KeyPurpose::AuditSeed, None, Entry::seed)?,
        entries,
    })
}

/// The newest active key of a purpose; the name decides between two of one moment.
fn active<T>(
    entries: &HashMap<KeyId, Entry>,
    purpose: KeyPurpose,
    tenant: Option<&TenantSlug>,
    form: fn(&Entry) -> Option<&Arc<T>>,
) -> Result<Arc<T>, KeyringError> {
    entries
        .values()
        .filter(|entry| entry.facts.purpose == purpose && entry.facts.tenant.as_ref() == tenant)
        .filter(|entry| entry.facts.state == KeyState::Active)
        .max_by_key(|entry| (entry.facts.created_ms, entry.facts.id))
        .and_then(form)
        .cloned()
        .ok_or_else(|| KeyringError::Missing {
            purpose,
            tenant: tenant.cloned(),
        })
}

/// All hashing keys of a purpose that may still verify.
fn active_and_previous(
    entries: &HashMap<KeyId, Entry>,
    purpose: KeyPurpose,
) -> Result<Macs, KeyringError> {
    let active = active(entries, purpose, None, Entry::mac_key)?;
    let mut others: Vec<&Entry> = entries
        .values()
        .filter(|entry| entry.facts.purpose == purpose)
        .filter(|entry| matches!(entry.facts.state, KeyState::Active | KeyState::Deactivated))
        .collect();
    others.sort_by_key(|entry| std::cmp::Reverse((entry.facts.created_ms, entry.facts.id)));
    let keys = others.into_iter().filter_map(Entry::mac_key);
    let previous = keys
        .filter(|key| !Arc::ptr_eq(key, &active))
        .cloned()
        .collect();
    Ok(Macs { active, previous })
}
