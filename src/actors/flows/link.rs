//! F2: a connect link is opened. It makes a browser flow and a cookie, counts a wrong person, and does nothing else.

use domain::{
    AuditAction, AuditClass, BrowserFlow, BrowserFlowId, Digest, Elicitation, ElicitationId,
    SamePerson, Stage, Timestamp,
};
use secret::{BrowserCookie, ConnectTicket, CsrfSecret, RevealOwn as _};

use super::audit_trail::{about_elicitation, event};
use super::{elicit, mismatch, walk};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Cookies, Ctx, Opened, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};
use crate::sealing::FLOW_SECRET;

/// Opens a link. `None`: no longer valid, or never was.
pub(crate) async fn open(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    ticket: &ConnectTicket,
    cookies: &Cookies,
) -> Result<Option<Opened>, Refusal> {
    let hash = core.lookup(crypto::LookupLabel::Ticket, ticket.as_bytes());
    let Some(id) = rows::load::<ElicitationId>(&*core.store, &rows::keys::ticket(&hash)).await?
    else {
        return Ok(None);
    };
    let opened = retrying(|| step(core, ctx, (id.value, &hash), cookies)).await?;
    // Also when it was refused: the third wrong person ends the elicitation, and its server may be waiting for that.
    watchers.changed(id.value);
    Ok(opened)
}

async fn step(
    core: &Core,
    ctx: Ctx,
    (id, ticket): (ElicitationId, &Digest),
    cookies: &Cookies,
) -> Result<Option<Opened>, Stepped> {
    let Some(row) = elicit::load(core, id).await? else {
        return Ok(None);
    };
    if row.value.ticket != *ticket {
        tracing::error!(elicitation.id = %id, "a ticket leads to an elicitation that has another one");
        return Err(Refusal::Internal.into());
    }
    let Ok(live) = row.value.clone().live(ctx.now) else {
        return Ok(None);
    };
    if walk::standing(core, &row.value).await?.is_none() {
        return Ok(None);
    }
    let owner = core.open_owner(&row.value)?;
    let here = walk::session(core, ctx.now, cookies).await?;
    let person = here
        .as_ref()
        .map(|here| SamePerson::check(&here.open.session, &owner));
    let facts = match &person {
        Some(Err(_)) => live.mismatched(),
        Some(Ok(same)) => live
            .signed_in(same, ctx.now)
            .map_err(|_| Refusal::Internal)?,
        None => row.value.clone(),
    };
    let owned = matches!(person, Some(Ok(_)));
    let session = here.as_ref().map(|here| &here.open.session);
    let wrong = session.filter(|_| matches!(person, Some(Err(_))));
    let known = already_walking(core, ctx.now, &facts, cookies).await?;
    let mut changes = Changes::default();
    let (facts, opened) = match known {
        Some(flow) => {
            let opened = go_on(flow, (owned, &facts), &mut changes);
            (facts, Some(opened))
        }
        None if facts.is_final() => (facts, None),
        None => {
            let made = match room_in_browser(core, ctx.now, cookies, owned).await? {
                Some(forget) => new_flow(core, ctx, (facts.clone(), owned), &mut changes)
                    .await
                    .map(|made| Some((forget, made))),
                None => Ok(None),
            };
            let Ok(Some((forget, (facts, (flow, cookie))))) = made else {
                // There is no room for another walk; a wrong person is counted all the same.
                if let Some(session) = wrong {
                    let mut changes = Changes::default();
                    changes.put(rows::keys::elicitation(id), row.revision, &facts);
                    mismatch::commit(core, ctx, changes, (&facts, session)).await?;
                }
                made?;
                return Ok(Some(Opened::Crowded));
            };
            let opened = opened((flow, Some(cookie)), forget, &facts);
            (facts, Some(opened))
        }
    };
    if facts != row.value {
        changes.put(rows::keys::elicitation(id), row.revision, &facts);
    }
    if let Some(session) = wrong {
        mismatch::commit(core, ctx, changes, (&facts, session)).await?;
    } else {
        let what = (AuditClass::Browser, AuditAction::LinkOpened);
        let entry = event(what, core.by_person(session), about_elicitation(&facts));
        core.commit_audited(ctx, changes, entry).await?;
    }
    Ok(opened.filter(|_| !facts.is_final()))
}

/// The flow that this browser walks already. From now on it is the owner's, if that is who is here.
fn go_on(
    flow: Stored<BrowserFlow>,
    (owned, facts): (bool, &Elicitation),
    changes: &mut Changes,
) -> Opened {
    let id = flow.value.id;
    if owned && !flow.value.owned {
        let mut value = flow.value;
        value.owned = true;
        changes.put(rows::keys::flow(id), flow.revision, &value);
    }
    opened((id, None), Vec::new(), facts)
}

fn opened(
    (flow, cookie): (BrowserFlowId, Option<BrowserCookie>),
    forget: Vec<Box<str>>,
    facts: &Elicitation,
) -> Opened {
    Opened::Flow {
        flow,
        cookie,
        forget,
        locale: facts.locale.clone(),
    }
}

/// Digits of the cookies that make room for one more in this browser; `None` when all of them are needed. A link that
/// somebody else sends must not end what a person is in the middle of.
async fn room_in_browser(
    core: &Core,
    now: Timestamp,
    cookies: &Cookies,
    owned: bool,
) -> Result<Option<Vec<Box<str>>>, Refusal> {
    let surplus = (cookies.flows.len() + 1).saturating_sub(BrowserFlow::MAX_IN_BROWSER);
    let mut forget = Vec::new();
    for (digits, cookie) in &cookies.flows {
        if forget.len() == surplus {
            break;
        }
        let needed = match walk::of_cookie(core, digits, cookie).await? {
            Some(flow) => !flow.cookie_is_over(now) && !flow.gives_way(now, owned),
            None => false,
        };
        if !needed {
            forget.push(digits.clone());
        }
    }
    Ok((forget.len() == surplus).then_some(forget))
}

/// A flow of this elicitation whose cookie this browser holds already: opening the link twice makes nothing new.
async fn already_walking(
    core: &Core,
    now: Timestamp,
    facts: &Elicitation,
    cookies: &Cookies,
) -> Result<Option<Stored<BrowserFlow>>, Refusal> {
    for id in &facts.flows {
        let Some(flow) = walk::flow(core, *id).await? else {
            continue;
        };
        let over = flow.value.is_over() || flow.value.cookie_is_over(now);
        if !over && walk::holds_cookie(core, &flow.value, cookies) {
            return Ok(Some(flow));
        }
    }
    Ok(None)
}

async fn new_flow(
    core: &Core,
    ctx: Ctx,
    (facts, owned): (Elicitation, bool),
    changes: &mut Changes,
) -> Result<(Elicitation, (BrowserFlowId, BrowserCookie)), Refusal> {
    let id = BrowserFlowId::from_bytes(core.id_bytes());
    let cookie = BrowserCookie::generate(&*core.entropy);
    let secret = CsrfSecret::generate(&*core.entropy);
    let flow = BrowserFlow {
        id,
        elicitation: facts.id,
        cookie: core.lookup(crypto::LookupLabel::Browser, cookie.as_bytes()),
        secret: core.seal_flow_word(&facts.tenant, FLOW_SECRET, id, secret.as_bytes())?,
        created: ctx.now,
        signed_out: false,
        stepped: None,
        owned,
        stage: Stage::Arrived,
    };
    changes.create(rows::keys::flow(id), &flow);
    let (facts, evicted) = add_flow(core, ctx.now, (facts, owned), id).await?;
    if let Some(Stored { value, revision }) = evicted {
        changes.delete(rows::keys::flow(value.id), revision);
    }
    Ok((facts, (id, cookie)))
}

/// Adds a flow; when there are too many, the oldest that gives way makes room, so that previews, second tabs and whoever
/// got hold of the link never push out its owner, nor anybody who is at the provider.
async fn add_flow(
    core: &Core,
    now: Timestamp,
    (mut facts, owned): (Elicitation, bool),
    id: BrowserFlowId,
) -> Result<(Elicitation, Option<Stored<BrowserFlow>>), Refusal> {
    facts.flows.push(id);
    if facts.flows.len() <= Elicitation::MAX_FLOWS {
        return Ok((facts, None));
    }
    for (place, old) in facts.flows.clone().into_iter().enumerate() {
        match walk::flow(core, old).await? {
            None if old != id => {
                facts.flows.remove(place);
                return Ok((facts, None));
            }
            Some(flow) if flow.value.gives_way(now, owned) => {
                facts.flows.remove(place);
                return Ok((facts, Some(flow)));
            }
            _ => {}
        }
    }
    Err(Refusal::Busy {
        retry_after: std::time::Duration::from_secs(60),
    })
}
