//! Refresh: spend a refresh token once, keep what comes back before anybody gets it.
//!
//! The order is the whole point. Learn where to redeem, then lease, then read again under the lease, then redeem, then judge
//! and keep what came ([`super::keep`]), and only then is the new token in the store for readers to find. The lease is the
//! sum of all that happens under it ([`super::budgets`]), so it cannot end while a redemption is under way.

use std::sync::Arc;
use std::time::Duration;

use domain::{Freshness, GrantId, GrantStatus, Provider, Timestamp};
use storage::Claim;
use tokio::task::JoinHandle;
use upstream::{Redemption, RefreshFailure, TokenEndpoint, Unkept};

use super::budgets::LEASE;
use super::grants::{self, Found};
use super::keep::{self, Refreshed};
use crate::core::Core;
use crate::desk::Desks;
use crate::doors::Refusal;
use crate::sealing::TokenRecord;

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
        // Before the lease: to learn this may take as long as a call.
        let endpoint = match core.upstream.token_endpoint(&provider, core.now()).await {
            Ok(endpoint) => endpoint,
            Err(failure) => return Err(not_redeemed(id, &provider, &failure)),
        };
        let (lease, since) = (lease_name(id), core.now());
        let claimed = core
            .store
            .claim(&lease, core.holder, since.as_ms(), ms(LEASE))
            .await;
        let fence = match claimed.map_err(|error| failed(error.into()))? {
            Claim::Held(fence) => fence,
            Claim::Busy { .. } => return Err(ObtainError::Running),
        };
        let until = since.plus(LEASE);
        let outcome = under_lease(core, id, (&provider, &endpoint), until).await;
        if let Err(error) = core.store.release(&lease, fence).await {
            tracing::warn!(grant.id = %id, error = %error, "a lease was not released; it ends by itself");
        }
        outcome
    }
}

/// Reads again, now that nobody else may redeem, and redeems if it is still needed.
async fn under_lease(
    core: &Core,
    id: GrantId,
    (provider, endpoint): (&Provider, &TokenEndpoint),
    until: Timestamp,
) -> Result<(), ObtainError> {
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
    let what = Redemption {
        refresh: &refresh,
        granted: &grant.value.scopes,
    };
    let redeemed = core
        .upstream
        .redeem(provider, endpoint, what, &*core.clock)
        .await;
    let current = (grant.value, grant.revision);
    match redeemed {
        Ok(tokens) => {
            let came = Refreshed {
                provider,
                tokens,
                until,
            };
            keep::keep(core, current, &owner, came).await
        }
        Err(Unkept {
            failure: RefreshFailure::AnswerRefused(why),
            tokens: Some(tokens),
        }) => keep::unusable(core, current, &owner, (tokens, why)).await,
        Err(Unkept { failure, .. }) => match failure {
            RefreshFailure::InvalidGrant => keep::ended(core, current, &owner).await,
            failure => Err(not_redeemed(id, provider, &failure)),
        },
    }
}

/// A refresh that came to nothing and leaves the grant as it is.
fn not_redeemed(id: GrantId, provider: &Provider, failure: &RefreshFailure) -> ObtainError {
    match failure {
        RefreshFailure::ClientConfig(code) => {
            tracing::error!(provider.id = %provider.slug, %code, "the provider refuses our registration; no grant is lost");
            ObtainError::Misconfigured
        }
        RefreshFailure::Misconfigured => ObtainError::Misconfigured,
        RefreshFailure::Unavailable { retry_after } => ObtainError::ProviderDown {
            retry_after: retry_after.unwrap_or(RETRY),
        },
        RefreshFailure::InvalidGrant
        | RefreshFailure::Unreadable
        | RefreshFailure::OutcomeUnknown
        | RefreshFailure::AnswerRefused(_) => {
            tracing::warn!(grant.id = %id, provider.id = %provider.slug, "the outcome of a refresh is not known; the token is kept");
            ObtainError::ProviderDown { retry_after: RETRY }
        }
    }
}

/// What a refusal of the store or the audit log means for a refresh.
#[expect(
    clippy::needless_pass_by_value,
    reason = "used as a function in map_err"
)]
pub(super) fn failed(refusal: Refusal) -> ObtainError {
    match refusal {
        Refusal::Busy { .. } => ObtainError::Running,
        _ => ObtainError::Failed,
    }
}

fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

fn lease_name(id: GrantId) -> Vec<u8> {
    [b"refresh/".as_slice(), id.as_bytes()].concat()
}

/// What callers are told when the provider does not say.
pub(super) const RETRY: Duration = Duration::from_secs(5);
