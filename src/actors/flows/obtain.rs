//! Refresh: spend a refresh token once, keep what comes back before anybody gets it.
//!
//! The order is the whole point. Lease, then read again under the lease, then redeem, then seal under the next record
//! versions, then commit by revision, and only then is the new token in the store for readers to find. The lease outlives
//! every call to the provider, so it cannot end while a redemption is under way.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    AuditAction, AuditClass, ExchangedTokens, Freshness, Grant, GrantId, GrantStatus, Principal,
    Provider, ScopeSet, Timestamp,
};
use storage::{Claim, Revision, StoreError};
use tokio::task::JoinHandle;
use upstream::RefreshFailure;

use super::audit_trail::about_grant;
use super::grants::{self, Found};
use super::revocation::{self, Authorization, OwnedToken};
use crate::core::Core;
use crate::desk::Desks;
use crate::doors::{Ctx, Refusal};
use crate::rows::{self, Changes};
use crate::sealing::{DataKey, TokenRecord, TokenToSeal};

/// Why there is no fresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ObtainError {
    /// The provider ended the grant; only the person can help.
    #[error("the person has to connect again")]
    NeedsReconnect,
    /// The provider cannot be asked at present; the grant is kept.
    #[error("the provider is not available")]
    ProviderDown {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// Our registration at the provider is wrong; the grant is kept.
    #[error("the operator has to set the registration right")]
    Misconfigured,
    /// Another flow is at it; try again soon.
    #[error("a refresh is running")]
    Running,
    /// The grant has ended meanwhile.
    #[error("the grant has ended")]
    Gone,
    /// Something that must not happen happened.
    #[error("the refresh failed")]
    Failed,
}

/// Starts refresh flows.
#[derive(Clone)]
pub(crate) struct Refresher {
    core: Arc<Core>,
    desks: Desks,
}

impl Refresher {
    /// A refresher over these parts.
    pub(crate) fn new(core: Arc<Core>, desks: Desks) -> Self {
        Self { core, desks }
    }

    /// Starts a flow on the IO runtime; it ends whatever becomes of whoever asked for it.
    pub(crate) fn begin(&self, grant: GrantId) -> JoinHandle<Result<(), ObtainError>> {
        let flow = self.clone();
        self.core.start(async move { flow.run(grant).await })
    }

    async fn run(self, id: GrantId) -> Result<(), ObtainError> {
        let core = &*self.core;
        let found = grants::by_id(core, id)
            .await
            .map_err(failed)?
            .ok_or(ObtainError::Gone)?;
        let provider = core
            .registry
            .provider(&found.grant.value.provider)
            .map(Arc::clone)
            .ok_or(ObtainError::Misconfigured)?;
        let _permit = self
            .desks
            .provider(&provider.slug)
            .await
            .map_err(|_| ObtainError::Running)?;
        let lease = lease_name(id);
        let claimed = core
            .store
            .claim(&lease, core.holder, core.now().as_ms(), LEASE_MS)
            .await;
        let fence = match claimed.map_err(|error| failed(error.into()))? {
            Claim::Held(fence) => fence,
            Claim::Busy { .. } => return Err(ObtainError::Running),
        };
        let outcome = under_lease(core, id, &provider).await;
        if let Err(error) = core.store.release(&lease, fence).await {
            tracing::warn!(grant.id = %id, error = %error, "a lease was not released; it ends by itself");
        }
        outcome
    }
}

/// Reads again, now that nobody else may redeem, and redeems if it is still needed.
async fn under_lease(core: &Core, id: GrantId, provider: &Provider) -> Result<(), ObtainError> {
    let Found { grant, owner } = grants::by_id(core, id)
        .await
        .map_err(failed)?
        .ok_or(ObtainError::Gone)?;
    let slot = grant.value.slots.first().ok_or(ObtainError::Failed)?;
    match grant.value.status {
        GrantStatus::Active => {}
        GrantStatus::NeedsReconnect => return Err(ObtainError::NeedsReconnect),
        GrantStatus::Pending | GrantStatus::Revoked => return Err(ObtainError::Gone),
    }
    if slot.freshness(core.now()) == Freshness::Fresh {
        return Ok(()); // somebody else was here before us
    }
    let Some(version) = slot.refresh_version else {
        return Err(ObtainError::NeedsReconnect);
    };
    let record = grants::record(core, id, TokenRecord::Refresh)
        .await
        .map_err(failed)?
        .ok_or(ObtainError::Failed)?;
    let refresh = core
        .open_refresh(&owner, &grant.value, version, record.value)
        .map_err(failed)?;
    match core
        .upstream
        .redeem(provider, &refresh, &grant.value.scopes, &*core.clock)
        .await
    {
        Ok(tokens) => keep(core, (grant.value, grant.revision), &owner, tokens).await,
        Err(RefreshFailure::InvalidGrant) => {
            ended(core, (grant.value, grant.revision), &owner).await
        }
        Err(RefreshFailure::ClientConfig(code)) => {
            tracing::error!(provider.id = %provider.slug, %code, "the provider refuses our registration; no grant is lost");
            Err(ObtainError::Misconfigured)
        }
        Err(RefreshFailure::Misconfigured) => Err(ObtainError::Misconfigured),
        Err(RefreshFailure::Unavailable { retry_after }) => Err(ObtainError::ProviderDown {
            retry_after: retry_after.unwrap_or(RETRY),
        }),
        Err(
            RefreshFailure::Unreadable
            | RefreshFailure::OutcomeUnknown
            | RefreshFailure::AnswerRefused(_),
        ) => {
            tracing::warn!(grant.id = %id, provider.id = %provider.slug, "the outcome of a refresh is not known; the token is kept");
            Err(ObtainError::ProviderDown { retry_after: RETRY })
        }
    }
}

/// Keeps new tokens. The provider has ended the old ones already, so this does not give up at the first hindrance: a full
/// queue is waited for, and rows that moved are read again.
async fn keep(
    core: &Core,
    mut current: (Grant, Revision),
    owner: &DataKey,
    tokens: ExchangedTokens,
) -> Result<(), ObtainError> {
    for _ in 0..KEEP_TRIES {
        let step = keep_once(core, (&current.0, current.1), owner, &tokens).await;
        match step {
            Ok((grant, wider)) => return kept(core, &grant, &wider).await,
            Err(Hindered::Busy) => {}
            Err(Hindered::Moved) => match same_generation(core, &current.0).await? {
                Some(again) => current = again,
                None => return overtaken(core, &current.0, tokens).await,
            },
            Err(Hindered::Stop(refusal)) => return Err(not_kept(&current.0, refusal)),
        }
        tokio::time::sleep(KEEP_PAUSE).await;
    }
    let refusal = Refusal::Busy { retry_after: RETRY };
    Err(not_kept(&current.0, refusal))
}

/// Why one try to keep tokens came to nothing.
enum Hindered {
    /// The store's queue is full; nothing was written.
    Busy,
    /// A row changed or is gone; nothing was written.
    Moved,
    /// Trying again does not help.
    Stop(Refusal),
}

impl From<StoreError> for Hindered {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Busy,
            StoreError::Conflict { .. } => Self::Moved,
            other => Self::Stop(other.into()),
        }
    }
}

/// One try: both records under their next versions, and the grant, in one commit.
async fn keep_once(
    core: &Core,
    (before, revision): (&Grant, Revision),
    owner: &DataKey,
    tokens: &ExchangedTokens,
) -> Result<(Grant, ScopeSet), Hindered> {
    let id = before.id;
    let row = async |which| {
        let row = grants::record(core, id, which).await;
        row.map_err(Hindered::Stop)?.ok_or(Hindered::Moved)
    };
    let (access_row, refresh_row) = (
        row(TokenRecord::Access).await?,
        row(TokenRecord::Refresh).await?,
    );
    let (grant, wider) = next_generation(before, tokens, core.now());
    let version = |grant: &Grant, which| {
        grants::version_of(grant, which).ok_or(Hindered::Stop(Refusal::Internal))
    };
    let old = version(before, TokenRecord::Refresh)?;
    // Without a new one the old one is kept, but sealed anew: the expiry is one of the facts that its record is bound to.
    let kept = match tokens.refresh {
        Some(_) => None,
        None => Some(
            core.open_refresh(owner, before, old, refresh_row.value)
                .map_err(Hindered::Stop)?,
        ),
    };
    let refresh = tokens.refresh.as_ref().or(kept.as_ref());
    let refresh = refresh.ok_or(Hindered::Stop(Refusal::Internal))?;
    let mut changes = Changes::default();
    changes.put(rows::keys::grant(&grant.key()), revision, &grant);
    for (token, old) in [
        (TokenToSeal::Access(&tokens.access), access_row.revision),
        (TokenToSeal::Refresh(refresh), refresh_row.revision),
    ] {
        let version = version(&grant, token.record())?;
        let sealed = core
            .seal_token(owner, &grant, (token, version))
            .map_err(Hindered::Stop)?;
        changes.put_bytes(grants::record_key(id, token.record()), old, sealed);
    }
    changes.commit(&*core.store).await?;
    Ok((grant, wider))
}

async fn kept(core: &Core, grant: &Grant, wider: &ScopeSet) -> Result<(), ObtainError> {
    let outcome = if wider.is_empty() {
        "ok"
    } else {
        tracing::warn!(grant.id = %grant.id, wider = wider.len(), "a refresh named scopes that nobody agreed to; they are left out");
        "wider-scopes"
    };
    note(core, AuditAction::TokensRefreshed, outcome, grant).await
}

fn not_kept(grant: &Grant, refusal: Refusal) -> ObtainError {
    tracing::error!(grant.id = %grant.id, "refreshed tokens could not be kept");
    failed(refusal)
}

/// The grant as it is now, if the new tokens still belong to it.
async fn same_generation(
    core: &Core,
    before: &Grant,
) -> Result<Option<(Grant, Revision)>, ObtainError> {
    let found = grants::by_id(core, before.id).await.map_err(failed)?;
    let generation = |grant: &Grant| grant.slots.first().map(|slot| slot.generation);
    Ok(found
        .map(|found| found.grant)
        .filter(|grant| {
            grant.value.status == GrantStatus::Active
                && generation(&grant.value) == generation(before)
        })
        .map(|grant| (grant.value, grant.revision)))
}

/// The grant has ended or was replaced while the provider answered: nobody holds the new tokens, so they end too.
async fn overtaken(core: &Core, grant: &Grant, tokens: ExchangedTokens) -> Result<(), ObtainError> {
    let token = OwnedToken::of(tokens.access, tokens.refresh);
    let told = revocation::tell(core, Authorization::of_grant(grant), Some(token)).await;
    tracing::warn!(grant.id = %grant.id, outcome = revocation::outcome(told), "a grant ended during its refresh; the new tokens are not kept");
    Err(ObtainError::Gone)
}

/// The grant after a refresh, and scopes that the answer named beyond it: a refresh may only narrow what the person agreed
/// to (RFC 6749 section 6).
fn next_generation(before: &Grant, tokens: &ExchangedTokens, now: Timestamp) -> (Grant, ScopeSet) {
    let mut grant = before.clone();
    if let Some(slot) = grant.slots.first_mut() {
        slot.generation += 1;
        slot.issued = now;
        slot.expires = tokens.expires;
        slot.access_version += 1;
        slot.refresh_version = slot.refresh_version.map(|version| version + 1);
    }
    let wider = tokens.scopes.without(&before.scopes);
    grant.scopes = tokens.scopes.without(&wider);
    (grant, wider)
}

/// The provider ended this generation. If the row moved on meanwhile, its newer tokens stand.
async fn ended(
    core: &Core,
    (grant, revision): (Grant, Revision),
    owner: &DataKey,
) -> Result<(), ObtainError> {
    match grants::set_status(
        core,
        (grant.clone(), revision),
        owner,
        GrantStatus::NeedsReconnect,
    )
    .await
    {
        Ok(()) => {}
        Err(Refusal::Busy { .. }) => return Err(ObtainError::Running),
        Err(refusal) => return Err(failed(refusal)),
    }
    note(core, AuditAction::RefreshRefused, "invalid-grant", &grant).await?;
    Err(ObtainError::NeedsReconnect)
}

async fn note(
    core: &Core,
    action: AuditAction,
    outcome: &'static str,
    grant: &Grant,
) -> Result<(), ObtainError> {
    let ctx = Ctx {
        request: domain::RequestId::from_bytes(core.id_bytes()),
        now: core.now(),
    };
    let what = (AuditClass::Link, action);
    core.audited_as(ctx, what, outcome, (Principal::Vault, about_grant(grant)))
        .await
        .map_err(failed)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "used as a function in map_err"
)]
fn failed(refusal: Refusal) -> ObtainError {
    match refusal {
        Refusal::Busy { .. } => ObtainError::Running,
        _ => ObtainError::Failed,
    }
}

fn lease_name(id: GrantId) -> Vec<u8> {
    [b"refresh/".as_slice(), id.as_bytes()].concat()
}

/// Longer than the longest call to a token endpoint (30 s), so that a lease never ends during one.
const LEASE_MS: i64 = 45_000;
/// How often it is tried to keep new tokens, and the pause in between: together with the longest call shorter than the lease.
const KEEP_TRIES: usize = 60;
/// See [`KEEP_TRIES`].
const KEEP_PAUSE: Duration = Duration::from_millis(200);
/// What callers are told when the provider does not say.
const RETRY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_and_moved_rows_are_no_end_and_an_unknown_outcome_is() {
        let moved = StoreError::Conflict {
            table: storage::Table::Grants,
        };
        let unknown = StoreError::Unavailable { what: "test" };
        assert!(matches!(Hindered::from(StoreError::Busy), Hindered::Busy));
        assert!(matches!(Hindered::from(moved), Hindered::Moved));
        assert!(matches!(Hindered::from(unknown), Hindered::Stop(_)));
    }
}
