//! What nobody confirmed in time does not stay: the end of pending tokens.

use domain::{AuditAction, AuditClass, BrowserFlow, BrowserFlowId, Principal, Stage};

use super::audit_trail::about_elicitation;
use super::{confirm, elicit, people, walk};
use crate::core::Core;
use crate::doors::{Ctx, Refusal};
use crate::rows::{self, Changes, Stored};

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
    let owner = core.open_owner(&elicitation.value)?;
    let key = people::find_or_create(core, owner.identity()).await?;
    let tokens = core.open_pending(&key, &elicitation.value, pending)?;
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
    changes.commit(&*core.store).await?;
    let outcome = match walk::declared(core, &elicitation.value) {
        Some(declared) => confirm::revoke_pending(core, &declared.provider, &tokens).await,
        None => "provider-not-declared",
    };
    let who = (Principal::Vault, about_elicitation(&elicitation.value));
    core.audited_as(
        ctx,
        (AuditClass::Link, AuditAction::PendingDestroyed),
        outcome,
        who,
    )
    .await
}
