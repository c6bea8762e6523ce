//! What nobody confirmed in time does not stay: the end of pending tokens.

use domain::{
    AuditAction, AuditClass, BrowserFlow, BrowserFlowId, Elicitation, Pending, Principal, Stage,
};

use super::audit_trail::{about_elicitation, event};
use super::{elicit, people, revocation};
use crate::core::Core;
use crate::doors::{Ctx, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};
use crate::sealing::PendingTokens;

/// Pending tokens whose time is over, their own or that of their elicitation: destroyed here, revoked at the provider. For
/// the janitor.
pub(crate) async fn expire_pending(
    core: &Core,
    ctx: Ctx,
    id: BrowserFlowId,
) -> Result<(), Refusal> {
    let Some(flow) = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(id)).await? else {
        return Ok(());
    };
    let Stage::AwaitingConfirm { pending } = &flow.value.stage else {
        return Ok(());
    };
    let Some(elicitation) = elicit::load(core, flow.value.elicitation).await? else {
        return Ok(());
    };
    let old = pending
        .since
        .plus(BrowserFlow::PENDING_LIFE)
        .passed(ctx.now);
    if !old && !elicitation.value.is_over(ctx.now) {
        return Ok(());
    }
    let facts = &elicitation.value;
    let (account, tokens) = (pending.account, opened(core, facts, pending).await?);
    let Stored {
        value: mut next,
        revision,
    } = flow.clone();
    next.stage = Stage::Failed {
        code: domain::FailureCode::NotConfirmed,
        poisoned: false,
    };
    let mut changes = Changes::default();
    changes.put(rows::keys::flow(id), revision, &next);
    let what = (AuditClass::Link, AuditAction::PendingDestroyed);
    let who = (Principal::Vault, about_elicitation(facts));
    core.commit_audited(ctx, changes, event(what, who.0.clone(), who.1.clone()))
        .await?;
    let told = revocation::tell_pending(core, facts, account, tokens).await;
    core.audited_as(ctx, what, revocation::outcome(told), who)
        .await
}

/// The tokens, if they open: what does not open must not stay for ever.
async fn opened(
    core: &Core,
    facts: &Elicitation,
    pending: &Pending,
) -> Result<Option<PendingTokens>, Refusal> {
    let Some(owner) = revocation::opened(core.open_owner(facts))? else {
        return Ok(None);
    };
    let key = people::existing(core, owner.identity()).await;
    match revocation::opened(key)?.flatten() {
        Some(key) => revocation::opened(core.open_pending(&key, facts, pending)),
        None => Ok(None),
    }
}

/// An elicitation ended in one tab because no try can go better: whoever waits for it is told at once, and what another tab
/// may hold pending is of no use any more.
pub(crate) async fn hopeless(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    id: domain::ElicitationId,
) {
    watchers.changed(id);
    if let Err(refusal) = abandon(core, ctx, id).await {
        tracing::warn!(elicitation.id = %id, %refusal, "pending tokens wait for the janitor");
    }
}

/// Looks after what may be pending in an elicitation that was taken back: its tokens are not kept until their time is over.
/// One flow that cannot be ended now does not keep the others from it.
///
/// # Errors
/// The last refusal.
pub(crate) async fn abandon(
    core: &Core,
    ctx: Ctx,
    id: domain::ElicitationId,
) -> Result<(), Refusal> {
    let Some(elicitation) = elicit::load(core, id).await? else {
        return Ok(());
    };
    let mut ended = Ok(());
    for flow in elicitation.value.flows {
        let one = expire_pending(core, ctx, flow).await;
        ended = one.and(ended);
    }
    ended
}
