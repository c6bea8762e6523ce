//! One browser's walk, loaded: the flow that its cookie opens, the elicitation behind it, and who is signed in.

use secret::RevealOwn as _;
use std::sync::Arc;

use crypto::LookupLabel;
use domain::{
    BrowserFlow, BrowserFlowId, Digest, Elicitation, ElicitationOwner, FormAction, FormProof,
    FormRefused, Issuer, Locale, Permitted, Provider, SamePerson, Server, Timestamp,
};
use secret::{BrowserCookie, SessionCookie};
use subtle::ConstantTimeEq as _;

use super::{credentials, elicit};
use crate::core::Core;
use crate::doors::{Cookies, Ctx, PostedForm, Refusal, Tokens, cookie_digits};
use crate::rows::{self, SessionRow, Stored};
use crate::sealing::OpenSession;

/// Everything a browser request about a flow is decided from.
pub(crate) struct Walk {
    /// The flow.
    pub(crate) flow: Stored<BrowserFlow>,
    /// Its elicitation.
    pub(crate) elicitation: Stored<Elicitation>,
    /// The person it was made for.
    pub(crate) owner: ElicitationOwner,
    /// Who is signed in in this browser.
    pub(crate) signed_in: Option<SignedInHere>,
    /// What was declared.
    pub(crate) declared: Declared,
}

/// A live session of this browser.
pub(crate) struct SignedInHere {
    /// Who, and the secret of the session's forms.
    pub(crate) open: OpenSession,
    /// Its row.
    pub(crate) row: Stored<SessionRow>,
}

/// What the operator declared of an elicitation's parties.
#[derive(Clone)]
pub(crate) struct Declared {
    /// The server.
    pub(crate) server: Arc<Server>,
    /// The provider.
    pub(crate) provider: Arc<Provider>,
    /// The issuer.
    pub(crate) issuer: Arc<Issuer>,
}

/// Loads a flow for the browser that holds its cookie; `None` for every other browser, and for flows that are not there.
pub(crate) async fn load(
    core: &Core,
    ctx: Ctx,
    id: BrowserFlowId,
    cookies: &Cookies,
) -> Result<Option<Walk>, Refusal> {
    let Some(flow) = flow(core, id).await? else {
        return Ok(None);
    };
    if flow.value.cookie_is_over(ctx.now) || !holds_cookie(core, &flow.value, cookies) {
        return Ok(None);
    }
    assemble(core, ctx, flow, cookies).await
}

/// The language that a flow's server asks for, for the browser that holds its cookie, whatever else holds or not: also a
/// page that says only that something ended is in the language of those before it.
pub(crate) async fn locale(
    core: &Core,
    id: BrowserFlowId,
    cookies: &Cookies,
) -> Result<Option<Locale>, Refusal> {
    let Some(flow) = flow(core, id).await? else {
        return Ok(None);
    };
    if !holds_cookie(core, &flow.value, cookies) {
        return Ok(None);
    }
    let elicitation = elicit::load(core, flow.value.elicitation).await?;
    Ok(elicitation.and_then(|row| row.value.locale))
}

/// The row of a flow.
pub(crate) async fn flow(
    core: &Core,
    id: BrowserFlowId,
) -> Result<Option<Stored<BrowserFlow>>, Refusal> {
    Ok(rows::load(&*core.store, &rows::keys::flow(id)).await?)
}

/// The flow that a cookie belongs to, by the digits in its name and by its value.
pub(crate) async fn of_cookie(
    core: &Core,
    digits: &str,
    cookie: &BrowserCookie,
) -> Result<Option<BrowserFlow>, Refusal> {
    let presented = core.lookup(crypto::LookupLabel::Browser, cookie.as_bytes());
    let Some(prefix) = digits_bytes(digits) else {
        return Ok(None);
    };
    let table = storage::Table::BrowserFlows;
    // Digits are drawn at random: more than one flow with the same ones is a rarity.
    let found = core.store.scan(table, &prefix, None, ALIKE).await?;
    for row in found {
        let flow: BrowserFlow = rows::parse(table, (&row.key, &row.body))?;
        if presented.0.ct_eq(&flow.cookie.0).into() {
            return Ok(Some(flow));
        }
    }
    Ok(None)
}

fn digits_bytes(digits: &str) -> Option<[u8; 4]> {
    u32::from_str_radix(digits, 16).ok().map(u32::to_be_bytes)
}

/// Flows looked at whose cookies have the same name.
const ALIKE: usize = 8;

/// Loads the rest of a flow, whoever's browser it is; the caller has looked at the cookie or is about to.
pub(crate) async fn assemble(
    core: &Core,
    ctx: Ctx,
    flow: Stored<BrowserFlow>,
    cookies: &Cookies,
) -> Result<Option<Walk>, Refusal> {
    let Some(elicitation) = elicit::load(core, flow.value.elicitation).await? else {
        return Ok(None);
    };
    let Some(declared) = standing(core, &elicitation.value).await? else {
        return Ok(None);
    };
    let owner = core.open_owner(&elicitation.value)?;
    let signed_in = session(core, ctx.now, cookies).await?;
    Ok(Some(Walk {
        flow,
        elicitation,
        owner,
        signed_in,
        declared,
    }))
}

/// The declared parties of an elicitation; `None` when the operator has taken one of them away since.
pub(crate) fn declared(core: &Core, facts: &Elicitation) -> Option<Declared> {
    let registry = &core.registry;
    Some(Declared {
        server: Arc::clone(registry.server(&facts.server)?),
        provider: Arc::clone(registry.provider(&facts.provider)?),
        issuer: Arc::clone(registry.issuer(&facts.issuer)?),
    })
}

/// The declared parties of an elicitation, as long as the operator lets its server go on: a server that is disabled, or no
/// longer allowed what the elicitation asks for, gets no further; the flow waits for the operator to change that back.
pub(crate) async fn standing(
    core: &Core,
    facts: &Elicitation,
) -> Result<Option<Declared>, Refusal> {
    let Some(declared) = declared(core, facts) else {
        return Ok(None);
    };
    let stands = Permitted::still(&declared.server, &facts.provider, &facts.scopes)
        && !credentials::is_disabled(core, &facts.server).await?;
    Ok(stands.then_some(declared))
}

/// Whether this browser holds the cookie of a flow; compared in constant time.
pub(crate) fn holds_cookie(core: &Core, flow: &BrowserFlow, cookies: &Cookies) -> bool {
    let digits = cookie_digits(flow.id);
    cookies
        .flows
        .iter()
        .filter(|(name, _)| **name == *digits)
        .any(|(_, cookie)| {
            let presented = core.lookup(crypto::LookupLabel::Browser, cookie.as_bytes());
            bool::from(presented.0.ct_eq(&flow.cookie.0))
        })
}

/// The live session of this browser, if there is one.
pub(crate) async fn session(
    core: &Core,
    now: Timestamp,
    cookies: &Cookies,
) -> Result<Option<SignedInHere>, Refusal> {
    signed_in(core, now, cookies.session.as_ref(), SESSION).await
}

/// The live session of a person's own page in this browser, if there is one. It lives as long as a session may be idle,
/// from its login on: what is ended there is ended soon after the person has signed in anew.
pub(crate) async fn own_session(
    core: &Core,
    now: Timestamp,
    cookies: &Cookies,
) -> Result<Option<SignedInHere>, Refusal> {
    signed_in(core, now, cookies.own_page.as_ref(), OWN_PAGE).await
}

/// The hashes of the two kinds of session cookies differ, so that one is worth nothing in the place of the other.
pub(crate) const SESSION: LookupLabel = LookupLabel::Session;
/// Likewise.
pub(crate) const OWN_PAGE: LookupLabel = LookupLabel::OwnPage;

async fn signed_in(
    core: &Core,
    now: Timestamp,
    cookie: Option<&SessionCookie>,
    kind: LookupLabel,
) -> Result<Option<SignedInHere>, Refusal> {
    let Some(cookie) = cookie else {
        return Ok(None);
    };
    let id: Digest = core.lookup(kind, cookie.as_bytes());
    let Some(row) = rows::load::<SessionRow>(&*core.store, &rows::keys::session(&id)).await? else {
        return Ok(None);
    };
    if row.value.is_idle(now) {
        return Ok(None);
    }
    let open = core.open_session(&row.value.tenant, id, &row.value.sealed)?;
    let is_over = open.session.is_over(now);
    Ok((!is_over).then_some(SignedInHere { open, row }))
}

impl Walk {
    /// C6, for whoever is signed in. `None`: nobody is.
    pub(crate) fn person(&self) -> Option<Result<SamePerson, domain::WrongPerson>> {
        self.signed_in
            .as_ref()
            .map(|here| SamePerson::check(&here.open.session, &self.owner))
    }

    /// C7: whether a posted form is this page's own, for this deed, in this session and flow.
    pub(crate) fn form(
        &self,
        action: FormAction,
        form: &PostedForm,
    ) -> Result<FormProof, FormRefused> {
        let fits = self.signed_in.as_ref().is_some_and(|here| {
            crypto::csrf_verify(&here.open.csrf, &csrf_form(&self.flow, action), &form.csrf)
        });
        FormProof::check(action, form.same_origin, fits)
    }

    /// Tokens of this page's forms; `yes` is the deed of its accept button.
    pub(crate) fn tokens(&self, yes: FormAction) -> Option<Tokens> {
        let here = self.signed_in.as_ref()?;
        let token = |action| {
            Box::from(crypto::csrf_token(&here.open.csrf, &csrf_form(&self.flow, action)).as_str())
        };
        Some(Tokens {
            yes: token(yes),
            no: token(FormAction::Decline),
            again: token(FormAction::Again),
            sign_out: token(FormAction::SignOut),
        })
    }
}

/// What a form of a flow is bound to. The flow row's revision makes a token useless once its page has been acted on; except
/// going on to sign in, which may be done from every tab that shows it, also after somebody signed in in another.
pub(crate) fn csrf_form(flow: &Stored<BrowserFlow>, action: FormAction) -> crypto::CsrfForm<'_> {
    crypto::CsrfForm {
        flow: flow.value.id.as_bytes(),
        action: action.as_str(),
        version: match action {
            FormAction::Login => 0,
            _ => flow.revision.0,
        },
    }
}
