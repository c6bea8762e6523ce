//! Telling a provider that tokens are not wanted any more: one place for all who end something.
//!
//! Many providers end the whole authorization of an account with any one of its tokens. So a provider is told only when
//! nothing that the person still uses may hang on the same authorization; otherwise the tokens are erased here alone. Called
//! after the commit that ended something here, so that what has ended does not count as in use.

use std::ops::ControlFlow;

use domain::{Digest, Elicitation, Grant, GrantStatus, ProviderSlug, TenantSlug, UserId};
use secret::{AccessToken, RefreshToken};
use storage::{Revision, StoreError, Table};
use upstream::{RevokeOutcome, TokenToRevoke};

use super::{grants, people};
use crate::core::{Core, Stepped};
use crate::doors::{ProviderRevocation, Refusal};
use crate::rows;
use crate::sealing::{DataKey, PendingTokens, TokenRecord};

/// A token with which the provider can be told.
pub(crate) enum OwnedToken {
    /// The refresh token, which ends the whole authorization at most providers.
    Refresh(RefreshToken),
    /// The access token, where there is nothing better.
    Access(AccessToken),
}

impl OwnedToken {
    /// The better one of two.
    pub(crate) fn of(access: AccessToken, refresh: Option<RefreshToken>) -> Self {
        refresh.map_or(Self::Access(access), Self::Refresh)
    }

    fn as_request(&self) -> TokenToRevoke<'_> {
        match self {
            Self::Refresh(token) => TokenToRevoke::Refresh(token),
            Self::Access(token) => TokenToRevoke::Access(token),
        }
    }
}

/// Whose authorization, and where, a token stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Authorization<'a> {
    tenant: &'a TenantSlug,
    user: UserId,
    provider: &'a ProviderSlug,
    account: Option<Digest>,
}

impl<'a> Authorization<'a> {
    /// The authorization behind a grant.
    pub(crate) fn of_grant(grant: &'a Grant) -> Self {
        Self {
            tenant: &grant.tenant,
            user: grant.user,
            provider: &grant.provider,
            account: grant.account,
        }
    }

    /// The same, of tokens that turned out to be for this account.
    pub(crate) fn at_account(self, account: Option<Digest>) -> Self {
        Self { account, ..self }
    }

    /// Whether a grant may hang on it too. An account that is not known may be any.
    fn may_carry(&self, grant: &Grant) -> bool {
        let same_account = match (self.account, grant.account) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        grant.status == GrantStatus::Active && grant.provider == *self.provider && same_account
    }
}

/// Tells the provider that a token is not wanted any more, once, unless something in use may hang on it.
pub(crate) async fn tell(
    core: &Core,
    of: Authorization<'_>,
    token: Option<OwnedToken>,
) -> ProviderRevocation {
    let (Some(token), Some(provider)) = (token, core.registry.provider(of.provider)) else {
        return ProviderRevocation::NothingToRevoke;
    };
    match in_use(core, &of).await {
        Ok(false) => {}
        Ok(true) => return ProviderRevocation::KeptForOtherGrant,
        Err(error) => {
            tracing::error!(provider.id = %provider.slug, error = %error, "whether tokens are shared cannot be read; the provider is not told");
            return ProviderRevocation::Failed;
        }
    }
    let Ok(_permit) = core.desks.revocation(&provider.slug).await else {
        tracing::warn!(provider.id = %provider.slug, "too many revocations are under way at this provider; it is not told");
        return ProviderRevocation::Failed;
    };
    match core
        .upstream
        .revoke(provider, token.as_request(), core.now())
        .await
    {
        RevokeOutcome::Revoked => ProviderRevocation::Revoked,
        RevokeOutcome::NoEndpoint => ProviderRevocation::NoEndpoint,
        RevokeOutcome::Failed(failure) => {
            tracing::warn!(provider.id = %provider.slug, %failure, "the provider did not confirm a revocation");
            ProviderRevocation::Failed
        }
    }
}

/// Whether an active grant of the same person may hang on this authorization.
async fn in_use(core: &Core, of: &Authorization<'_>) -> Result<bool, StoreError> {
    let prefix = rows::keys::person_grants_prefix(of.tenant, of.user);
    let mut any = ControlFlow::Continue(());
    rows::each(&*core.store, (Table::Grants, &prefix), |_, grant: Grant| {
        if of.may_carry(&grant) {
            any = ControlFlow::Break(());
        }
        any
    })
    .await?;
    Ok(any.is_break())
}

/// The same for tokens that nobody confirmed.
pub(crate) async fn tell_pending(
    core: &Core,
    facts: &Elicitation,
    account: Option<Digest>,
    tokens: Option<PendingTokens>,
) -> ProviderRevocation {
    let Some(tokens) = tokens else {
        return ProviderRevocation::NothingToRevoke;
    };
    let user = match people::find(core, &facts.pseudonym).await {
        Ok(Some(user)) => user.value.id,
        // Nobody was made yet, so there is no grant either: an id that no row has.
        Ok(None) => UserId::from_bytes(core.id_bytes()),
        Err(_) => return ProviderRevocation::Failed, // said where it happened
    };
    let of = Authorization {
        tenant: &facts.tenant,
        user,
        provider: &facts.provider,
        account,
    };
    tell(
        core,
        of,
        Some(OwnedToken::of(tokens.access, tokens.refresh)),
    )
    .await
}

/// The token with which the provider can be told that a grant has ended. A record that does not open cannot be revoked, and
/// must not stand in the way of what ends or replaces it.
///
/// # Errors
/// `Again` when the grant has moved since it was read; what the store says.
pub(crate) async fn token_of(
    core: &Core,
    (grant, revision): (&Grant, Revision),
    owner: &DataKey,
) -> Result<Option<OwnedToken>, Stepped> {
    let Some(slot) = grant.slots.first() else {
        return Ok(None);
    };
    let (refresh, access) = (
        grants::record(core, grant.id, TokenRecord::Refresh).await?,
        grants::record(core, grant.id, TokenRecord::released(grant)).await?,
    );
    // Rows and records that are read while a refresh is kept need not belong together; that is no sign of tampering.
    let now = grants::by_key(core, &grant.key()).await?;
    if now.is_none_or(|now| now.revision != revision) {
        return Err(Stepped::Again);
    }
    if let Some(version) = slot.refresh_version
        && let Some(record) = refresh
        && let Some(token) = opened(core.open_refresh(owner, grant, version, record.value))?
    {
        return Ok(Some(OwnedToken::Refresh(token)));
    }
    let Some(record) = access else {
        return Ok(None);
    };
    let token = opened(core.open_access(owner, grant, slot.access_version, record.value))?;
    Ok(token.map(OwnedToken::Access))
}

/// What was opened for the provider's sake alone: what does not open counts as not there.
///
/// # Errors
/// When the store cannot serve it now: then trying again helps.
pub(crate) fn opened<T>(result: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(refusal @ (Refusal::Busy { .. } | Refusal::Unavailable)) => Err(refusal),
        Err(_) => {
            tracing::error!(
                "sealed tokens do not open; they are erased here and the provider is not told"
            );
            Ok(None)
        }
    }
}

/// The outcome as the audit log has it.
pub(crate) fn outcome(told: ProviderRevocation) -> &'static str {
    match told {
        ProviderRevocation::Revoked => "revoked",
        ProviderRevocation::NoEndpoint => "no-revocation-endpoint",
        ProviderRevocation::Failed => "revocation-failed",
        ProviderRevocation::KeptForOtherGrant => "kept-for-other-grant",
        ProviderRevocation::NothingToRevoke => "nothing-to-revoke",
    }
}

#[cfg(test)]
mod tests {
    use domain::{GrantId, KeyId, Pseudonym, ScopeSet};

    use super::*;

    fn grant(provider: &str, account: Option<u8>, status: GrantStatus) -> Grant {
        Grant {
            id: GrantId::from_bytes([1; 16]),
            tenant: "default".parse().unwrap(),
            user: UserId::from_bytes([2; 16]),
            pseudonym: Pseudonym([3; 32]),
            issuer: "corp".parse().unwrap(),
            server: "s1".parse().unwrap(),
            provider: provider.parse().unwrap(),
            alias: "default".parse().unwrap(),
            status,
            confirmed: true,
            offline: false,
            scopes: ScopeSet::default(),
            account: account.map(|account| Digest([account; 32])),
            policy_version: 1,
            created: domain::Timestamp::from_seconds(1),
            data_key: KeyId::from_bytes([4; 16]),
            slots: Vec::new(),
            holds: domain::Holds::Tokens,
        }
    }

    #[test]
    fn an_active_grant_of_the_same_or_an_unknown_account_there_may_share_the_authorization() {
        use GrantStatus::{Active, NeedsReconnect, Pending, Revoked};
        let known = grant("notes", Some(1), Revoked);
        let unknown = grant("notes", None, Revoked);
        let shares = |one: &Grant, other| Authorization::of_grant(one).may_carry(&other);
        assert!(shares(&known, grant("notes", Some(1), Active)));
        assert!(shares(&known, grant("notes", None, Active)));
        assert!(shares(&unknown, grant("notes", Some(1), Active)));
        assert!(!shares(&known, grant("notes", Some(2), Active)));
        assert!(!shares(&unknown, grant("mail", None, Active)));
        for over in [Pending, NeedsReconnect, Revoked] {
            assert!(!shares(&known, grant("notes", Some(1), over)));
        }
    }
}
