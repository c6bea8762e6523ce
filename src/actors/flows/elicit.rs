//! Elicitations as servers see them: made, looked at, waited for, taken back.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use domain::{
    AuditAbout, AuditAction, AuditClass, AuthenticatedServer, Elicitation, ElicitationId,
    ElicitationState, FailureCode, LiveElicitation, OtherElicitation, Permitted, Timestamp,
    VerifiedSubject,
};
use secret::{ConnectTicket, RevealOwn as _};
use storage::Revision;

use super::audit_trail::{about_anothers, about_elicitation, by_server, event};
use super::repeats::{self, Known};
use super::{credentials, request_state};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{ConnectLink, Ctx, ElicitationView, Refusal, Wanted};
use crate::elicitation_shard::{Elicitations, Watched};
use crate::rows::{self, Changes, Due, LiveList, LiveOne, Stored, expiry_row};

/// Makes an elicitation and its link. With an idempotency key, the same request finds the same one again.
pub(crate) async fn create(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (permitted, wanted, idempotency): (&Permitted, &Wanted, Option<&str>),
) -> Result<ConnectLink, Refusal> {
    core.creations.ask(caller.server().slug.clone(), ctx.now)?;
    let ticket = ConnectTicket::generate(&*core.entropy);
    let facts = facts(core, ctx, caller, subject, (permitted, wanted, &ticket))?;
    let Some(key) = idempotency else {
        retrying(|| store_new(core, ctx, caller, &facts, Changes::default())).await?;
        return link(core, subject, &facts, &ticket, ctx);
    };
    let hash = repeats::hash(core, caller, subject, (wanted, key));
    // Of two at once, one finds the key taken when it commits, and on its next try what the other one made.
    let repeated = retrying(async || {
        match repeats::known(core, ctx.now, (caller, subject), (&hash, wanted)).await? {
            Known::Same(made, its_ticket) => Ok(Some((made, its_ticket))),
            Known::Nothing(revision) => {
                let mut changes = Changes::default();
                repeats::keep(core, &mut changes, (hash, revision), (&facts, &ticket)).await?;
                store_new(core, ctx, caller, &facts, changes).await?;
                Ok(None)
            }
        }
    })
    .await?;
    match &repeated {
        Some((made, its_ticket)) => link(core, subject, made, its_ticket, ctx),
        None => link(core, subject, &facts, &ticket, ctx),
    }
}

fn facts(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (permitted, wanted, ticket): (&Permitted, &Wanted, &ConnectTicket),
) -> Result<Elicitation, Refusal> {
    let (server, identity) = (caller.server(), subject.identity());
    let id = ElicitationId::from_bytes(core.id_bytes());
    Ok(Elicitation {
        id,
        tenant: server.tenant.clone(),
        server: server.slug.clone(),
        issuer: identity.issuer.clone(),
        pseudonym: core.pseudonym(identity),
        owner: core.seal_owner(id, &server.slug, identity)?,
        client: subject.client().clone(),
        provider: permitted.provider().slug.clone(),
        alias: wanted.alias.clone(),
        scopes: permitted.scopes().clone(),
        request_digest: wanted.request_digest,
        reason: wanted.reason.clone(),
        locale: wanted.locale.clone(),
        ticket: core.lookup(crypto::LookupLabel::Ticket, ticket.as_bytes()),
        created: ctx.now,
        expires: ctx.now.plus(Elicitation::LIFE),
        state: ElicitationState::Issued,
        mismatches: 0,
        refused_keys: 0,
        flows: Vec::new(),
    })
}

async fn store_new(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    facts: &Elicitation,
    mut changes: Changes,
) -> Result<(), Stepped> {
    let at = rows::keys::live(&facts.tenant, &facts.server, &facts.pseudonym);
    let live = rows::load::<LiveList>(&*core.store, &at).await?;
    let (mut list, revision) = live.map_or((LiveList::default(), Revision::NONE), |live| {
        (live.value, live.revision)
    });
    list.prune(ctx.now);
    if list.is_full() {
        forget_ended(core, ctx, &mut list).await?;
    }
    list.room(ctx.now)
        .map_err(|retry_after| Refusal::TooMany { retry_after })?;
    list.elicitations.push(LiveOne {
        id: facts.id,
        created: facts.created,
        ends: facts.hard_end(),
    });
    changes.put(at, revision, &list);
    changes.create(rows::keys::elicitation(facts.id), facts);
    changes.create(rows::keys::ticket(&facts.ticket), &facts.id);
    changes.create(expiry_row(facts.expires, &Due::Elicitation(facts.id)), &());
    let what = (AuditClass::Link, AuditAction::ElicitationCreated);
    core.commit_audited(
        ctx,
        changes,
        event(what, by_server(caller), about_elicitation(facts)),
    )
    .await
}

/// Takes those out of the list that have ended before their time.
async fn forget_ended(core: &Core, ctx: Ctx, list: &mut LiveList) -> Result<(), Refusal> {
    let mut live = Vec::with_capacity(list.elicitations.len());
    for one in list.elicitations.drain(..) {
        if load(core, one.id)
            .await?
            .is_some_and(|row| !row.value.is_over(ctx.now))
        {
            live.push(one);
        }
    }
    list.elicitations = live;
    Ok(())
}

fn link(
    core: &Core,
    subject: &VerifiedSubject,
    facts: &Elicitation,
    ticket: &ConnectTicket,
    ctx: Ctx,
) -> Result<ConnectLink, Refusal> {
    let url = format!(
        "{}/c/{}",
        core.public_url.as_str().trim_end_matches('/'),
        ticket.to_text().as_str()
    );
    Ok(ConnectLink {
        view: view(core, facts, ctx),
        url: url.into(),
        request_state: request_state::fresh(core, subject, facts, ctx)?,
    })
}

/// An elicitation by id, if it is this server's, person's and client's; any other looks like one that is not there, but the
/// log says who came and, within the same tenant, whose it is.
pub(crate) async fn mine(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    id: ElicitationId,
) -> Result<Stored<Elicitation>, Refusal> {
    let row = load(core, id).await?.ok_or(Refusal::NotFound)?;
    if is_mine(core, caller, subject, &row.value)? {
        return Ok(row);
    }
    let (outcome, about) = about_other(core, caller, subject, &row.value);
    let what = (AuditClass::Browser, AuditAction::StateRefused);
    core.audited_as(ctx, what, outcome, (by_server(caller), about))
        .await?;
    Err(Refusal::NotFound)
}

/// What the log says when another person, client or server comes for an elicitation, and as which outcome.
pub(crate) fn about_other(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    facts: &Elicitation,
) -> (&'static str, AuditAbout) {
    let theirs = (&facts.tenant, about_elicitation(facts));
    let (outcome, about) = about_anothers(core, caller, subject, theirs);
    let about = AuditAbout {
        elicitation: Some(facts.id),
        ..about
    };
    (outcome, about)
}

/// Whether an elicitation is this server's, person's and client's, by the row and by the identity sealed in it.
pub(crate) fn is_mine(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    facts: &Elicitation,
) -> Result<bool, Refusal> {
    let server = caller.server();
    let named = facts.tenant == server.tenant
        && facts.server == server.slug
        && facts.pseudonym == core.pseudonym(subject.identity())
        && facts.client == *subject.client();
    Ok(named && core.open_owner(facts)?.identity() == subject.identity())
}

/// Looks at an elicitation, waiting up to `wait` for it to end. Whoever may not look does not wait either: no id that a
/// caller makes up is watched.
pub(crate) async fn watch(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    (id, wait): (ElicitationId, Duration),
) -> Result<ElicitationView, Refusal> {
    let row = mine(core, ctx, caller, subject, id).await?;
    core.polls.ask(id, ctx.now)?;
    if wait.is_zero() || row.value.is_over(ctx.now) {
        return Ok(view(core, &row.value, ctx));
    }
    let deadline = ctx.now.plus(wait);
    let mut last = Watched::Changed;
    loop {
        let now = core.now();
        // The watch begins before the row is read again, so that a change in between wakes it.
        let mut changed = Box::pin(watchers.watch(id, deadline.left(now)));
        let begun = futures_util::poll!(&mut changed);
        let row = mine(core, Ctx { now, ..ctx }, caller, subject, id).await?;
        if row.value.is_over(now) || deadline.passed(now) || last == Watched::TimeOver {
            return Ok(view(core, &row.value, Ctx { now, ..ctx }));
        }
        if watchers.draining() {
            // Another process will know more in a moment.
            return Err(Refusal::Busy {
                retry_after: Duration::from_secs(1),
            });
        }
        last = match begun {
            Poll::Ready(woken) => woken?,
            Poll::Pending => changed.await?,
        };
        credentials::still(
            core,
            Ctx {
                now: core.now(),
                ..ctx
            },
            caller,
            subject,
        )
        .await?;
    }
}

/// Takes an elicitation back.
pub(crate) async fn cancel(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    id: ElicitationId,
) -> Result<ElicitationView, Refusal> {
    let ended = retrying(async || {
        let row = mine(core, ctx, caller, subject, id).await?;
        let what = AuditAction::ElicitationCancelled;
        let cancel = |live: LiveElicitation| Ok(live.cancelled());
        end(core, ctx, (caller, row), (what, cancel)).await
    })
    .await?;
    Ok(view(core, &ended, ctx))
}

/// Ends a live elicitation on its server's word, in the way `how` says; `action` is what the log calls it.
pub(crate) async fn end(
    core: &Core,
    ctx: Ctx,
    (caller, row): (&AuthenticatedServer, Stored<Elicitation>),
    (action, how): (
        AuditAction,
        impl FnOnce(LiveElicitation) -> Result<Elicitation, OtherElicitation>,
    ),
) -> Result<Elicitation, Stepped> {
    let live = row.value.live(ctx.now).map_err(|_| Refusal::Gone)?;
    let ended = how(live).map_err(|_| Refusal::Internal)?;
    let mut changes = Changes::default();
    changes.put(rows::keys::elicitation(ended.id), row.revision, &ended);
    let what = (AuditClass::Link, action);
    let entry = event(what, by_server(caller), about_elicitation(&ended));
    core.commit_audited(ctx, changes, entry).await?;
    Ok(ended)
}

/// The elicitation as it ends when a try fails for a reason that no other try within the link can mend: our registration or
/// configuration at the provider is wrong, and the operator has to act. `None`: the person may try again, or it has ended.
pub(crate) fn hopeless(
    facts: &Elicitation,
    code: FailureCode,
    now: Timestamp,
) -> Option<Elicitation> {
    let live = facts.clone().live(now).ok()?;
    (code == FailureCode::ProviderMisconfigured).then(|| live.failed(code))
}

/// The elicitation as a try that failed leaves it: ended where it is hopeless, and with one more key to its account where
/// that was what failed. `None`: it stays as it is.
pub(crate) fn after_failure(
    facts: &Elicitation,
    code: FailureCode,
    now: Timestamp,
) -> Option<Elicitation> {
    if code == FailureCode::KeyRefused {
        return Some(facts.clone().live(now).ok()?.key_refused());
    }
    hopeless(facts, code, now)
}

/// The row of an elicitation.
pub(crate) async fn load(
    core: &Core,
    id: ElicitationId,
) -> Result<Option<Stored<Elicitation>>, Refusal> {
    Ok(rows::load(&*core.store, &rows::keys::elicitation(id)).await?)
}

/// An elicitation as its server sees it.
pub(crate) fn view(core: &Core, facts: &Elicitation, ctx: Ctx) -> ElicitationView {
    let provider = core.registry.provider(&facts.provider).map(Arc::clone);
    ElicitationView {
        id: facts.id,
        provider: facts.provider.clone(),
        provider_name: provider.map_or_else(
            || facts.provider.as_str().into(),
            |provider| provider.name.clone(),
        ),
        alias: facts.alias.clone(),
        scopes: facts.scopes.clone(),
        state: facts.seen(ctx.now),
        created: facts.created,
        expires: facts.expires.min(facts.hard_end()),
        mismatched: facts.mismatches >= Elicitation::MAX_MISMATCHES,
        locale: facts.locale.clone(),
    }
}
