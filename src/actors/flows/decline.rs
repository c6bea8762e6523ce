//! No, at any step, and "another account": what was pending is destroyed here and at the provider.

use std::sync::Arc;

use domain::{AuditAction, AuditClass, AuditEvent, BrowserFlowId, FormAction, SamePerson, Stage};

use super::audit_trail::{about_elicitation, event};
use super::consent::{Admitted, admit, forget_state, stepping, touch_session};
use super::walk::Walk;
use super::{people, revocation};
use crate::core::{Core, Stepped};
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes};
use crate::sealing::PendingTokens;

/// No, at any step.
pub(crate) async fn decline(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    stepping(core, place.0, || refuse(core, watchers, ctx, place, form)).await
}

async fn refuse(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Stepped> {
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
) -> Result<(), Stepped> {
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
    Ok(destroyed(core, ctx, walk, pending).await?)
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
    stepping(core, place.0, || turn_back(core, ctx, place, form)).await
}

async fn turn_back(
    core: &Arc<Core>,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Stepped> {
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

async fn start_over(core: &Core, ctx: Ctx, walk: &Walk) -> Result<(), Stepped> {
    let pending = take_pending(core, walk).await?;
    let mut changes = Changes::default();
    turn(core, ctx, walk, (Stage::Arrived, &mut changes)).await?;
    let entries = pending.iter().map(|_| destruction(core, walk)).collect();
    core.commit_all_audited(ctx, changes, entries).await?;
    Ok(destroyed(core, ctx, walk, pending).await?)
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
