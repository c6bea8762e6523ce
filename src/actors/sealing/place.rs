//! Where a record of a grant belongs: the whole context that it is sealed in, made of the facts as they stand in clear.

use crypto::{AccountPseudonym, GrantFacts, Kind, MetadataDigest, SealContext};
use domain::{
    AccountAlias, Digest, Elicitation, Grant, GrantId, GrantStatus, Pending, ProviderSlug,
    ScopeSet, ServerSlug, SlotName, Timestamp,
};

use super::DataKey;
use super::tokens::TokenRecord;
use crate::core::Core;
use crate::doors::Refusal;

/// Where a record of a grant belongs.
pub(super) struct Place<'a> {
    kind: Kind,
    server: &'a ServerSlug,
    provider: &'a ProviderSlug,
    grant: GrantId,
    slot: &'a SlotName,
    version: u64,
    metadata: MetadataDigest,
}

impl Core {
    /// Runs `with` in the context of a grant's record.
    pub(super) fn in_place<T>(
        &self,
        owner: &DataKey,
        place: &Place<'_>,
        with: impl FnOnce(&SealContext<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let subject = owner.identity.subject.to_bytes();
        let context = SealContext {
            tenant: Some(&owner.identity.tenant),
            server: Some(place.server),
            issuer: Some(&owner.identity.issuer),
            issuer_url: owner.identity.issuer_url.as_str(),
            subject: &subject,
            provider: Some(place.provider),
            grant: Some(place.grant),
            slot: Some(place.slot),
            user: Some(owner.user),
            version: place.version,
            metadata: place.metadata,
            ..SealContext::new(place.kind, self.vault)
        };
        with(&context)
    }
}

/// The clear columns that a token record's meaning depends on.
struct Columns<'a> {
    status: GrantStatus,
    confirmed: bool,
    offline: bool,
    scopes: &'a ScopeSet,
    expires: Option<Timestamp>,
    account: Option<&'a Digest>,
    policy_version: u32,
    created: Timestamp,
    alias: &'a AccountAlias,
}

impl Columns<'_> {
    fn digest(&self) -> MetadataDigest {
        let scopes: Vec<&str> = self.scopes.iter().collect();
        let account = self
            .account
            .map(|digest| AccountPseudonym::from_bytes(digest.0));
        GrantFacts {
            status: self.status as u8,
            confirmed: self.confirmed,
            offline: self.offline,
            scopes: &scopes,
            expires_at_ms: self.expires.map(Timestamp::as_ms),
            account: account.as_ref(),
            policy_version: self.policy_version,
            created_at_ms: self.created.as_ms(),
            alias: self.alias.as_str(),
        }
        .digest()
    }
}

pub(super) fn pending_place<'a>(
    facts: &'a Elicitation,
    pending: &Pending,
    slot: &'a SlotName,
) -> Place<'a> {
    let columns = Columns {
        status: GrantStatus::Pending,
        confirmed: false,
        offline: false,
        scopes: &pending.scopes,
        expires: pending.access_expires,
        account: pending.account.as_ref(),
        policy_version: POLICY_VERSION,
        created: pending.since,
        alias: &facts.alias,
    };
    Place {
        kind: Kind::PendingBundle,
        server: &facts.server,
        provider: &facts.provider,
        grant: pending.grant,
        slot,
        version: 1,
        metadata: columns.digest(),
    }
}

pub(super) fn token_place<'a>(
    grant: &'a Grant,
    (record, version): (TokenRecord, u64),
    slot: &'a SlotName,
) -> Place<'a> {
    let columns = Columns {
        status: grant.status,
        confirmed: grant.confirmed,
        offline: grant.offline,
        scopes: &grant.scopes,
        expires: grant.slot(slot).and_then(|slot| slot.expires),
        account: grant.account.as_ref(),
        policy_version: grant.policy_version,
        created: grant.created,
        alias: &grant.alias,
    };
    Place {
        kind: record.kind(),
        server: &grant.server,
        provider: &grant.provider,
        grant: grant.id,
        slot,
        version,
        metadata: columns.digest(),
    }
}

/// The name that people read for an account is bound to which account it is; nothing else about it ever changes.
pub(super) fn account_place<'a>(grant: &'a Grant, slot: &'a SlotName) -> Place<'a> {
    Place {
        kind: Kind::UserProfile,
        server: &grant.server,
        provider: &grant.provider,
        grant: grant.id,
        slot,
        version: 1,
        metadata: MetadataDigest::of_parts(&[
            b"account",
            grant.account.as_ref().map_or(&[], |account| &account.0),
            grant.alias.as_str().as_bytes(),
        ]),
    }
}

/// Version of the policy under which grants are given: one person, present, for one server.
pub(crate) const POLICY_VERSION: u32 = 1;
