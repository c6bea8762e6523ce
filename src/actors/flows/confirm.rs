//! F9: the person says whether the account is the right one (C12). Yes makes the grant; no, or silence, destroys the tokens
//! here and at the provider.

use std::sync::Arc;

use domain::{
    AuditAction, AuditClass, AuditEvent, BrowserFlowId, Confirmed, Elicitation, Endpoints,
    FormAction, Grant, GrantKey, GrantStatus, Pending, Provider, SamePerson, Stage, TokenSlot,
    UserId,
};
use storage::Revision;

use super::audit_trail::{about_elicitation, about_grant, event, event_as};
use super::consent::{Admitted, admit, forget_state, tick, touch_session};
use super::revocation::{self, Authorization, OwnedToken};
use super::walk::Walk;
use super::{grants, page, people};
use crate::core::Core;
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes};
use crate::sealing::{DataKey, POLICY_VERSION, PendingTokens, TokenRecord, TokenToSeal, main_slot};

/// What identifies the grant that an elicitation is about.
pub(crate) fn grant_key(facts: &Elicitation, user: UserId) -> GrantKey {
    GrantKey {
        tenant: facts.tenant.clone(),
        user,
        server: facts.server.clone(),
        provider: facts.provider.clone(),
        alias: facts.alias.clone(),
    }
}

/// What stands for the provider itself in an account's pseudonym.
pub(crate) fn provider_url(provider: &Provider) -> &str {
    match &provider.endpoints {
        Endpoints::Pinned { token, .. } => token.as_str(),
        Endpoints::Discovered(issuer) => issuer.as_str(),
    }
}

/// Yes, this account.
pub(crate) async fn confirm(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let (walk, person, proof) = match admit(core, ctx, place, (FormAction::Confirm, form)).await? {
        Admitted::Yes(walk, person, proof) => (walk, person, proof),
        Admitted::No(posted) => return Ok(posted),
    };
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Ok(Posted::Page);
    };
    let Some(confirmed) = Confirmed::check(&person, &proof, tick(form), pending, ctx.now) else {
        return Ok(if form.ticked {
            Posted::Page
        } else {
            Posted::TickMissing(Box::new(page::show(core, ctx, &walk).await?))
        });
    };
    let (work, id) = (Arc::clone(core), walk.elicitation.value.id);
    core.detached(async move { activate(&work, ctx, &walk, &confirmed).await })
        .await?;
    watchers.changed(id);
    Ok(Posted::Page)
}

/// Makes the grant usable: facts, records, elicitation and flow in one commit. Runs to its end whatever becomes of the
/// request.
async fn activate(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    confirmed: &Confirmed,
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Err(Refusal::Gone);
    };
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let owner = people::find_or_create(core, walk.owner.identity()).await?;
    let tokens = core.open_pending(&owner, facts, pending)?;
    let grant = new_grant(ctx, facts, pending, &owner);
    let before = grants::by_key(core, &grant.key()).await?;
    if before
        .as_ref()
        .is_some_and(|before| before.value.id == grant.id)
    {
        return Ok(()); // the same yes, sent twice: the other one was faster
    }
    // One that has ended already ends no second time.
    let ends = before
        .as_ref()
        .map(|before| &before.value)
        .filter(|before| before.status != GrantStatus::Revoked);
    let token = token_of(core, ends, &owner).await;
    let mut changes = Changes::default();
    if let Some(before) = &before {
        grants::remove_records(core, &mut changes, before.value.id).await?;
        remove_index(core, &mut changes, before.value.id).await?;
    }
    changes.put(
        rows::keys::grant(&grant.key()),
        before
            .as_ref()
            .map_or(Revision::NONE, |before| before.revision),
        &grant,
    );
    changes.put_bytes(
        rows::keys::grant_id(grant.id),
        Revision::NONE,
        rows::keys::grant(&grant.key()).key,
    );
    add_records(core, &mut changes, &owner, (&grant, &tokens))?;
    let completed = live.completed(confirmed).map_err(|_| Refusal::Internal)?;
    changes.put(
        rows::keys::elicitation(completed.id),
        walk.elicitation.revision,
        &completed,
    );
    let mut flow = walk.flow.value.clone();
    flow.stage = Stage::Done { grant: grant.id };
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    touch_session(walk, ctx, &mut changes);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let about = domain::AuditAbout {
        elicitation: Some(completed.id),
        ..about_grant(&grant)
    };
    let what = (AuditClass::Link, AuditAction::GrantActivated);
    let mut entries = vec![event(what, core.by_person(session), about)];
    let what = (AuditClass::Link, AuditAction::GrantRevoked);
    let end = ends.map(|ends| (core.by_person(session), about_grant(ends)));
    entries.extend(end.clone().map(|who| event_as(what, "replaced", who)));
    core.commit_all_audited(ctx, changes, entries).await?;
    let Some((ends, who)) = ends.zip(end) else {
        return Ok(());
    };
    // Of the same account, or one that is not known, the new grant may hang on the same authorization: then it is kept.
    let told = revocation::tell(core, Authorization::of_grant(ends), token).await;
    core.audited_as(ctx, what, revocation::outcome(told), who)
        .await
}

/// A token with which the provider is told that a grant was replaced; what cannot be read is not told.
async fn token_of(core: &Core, ends: Option<&Grant>, owner: &DataKey) -> Option<OwnedToken> {
    let token = revocation::token_of(core, ends?, owner).await;
    token.unwrap_or_default()
}

fn new_grant(ctx: Ctx, facts: &Elicitation, pending: &Pending, owner: &DataKey) -> Grant {
    Grant {
        id: pending.grant,
        tenant: facts.tenant.clone(),
        user: owner.user,
        pseudonym: facts.pseudonym,
        issuer: facts.issuer.clone(),
        server: facts.server.clone(),
        provider: facts.provider.clone(),
        alias: facts.alias.clone(),
        status: GrantStatus::Active,
        confirmed: true,
        offline: false,
        scopes: pending.scopes.clone(),
        account: pending.account,
        policy_version: POLICY_VERSION,
        created: ctx.now,
        data_key: owner.key.id(),
        slots: vec![TokenSlot {
            name: main_slot(),
            generation: 1,
            issued: pending.since,
            expires: pending.access_expires,
            access_version: 1,
            refresh_version: pending.refreshable.then_some(1),
        }],
    }
}

fn add_records(
    core: &Core,
    changes: &mut Changes,
    owner: &DataKey,
    (grant, tokens): (&Grant, &PendingTokens),
) -> Result<(), Refusal> {
    let mut add = |key, sealed| changes.put_bytes(key, Revision::NONE, sealed);
    let access = core.seal_token(owner, grant, (TokenToSeal::Access(&tokens.access), 1))?;
    add(grants::record_key(grant.id, TokenRecord::Access), access);
    if let Some(refresh) = &tokens.refresh {
        let refresh = core.seal_token(owner, grant, (TokenToSeal::Refresh(refresh), 1))?;
        add(grants::record_key(grant.id, TokenRecord::Refresh), refresh);
    }
    add(
        grants::account_key(grant.id),
        core.seal_account(owner, grant, tokens.account.as_ref())?,
    );
    Ok(())
}

async fn remove_index(
    core: &Core,
    changes: &mut Changes,
    id: domain::GrantId,
) -> Result<(), Refusal> {
    let at = rows::keys::grant_id(id);
    if let Some(row) = core.store.read(at.table, &at.key).await? {
        changes.delete(at, row.revision);
    }
    Ok(())
}

/// No, at any step.
pub(crate) async fn decline(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let (walk, person) = match admit(core, ctx, place, (FormAction::Decline, form)).await? {
        Admitted::Yes(walk, person, _) => (walk, person),
        Admitted::No(posted) => return Ok(posted),
    };
    let (work, id) = (Arc::clone(core), walk.elicitation.value.id);
    core.detached(async move { end_declined(&work, ctx, &walk, &person).await })
        .await?;
    watchers.changed(id);
    Ok(Posted::Page)
}

async fn end_declined(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    person: &SamePerson,
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let declined = live.declined(person).map_err(|_| Refusal::Internal)?;
    let pending = take_pending(core, walk).await?;
    let mut changes = Changes::default();
    changes.put(
        rows::keys::elicitation(declined.id),
        walk.elicitation.revision,
        &declined,
    );
    turn(core, ctx, walk, (Stage::Declined, &mut changes)).await?;
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let mut entries = vec![event(
        (AuditClass::Link, AuditAction::Declined),
        core.by_person(session),
        about_elicitation(&declined),
    )];
    entries.extend(pending.as_ref().map(|_| destruction(core, walk)));
    core.commit_all_audited(ctx, changes, entries).await?;
    destroyed(core, ctx, walk, pending).await
}

/// Adds the flow's next stage to a commit: an earlier `state` is dead with it, and the session has been used.
async fn turn(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (stage, changes): (Stage, &mut Changes),
) -> Result<(), Refusal> {
    forget_state(core, walk, changes).await?;
    let mut flow = walk.flow.value.clone();
    flow.stage = stage;
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    touch_session(walk, ctx, changes);
    Ok(())
}

/// Another account, or once more after a failure: back to the question.
pub(crate) async fn again(
    core: &Arc<Core>,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let walk = match admit(core, ctx, place, (FormAction::Again, form)).await? {
        Admitted::Yes(walk, ..) => walk,
        Admitted::No(posted) => return Ok(posted),
    };
    let flow = &walk.flow.value;
    if flow.is_over() || matches!(flow.stage, Stage::Arrived) {
        return Ok(Posted::Page);
    }
    let work = Arc::clone(core);
    core.detached(async move { start_over(&work, ctx, &walk).await })
        .await?;
    Ok(Posted::Page)
}

async fn start_over(core: &Core, ctx: Ctx, walk: &Walk) -> Result<(), Refusal> {
    let pending = take_pending(core, walk).await?;
    let mut changes = Changes::default();
    turn(core, ctx, walk, (Stage::Arrived, &mut changes)).await?;
    let entries = pending.iter().map(|_| destruction(core, walk)).collect();
    core.commit_all_audited(ctx, changes, entries).await?;
    destroyed(core, ctx, walk, pending).await
}

/// What was pending in a flow and is not wanted: its account and, if they open, its tokens.
type Unwanted = (Option<domain::Digest>, Option<PendingTokens>);

/// Opens what is pending in a flow, to tell the provider once the row is gone.
async fn take_pending(core: &Core, walk: &Walk) -> Result<Option<Unwanted>, Refusal> {
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Ok(None);
    };
    let facts = &walk.elicitation.value;
    let owner = revocation::opened(people::existing(core, walk.owner.identity()).await)?;
    let tokens = match owner.flatten() {
        Some(owner) => revocation::opened(core.open_pending(&owner, facts, pending))?,
        None => None,
    };
    Ok(Some((pending.account, tokens)))
}

/// The entry before pending tokens are erased.
fn destruction(core: &Core, walk: &Walk) -> AuditEvent {
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Link, AuditAction::PendingDestroyed);
    let about = about_elicitation(&walk.elicitation.value);
    event(what, core.by_person(session), about)
}

/// Tells the provider that what was pending is erased, and the audit log what it said.
async fn destroyed(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    pending: Option<Unwanted>,
) -> Result<(), Refusal> {
    let Some((account, tokens)) = pending else {
        return Ok(());
    };
    let facts = &walk.elicitation.value;
    let told = revocation::tell_pending(core, facts, account, tokens).await;
    let entry = AuditEvent {
        outcome: revocation::outcome(told),
        ..destruction(core, walk)
    };
    Ok(core.audit.record(ctx, entry).await?)
}
