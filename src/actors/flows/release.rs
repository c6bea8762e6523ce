//! The one call: a credential if there is a grant, a link if there is none, the truth if neither can be had.
//!
//! A fresh token is read without a mailbox and without a lock held over anything slow: row, data key, one small record.
//! Just before the audit entry, and after every wait for a provider, key, server, subject and grant are judged again: what
//! was true when the request came may have ended meanwhile. The entry is written before the credential leaves this file.

use std::time::Duration;

use domain::{
    AccountAlias, AuditAction, AuditClass, AuthenticatedServer, FailureCode, Freshness, Grant,
    GrantKey, GrantStatus, NotPermitted, Permitted, Provider, ScopeSet, Server, Timestamp,
    VerifiedSubject,
};

use super::audit_trail::{about_call, about_grant, by_server};
use super::budgets::OBTAIN;
use super::obtain::ObtainError;
use super::{credentials, elicit, grants, people, request_state};
use crate::core::Core;
use crate::doors::{ClientAnswer, Credential, Ctx, Ensure, Ensured, Refusal, Wanted};
use crate::grant_shard::Grants;
use crate::rows::Stored;
use crate::sealing::TokenRecord;

/// C3, with an audit entry when it refuses.
pub(crate) async fn permit(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    wanted: &Wanted,
) -> Result<Permitted, Refusal> {
    match Permitted::check(
        caller,
        &core.registry,
        &wanted.provider,
        wanted.scopes.clone(),
    ) {
        Ok(permitted) => Ok(permitted),
        Err(refused) => {
            let outcome = match refused {
                NotPermitted::Provider => "provider",
                NotPermitted::Scopes(_) => "scopes",
            };
            let about = about_call(core, caller, Some(subject));
            let what = (AuditClass::Browser, AuditAction::RequestNotPermitted);
            core.audited_as(ctx, what, outcome, (by_server(caller), about))
                .await?;
            Err(Refusal::NotPermitted(refused))
        }
    }
}

/// `ensure`.
pub(crate) async fn ensure(
    core: &Core,
    shards: &Grants,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    request: Ensure,
) -> Result<Ensured, Refusal> {
    let permitted = permit(core, ctx, caller, subject, &request.wanted).await?;
    let mut tried = None;
    if let Some(found) = find(core, caller, subject, (&permitted, &request.wanted.alias)).await? {
        match release(core, shards, ctx, (caller, subject), (&permitted, found)).await? {
            Released::Answer(answer) => return Ok(*answer),
            Released::NotThis(grant) => tried = Some(grant),
        }
    }
    let ctx = Ctx {
        now: core.now(), // a refresh may have been waited for
        ..ctx
    };
    if let Some(text) = request.request_state.as_deref()
        && let Some(answer) = resumed(core, ctx, (caller, subject), (text, &request)).await?
    {
        return Ok(answer);
    }
    let mut wanted = request.wanted;
    if let Some(grant) = tried.filter(|grant| grant.status != GrantStatus::Revoked)
        && let Some(allowance) = caller.server().allowance(&grant.provider)
    {
        wanted.scopes = widened(&wanted.scopes, &grant.scopes, &allowance.scopes);
    }
    let permitted = permit(core, ctx, caller, subject, &wanted).await?;
    elicit::create(core, ctx, caller, subject, (&permitted, &wanted, None))
        .await
        .map(Ensured::Elicit)
}

/// What is asked for when a grant with other scopes is there already: what is wanted, and what was granted before and is
/// still allowed, so that nothing is lost by connecting.
fn widened(wanted: &ScopeSet, granted: &ScopeSet, allowed: &ScopeSet) -> ScopeSet {
    let still = granted.without(&granted.without(allowed));
    let both = wanted.union(&still);
    if both.len() <= ScopeSet::MAX {
        both
    } else {
        wanted.clone()
    }
}

/// Scopes of a grant that its server may not have any more: the operator took them away. Scopes that the provider does not
/// declare no server can be allowed; those came with the person's yes to more than was asked for.
fn taken_away(server: &Server, provider: &Provider, granted: &ScopeSet) -> ScopeSet {
    let allowed = server
        .allowance(&provider.slug)
        .map_or_else(ScopeSet::default, |allowance| allowance.scopes.clone());
    let beyond = granted.without(&allowed).without(&provider.extra_scopes);
    let declared = ScopeSet::new(
        beyond
            .iter()
            .filter(|scope| provider.scope(scope).is_some()),
    );
    declared.unwrap_or(beyond)
}

/// Whether a grant gives what is wanted, and nothing that was taken away. Asked of every row that is read, for another grant
/// may have come into its place while a refresh was waited for.
fn fits(caller: &AuthenticatedServer, permitted: &Permitted, grant: &Grant) -> bool {
    // Where the operator has changed how a provider is connected, what was connected before is of no use there.
    if !grant.usable_for(permitted.scopes()) || grant.holds != permitted.provider().holds() {
        return false;
    }
    let allowed = taken_away(caller.server(), permitted.provider(), &grant.scopes).is_empty();
    if !allowed {
        tracing::info!(grant.id = %grant.id, "a grant has scopes that its server is not allowed any more; the person has to connect again");
    }
    allowed
}

async fn find(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (permitted, alias): (&Permitted, &AccountAlias),
) -> Result<Option<FoundGrant>, Refusal> {
    let Some(user) = people::find(core, &core.pseudonym(subject.identity())).await? else {
        return Ok(None);
    };
    let server = caller.server();
    let key = GrantKey {
        tenant: server.tenant.clone(),
        user: user.value.id,
        server: server.slug.clone(),
        provider: permitted.provider().slug.clone(),
        alias: alias.clone(),
    };
    let grant = grants::by_key(core, &key).await?;
    Ok(grant.map(|grant| FoundGrant {
        key,
        grant,
        user: user.value,
    }))
}

struct FoundGrant {
    key: GrantKey,
    grant: Stored<Grant>,
    user: crate::rows::UserRow,
}

enum Released {
    Answer(Box<Ensured>),
    /// The grant cannot be used for this; the person has to connect.
    NotThis(Box<Grant>),
}

fn answer(ensured: Ensured) -> Released {
    Released::Answer(Box::new(ensured))
}

async fn release(
    core: &Core,
    shards: &Grants,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    (permitted, found): (&Permitted, FoundGrant),
) -> Result<Released, Refusal> {
    if !fits(caller, permitted, &found.grant.value) {
        return Ok(found.not_this());
    }
    let read = match freshened(core, shards, (caller, permitted), found).await? {
        Fresh::Usable(found) => read(core, (caller, subject), permitted, *found).await?,
        Fresh::Settled(released) => Err(released),
    };
    credentials::still(core, ctx, caller, subject).await?;
    let (credential, grant) = match read {
        Ok(read) => read,
        Err(released) => return Ok(released),
    };
    let about = domain::AuditAbout {
        evidence: Some(subject.evidence()),
        ..about_grant(&grant)
    };
    let what = (AuditClass::Release, AuditAction::CredentialReleased);
    core.audited(ctx, what, by_server(caller), about).await?;
    core.uses.note(grant.id, core.now());
    Ok(answer(Ensured::Connected {
        credential,
        grant: grants::view(&grant),
    }))
}

/// A grant whose token may be read, or what there is to say instead.
enum Fresh {
    Usable(Box<FoundGrant>),
    Settled(Released),
}

/// Sees to it that there is a token worth handing out.
async fn freshened(
    core: &Core,
    shards: &Grants,
    (caller, permitted): (&AuthenticatedServer, &Permitted),
    mut found: FoundGrant,
) -> Result<Fresh, Refusal> {
    let Some(slot) = found.grant.value.slots.first().cloned() else {
        return Err(Refusal::Internal);
    };
    let id = found.grant.value.id;
    let settled = |ensured| Ok(Fresh::Settled(answer(ensured)));
    match (slot.freshness(core.now()), slot.refresh_version) {
        (Freshness::Fresh, _) => {}
        (Freshness::Aging, Some(_)) => shards.touch(id),
        (Freshness::Stale, Some(_)) => match shards.obtain(id, OBTAIN).await {
            Ok(()) => match grants::by_key(core, &found.key).await? {
                Some(grant) if fits(caller, permitted, &grant.value) => found.grant = grant,
                Some(grant) => return Ok(Fresh::Settled(Released::NotThis(Box::new(grant.value)))),
                None => return Ok(Fresh::Settled(found.not_this())),
            },
            Err(ObtainError::NeedsReconnect | ObtainError::Gone) => {
                return Ok(Fresh::Settled(found.not_this()));
            }
            // A token with a little life left is better than none, whatever stands in the way of a new one.
            Err(_) if !expired(&found.grant.value, core.now()) => {}
            Err(ObtainError::ProviderDown { retry_after }) => {
                return settled(Ensured::ProviderDown { retry_after });
            }
            Err(ObtainError::Misconfigured) => {
                return settled(Ensured::NeedsOperator {
                    code: FailureCode::ProviderMisconfigured,
                });
            }
            Err(ObtainError::Running) => {
                return Err(Refusal::Busy {
                    retry_after: Duration::from_secs(1),
                });
            }
            Err(ObtainError::Failed) => return Err(Refusal::Internal),
        },
        (_, None) if expired(&found.grant.value, core.now()) => {
            return Ok(Fresh::Settled(found.not_this()));
        }
        (_, None) => {}
    }
    Ok(Fresh::Usable(Box::new(found)))
}

/// Reads the credential, and the grant once more after it: one that was ended or narrowed meanwhile gives nothing. A refresh
/// may move row and record between the reads; then all are read again.
async fn read(
    core: &Core,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    permitted: &Permitted,
    mut found: FoundGrant,
) -> Result<Result<(Credential, Grant), Released>, Refusal> {
    for _ in 0..MOVED_TRIES {
        let credential = credential(core, subject, permitted.provider(), &found).await?;
        match grants::by_key(core, &found.key).await? {
            Some(grant) if grant.revision == found.grant.revision => {
                let Some(credential) = credential else {
                    // Nothing moved: the record does not belong to the row, and asking again would not help.
                    tracing::error!(grant.id = %grant.value.id, "a token record and its grant do not fit; the store was changed or restored in part");
                    return Err(Refusal::Internal);
                };
                return Ok(Ok((credential, grant.value)));
            }
            Some(grant) if fits(caller, permitted, &grant.value) => found.grant = grant,
            Some(grant) => return Ok(Err(Released::NotThis(Box::new(grant.value)))),
            None => return Ok(Err(found.not_this())),
        }
    }
    Err(Refusal::Busy {
        retry_after: Duration::from_secs(1),
    })
}

impl FoundGrant {
    fn not_this(self) -> Released {
        Released::NotThis(Box::new(self.grant.value))
    }
}

fn expired(grant: &Grant, now: Timestamp) -> bool {
    grant
        .slots
        .first()
        .and_then(|slot| slot.expires)
        .is_some_and(|end| end.passed(now))
}

/// The credential as row and record say together; `None` when they are of different generations.
async fn credential(
    core: &Core,
    subject: &VerifiedSubject,
    provider: &Provider,
    found: &FoundGrant,
) -> Result<Option<Credential>, Refusal> {
    let grant = &found.grant.value;
    let owner = core.data_key(&found.user, subject.identity())?;
    let slot = grant.slots.first().ok_or(Refusal::Internal)?;
    let Some(record) = grants::record(core, grant.id, TokenRecord::released(grant)).await? else {
        return Ok(None);
    };
    let version = crypto::Sealed::parse(record.value.clone())?.record_version();
    if version != slot.access_version {
        return Ok(None);
    }
    Ok(Some(Credential {
        token: core.open_access(&owner, grant, slot.access_version, record.value)?,
        header_name: provider.header_name.clone(),
        header_prefix: provider.header_prefix.clone(),
        expires: slot.expires,
        scopes: grant.scopes.clone(),
        allowed_hosts: provider.allowed_hosts.clone(),
    }))
}

/// What became of the elicitation that a requestState names; `None`: it completed, but not with what is wanted now.
async fn resumed(
    core: &Core,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    (text, request): (&str, &Ensure),
) -> Result<Option<Ensured>, Refusal> {
    let wanted = &request.wanted;
    let claims = (text, wanted.request_digest, Some(&wanted.provider));
    let (proof, row) = request_state::presented(core, ctx, caller, subject, claims).await?;
    if matches!(row.value.state, domain::ElicitationState::Completed { .. }) {
        return Ok(None);
    }
    if row.value.is_over(ctx.now) {
        return Ok(Some(Ensured::Ended(elicit::view(core, &row.value, ctx))));
    }
    let ended = match request.client_answer {
        Some(ClientAnswer::Decline) => {
            let decline = |live: domain::LiveElicitation| live.declined_in_client(&proof);
            elicit::end(core, ctx, (caller, row), (AuditAction::Declined, decline)).await?
        }
        Some(ClientAnswer::Cancel) => {
            let cancel = |live: domain::LiveElicitation| Ok(live.cancelled());
            let what = AuditAction::ElicitationCancelled;
            elicit::end(core, ctx, (caller, row), (what, cancel)).await?
        }
        // "Accept" says that the client opened the link, and proves nothing.
        Some(ClientAnswer::Accept) | None => {
            let view = elicit::view(core, &row.value, ctx);
            let request_state = request_state::fresh(core, subject, &row.value, ctx)?;
            return Ok(Some(Ensured::Waiting {
                view,
                request_state,
            }));
        }
    };
    Ok(Some(Ensured::Ended(elicit::view(core, &ended, ctx))))
}

/// How often row and record are read again when they do not fit together.
const MOVED_TRIES: usize = 4;
