//! Keys of rows: fixed-width ids, and lists of names each with its length before it, so that no two keys are alike.

use domain::{
    BrowserFlowId, Digest, ElicitationId, GrantId, GrantKey, Pseudonym, ServerSlug, SlotName,
    TenantSlug, UserId,
};
use storage::Table;

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowKey {
    /// Table.
    pub(crate) table: Table,
    /// Key inside it.
    pub(crate) key: Vec<u8>,
}

impl RowKey {
    fn new(table: Table, key: impl Into<Vec<u8>>) -> Self {
        Self {
            table,
            key: key.into(),
        }
    }
}

/// One length byte, then the name; names have at most 32 bytes.
fn name(out: &mut Vec<u8>, text: &str) {
    out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(text.as_bytes());
}

/// A fact about the vault as a whole.
pub(crate) fn meta(what: &str) -> RowKey {
    RowKey::new(Table::Meta, what)
}

/// A wrapped key of the hierarchy (tenant and purpose keys).
pub(crate) fn wrapped(id: domain::KeyId) -> RowKey {
    RowKey::new(Table::Keys, id.as_bytes().as_slice())
}

/// A server key by its public id.
pub(crate) fn server_key(id: &str) -> RowKey {
    RowKey::new(Table::ServerKeys, id)
}

/// What changes about a server.
pub(crate) fn server(slug: &ServerSlug) -> RowKey {
    RowKey::new(Table::Servers, slug.as_str())
}

/// A person by keyed pseudonym.
pub(crate) fn user(pseudonym: &Pseudonym) -> RowKey {
    RowKey::new(Table::Users, pseudonym.0.as_slice())
}

/// An elicitation.
pub(crate) fn elicitation(id: ElicitationId) -> RowKey {
    RowKey::new(Table::Elicitations, id.as_bytes().as_slice())
}

/// A connect ticket by its keyed hash.
pub(crate) fn ticket(hash: &Digest) -> RowKey {
    RowKey::new(Table::Tickets, hash.0.as_slice())
}

/// A browser flow.
pub(crate) fn flow(id: BrowserFlowId) -> RowKey {
    RowKey::new(Table::BrowserFlows, id.as_bytes().as_slice())
}

/// An OAuth `state` by its keyed hash.
pub(crate) fn state(hash: &Digest) -> RowKey {
    RowKey::new(Table::OauthStates, hash.0.as_slice())
}

/// A browser session by the keyed hash of its cookie.
pub(crate) fn session(hash: &Digest) -> RowKey {
    RowKey::new(Table::Sessions, hash.0.as_slice())
}

/// A login answer that was used, by the keyed hash of its `state`.
pub(crate) fn used_login(hash: &Digest) -> RowKey {
    RowKey::new(Table::UsedLogins, hash.0.as_slice())
}

/// All grants of a person at all servers.
pub(crate) fn person_grants_prefix(tenant: &TenantSlug, user: UserId) -> Vec<u8> {
    let mut key = Vec::with_capacity(128);
    name(&mut key, tenant.as_str());
    key.extend_from_slice(user.as_bytes());
    key
}

/// All grants of a person at a server.
pub(crate) fn grants_prefix(tenant: &TenantSlug, user: UserId, server: &ServerSlug) -> Vec<u8> {
    let mut key = person_grants_prefix(tenant, user);
    name(&mut key, server.as_str());
    key
}

/// A grant by what identifies it.
pub(crate) fn grant(key: &GrantKey) -> RowKey {
    let mut bytes = grants_prefix(&key.tenant, key.user, &key.server);
    name(&mut bytes, key.provider.as_str());
    name(&mut bytes, key.alias.as_str());
    RowKey::new(Table::Grants, bytes)
}

/// From a grant's id to the key of its row.
pub(crate) fn grant_id(id: GrantId) -> RowKey {
    RowKey::new(Table::GrantIds, id.as_bytes().as_slice())
}

/// All sealed records of a grant.
pub(crate) fn records_prefix(grant: GrantId) -> Vec<u8> {
    grant.as_bytes().to_vec()
}

/// One sealed record of a grant.
pub(crate) fn record(grant: GrantId, kind: crypto::Kind, slot: &SlotName) -> RowKey {
    let mut key = records_prefix(grant);
    key.push(kind.code());
    name(&mut key, slot.as_str());
    RowKey::new(Table::Records, key)
}

/// When a grant was used last.
pub(crate) fn last_use(id: GrantId) -> RowKey {
    RowKey::new(Table::Uses, id.as_bytes().as_slice())
}

/// What is kept for an `Idempotency-Key`, by the keyed hash of the key and of who uses it.
pub(crate) fn repeat(hash: &Digest) -> RowKey {
    RowKey::new(Table::Idempotency, hash.0.as_slice())
}

/// Live elicitations of a person at a server.
pub(crate) fn live(tenant: &TenantSlug, server: &ServerSlug, pseudonym: &Pseudonym) -> RowKey {
    let mut key = Vec::with_capacity(128);
    name(&mut key, tenant.as_str());
    name(&mut key, server.as_str());
    key.extend_from_slice(&pseudonym.0);
    RowKey::new(Table::LiveElicitations, key)
}
