//! People: a user with a wrapped data key and a sealed profile, and browser sessions.

use domain::{Blob, IssuerSlug, KeyId, TenantSlug, Timestamp, UserId};
use serde::{Deserialize, Serialize};

/// A wrapped key as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WrappedRow {
    /// The key's name.
    pub(crate) id: KeyId,
    /// The key that wraps it.
    pub(crate) parent: KeyId,
    /// Number of its purpose.
    pub(crate) purpose: u8,
    /// Number of its state.
    pub(crate) state: u8,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// When it should be replaced.
    pub(crate) not_after: Option<Timestamp>,
    /// Its tenant.
    pub(crate) tenant: Option<TenantSlug>,
    /// Its person.
    pub(crate) user: Option<UserId>,
    /// The key itself, sealed under its parent.
    pub(crate) sealed: Blob,
}

impl From<&crypto::WrappedKey> for WrappedRow {
    fn from(key: &crypto::WrappedKey) -> Self {
        let facts = &key.facts;
        Self {
            id: facts.id,
            parent: facts.parent,
            purpose: facts.purpose.code(),
            state: facts.state.code(),
            created: Timestamp::from_ms(facts.created_ms),
            not_after: facts.not_after_ms.map(Timestamp::from_ms),
            tenant: facts.tenant.clone(),
            user: facts.user,
            sealed: Blob(key.sealed.as_bytes().to_vec()),
        }
    }
}

impl WrappedRow {
    /// The key as the crypto room reads it; `None` when a number or the record is not one this program knows.
    pub(crate) fn to_key(&self) -> Option<crypto::WrappedKey> {
        Some(crypto::WrappedKey {
            facts: crypto::KeyFacts {
                id: self.id,
                parent: self.parent,
                purpose: crypto::KeyPurpose::from_code(self.purpose).ok()?,
                state: crypto::KeyState::from_code(self.state).ok()?,
                created_ms: self.created.as_ms(),
                not_after_ms: self.not_after.map(Timestamp::as_ms),
                tenant: self.tenant.clone(),
                user: self.user,
            },
            sealed: crypto::Sealed::parse(self.sealed.0.clone()).ok()?,
        })
    }
}

/// A person, found by keyed pseudonym.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UserRow {
    /// Internal id.
    pub(crate) id: UserId,
    /// Tenant.
    pub(crate) tenant: TenantSlug,
    /// Issuer.
    pub(crate) issuer: IssuerSlug,
    /// The person's own data key.
    pub(crate) data_key: WrappedRow,
    /// Issuer URL and subject, sealed under the data key (kind 14).
    pub(crate) profile: Blob,
    /// When the row was made.
    pub(crate) created: Timestamp,
}

/// A browser session, found by the keyed hash of its cookie.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionRow {
    /// Tenant, which names the flow key that seals the rest.
    pub(crate) tenant: TenantSlug,
    /// Who is signed in, sealed (kind 15).
    pub(crate) sealed: Blob,
    /// Last deed (not look) in this session. When the person signed in is sealed: whoever can write to the disk can make
    /// a session look less idle, and not younger.
    pub(crate) used: Timestamp,
}

impl SessionRow {
    /// Whether it has been idle too long.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        self.used.plus(domain::BrowserSession::IDLE).passed(now)
    }
}
