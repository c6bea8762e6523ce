//! Records of a grant: the pending bundle before the confirm page, and afterwards access token, refresh token and account
//! name, each a record of its own, so that a fetch opens one small ciphertext.

use crypto::{Kind, Sealed};
use domain::{Blob, Digest, Elicitation, Grant, Holds, Pending, ProviderAccount, SlotName};
use secret::{AccessToken, RefreshToken, Reveal as _, SecretBytes};

use super::place::{Place, account_place, pending_place, token_place};
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
    /// The key that the person typed in.
    Key,
}

impl TokenRecord {
    /// The record whose content is released.
    pub(crate) const fn released(grant: &Grant) -> Self {
        match grant.holds {
            Holds::Tokens => Self::Access,
            Holds::Key => Self::Key,
        }
    }

    /// Its kind.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Access => Kind::AccessToken,
            Self::Refresh => Kind::RefreshToken,
            Self::Key => Kind::ApiKey,
        }
    }
}

/// A token to be sealed; which record it goes into follows from what it is.
#[derive(Clone, Copy)]
pub(crate) enum TokenToSeal<'a> {
    /// An access token, or the key in its place.
    Access(&'a AccessToken),
    /// A refresh token.
    Refresh(&'a RefreshToken),
}

impl TokenToSeal<'_> {
    /// Its record in this grant.
    pub(crate) const fn record(self, grant: &Grant) -> TokenRecord {
        match self {
            Self::Access(_) => TokenRecord::released(grant),
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

impl Core {
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
        let place = token_place(grant, (token.record(grant), version), &slot);
        self.seal_in(owner, &place, plain.as_bytes())
    }

    /// Opens a grant's access token, or the key that is in its place.
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
            &token_place(grant, (TokenRecord::released(grant), version), &slot),
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

    /// Seals the name of a grant's account. It is bound to the grant and to which account it is, and not to the facts that
    /// change with each refresh, so it need not be sealed again then.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_name_is_a_slug() {
        assert_eq!(main_slot().as_str(), "main");
    }
}
