//! What a refresh brought: judged, announced to the audit log, kept; or not kept, and then the provider is told.

use domain::{
    AnswerRefused, AuditAction, AuditClass, AuditEvent, Digest, ExchangedTokens, Grant,
    GrantStatus, Principal, Provider, RequestId, ScopeSet, Timestamp, UnusedTokens,
};
use storage::{Revision, StoreError};

use super::audit_trail::{about_grant, event_as};
use super::budgets::{KEEP_PAUSE, KEEP_TRIES};
use super::grants;
use super::obtain::{ObtainError, RETRY, failed};
use super::revocation::{self, Authorization, OwnedToken};
use crate::core::{CONFLICT_TRIES, Core, Stepped, pause, stands, take_back, undone};
use crate::doors::{Ctx, Refusal};
use crate::rows::{self, Changes};
use crate::sealing::{DataKey, TokenRecord, TokenToSeal};

/// What came of a redemption.
pub(super) struct Refreshed<'a> {
    /// From whom.
    pub(super) provider: &'a Provider,
    /// The tokens.
    pub(super) tokens: ExchangedTokens,
    /// The end of the lease under which they were redeemed.
    pub(super) until: Timestamp,
}

/// Keeps new tokens, unless they are not what the person connected.
pub(super) async fn keep(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
    came: Refreshed<'_>,
) -> Result<(), ObtainError> {
    let account = account_of(core, &current.0, &came);
    match unwelcome(&current.0, account, &came) {
        Some(why) => refuse(core, current, owner, (came.tokens.into(), account, why)).await,
        None => announced(core, current, owner, came).await,
    }
}

/// Keyed pseudonym of the account that the answer names.
fn account_of(core: &Core, grant: &Grant, came: &Refreshed<'_>) -> Option<Digest> {
    let account = came.tokens.account.as_ref()?;
    let (tenant, provider) = (&grant.tenant, &grant.provider);
    let url = came.provider.identity();
    let pseudonym = core
        .keyring
        .account_pseudonym(tenant, provider, url, &account.id);
    Some(Digest(*pseudonym.as_bytes()))
}

/// Why new tokens must not be used: they are for another account than the person confirmed (AT-047), or allow more than the
/// person agreed to (AT-046; RFC 6749 section 6 lets a refresh narrow alone). Scopes that the operator adds to each request
/// are no surprise. What a provider does not name is as it was.
fn unwelcome(grant: &Grant, account: Option<Digest>, came: &Refreshed<'_>) -> Option<&'static str> {
    let other = account.is_some() && grant.account.is_some() && account != grant.account;
    let wider = came.tokens.scopes.without(&grant.scopes);
    let wider = wider.without(&came.provider.extra_scopes);
    match (other, wider.is_empty()) {
        (true, _) => Some("other-account"),
        (false, false) => Some("wider-scopes"),
        (false, true) => None,
    }
}

/// An answer whose tokens cannot be used (C11). With a new refresh token the provider has replaced the old one: to redeem
/// that again would look like theft and end the authorization behind everybody's back, so the grant waits for the person.
/// Without one the old one goes on; only the audit log learns of it, and the grant is tried again later.
pub(super) async fn unusable(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
    (tokens, why): (UnusedTokens, AnswerRefused),
) -> Result<(), ObtainError> {
    let (id, why) = (current.0.id, why.code());
    if tokens.refresh.is_some() {
        return refuse(core, current, owner, (tokens, None, why)).await;
    }
    tracing::error!(grant.id = %id, provider.id = %current.0.provider, reason = why, "a refresh brought an access token that cannot be used; the refresh token is kept");
    let entry = entry(AuditAction::RefreshRefused, why, &current.0);
    let written = core.audit.record(own_ctx(core), entry).await;
    written.map_err(|error| failed(error.into()))?;
    Err(ObtainError::ProviderDown { retry_after: RETRY })
}

/// Tokens that are not what the person connected, or of no use, are given to nobody: the grant keeps the tokens it has and
/// waits for the person, and the provider is told that the new ones are not wanted.
async fn refuse(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
    (tokens, account, why): (UnusedTokens, Option<Digest>, &'static str),
) -> Result<(), ObtainError> {
    let grant = current.0.clone();
    tracing::error!(grant.id = %grant.id, provider.id = %grant.provider, reason = why, "a refresh brought tokens that nobody agreed to or that cannot be used; they are not kept, and the person has to connect again");
    let stopped = stop(core, current, owner, why).await;
    not_wanted(core, &grant, (tokens, account.or(grant.account))).await?;
    stopped?;
    Err(ObtainError::NeedsReconnect)
}

/// Marks a grant for the person to connect again. Rows that moved are read again, as long as it is the same generation.
async fn stop(
    core: &Core,
    mut current: (Grant, Revision),
    owner: &DataKey,
    why: &'static str,
) -> Result<(), ObtainError> {
    for tried in 0..CONFLICT_TRIES {
        match needs_reconnect(core, current.clone(), owner, why).await {
            Ok(()) => return Ok(()),
            Err(Stepped::Stop(refusal)) => return Err(failed(refusal)),
            Err(Stepped::Again) => {
                tokio::time::sleep(pause(tried)).await;
                let again = same_generation(core, &current.0).await?;
                current = again.ok_or(ObtainError::Gone)?;
            }
        }
    }
    Err(ObtainError::Running)
}

/// The provider ended this generation. If the row moved on meanwhile, its newer tokens stand.
pub(super) async fn ended(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
) -> Result<(), ObtainError> {
    match needs_reconnect(core, current, owner, "invalid-grant").await {
        Ok(()) => Err(ObtainError::NeedsReconnect),
        Err(Stepped::Again) => Err(ObtainError::Running),
        Err(Stepped::Stop(refusal)) => Err(failed(refusal)),
    }
}

async fn needs_reconnect(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
    why: &'static str,
) -> Result<(), Stepped> {
    let entry = entry(AuditAction::RefreshRefused, why, &current.0);
    let status = GrantStatus::NeedsReconnect;
    grants::set_status(core, own_ctx(core), (current, owner), (status, entry)).await
}

/// Keeps new tokens, with their entry on the disk before them. An entry that cannot be written does not stop it: the
/// provider has ended the old tokens already, so the connection would be lost over a full disk. Nothing is released then
/// either, for the release needs an entry of its own.
async fn announced(
    core: &Core,
    current: (Grant, Revision),
    owner: &DataKey,
    came: Refreshed<'_>,
) -> Result<(), ObtainError> {
    let ctx = own_ctx(core);
    let next = next_generation(&current.0, &came.tokens, core.now());
    let entry = entry(AuditAction::TokensRefreshed, "ok", &next);
    let written = core.audit.record(ctx, entry.clone()).await;
    if let Err((error, outcome)) = try_to_keep(core, current, owner, came).await {
        let standing = if stands(&written) {
            vec![entry]
        } else {
            Vec::new()
        };
        take_back(&core.audit, ctx, (standing, outcome)).await;
        return Err(error);
    }
    written.map_err(|error| failed(error.into()))
}

/// The provider has ended the old tokens already, so this does not give up at the first hindrance: a full queue is waited
/// for, and rows that moved are read again, until the lease is about to end. Says what became of it when nothing was kept.
async fn try_to_keep(
    core: &Core,
    mut current: (Grant, Revision),
    owner: &DataKey,
    came: Refreshed<'_>,
) -> Result<(), (ObtainError, &'static str)> {
    let Refreshed { tokens, until, .. } = came;
    let undone = |error| (error, "not-done");
    for _ in 0..KEEP_TRIES {
        match keep_once(core, (&current.0, current.1), owner, &tokens).await {
            Ok(()) => return Ok(()),
            Err(Hindered::Busy) => {}
            Err(Hindered::Moved) => {
                match same_generation(core, &current.0).await.map_err(undone)? {
                    Some(again) => current = again,
                    None => return Err(undone(overtaken(core, &current.0, tokens).await)),
                }
            }
            Err(Hindered::Stop(refusal, outcome)) => {
                return Err((not_kept(&current.0, refusal), outcome));
            }
        }
        if until.left(core.now()) <= KEEP_PAUSE {
            break;
        }
        tokio::time::sleep(KEEP_PAUSE).await;
    }
    let refusal = Refusal::Busy { retry_after: RETRY };
    Err(undone(not_kept(&current.0, refusal)))
}

/// Why one try to keep tokens came to nothing.
enum Hindered {
    /// The store's queue is full; nothing was written.
    Busy,
    /// A row changed or is gone; nothing was written.
    Moved,
    /// Trying again does not help; and what the audit log says became of the tokens.
    Stop(Refusal, &'static str),
}

impl From<StoreError> for Hindered {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Busy,
            StoreError::Conflict { .. } => Self::Moved,
            other => {
                let outcome = undone(&other);
                Self::Stop(other.into(), outcome)
            }
        }
    }
}

impl From<Refusal> for Hindered {
    fn from(refusal: Refusal) -> Self {
        Self::Stop(refusal, "not-done")
    }
}

/// One try: both records under their next versions, and the grant, in one commit.
async fn keep_once(
    core: &Core,
    (before, revision): (&Grant, Revision),
    owner: &DataKey,
    tokens: &ExchangedTokens,
) -> Result<(), Hindered> {
    let id = before.id;
    let row = async |which| {
        let row = grants::record(core, id, which).await?;
        row.ok_or(Hindered::Moved)
    };
    let (access_row, refresh_row) = (
        row(TokenRecord::Access).await?,
        row(TokenRecord::Refresh).await?,
    );
    let grant = next_generation(before, tokens, core.now());
    let version = |grant: &Grant, which| {
        grants::version_of(grant, which).ok_or(Hindered::from(Refusal::Internal))
    };
    let old = version(before, TokenRecord::Refresh)?;
    // Without a new one the old one is kept, but sealed anew: the expiry is one of the facts that its record is bound to.
    let kept = match tokens.refresh {
        Some(_) => None,
        None => Some(core.open_refresh(owner, before, old, refresh_row.value)?),
    };
    let refresh = tokens.refresh.as_ref().or(kept.as_ref());
    let refresh = refresh.ok_or(Refusal::Internal)?;
    let mut changes = Changes::default();
    changes.put(rows::keys::grant(&grant.key()), revision, &grant);
    for (token, old) in [
        (TokenToSeal::Access(&tokens.access), access_row.revision),
        (TokenToSeal::Refresh(refresh), refresh_row.revision),
    ] {
        let version = version(&grant, token.record(&grant))?;
        let sealed = core.seal_token(owner, &grant, (token, version))?;
        changes.put_bytes(grants::record_key(id, token.record(&grant)), old, sealed);
    }
    Ok(changes.commit(&*core.store).await?)
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
async fn overtaken(core: &Core, grant: &Grant, tokens: ExchangedTokens) -> ObtainError {
    tracing::warn!(grant.id = %grant.id, "a grant ended during its refresh; the new tokens are not kept");
    match not_wanted(core, grant, (tokens.into(), grant.account)).await {
        Ok(()) => ObtainError::Gone,
        Err(error) => error,
    }
}

/// Tells the provider that new tokens are not wanted, and the audit log what it said.
async fn not_wanted(
    core: &Core,
    grant: &Grant,
    (tokens, account): (UnusedTokens, Option<Digest>),
) -> Result<(), ObtainError> {
    let token = OwnedToken::of(tokens.access, tokens.refresh);
    let of = Authorization::of_grant(grant).at_account(account);
    let told = revocation::tell(core, of, Some(token)).await;
    let outcome = revocation::outcome(told);
    let entry = entry(AuditAction::RefreshRefused, outcome, grant);
    let written = core.audit.record(own_ctx(core), entry).await;
    written.map_err(|error| failed(error.into()))
}

/// The grant after a refresh. Scopes become fewer or stay.
fn next_generation(before: &Grant, tokens: &ExchangedTokens, now: Timestamp) -> Grant {
    let mut grant = before.clone();
    if let Some(slot) = grant.slots.first_mut() {
        slot.generation += 1;
        slot.issued = now;
        slot.expires = tokens.expires;
        slot.access_version += 1;
        slot.refresh_version = slot.refresh_version.map(|version| version + 1);
    }
    let beyond: ScopeSet = tokens.scopes.without(&before.scopes);
    grant.scopes = tokens.scopes.without(&beyond);
    grant
}

fn entry(action: AuditAction, outcome: &'static str, grant: &Grant) -> AuditEvent {
    let what = (AuditClass::Link, action);
    event_as(what, outcome, (Principal::Vault, about_grant(grant)))
}

/// No request asked for this: it gets an id of its own.
fn own_ctx(core: &Core) -> Ctx {
    Ctx {
        request: RequestId::from_bytes(core.id_bytes()),
        now: core.now(),
    }
}

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
        assert!(matches!(
            Hindered::from(unknown),
            Hindered::Stop(_, "not-known")
        ));
    }
}
