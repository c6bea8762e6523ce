//! F2: a connect link is opened. It makes a browser flow and a cookie, counts a wrong person, and does nothing else.

use domain::{
    AuditAction, AuditClass, AuditEvent, BrowserFlow, BrowserFlowId, Digest, Elicitation,
    ElicitationId, SamePerson, Stage,
};
use secret::{BrowserCookie, ConnectTicket, CsrfSecret};

use super::audit_trail::about_elicitation;
use super::{elicit, walk};
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
    let known = already_walking(core, &facts, cookies).await?;
    let mut changes = Changes::default();
    let (facts, opened) = match known {
        Some(flow) => (facts, Opened { flow, cookie: None }),
        None if facts.is_final() => (
            facts,
            Opened {
                flow: BrowserFlowId::from_bytes(core.id_bytes()),
                cookie: None,
            },
        ),
        None => new_flow(core, ctx, facts, &mut changes).await?,
    };
    if facts != row.value {
        changes.put(rows::keys::elicitation(id), row.revision, &facts);
    }
    let by = core.by_person(here.as_ref().map(|here| &here.open.session));
    let mut about = about_elicitation(&facts);
    let (action, outcome) = match &person {
        Some(Err(_)) => {
            about.other_user = here
                .as_ref()
                .map(|here| core.pseudonym(&here.open.session.identity).short().into());
            (AuditAction::IdentityMismatch, "other-person")
        }
        _ => (AuditAction::LinkOpened, "ok"),
    };
    let entry = AuditEvent {
        class: AuditClass::Browser,
        action,
        outcome,
        principal: by,
        about,
    };
    core.commit_audited(ctx, changes, entry).await?;
    Ok(if facts.is_final() { None } else { Some(opened) })
}

/// A flow of this elicitation whose cookie this browser holds already: opening the link twice makes nothing new.
async fn already_walking(
    core: &Core,
    facts: &Elicitation,
    cookies: &Cookies,
) -> Result<Option<BrowserFlowId>, Refusal> {
    for id in &facts.flows {
        let flow = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(*id)).await?;
        if flow.is_some_and(|flow| {
            !flow.value.is_over() && walk::holds_cookie(core, &flow.value, cookies)
        }) {
            return Ok(Some(*id));
        }
    }
    Ok(None)
}

async fn new_flow(
    core: &Core,
    ctx: Ctx,
    facts: Elicitation,
    changes: &mut Changes,
) -> Result<(Elicitation, Opened), Refusal> {
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
        stage: Stage::Arrived,
    };
    changes.create(rows::keys::flow(id), &flow);
    let (facts, evicted) = add_flow(core, facts, id).await?;
    if let Some(Stored { value, revision }) = evicted {
        changes.delete(rows::keys::flow(value.id), revision);
    }
    Ok((
        facts,
        Opened {
            flow: id,
            cookie: Some(cookie),
        },
    ))
}

/// Adds a flow; when there are too many, the oldest that has not yet been consented to makes room, so that previews and
/// second tabs never push out somebody who is at the provider.
async fn add_flow(
    core: &Core,
    mut facts: Elicitation,
    id: BrowserFlowId,
) -> Result<(Elicitation, Option<Stored<BrowserFlow>>), Refusal> {
    facts.flows.push(id);
    if facts.flows.len() <= Elicitation::MAX_FLOWS {
        return Ok((facts, None));
    }
    for (place, old) in facts.flows.clone().into_iter().enumerate() {
        match rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(old)).await? {
            None if old != id => {
                facts.flows.remove(place);
                return Ok((facts, None));
            }
            Some(flow) if matches!(flow.value.stage, Stage::Arrived | Stage::Failed { .. }) => {
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
