//! F5 at a provider that gives out keys: the yes brings the key along. It is tried once where the provider file says how, and
//! kept as pending until the person has confirmed whose account it opens, as tokens are. There is no way out of the vault and
//! back in, so nothing of C8 to C10 applies: the form itself is bound to this browser, person and page (C6, C7).

use std::sync::Arc;

use domain::{
    AuditAction, AuditClass, BrowserFlow, BrowserFlowId, ConsentGiven, FormAction, GivenKey, Holds,
    KeyInputs, ScopeSet, Stage,
};

use super::audit_trail::{about_elicitation, event};
use super::consent::{Admitted, admit, code_of, stepping, tick, touch_session};
use super::walk::Walk;
use super::{elicit, exchange, page};
use crate::core::{Core, Stepped};
use crate::desk::Desks;
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};
use crate::sealing::PendingTokens;

/// Yes, with a key.
pub(crate) async fn submit(
    core: &Arc<Core>,
    actors: (&Desks, &Elicitations),
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    (form, inputs): (&PostedForm, &KeyInputs),
) -> Result<Posted, Refusal> {
    stepping(core, place.0, || {
        take(core, actors, ctx, place, (form, inputs))
    })
    .await
}

async fn take(
    core: &Arc<Core>,
    (desks, watchers): (&Desks, &Elicitations),
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    (form, inputs): (&PostedForm, &KeyInputs),
) -> Result<Posted, Stepped> {
    let (walk, person, proof) = match admit(core, ctx, place, (FormAction::Key, form)).await? {
        Admitted::Yes(walk, person, proof) => (walk, person, proof),
        Admitted::No(posted) => return Ok(posted),
    };
    let Some(asked) = walk.declared.provider.key_form() else {
        return Ok(Posted::Page); // the operator has changed how it is connected
    };
    if !matches!(walk.flow.value.stage, Stage::Arrived) {
        return Ok(Posted::Page);
    }
    let Some(consent) = ConsentGiven::check(&person, &proof, tick(form)) else {
        let page = page::show(core, ctx, &walk).await?;
        return Ok(Posted::TickMissing(Box::new(page)));
    };
    let given = match asked.judge(inputs) {
        Ok(given) => given,
        Err(fault) => {
            let page = page::show(core, ctx, &walk).await?;
            return Ok(Posted::KeyWrong(Box::new(page), fault));
        }
    };
    let permit = desks.provider(&walk.declared.provider.slug).await?;
    let ctx = Ctx {
        now: core.now(), // leave to ask the provider may have been waited for
        ..ctx
    };
    let (work, watchers) = (Arc::clone(core), watchers.clone());
    core.detached(async move {
        let _permit = permit;
        let flow = begin(&work, ctx, &walk, &consent).await?;
        watchers.changed(walk.elicitation.value.id);
        Ok::<_, Stepped>(try_and_keep(&work, &watchers, ctx, &walk, (flow, consent, given)).await?)
    })
    .await?;
    Ok(Posted::Page)
}

/// Notes the consent and that a key is being tried, so that the same form sent again finds a page that has moved on.
async fn begin(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    consent: &ConsentGiven,
) -> Result<Stored<BrowserFlow>, Stepped> {
    let facts = &walk.elicitation.value;
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let mut flow = walk.flow.value.clone();
    flow.step(ctx.now);
    flow.stage = Stage::Exchanging { since: ctx.now };
    let consented = live
        .consented(consent, ctx.now)
        .map_err(|_| Refusal::Internal)?;
    let mut changes = Changes::default();
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    let at = rows::keys::elicitation(consented.id);
    changes.put(at, walk.elicitation.revision, &consented);
    touch_session(walk, ctx, &mut changes);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Link, AuditAction::ConsentGiven);
    let entry = event(what, core.by_person(session), about_elicitation(&consented));
    core.commit_audited(ctx, changes, entry).await?;
    Ok(Stored {
        value: flow,
        revision: walk.flow.revision.next(),
    })
}

/// A key that the provider lets in, or that nobody can try, becomes pending; nothing of any other is kept.
async fn try_and_keep(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    walk: &Walk,
    (flow, consent, given): (Stored<BrowserFlow>, ConsentGiven, GivenKey),
) -> Result<(), Refusal> {
    let (facts, provider) = (&walk.elicitation.value, &walk.declared.provider);
    let account = match core.upstream.try_key(&consent, provider, &given).await {
        Ok(account) => account,
        Err(failure) => {
            tracing::warn!(provider.id = %provider.slug, elicitation.id = %facts.id, %failure, "a key was not taken");
            let ended = (flow, code_of(&failure));
            return exchange::failed(core, watchers, ctx, walk, ended).await;
        }
    };
    let link = elicit::load(core, facts.id).await?;
    if link.is_none_or(|link| link.value.is_over(core.now())) {
        return exchange::failed(core, watchers, ctx, walk, (flow, exchange::UNKEPT)).await;
    }
    let secrets = PendingTokens {
        access: given.into_credential(),
        refresh: None,
        account,
    };
    let facts = (ScopeSet::default(), None, Holds::Key);
    let kept = exchange::store_pending(core, ctx, walk, flow.clone(), (facts, &secrets)).await;
    if let Err(refusal) = kept {
        exchange::failed(core, watchers, ctx, walk, (flow, exchange::UNKEPT)).await?;
        return Err(refusal);
    }
    Ok(())
}
