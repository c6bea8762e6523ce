//! F7 and F8: a provider sends a browser back. C8, C9 and C10 before anything is believed, then `state` is spent, then the
//! code is exchanged (C11) in a flow of its own that ends even when the browser has gone away.

use std::sync::Arc;

use domain::{
    AuditAbout, AuditAction, AuditClass, AuditEvent, BrowserFlow, BrowserFlowId, CallbackAnswer,
    CallbackParams, Elicitation, ElicitationState, FailureCode, Principal, ProviderCallback,
    ProviderSlug, Returned, SameBrowser, Stage,
};
use secret::{AuthorizationCode, OauthState, RevealOwn as _};

use super::audit_trail::about_elicitation;
use super::consent::code_of;
use super::walk::{self, Walk};
use super::{elicit, exchange, pending};
use crate::core::{Core, Stepped, retrying};
use crate::desk::Desks;
use crate::doors::{Cookies, Ctx, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};

/// The provider's answer. Gives the flow to go on with; `None`: there is no page for this browser. When another request of
/// the same walk changed the rows meanwhile, everything is judged anew.
pub(crate) async fn callback(
    core: &Arc<Core>,
    actors: (&Desks, &Elicitations),
    ctx: Ctx,
    place: (&str, &str),
    arrival: (bool, &Cookies),
) -> Result<Option<BrowserFlowId>, Refusal> {
    retrying(|| come_back(core, actors, ctx, place, arrival)).await
}

async fn come_back(
    core: &Arc<Core>,
    (desks, watchers): (&Desks, &Elicitations),
    ctx: Ctx,
    (path, query): (&str, &str),
    (top_level, cookies): (bool, &Cookies),
) -> Result<Option<BrowserFlowId>, Stepped> {
    let params = match CallbackParams::parse(query, top_level) {
        Ok(params) => params,
        Err(refused) => return malformed(core, ctx, refused.state.as_deref(), cookies).await,
    };
    let Some((flow, walk)) = by_state(core, ctx, &params.state, cookies).await? else {
        return unknown(core, ctx, "unknown-state").await;
    };
    let cookie_matches = walk::holds_cookie(core, &flow.value, cookies);
    let shown = cookie_matches.then_some(flow.value.id);
    match judge(
        core,
        ctx,
        &walk,
        (cookie_matches, path, params.iss.as_deref()),
    )
    .await
    {
        Err(Judged::Poison(code, outcome)) => poison(core, ctx, walk, (code, outcome)).await?,
        Err(Judged::Fail(code)) => fail(core, watchers, ctx, walk, code).await?,
        Ok(returned) => match params.answer {
            CallbackAnswer::Error(_) => {
                fail(core, watchers, ctx, walk, FailureCode::ProviderRefused).await?;
            }
            CallbackAnswer::Code(code) => {
                take(core, (desks, watchers), ctx, walk, (returned, code)).await?;
            }
        },
    }
    Ok(shown)
}

/// Why a callback with a valid `state` is not acted on.
enum Judged {
    /// It is an attack or a grave fault: the flow is dead.
    Poison(FailureCode, &'static str),
    /// It did not work; the person may try again.
    Fail(FailureCode),
}

/// C9 and C10, in this order.
async fn judge(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (cookie_matches, path, iss): (bool, &str, Option<&str>),
) -> Result<Returned, Judged> {
    let browser = SameBrowser::check(cookie_matches, walk.person().and_then(Result::ok)).map_err(
        |evidence| {
            let outcome = match evidence {
                domain::FlowEvidence::OtherBrowser => "other-browser",
                domain::FlowEvidence::OtherPerson => "other-person",
            };
            Judged::Poison(FailureCode::WrongBrowser, outcome)
        },
    )?;
    let wrong = |outcome| Judged::Poison(FailureCode::WrongCallback, outcome);
    let path = path
        .parse::<ProviderSlug>()
        .map_err(|_| wrong("other-provider"))?;
    let provider = &walk.declared.provider;
    let expected = core.upstream.expected_issuer(provider, ctx.now).await;
    let expected = expected.map_err(|failure| Judged::Fail(code_of(&failure)))?;
    let Stage::Consented { since, .. } = walk.flow.value.stage else {
        return Err(wrong("no-consent"));
    };
    let claim = ProviderCallback {
        path: &path,
        flow: &provider.slug,
        iss,
        expected: &expected,
        since,
    };
    Returned::check(browser, &claim, BrowserFlow::STATE_LIFE, ctx.now).map_err(|refused| {
        wrong(match refused {
            domain::ReturnRefused::OtherProvider => "other-provider",
            domain::ReturnRefused::OtherIssuer => "other-issuer",
            domain::ReturnRefused::Late => "late",
        })
    })
}

/// The flow that a `state` belongs to, and everything around it, whoever's browser this is.
async fn by_state(
    core: &Core,
    ctx: Ctx,
    text: &str,
    cookies: &Cookies,
) -> Result<Option<(Stored<BrowserFlow>, Walk)>, Refusal> {
    let Ok(state) = OauthState::parse(text) else {
        return Ok(None);
    };
    let hash = core.lookup(crypto::LookupLabel::State, state.as_bytes());
    let Some(id) = rows::load::<BrowserFlowId>(&*core.store, &rows::keys::state(&hash)).await?
    else {
        return Ok(None);
    };
    let Some(flow) = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(id.value)).await?
    else {
        return Ok(None);
    };
    let current = matches!(&flow.value.stage, Stage::Consented { state, .. } if *state == hash);
    if !current {
        return Ok(None);
    }
    let walk = walk::assemble(core, ctx, flow.clone(), cookies).await?;
    Ok(walk.map(|walk| (flow, walk)))
}

/// A callback that cannot be read. When it names one flow beyond doubt, that flow is dead: nobody but an attacker or a
/// broken provider sends such things.
async fn malformed(
    core: &Core,
    ctx: Ctx,
    state: Option<&str>,
    cookies: &Cookies,
) -> Result<Option<BrowserFlowId>, Stepped> {
    let Some(state) = state else {
        return unknown(core, ctx, "malformed").await;
    };
    match by_state(core, ctx, state, cookies).await? {
        Some((flow, walk)) => {
            let shown = walk::holds_cookie(core, &flow.value, cookies).then_some(flow.value.id);
            poison(core, ctx, walk, (FailureCode::WrongCallback, "malformed"))
                .await
                .map(|()| shown)
        }
        None => unknown(core, ctx, "malformed").await,
    }
}

async fn unknown(
    core: &Core,
    ctx: Ctx,
    outcome: &'static str,
) -> Result<Option<BrowserFlowId>, Stepped> {
    let what = (AuditClass::Browser, AuditAction::CallbackRefused);
    core.audited_as(
        ctx,
        what,
        outcome,
        (Principal::Nobody, AuditAbout::default()),
    )
    .await?;
    Ok(None)
}

/// Kills a flow for good: its `state` is spent and no token request is ever made for it.
async fn poison(
    core: &Core,
    ctx: Ctx,
    walk: Walk,
    (code, outcome): (FailureCode, &'static str),
) -> Result<(), Stepped> {
    let entry = entry(core, &walk, AuditAction::FlowPoisoned, outcome);
    let stage = Stage::Failed {
        code,
        poisoned: true,
    };
    settle(core, ctx, &walk, (stage, None, entry))
        .await
        .map(drop)
}

/// Ends this try of a flow; the person may try again, unless that is hopeless. What has to follow the end of a link is done
/// even when the browser goes away in between.
async fn fail(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    walk: Walk,
    code: FailureCode,
) -> Result<(), Stepped> {
    let link = elicit::hopeless(&walk.elicitation.value, code, ctx.now);
    let mut entry = entry(core, &walk, AuditAction::ExchangeFailed, code.as_str());
    let over = link.is_some();
    if over {
        entry.class = AuditClass::Link; // a link ends with it
    }
    let stage = Stage::Failed {
        code,
        poisoned: false,
    };
    let (work, watchers) = (Arc::clone(core), watchers.clone());
    core.detached(async move {
        settle(&work, ctx, &walk, (stage, link, entry)).await?;
        if over {
            pending::hopeless(&work, &watchers, ctx, walk.elicitation.value.id).await;
        }
        Ok(())
    })
    .await
}

/// What the audit log says of a step of this walk, with whoever is signed in in this browser.
fn entry(core: &Core, walk: &Walk, action: AuditAction, outcome: &'static str) -> AuditEvent {
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let mut about = about_elicitation(&walk.elicitation.value);
    let seen = session.map(|session| core.pseudonym(&session.identity));
    about.other_user = seen
        .filter(|seen| *seen != walk.elicitation.value.pseudonym)
        .map(|seen| seen.short().into());
    AuditEvent {
        class: AuditClass::Browser,
        action,
        outcome,
        principal: core.by_person(session),
        about,
    }
}

/// Leaves the stage `Consented`: `state` is spent in the same commit, which also ends the elicitation if `link` says so,
/// and `entry` is written with it.
async fn settle(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (stage, link, entry): (Stage, Option<Elicitation>, AuditEvent),
) -> Result<Stored<BrowserFlow>, Stepped> {
    let mut changes = Changes::default();
    let Stage::Consented { state, .. } = &walk.flow.value.stage else {
        return Err(Stepped::Again);
    };
    let at = rows::keys::state(state);
    let row = core
        .store
        .read(at.table, &at.key)
        .await?
        .ok_or(Stepped::Again)?;
    changes.delete(at, row.revision);
    let mut flow = walk.flow.value.clone();
    flow.step(ctx.now);
    flow.stage = stage;
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    let (at, revision) = (
        rows::keys::elicitation(walk.elicitation.value.id),
        walk.elicitation.revision,
    );
    match &link {
        Some(ended) => changes.put(at, revision, ended),
        None => changes.check(at, revision),
    }
    core.commit_audited(ctx, changes, entry).await?;
    Ok(Stored {
        value: flow,
        revision: walk.flow.revision.next(),
    })
}

/// Spends `state` and exchanges the code, in one flow that ends even when the browser goes away between the two.
async fn take(
    core: &Arc<Core>,
    (desks, watchers): (&Desks, &Elicitations),
    ctx: Ctx,
    walk: Walk,
    (returned, code): (Returned, AuthorizationCode),
) -> Result<(), Stepped> {
    let facts = &walk.elicitation.value;
    if facts.is_over(core.now()) || facts.state != ElicitationState::Consented {
        return fail(core, watchers, ctx, walk, FailureCode::WrongCallback).await;
    }
    let permit = desks.provider(&walk.declared.provider.slug).await?;
    let entry = entry(core, &walk, AuditAction::ProviderReturned, "ok");
    let (work, watchers) = (Arc::clone(core), watchers.clone());
    core.detached(async move {
        let _permit = permit;
        let step = (Stage::Exchanging { since: work.now() }, None, entry);
        let flow = settle(&work, ctx, &walk, step).await?;
        Ok(exchange::exchange(&work, &watchers, ctx, &walk, (flow, returned, code)).await?)
    })
    .await
}
