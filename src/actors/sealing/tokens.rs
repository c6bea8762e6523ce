//! Records of a grant: the pending bundle before the confirm page, and afterwards access token, refresh token and account
//! name, each a record of its own, so that a fetch opens one small ciphertext.

use crypto::{AccountPseudonym, GrantFacts, Kind, MetadataDigest, SealContext, Sealed};
use domain::{
    Blob, Digest, Elicitation, Grant, GrantId, GrantStatus, Pending, ProviderAccount, ProviderSlug,
    ScopeSet, ServerSlug, SlotName, Timestamp,
};
use secret::{AccessToken, RefreshToken, Reveal as _, SecretBytes};

use super::wire::{Reader, Writer};
use super::{DataKey, seal};
use crate::core::Core;
use crate::doors::Refusal;

/// Tokens that wait for the person's word, opened.
pub(crate) struct PendingTokens {
    /// The access token.
    pub(crate) access: AccessToken,
    /// The refresh token, when there is one.
    pub(crate) refresh: Option<RefreshToken>,
    /// The account, when known.
    pub(crate) account: Option<ProviderAccount>,
}

/// Which record of a grant's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRecord {
    /// The access token.
    Access,
    /// The refresh token.
    Refresh,
}

impl TokenRecord {
    /// Its kind.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Access => Kind::AccessToken,
            Self::Refresh => Kind::RefreshToken,
        }
    }
}

/// A token to be sealed; which record it goes into follows from what it is.
#[derive(Clone, Copy)]
pub(crate) enum TokenToSeal<'a> {
    /// An access token.
    Access(&'a AccessToken),
    /// A refresh token.
    Refresh(&'a RefreshToken),
}

impl TokenToSeal<'_> {
    /// Its record.
    pub(crate) const fn record(self) -> TokenRecord {
        match self {
            Self::Access(_) => TokenRecord::Access,
            Self::Refresh(_) => TokenRecord::Refresh,
        }
    }
}

/// The name of the account at the provider, for people's pages.
pub(crate) struct AccountName(pub(crate) Option<Box<str>>);

/// The one slot that grants have so far.
#[expect(
    clippy::expect_used,
    reason = "the literal is a slug; the test below reads it"
)]
pub(crate) fn main_slot() -> SlotName {
    SlotName::parse("main").expect("`main` is a slug")
}

/// Where a record of a grant belongs.
struct Place<'a> {
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
    fn in_place<T>(
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

    fn seal_in(
        &self,
        owner: &DataKey,
        place: &Place<'_>,
        plaintext: &[u8],
    ) -> Result<Vec<u8>, Refusal> {
        self.in_place(owner, place, |context| {
            Ok(seal(&owner.key, context, plaintext, self)?.0)
        })
    }

    fn open_in(
        &self,
        owner: &DataKey,
        place: &Place<'_>,
        record: Vec<u8>,
    ) -> Result<SecretBytes, Refusal> {
        let sealed = Sealed::parse(record)?;
        self.in_place(owner, place, |context| {
            Ok(owner.key.open(context, &sealed)?)
        })
    }

    /// Seals tokens that nobody may use yet.
    pub(crate) fn seal_pending(
        &self,
        owner: &DataKey,
        facts: &Elicitation,
        pending: &Pending,
        tokens: &PendingTokens,
    ) -> Result<Blob, Refusal> {
        let plain = Writer::with_room(2 * domain::MAX_TOKEN)
            .field(tokens.access.reveal().as_bytes())
            .optional(
                tokens
                    .refresh
                    .as_ref()
                    .map(|token| token.reveal().as_bytes()),
            )
            .optional(tokens.account.as_ref().map(|account| account.id.as_bytes()))
            .optional(
                tokens
                    .account
                    .as_ref()
                    .and_then(|account| account.name.as_deref())
                    .map(str::as_bytes),
            );
        let slot = main_slot();
        self.seal_in(owner, &pending_place(facts, pending, &slot), plain.bytes())
            .map(Blob)
    }

    /// Opens them.
    pub(crate) fn open_pending(
        &self,
        owner: &DataKey,
        facts: &Elicitation,
        pending: &Pending,
    ) -> Result<PendingTokens, Refusal> {
        let slot = main_slot();
        let plain = self.open_in(
            owner,
            &pending_place(facts, pending, &slot),
            pending.bundle.0.clone(),
        )?;
        read_pending(&mut Reader::new(&plain)).ok_or(Refusal::Internal)
    }

    /// Seals a token record of a grant as the grant's facts now stand.
    pub(crate) fn seal_token(
        &self,
        owner: &DataKey,
        grant: &Grant,
        (token, version): (TokenToSeal<'_>, u64),
    ) -> Result<Vec<u8>, Refusal> {
        let slot = main_slot();
        let plain = match token {
            TokenToSeal::Access(token) => token.reveal(),
            TokenToSeal::Refresh(token) => token.reveal(),
        };
        let place = token_place(grant, (token.record(), version), &slot);
        self.seal_in(owner, &place, plain.as_bytes())
    }

    /// Opens a grant's access token.
    pub(crate) fn open_access(
        &self,
        owner: &DataKey,
        grant: &Grant,
        version: u64,
        record: Vec<u8>,
    ) -> Result<AccessToken, Refusal> {
        let slot = main_slot();
        let plain = self.open_in(
            owner,
            &token_place(grant, (TokenRecord::Access, version), &slot),
            record,
        )?;
        Ok(AccessToken::new(text(&plain)?))
    }

    /// Opens a grant's refresh token.
    pub(crate) fn open_refresh(
        &self,
        owner: &DataKey,
        grant: &Grant,
        version: u64,
        record: Vec<u8>,
    ) -> Result<RefreshToken, Refusal> {
        let slot = main_slot();
        let plain = self.open_in(
            owner,
            &token_place(grant, (TokenRecord::Refresh, version), &slot),
            record,
        )?;
        Ok(RefreshToken::new(text(&plain)?))
    }

    /// Seals the name of a grant's account. No decision rests on it, so it does not carry the grant's digest and need not
    /// be sealed again when the grant changes.
    pub(crate) fn seal_account(
        &self,
        owner: &DataKey,
        grant: &Grant,
        account: Option<&ProviderAccount>,
    ) -> Result<Vec<u8>, Refusal> {
        let plain = Writer::with_room(512)
            .optional(account.and_then(|a| a.name.as_deref()).map(str::as_bytes));
        let slot = main_slot();
        self.seal_in(owner, &account_place(grant, &slot), plain.bytes())
    }

    /// Opens it.
    pub(crate) fn open_account(
        &self,
        owner: &DataKey,
        grant: &Grant,
        record: Vec<u8>,
    ) -> Result<AccountName, Refusal> {
        let slot = main_slot();
        let plain = self.open_in(owner, &account_place(grant, &slot), record)?;
        let name = Reader::new(&plain)
            .optional_text()
            .ok_or(Refusal::Internal)?;
        Ok(AccountName(name.map(Into::into)))
    }

    /// Keyed pseudonym of an account at a provider.
    pub(crate) fn account_pseudonym(
        &self,
        facts: &Elicitation,
        provider_url: &str,
        account: &ProviderAccount,
    ) -> Digest {
        Digest(
            *self
                .keyring
                .account_pseudonym(&facts.tenant, &facts.provider, provider_url, &account.id)
                .as_bytes(),
        )
    }
}

fn text(plain: &SecretBytes) -> Result<String, Refusal> {
    std::str::from_utf8(plain.expose())
        .map(str::to_owned)
        .map_err(|_| Refusal::Internal)
}

fn read_pending(reader: &mut Reader<'_>) -> Option<PendingTokens> {
    let access = AccessToken::new(reader.text()?.to_owned());
    let refresh = reader
        .optional_text()?
        .map(|token| RefreshToken::new(token.to_owned()));
    let id = reader.optional_text()?;
    let name = reader.optional_text()?;
    let account = id.map(|id| ProviderAccount {
        id: id.into(),
        name: name.map(Into::into),
    });
    Some(PendingTokens {
        access,
        refresh,
        account,
    })
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
        }
        .digest()
    }
}

fn pending_place<'a>(facts: &'a Elicitation, pending: &Pending, slot: &'a SlotName) -> Place<'a> {
    let columns = Columns {
        status: GrantStatus::Pending,
        confirmed: false,
        offline: false,
        scopes: &pending.scopes,
        expires: pending.access_expires,
        account: pending.account.as_ref(),
        policy_version: POLICY_VERSION,
        created: pending.since,
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

fn token_place<'a>(
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

fn account_place<'a>(grant: &'a Grant, slot: &'a SlotName) -> Place<'a> {
    Place {
        kind: Kind::UserProfile,
        server: &grant.server,
        provider: &grant.provider,
        grant: grant.id,
        slot,
        version: 1,
        metadata: MetadataDigest::of_parts(&[b"account"]),
    }
}

/// Version of the policy under which grants are given: one person, present, for one server.
pub(crate) const POLICY_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_name_is_a_slug() {
        assert_eq!(main_slot().as_str(), "main");
    }
}
