//! The durable fact that a person let a server act at a provider, and the freshness of its tokens.

use std::time::Duration;

use crate::{
    AccountAlias, Digest, GrantId, IssuerSlug, KeyId, ProviderSlug, Pseudonym, ScopeSet,
    ServerSlug, SlotName, TenantSlug, Timestamp, UserId,
};

/// What identifies a grant: one person, one server, one provider, one account alias.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantKey {
    /// Tenant of all the others.
    pub tenant: TenantSlug,
    /// The person.
    pub user: UserId,
    /// The server that may use it.
    pub server: ServerSlug,
    /// The provider where it may be used.
    pub provider: ProviderSlug,
    /// Which account.
    pub alias: AccountAlias,
}

/// What a grant holds. Its records are of different kinds, so one that says the wrong thing opens nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Tokens of an OAuth provider.
    #[default]
    Tokens,
    /// A key that the person typed in. It does not end by itself and cannot be renewed.
    Key,
}

/// Whether a grant can be used. The numbers stand in the metadata digest and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum GrantStatus {
    /// Tokens are here but the account is not confirmed.
    Pending = 0,
    /// Usable.
    Active = 1,
    /// Only the person can help, by connecting again.
    NeedsReconnect = 2,
    /// Ended by the person, the server or the operator.
    Revoked = 3,
}

/// A grant as it is stored. Its secrets are separate sealed records; the facts here are in their metadata digest.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Tenant.
    pub tenant: TenantSlug,
    /// The person.
    pub user: UserId,
    /// The person's keyed pseudonym, for the audit log.
    pub pseudonym: Pseudonym,
    /// The issuer that identifies the person.
    pub issuer: IssuerSlug,
    /// The server that may use it.
    pub server: ServerSlug,
    /// The provider where it may be used.
    pub provider: ProviderSlug,
    /// Which account.
    pub alias: AccountAlias,
    /// Usable or not.
    pub status: GrantStatus,
    /// Whether the person confirmed the account.
    pub confirmed: bool,
    /// Whether it may be used while the person is away.
    pub offline: bool,
    /// What the provider allowed.
    pub scopes: ScopeSet,
    /// Keyed pseudonym of the account at the provider, when known.
    pub account: Option<Digest>,
    /// Version of the operator's policy under which it was given.
    pub policy_version: u32,
    /// When it was given.
    pub created: Timestamp,
    /// The data key that seals its records.
    pub data_key: KeyId,
    /// Its token slots; most grants have one.
    pub slots: Vec<TokenSlot>,
    /// What it holds.
    #[serde(default)]
    pub holds: Holds,
}

/// The facts of one token set inside a grant.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TokenSlot {
    /// Its name.
    pub name: SlotName,
    /// Grows by one with each successful refresh; starts at 1.
    pub generation: u64,
    /// When the access token came.
    pub issued: Timestamp,
    /// When the access token ends, if it does.
    pub expires: Option<Timestamp>,
    /// Record version of the sealed access token.
    pub access_version: u64,
    /// Record version of the sealed refresh token, if there is one.
    pub refresh_version: Option<u64>,
}

/// How fresh an access token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Usable.
    Fresh,
    /// Usable, but refresh soon.
    Aging,
    /// Not usable.
    Stale,
}

impl TokenSlot {
    /// A token with less life than this left is not handed out when it can be refreshed: it would end in the caller's hands.
    pub const MIN_LIFE: Duration = Duration::from_secs(60);
    /// A token with less life than this left is refreshed in good time.
    pub const REFRESH_AHEAD: Duration = Duration::from_secs(300);

    /// How fresh the access token is at `now`.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        let Some(expires) = self.expires else {
            return Freshness::Fresh;
        };
        let life = expires.left(self.issued);
        // A provider with very short lives would otherwise have its tokens refreshed on every read.
        let min = Self::MIN_LIFE.min(life / 4);
        let ahead = Self::REFRESH_AHEAD.min(life / 3);
        let left = expires.left(now);
        if left <= min {
            Freshness::Stale
        } else if left <= ahead {
            Freshness::Aging
        } else {
            Freshness::Fresh
        }
    }
}

impl Grant {
    /// What identifies it.
    pub fn key(&self) -> GrantKey {
        GrantKey {
            tenant: self.tenant.clone(),
            user: self.user,
            server: self.server.clone(),
            provider: self.provider.clone(),
            alias: self.alias.clone(),
        }
    }

    /// Whether it can be used for `scopes`.
    pub fn usable_for(&self, scopes: &ScopeSet) -> bool {
        self.status == GrantStatus::Active && self.confirmed && self.scopes.covers(scopes)
    }

    /// The slot of that name.
    pub fn slot(&self, name: &SlotName) -> Option<&TokenSlot> {
        self.slots.iter().find(|slot| slot.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(life_s: i64) -> TokenSlot {
        TokenSlot {
            name: SlotName::parse("main").unwrap(),
            generation: 1,
            issued: Timestamp::from_seconds(0),
            expires: Some(Timestamp::from_seconds(life_s)),
            access_version: 1,
            refresh_version: Some(1),
        }
    }

    #[test]
    fn an_hour_long_token_ages_five_minutes_before_its_end_and_is_stale_one_minute_before() {
        let slot = slot(3600);
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(3299)),
            Freshness::Fresh
        );
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(3300)),
            Freshness::Aging
        );
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(3540)),
            Freshness::Stale
        );
    }

    #[test]
    fn a_short_token_is_still_usable_for_most_of_its_life() {
        let slot = slot(60);
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(30)),
            Freshness::Fresh
        );
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(41)),
            Freshness::Aging
        );
        assert_eq!(
            slot.freshness(Timestamp::from_seconds(45)),
            Freshness::Stale
        );
    }
}
