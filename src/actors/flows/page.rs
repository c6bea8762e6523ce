//! Which page a flow shows in this browser. Looks, and changes nothing.
//!
//! Until the right person is signed in, a page says nothing about the request: not what is asked, by whom, or for whom.

use domain::{
    AuditAction, AuditClass, BrowserFlow, ElicitationState, Endpoints, FailureCode, FormAction,
    Grant, Pending, SamePerson, ScopeSet, Stage,
};

use super::audit_trail::about_elicitation;
use super::budgets::EXCHANGE;
use super::grants;
use super::people;
use super::walk::{self, Walk, csrf_form};
use crate::core::Core;
use crate::doors::{AskView, Cookies, Ctx, FlowPage, PersonView, Refusal, Replaced, reference};

/// The page of a flow.
pub(crate) async fn page(
    core: &Core,
    ctx: Ctx,
    flow: domain::BrowserFlowId,
    cookies: &Cookies,
) -> Result<FlowPage, Refusal> {
    match walk::load(core, ctx, flow, cookies).await? {
        Some(walk) => show(core, ctx, &walk).await,
        None => Ok(FlowPage::Gone),
    }
}

/// The page of a loaded walk.
pub(crate) async fn show(core: &Core, ctx: Ctx, walk: &Walk) -> Result<FlowPage, Refusal> {
    if let Stage::Failed {
        code,
        poisoned: true,
    } = walk.flow.value.stage
    {
        return Ok(FlowPage::Failed {
            code,
            reference: reference(ctx.request).into(),
            tokens: None,
        });
    }
    let over = walk.elicitation.value.is_over(ctx.now);
    match walk.person() {
        None if over => Ok(FlowPage::Gone),
        None => sign_in(core, walk),
        Some(Err(_)) => mismatch(core, ctx, walk).await,
        Some(Ok(person)) => theirs(core, ctx, walk, (&person, over)).await,
    }
}

fn sign_in(core: &Core, walk: &Walk) -> Result<FlowPage, Refusal> {
    let flow = &walk.flow;
    let secret = core.open_flow_secret(
        &walk.elicitation.value.tenant,
        flow.value.id,
        &flow.value.secret,
    )?;
    let token = crypto::csrf_token(&secret, &csrf_form(flow, FormAction::Login));
    Ok(FlowPage::SignIn {
        issuer: walk.declared.issuer.clone(),
        yes: token.as_str().into(),
    })
}

async fn mismatch(core: &Core, ctx: Ctx, walk: &Walk) -> Result<FlowPage, Refusal> {
    let Some(here) = &walk.signed_in else {
        return Err(Refusal::Internal);
    };
    let mut about = about_elicitation(&walk.elicitation.value);
    about.other_user = Some(core.pseudonym(&here.open.session.identity).short().into());
    let by = core.by_person(Some(&here.open.session));
    let what = (AuditClass::Browser, AuditAction::IdentityMismatch);
    core.audited_as(ctx, what, "other-person", (by, about))
        .await?;
    let token = crypto::csrf_token(&here.open.csrf, &csrf_form(&walk.flow, FormAction::SignOut));
    Ok(FlowPage::Mismatch {
        sign_out: token.as_str().into(),
    })
}

/// Pages for the right person.
async fn theirs(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (person, over): (&SamePerson, bool),
) -> Result<FlowPage, Refusal> {
    let facts = &walk.elicitation.value;
    let here = walk.signed_in.as_ref().map(|here| here.open.session.id);
    if person.elicitation() != facts.id || Some(person.session()) != here {
        return Err(Refusal::Internal); // the proof is about something else
    }
    let declared = &walk.declared;
    match (&walk.flow.value.stage, &facts.state) {
        (Stage::Done { .. }, ElicitationState::Completed { grant }) => Ok(FlowPage::Done {
            ask: ask(ctx, walk)?,
            account: account_of(core, walk, *grant).await?,
        }),
        (Stage::Declined, ElicitationState::Declined) => Ok(FlowPage::Declined {
            server: declared.server.clone(),
            provider: declared.provider.clone(),
        }),
        // Whatever this tab was at: no other try within this link can go better.
        (_, ElicitationState::Failed { code }) => Ok(FlowPage::Failed {
            code: *code,
            reference: reference(ctx.request).into(),
            tokens: None,
        }),
        _ if over => Ok(FlowPage::Gone),
        // Also the question again for who said yes and has not come back: an answer to it starts anew.
        (Stage::Arrived, _) if declared.provider.key_form().is_some() => Ok(FlowPage::Key {
            ask: ask(ctx, walk)?,
            tokens: tokens(walk, FormAction::Key)?,
        }),
        (Stage::Arrived | Stage::Consented { .. }, _) => Ok(FlowPage::Consent {
            ask: ask(ctx, walk)?,
            tokens: tokens(walk, FormAction::Consent)?,
        }),
        (Stage::Exchanging { since }, _) if since.plus(EXCHANGE).passed(ctx.now) => {
            failed(ctx, walk, FailureCode::Interrupted)
        }
        (Stage::Exchanging { .. }, _) => Ok(FlowPage::Working),
        (Stage::AwaitingConfirm { pending }, _)
            if pending
                .since
                .plus(BrowserFlow::PENDING_LIFE)
                .passed(ctx.now) =>
        {
            failed(ctx, walk, FailureCode::NotConfirmed)
        }
        (Stage::AwaitingConfirm { pending }, _) => confirm(core, ctx, walk, pending).await,
        (Stage::Failed { code, .. }, _) => failed(ctx, walk, *code),
        (Stage::Done { .. } | Stage::Declined, _) => Ok(FlowPage::Gone),
    }
}

fn failed(ctx: Ctx, walk: &Walk, code: FailureCode) -> Result<FlowPage, Refusal> {
    let tokens = Some(tokens(walk, FormAction::Again)?);
    Ok(FlowPage::Failed {
        code,
        reference: reference(ctx.request).into(),
        tokens,
    })
}

async fn confirm(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    pending: &Pending,
) -> Result<FlowPage, Refusal> {
    let owner = people::existing(core, walk.owner.identity()).await?;
    let owner = owner.ok_or(Refusal::Internal)?; // whoever has pending tokens has a row
    let tokens_here = core.open_pending(&owner, &walk.elicitation.value, pending)?;
    let before = replaced(core, walk, pending, &owner).await?;
    Ok(FlowPage::Confirm {
        ask: ask(ctx, walk)?,
        account: tokens_here
            .account
            .as_ref()
            .map(|account| account.name.clone().unwrap_or_else(|| account.id.clone())),
        replaces: before,
        granted: shown(&pending.scopes, walk),
        tokens: tokens(walk, FormAction::Confirm)?,
    })
}

/// Scopes that the operator adds to each request are not the server's and not shown as its.
fn shown(granted: &ScopeSet, walk: &Walk) -> ScopeSet {
    let hidden = walk
        .declared
        .provider
        .extra_scopes
        .without(&walk.elicitation.value.scopes);
    granted.without(&hidden)
}

/// The account that a yes would replace, when it is another one than before.
async fn replaced(
    core: &Core,
    walk: &Walk,
    pending: &Pending,
    owner: &crate::sealing::DataKey,
) -> Result<Replaced, Refusal> {
    let facts = &walk.elicitation.value;
    let key = super::confirm::grant_key(facts, owner.user);
    let Some(before) = grants::by_key(core, &key)
        .await?
        .filter(|grant| is_in_use(&grant.value))
    else {
        return Ok(Replaced::Nothing);
    };
    let other = before.value.account.is_some()
        && pending.account.is_some()
        && before.value.account != pending.account;
    if !other {
        return Ok(Replaced::Nothing);
    }
    let name = match grants::raw(core, &grants::account_key(before.value.id)).await? {
        // A name that does not open (said so where it was opened) must not stand in the way of a new connection.
        Some(record) => core
            .open_account(owner, &before.value, record.value)
            .ok()
            .and_then(|name| name.0),
        None => None,
    };
    Ok(name.map_or(Replaced::Unnamed, Replaced::Named))
}

fn is_in_use(grant: &Grant) -> bool {
    matches!(
        grant.status,
        domain::GrantStatus::Active | domain::GrantStatus::NeedsReconnect
    )
}

async fn account_of(
    core: &Core,
    walk: &Walk,
    id: domain::GrantId,
) -> Result<Option<Box<str>>, Refusal> {
    let Some(owner) = people::existing(core, walk.owner.identity()).await? else {
        return Ok(None);
    };
    let key = super::confirm::grant_key(&walk.elicitation.value, owner.user);
    let Some(grant) = grants::by_key(core, &key)
        .await?
        .filter(|grant| grant.value.id == id)
    else {
        return Ok(None);
    };
    match grants::raw(core, &grants::account_key(id)).await? {
        Some(record) => Ok(core
            .open_account(&owner, &grant.value, record.value)
            .ok()
            .and_then(|name| name.0)),
        None => Ok(None),
    }
}

fn tokens(walk: &Walk, yes: FormAction) -> Result<crate::doors::Tokens, Refusal> {
    walk.tokens(yes).ok_or(Refusal::Internal)
}

/// What all pages for the right person say.
pub(crate) fn ask(ctx: Ctx, walk: &Walk) -> Result<AskView, Refusal> {
    let (facts, declared) = (&walk.elicitation.value, &walk.declared);
    let here = walk.signed_in.as_ref().ok_or(Refusal::Internal)?;
    let session = &here.open.session;
    let subject = session.identity.subject.values().next().unwrap_or_default();
    Ok(AskView {
        server: declared.server.clone(),
        provider: declared.provider.clone(),
        authorization_endpoint: declared
            .provider
            .oauth()
            .map(|oauth| match &oauth.endpoints {
                Endpoints::Pinned { authorization, .. } => authorization.as_str().into(),
                Endpoints::Discovered(issuer) => issuer.as_str().into(),
            }),
        issuer: declared.issuer.clone(),
        person: PersonView {
            name: session.name.clone(),
            login: session.login.clone().unwrap_or_else(|| subject.into()),
        },
        scopes: facts.scopes.clone(),
        client: facts.client.clone(),
        reason: facts.reason.clone(),
        locale: facts.locale.clone(),
        left: facts.expires.min(facts.hard_end()).left(ctx.now),
        reference: reference(ctx.request).into(),
    })
}
