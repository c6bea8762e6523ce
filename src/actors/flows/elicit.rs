//! Elicitations as servers see them: made, looked at, waited for, taken back.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use domain::{
    AuditAction, AuditClass, AuthenticatedServer, Elicitation, ElicitationId, ElicitationState,
    LiveElicitation, Permitted, ScopeSet, VerifiedSubject,
};
use secret::ConnectTicket;
use storage::Revision;

use super::audit_trail::{about_elicitation, by_server, event};
use super::request_state;
use crate::core::{Core, Stepped, retrying};
use crate::doors::{ConnectLink, Ctx, ElicitationView, Refusal, Wanted};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Due, LiveList, LiveOne, Stored, expiry_row};

/// Makes an elicitation and its link. With an idempotency key, the same request finds the same one again.
pub(crate) async fn create(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (permitted, wanted, idempotency): (&Permitted, &Wanted, Option<&str>),
) -> Result<ConnectLink, Refusal> {
    let names = names(core, caller, subject, wanted, idempotency)?;
    if idempotency.is_some()
        && let Some(known) = load(core, names.id).await?
    {
        return again(
            core,
            (caller, subject),
            &known.value,
            (&names.ticket, wanted),
        );
    }
    let facts = facts(core, ctx, caller, subject, (permitted, wanted, &names))?;
    retrying(|| store_new(core, ctx, caller, &facts)).await?;
    link(core, subject, &facts, &names.ticket, ctx)
}

struct Names {
    id: ElicitationId,
    ticket: ConnectTicket,
}

/// Id and ticket: random, or, with an idempotency key, drawn from it by a keyed function, so that the same request gets the
/// same link without the link being kept anywhere.
fn names(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    wanted: &Wanted,
    idempotency: Option<&str>,
) -> Result<Names, Refusal> {
    let Some(key) = idempotency else {
        return Ok(Names {
            id: ElicitationId::from_bytes(core.id_bytes()),
            ticket: ConnectTicket::generate(&*core.entropy),
        });
    };
    let pseudonym = core.pseudonym(subject.identity());
    let client = subject.client().to_bytes();
    let scoped = |what: &str| {
        let server = caller.server();
        let parts: [&[u8]; 6] = [
            what.as_bytes(),
            server.slug.as_str().as_bytes(),
            &pseudonym.0,
            &client,
            wanted.provider.as_str().as_bytes(),
            key.as_bytes(),
        ];
        let value: Vec<u8> = parts
            .iter()
            .flat_map(|part| {
                u32::try_from(part.len())
                    .unwrap_or(u32::MAX)
                    .to_be_bytes()
                    .into_iter()
                    .chain(part.iter().copied())
            })
            .collect();
        core.lookup(crypto::LookupLabel::Idempotency, &value)
    };
    let id = scoped("id").0;
    let id: [u8; 16] = id.first_chunk().copied().ok_or(Refusal::Internal)?;
    let ticket = ConnectTicket::parse(&crate::sealing::word_text(&scoped("ticket").0))
        .map_err(|_| Refusal::Internal)?;
    Ok(Names {
        id: ElicitationId::from_bytes(id),
        ticket,
    })
}

fn facts(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (permitted, wanted, names): (&Permitted, &Wanted, &Names),
) -> Result<Elicitation, Refusal> {
    let (server, identity) = (caller.server(), subject.identity());
    Ok(Elicitation {
        id: names.id,
        tenant: server.tenant.clone(),
        server: server.slug.clone(),
        issuer: identity.issuer.clone(),
        pseudonym: core.pseudonym(identity),
        owner: core.seal_owner(names.id, &server.slug, identity)?,
        client: subject.client().clone(),
        provider: permitted.provider().slug.clone(),
        alias: wanted.alias.clone(),
        scopes: permitted.scopes().clone(),
        request_digest: wanted.request_digest,
        reason: wanted.reason.clone(),
        ticket: core.lookup(crypto::LookupLabel::Ticket, names.ticket.as_bytes()),
        created: ctx.now,
        expires: ctx.now.plus(Elicitation::LIFE),
        state: ElicitationState::Issued,
        mismatches: 0,
        flows: Vec::new(),
    })
}

async fn store_new(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    facts: &Elicitation,
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
    let mut changes = Changes::default();
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

/// The answer to a repeated request.
fn again(
    core: &Core,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    known: &Elicitation,
    (ticket, wanted): (&ConnectTicket, &Wanted),
) -> Result<ConnectLink, Refusal> {
    let same = is_mine(core, caller, subject, known)
        && known.provider == wanted.provider
        && known.scopes == wanted.scopes
        && known.alias == wanted.alias
        && known.request_digest == wanted.request_digest
        && known.reason == wanted.reason;
    if !same {
        return Err(Refusal::IdempotencyConflict);
    }
    let ctx = Ctx {
        request: domain::RequestId::from_bytes(core.id_bytes()),
        now: core.now(),
    };
    link(core, subject, known, ticket, ctx)
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

/// An elicitation by id, if it is this server's, person's and client's; any other looks like one that is not there.
pub(crate) async fn mine(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    id: ElicitationId,
) -> Result<Stored<Elicitation>, Refusal> {
    let found = load(core, id)
        .await?
        .filter(|row| is_mine(core, caller, subject, &row.value));
    found.ok_or(Refusal::NotFound)
}

fn is_mine(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    facts: &Elicitation,
) -> bool {
    let server = caller.server();
    facts.tenant == server.tenant
        && facts.server == server.slug
        && facts.pseudonym == core.pseudonym(subject.identity())
        && facts.client == *subject.client()
}

/// Looks at an elicitation, waiting up to `wait` for it to end.
pub(crate) async fn watch(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    (id, wait): (ElicitationId, Duration),
) -> Result<ElicitationView, Refusal> {
    let deadline = ctx.now.plus(wait);
    loop {
        let now = core.now();
        // The watch begins before the row is read, so that a change in between wakes it.
        let mut changed = Box::pin(watchers.watch(id, deadline.left(now)));
        let begun = futures_util::poll!(&mut changed);
        let row = mine(core, caller, subject, id).await?;
        if wait.is_zero() {
            core.polls.ask(id, now)?;
        }
        if row.value.is_over(now) || deadline.passed(now) {
            return Ok(view(core, &row.value, Ctx { now, ..ctx }));
        }
        if watchers.draining() {
            // Another process will know more in a moment.
            return Err(Refusal::Busy {
                retry_after: Duration::from_secs(1),
            });
        }
        match begun {
            Poll::Ready(woken) => woken?,
            Poll::Pending => changed.await?,
        }
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
    let row = mine(core, caller, subject, id).await?;
    let ended = end(core, ctx, (caller, row), LiveElicitation::cancelled).await?;
    Ok(view(core, &ended, ctx))
}

/// Ends a live elicitation on its server's word, in the way `how` says.
pub(crate) async fn end(
    core: &Core,
    ctx: Ctx,
    (caller, row): (&AuthenticatedServer, Stored<Elicitation>),
    how: impl FnOnce(LiveElicitation) -> Elicitation,
) -> Result<Elicitation, Refusal> {
    let live = row.value.live(ctx.now).map_err(|_| Refusal::Gone)?;
    let ended = how(live);
    let mut changes = Changes::default();
    changes.put(rows::keys::elicitation(ended.id), row.revision, &ended);
    let what = (AuditClass::Link, AuditAction::ElicitationCancelled);
    let entry = event(what, by_server(caller), about_elicitation(&ended));
    core.commit_audited(ctx, changes, entry).await?;
    Ok(ended)
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
    }
}

/// What is asked for when a grant with other scopes is there already: both together, so that nothing is lost by connecting.
pub(crate) fn widened(wanted: &ScopeSet, granted: &ScopeSet, allowed: &ScopeSet) -> ScopeSet {
    let both = wanted.union(granted);
    if allowed.covers(&both) && both.len() <= ScopeSet::MAX {
        both
    } else {
        wanted.clone()
    }
}
