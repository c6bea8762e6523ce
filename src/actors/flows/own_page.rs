//! A person's own page: what they have connected and what waits for them. Looks, and changes nothing.
//!
//! Everything is found by the keyed pseudonym of whoever is signed in, and compared with it once more in each row, so that
//! rows that were put elsewhere on the disk show nobody anything of another.

use std::ops::ControlFlow;
use std::sync::Arc;

use domain::{
    BrowserSession, Elicitation, ElicitationId, FormAction, Grant, GrantStatus, Pseudonym, Server,
};
use storage::Table;

use super::walk::{self, SignedInHere};
use super::{elicit, grants, people};
use crate::core::Core;
use crate::doors::{
    ConnectionView, Cookies, Ctx, OwnPage, OwnView, PersonView, Refusal, WaitingView,
};
use crate::rows::{self, LiveList, UserRow};
use crate::uses;

/// The page.
pub(crate) async fn page(core: &Core, ctx: Ctx, cookies: &Cookies) -> Result<OwnPage, Refusal> {
    let Some(here) = walk::own_session(core, ctx.now, cookies).await? else {
        return Ok(OwnPage::SignedOut {
            issuers: core.registry.issuers().map(Arc::clone).collect(),
        });
    };
    let session = &here.open.session;
    let subject = session.identity.subject.values().next().unwrap_or_default();
    Ok(OwnPage::SignedIn(Box::new(OwnView {
        person: PersonView {
            name: session.name.clone(),
            login: session.login.clone().unwrap_or_else(|| subject.into()),
        },
        waiting: waiting(core, ctx, &here).await?,
        connections: connections(core, &here).await?,
        sign_out: token(&here, &NOTHING, FormAction::SignOut),
    })))
}

/// What a form is about that is about nothing but the session.
pub(crate) const NOTHING: [u8; 16] = [0; 16];

/// The token of a form about a thing, in this session. Without the row's revision: a connection is refreshed while its person
/// looks at it, and ending it twice is ending it once.
pub(crate) fn form_of(about: &[u8; 16], action: FormAction) -> crypto::CsrfForm<'_> {
    crypto::CsrfForm {
        flow: about,
        action: action.as_str(),
        version: 0,
    }
}

fn token(here: &SignedInHere, about: &[u8; 16], action: FormAction) -> Box<str> {
    crypto::csrf_token(&here.open.csrf, &form_of(about, action))
        .as_str()
        .into()
}

async fn connections(core: &Core, here: &SignedInHere) -> Result<Vec<ConnectionView>, Refusal> {
    let identity = &here.open.session.identity;
    let pseudonym = core.pseudonym(identity);
    let Some(user) = people::find(core, &pseudonym).await? else {
        return Ok(Vec::new());
    };
    let prefix = rows::keys::person_grants_prefix(&identity.tenant, user.value.id);
    let mut found = Vec::new();
    rows::each(&*core.store, (Table::Grants, &prefix), |_, grant: Grant| {
        if is_shown(&grant, &pseudonym) {
            found.push(grant);
        }
        ControlFlow::Continue(())
    })
    .await?;
    let mut views = Vec::with_capacity(found.len());
    for grant in found {
        views.push(connection(core, here, (&user.value, grant)).await?);
    }
    Ok(views)
}

fn is_shown(grant: &Grant, owner: &Pseudonym) -> bool {
    let in_use = matches!(
        grant.status,
        GrantStatus::Active | GrantStatus::NeedsReconnect
    );
    in_use && grant.pseudonym == *owner
}

async fn connection(
    core: &Core,
    here: &SignedInHere,
    (user, grant): (&UserRow, Grant),
) -> Result<ConnectionView, Refusal> {
    let record = grants::raw(core, &grants::account_key(grant.id)).await?;
    let account = record.and_then(|record| {
        // What does not open was said where it was tried, and must not stand in the way of ending it.
        let owner = core.data_key(user, &here.open.session.identity).ok()?;
        core.open_account(&owner, &grant, record.value).ok()?.0
    });
    Ok(ConnectionView {
        id: grant.id,
        account,
        status: grant.status,
        holds: grant.holds,
        created: grant.created,
        last_use: uses::last(core, grant.id).await?,
        end: token(here, grant.id.as_bytes(), FormAction::End),
        server: (
            grant.server.clone(),
            core.registry.server(&grant.server).map(Arc::clone),
        ),
        provider: (
            grant.provider.clone(),
            core.registry.provider(&grant.provider).map(Arc::clone),
        ),
        scopes: grant.scopes,
    })
}

async fn waiting(core: &Core, ctx: Ctx, here: &SignedInHere) -> Result<Vec<WaitingView>, Refusal> {
    let session = &here.open.session;
    let identity = &session.identity;
    let asks = |server: &&Arc<Server>| {
        server.tenant == identity.tenant && server.issuer == identity.issuer
    };
    let mut views = Vec::new();
    for server in core.registry.servers().filter(asks) {
        let at = rows::keys::live(&identity.tenant, &server.slug, &core.pseudonym(identity));
        let Some(list) = rows::load::<LiveList>(&*core.store, &at).await? else {
            continue;
        };
        for one in list.value.elicitations {
            views.extend(waits(core, ctx, here, one.id).await?);
        }
    }
    Ok(views)
}

async fn waits(
    core: &Core,
    ctx: Ctx,
    here: &SignedInHere,
    id: ElicitationId,
) -> Result<Option<WaitingView>, Refusal> {
    let Some(row) = elicit::load(core, id).await? else {
        return Ok(None);
    };
    let facts = row.value;
    if facts.is_over(ctx.now) || !is_theirs(core, &facts, &here.open.session)? {
        return Ok(None);
    }
    let Some(declared) = walk::declared(core, &facts) else {
        return Ok(None);
    };
    Ok(Some(WaitingView {
        id,
        server: declared.server,
        provider: declared.provider,
        left: facts.expires.min(facts.hard_end()).left(ctx.now),
        decline: token(here, id.as_bytes(), FormAction::DeclineWaiting),
    }))
}

/// Whether an elicitation was made for whoever is signed in, by the row and by the identity sealed in it.
pub(crate) fn is_theirs(
    core: &Core,
    facts: &Elicitation,
    session: &BrowserSession,
) -> Result<bool, Refusal> {
    let named = facts.pseudonym == core.pseudonym(&session.identity);
    Ok(named && *core.open_owner(facts)?.identity() == session.identity)
}
