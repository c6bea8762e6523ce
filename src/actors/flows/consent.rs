//! F5 and F6: the question is answered. Only a yes makes `state` and the PKCE verifier, and only they lead to a provider.

use std::sync::Arc;

use domain::{
    AuditAction, AuditClass, BrowserFlow, BrowserFlowId, ConsentGiven, ElicitationState,
    FailureCode, FormAction, SamePerson, Stage, Tick,
};
use secret::{OauthState, RevealOwn as _};
use upstream::{AuthorizationRequest, ProviderFailure, code_challenge};

use super::audit_trail::{about_elicitation, event, event_as};
use super::elicit;
use super::login::{form_code, new_verifier};
use super::walk::{self, Walk};
use super::{page, pending};
use crate::core::{CONFLICT_TRIES, Core, Stepped, pause};
use crate::doors::{Cookies, Ctx, Posted, PostedForm, ProviderLeaving, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes};
use crate::sealing::FLOW_STATE;

/// A posted form of the right person, on a live elicitation; or what to answer instead.
pub(crate) enum Admitted {
    /// Go on.
    Yes(Box<Walk>, SamePerson, domain::FormProof),
    /// Answer this.
    No(Posted),
}

/// Everything that every form after login demands, in order: the flow's browser, a signed-in person, the right person (C6),
/// our own page (C7), a live elicitation (C4).
pub(crate) async fn admit(
    core: &Core,
    ctx: Ctx,
    (flow, cookies): (BrowserFlowId, &Cookies),
    (action, form): (FormAction, &PostedForm),
) -> Result<Admitted, Refusal> {
    let Some(walk) = walk::load(core, ctx, flow, cookies).await? else {
        return Ok(Admitted::No(Posted::Gone));
    };
    let Some(Ok(person)) = walk.person() else {
        // The page itself says what there is to say: sign in first, or someone else is signed in.
        return Ok(Admitted::No(Posted::Page));
    };
    let proof = match walk.form(action, form) {
        Ok(proof) => proof,
        Err(refused) => {
            let session = walk.signed_in.as_ref().map(|here| &here.open.session);
            let who = (
                core.by_person(session),
                about_elicitation(&walk.elicitation.value),
            );
            core.audited_as(
                ctx,
                (AuditClass::Browser, AuditAction::FormRefused),
                form_code(refused),
                who,
            )
            .await?;
            return Ok(Admitted::No(Posted::Refused));
        }
    };
    if walk.elicitation.value.is_over(ctx.now) {
        return Ok(Admitted::No(Posted::Page));
    }
    Ok(Admitted::Yes(Box::new(walk), person, proof))
}

/// Takes the step that a form asks for, again when other requests changed the same rows. When the flow itself has moved on
/// while the form was worked on, the page shows where it stands now: that is what a form sent twice at once comes to. One
/// that comes later has a token of the past; it is refused, with the way to the same page.
pub(crate) async fn stepping<F>(
    core: &Core,
    id: BrowserFlowId,
    mut step: impl FnMut() -> F,
) -> Result<Posted, Refusal>
where
    F: Future<Output = Result<Posted, Stepped>>,
{
    let revision = async || Ok::<_, Refusal>(walk::flow(core, id).await?.map(|row| row.revision));
    let begun = revision().await?;
    for tried in 0..CONFLICT_TRIES {
        match step().await {
            Ok(posted) => return Ok(posted),
            Err(Stepped::Stop(refusal)) => return Err(refusal),
            Err(Stepped::Again) if revision().await? != begun => return Ok(Posted::Page),
            Err(Stepped::Again) => tokio::time::sleep(pause(tried)).await,
        }
    }
    Err(Refusal::Busy {
        retry_after: std::time::Duration::from_secs(1),
    })
}

/// Whether the box was ticked.
pub(crate) const fn tick(form: &PostedForm) -> Tick {
    if form.ticked {
        Tick::Ticked
    } else {
        Tick::Missing
    }
}

/// Yes to the question.
pub(crate) async fn consent(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    stepping(core, place.0, || agree(core, watchers, ctx, place, form)).await
}

async fn agree(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Stepped> {
    let (walk, person, proof) = match admit(core, ctx, place, (FormAction::Consent, form)).await? {
        Admitted::Yes(walk, person, proof) => (walk, person, proof),
        Admitted::No(posted) => return Ok(posted),
    };
    let asked = matches!(
        walk.flow.value.stage,
        Stage::Arrived | Stage::Consented { .. }
    );
    if !asked || walk.declared.provider.oauth().is_none() {
        return Ok(Posted::Page);
    }
    let Some(consent) = ConsentGiven::check(&person, &proof, tick(form)) else {
        return Ok(Posted::TickMissing(Box::new(
            page::show(core, ctx, &walk).await?,
        )));
    };
    let (work, id) = (Arc::clone(core), walk.elicitation.value.id);
    let provider = &walk.declared.provider;
    if let Err(ProviderFailure::Misconfigured) = core.upstream.usable(provider, core.now()).await {
        // Nobody is sent to a provider whose answer we cannot take. Every other failure may be over in a moment.
        let watchers = watchers.clone();
        core.detached(async move {
            give_up(&work, ctx, &walk).await?;
            pending::hopeless(&work, &watchers, ctx, id).await;
            Ok::<_, Stepped>(())
        })
        .await?;
        return Ok(Posted::Page);
    }
    let ctx = Ctx {
        now: core.now(), // metadata may have been waited for
        ..ctx
    };
    core.detached(async move { leave(&work, ctx, &walk, &consent).await })
        .await?;
    watchers.changed(id);
    Ok(Posted::Leaving)
}

/// Makes `state` and verifier and commits them with the consent. A `state` of an earlier yes is dead from then on: whoever
/// comes back with it finds nothing.
async fn leave(core: &Core, ctx: Ctx, walk: &Walk, consent: &ConsentGiven) -> Result<(), Stepped> {
    let facts = &walk.elicitation.value;
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let state = OauthState::generate(&*core.entropy);
    let hash = core.lookup(crypto::LookupLabel::State, state.as_bytes());
    let mut flow = walk.flow.value.clone();
    flow.step(ctx.now);
    flow.stage = Stage::Consented {
        state: hash,
        sealed_state: core.seal_flow_word(&facts.tenant, FLOW_STATE, flow.id, state.as_bytes())?,
        verifier: core.seal_verifier(facts, flow.id, &new_verifier(core))?,
        since: ctx.now,
    };
    let consented = live
        .consented(consent, ctx.now)
        .map_err(|_| Refusal::Internal)?;
    let mut changes = Changes::default();
    forget_state(core, walk, &mut changes).await?;
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    changes.put(
        rows::keys::elicitation(consented.id),
        walk.elicitation.revision,
        &consented,
    );
    changes.create(rows::keys::state(&hash), &flow.id);
    touch_session(walk, ctx, &mut changes);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Link, AuditAction::ConsentGiven);
    let entry = event(what, core.by_person(session), about_elicitation(&consented));
    core.commit_audited(ctx, changes, entry).await
}

/// Ends the link: the operator has to set something right before anybody can connect this provider.
async fn give_up(core: &Core, ctx: Ctx, walk: &Walk) -> Result<(), Stepped> {
    let code = FailureCode::ProviderMisconfigured;
    let facts = &walk.elicitation.value;
    let ended = elicit::hopeless(facts, code, ctx.now).ok_or(Refusal::Gone)?;
    let mut flow = walk.flow.value.clone();
    flow.stage = Stage::Failed {
        code,
        poisoned: false,
    };
    let mut changes = Changes::default();
    forget_state(core, walk, &mut changes).await?;
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    let at = rows::keys::elicitation(ended.id);
    changes.put(at, walk.elicitation.revision, &ended);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Link, AuditAction::ExchangeFailed);
    let who = (core.by_person(session), about_elicitation(&ended));
    let entry = event_as(what, code.as_str(), who);
    core.commit_audited(ctx, changes, entry).await
}

/// Takes away the `state` of an earlier yes, if the flow has one.
pub(crate) async fn forget_state(
    core: &Core,
    walk: &Walk,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    let Stage::Consented { state, .. } = &walk.flow.value.stage else {
        return Ok(());
    };
    let at = rows::keys::state(state);
    if let Some(row) = core.store.read(at.table, &at.key).await? {
        changes.delete(at, row.revision);
    }
    Ok(())
}

/// A deed keeps the session from falling idle.
pub(crate) fn touch_session(walk: &Walk, ctx: Ctx, changes: &mut Changes) {
    if let Some(here) = &walk.signed_in {
        let mut row = here.row.value.clone();
        row.used = ctx.now;
        changes.put(
            rows::keys::session(&here.open.session.id),
            here.row.revision,
            &row,
        );
    }
}

/// The way to the provider, for the browser and person that gave consent. `None`: not theirs, or nothing to leave for.
pub(crate) async fn leaving(
    core: &Core,
    ctx: Ctx,
    flow: BrowserFlowId,
    cookies: &Cookies,
) -> Result<Option<Result<ProviderLeaving, FailureCode>>, Refusal> {
    let Some(walk) = walk::load(core, ctx, flow, cookies).await? else {
        return Ok(None);
    };
    let Some(Ok(person)) = walk.person() else {
        return Ok(None);
    };
    let Stage::Consented {
        sealed_state,
        verifier,
        since,
        ..
    } = &walk.flow.value.stage
    else {
        return Ok(None);
    };
    let facts = &walk.elicitation.value;
    let late = since.plus(BrowserFlow::STATE_LIFE).passed(ctx.now);
    if late || facts.is_over(ctx.now) || facts.state != ElicitationState::Consented {
        return Ok(None);
    }
    let state = core
        .open_flow_state(&facts.tenant, flow, sealed_state)?
        .to_text();
    let challenge = code_challenge(&core.open_verifier(facts, flow, verifier)?);
    let request = AuthorizationRequest {
        state: &state,
        code_challenge: &challenge,
        scopes: &facts.scopes,
        // A provider that knows an account chooser is asked for it by its file (`authorize_extra`); others refuse words in
        // `prompt` that they do not know (OpenID Connect Core 3.1.2.1).
        account_chooser: false,
    };
    match core
        .upstream
        .authorization_url(&person, &walk.declared.provider, &request, ctx.now)
        .await
    {
        Ok(url) => Ok(Some(Ok(ProviderLeaving {
            ask: page::ask(ctx, &walk)?,
            url,
            left: since
                .plus(BrowserFlow::STATE_LIFE)
                .min(facts.expires)
                .min(facts.hard_end())
                .left(ctx.now),
        }))),
        Err(failure) => Ok(Some(Err(code_of(&failure)))),
    }
}

/// What people are told about a provider's failure.
pub(crate) fn code_of(failure: &ProviderFailure) -> FailureCode {
    match failure {
        ProviderFailure::Unreachable | ProviderFailure::Timeout => FailureCode::ProviderUnreachable,
        // Nothing the person does can mend these (RFC 6749 section 5.2).
        ProviderFailure::Refused(code)
            if matches!(
                code.as_str(),
                "invalid_client" | "unauthorized_client" | "unsupported_grant_type"
            ) =>
        {
            FailureCode::ProviderMisconfigured
        }
        ProviderFailure::KeyRefused => FailureCode::KeyRefused,
        ProviderFailure::Refused(_) => FailureCode::ProviderRefused,
        ProviderFailure::Unreadable | ProviderFailure::AnswerRefused(_) => {
            FailureCode::ProviderUnreadable
        }
        ProviderFailure::Misconfigured => FailureCode::ProviderMisconfigured,
    }
}
