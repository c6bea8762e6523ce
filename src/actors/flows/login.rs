//! F3: the person signs in at the issuer, and a session begins (C5).
//!
//! Nothing is stored for a visitor who has not signed in: what the login needs to remember travels in one sealed cookie.

use std::sync::Arc;

use domain::{
    AuditAbout, AuditAction, AuditClass, BrowserFlowId, BrowserSession, CallbackAnswer,
    CallbackParams, Elicitation, FormAction, FormProof, Issuer, LoginExpectation, LoginRefused,
    Principal, SamePerson, Timestamp, VerifiedLogin,
};
use secret::{CsrfSecret, Nonce, OauthState, PkceVerifier, RevealOwn as _, SessionCookie};
use storage::StoreError;
use upstream::{LoginCode, LoginRequest, code_challenge};

use super::audit_trail::{about_elicitation, event};
use super::walk::{self, csrf_form};
use super::{elicit, mismatch};
use crate::core::{Core, Stepped, retrying};
use crate::desk::Desks;
use crate::doors::{
    Cookies, Ctx, LoginFailed, LoginLeaving, LoginStarted, Onward, PostedForm, Refusal, SignedIn,
    reference,
};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Due, SessionRow, expiry_row};
use crate::sealing::{PreLogin, SessionSecrets};

/// Life of the pre-login cookie; its end less this is when the login began.
const PRE_LOGIN: std::time::Duration = std::time::Duration::from_secs(10 * 60);

/// Starts a login.
pub(crate) async fn start(
    core: &Core,
    ctx: Ctx,
    flow: BrowserFlowId,
    cookies: &Cookies,
    form: &PostedForm,
) -> Result<Option<LoginStarted>, Refusal> {
    let Some(walk) = walk::load(core, ctx, flow, cookies).await? else {
        return Ok(None);
    };
    if walk.elicitation.value.is_over(ctx.now) {
        return Ok(None);
    }
    let secret = core.open_flow_secret(
        &walk.elicitation.value.tenant,
        flow,
        &walk.flow.value.secret,
    )?;
    let fits = crypto::csrf_verify(
        &secret,
        &csrf_form(&walk.flow, FormAction::Login),
        &form.csrf,
    );
    if let Err(refused) = FormProof::check(FormAction::Login, form.same_origin, fits) {
        let about = about_elicitation(&walk.elicitation.value);
        let what = (AuditClass::Browser, AuditAction::FormRefused);
        core.audited_as(ctx, what, form_code(refused), (Principal::Nobody, about))
            .await?;
        return Ok(None);
    }
    let fresh = walk.flow.value.signed_out || walk.elicitation.value.mismatches > 0;
    let pre = pre_login_for(core, ctx.now, (Onward::Flow(flow), fresh));
    let cookie = core.seal_pre_login(&walk.declared.issuer, &pre)?;
    Ok(Some(LoginStarted {
        cookie: cookie.into(),
    }))
}

/// What the pre-login cookie of a new login remembers; `fresh`: the person has to sign in anew.
pub(crate) fn pre_login_for(
    core: &Core,
    now: Timestamp,
    (onward, fresh): (Onward, bool),
) -> PreLogin {
    PreLogin {
        onward,
        state: OauthState::generate(&*core.entropy),
        nonce: Nonce::new(
            OauthState::generate(&*core.entropy)
                .to_text()
                .as_str()
                .to_owned(),
        ),
        verifier: new_verifier(core),
        expires: now.plus(PRE_LOGIN),
        fresh,
    }
}

/// A fresh PKCE verifier: 43 characters of 32 random bytes (RFC 7636 section 4.1).
pub(crate) fn new_verifier(core: &Core) -> PkceVerifier {
    PkceVerifier::new(
        OauthState::generate(&*core.entropy)
            .to_text()
            .as_str()
            .to_owned(),
    )
}

/// What a refused form is called in the audit log.
pub(crate) const fn form_code(refused: domain::FormRefused) -> &'static str {
    match refused {
        domain::FormRefused::Origin => "other-origin",
        domain::FormRefused::Token => "form-token",
    }
}

/// Where a started login goes.
pub(crate) async fn leaving(
    core: &Core,
    ctx: Ctx,
    cookies: &Cookies,
) -> Result<Option<Result<LoginLeaving, LoginFailed>>, Refusal> {
    let Some((issuer, pre)) = pre_login(core, cookies, ctx.now) else {
        return Ok(None);
    };
    let (state, challenge) = (pre.state.to_text(), code_challenge(&pre.verifier));
    let request = LoginRequest {
        state: &state,
        nonce: &pre.nonce,
        code_challenge: &challenge,
        fresh: pre.fresh,
    };
    match core.upstream.login_url(&issuer, &request, ctx.now).await {
        Ok(url) => Ok(Some(Ok(LoginLeaving {
            issuer,
            url,
            onward: pre.onward,
        }))),
        Err(reason) => Ok(Some(Err(failed(
            core,
            ctx,
            &issuer,
            reason,
            Some(pre.onward),
        )
        .await?))),
    }
}

fn pre_login(core: &Core, cookies: &Cookies, now: Timestamp) -> Option<(Arc<Issuer>, PreLogin)> {
    let found = core.open_pre_login(cookies.pre_login.as_deref()?)?;
    (!found.1.expires.passed(now)).then_some(found)
}

/// C5: the issuer's answer.
pub(crate) async fn finish(
    core: &Core,
    (desks, watchers): (&Desks, &Elicitations),
    ctx: Ctx,
    (path_issuer, query): (&str, &str),
    (top_level, cookies): (bool, &Cookies),
) -> Result<Result<SignedIn, LoginFailed>, Refusal> {
    let Some((issuer, pre)) = cookies
        .pre_login
        .as_deref()
        .and_then(|text| core.open_pre_login(text))
    else {
        return Ok(Err(nobody(core, ctx, LoginRefused::NotStartedHere).await?));
    };
    let onward = Some(pre.onward);
    let login = match verify(
        core,
        desks,
        ctx,
        (&issuer, &pre),
        (path_issuer, query, top_level),
    )
    .await?
    {
        Ok(login) => login,
        Err(reason) => return Ok(Err(failed(core, ctx, &issuer, reason, onward).await?)),
    };
    let cookie = retrying(|| begin_session(core, ctx, (&login, pre.onward), cookies)).await?;
    if let Onward::Flow(flow) = pre.onward
        && let Some(elicitation) = retrying(|| compare(core, ctx, flow, &login)).await?
    {
        watchers.changed(elicitation);
    }
    Ok(Ok(SignedIn {
        cookie,
        onward: pre.onward,
    }))
}

/// Believes nothing before `state` and `iss` fit; then `state` is spent, whatever comes of the rest, and only then is
/// anything sent to the issuer. Whose login failed starts another one.
async fn verify(
    core: &Core,
    desks: &Desks,
    ctx: Ctx,
    (issuer, pre): (&Arc<Issuer>, &PreLogin),
    (path_issuer, query, top_level): (&str, &str, bool),
) -> Result<Result<VerifiedLogin, LoginRefused>, Refusal> {
    let Ok(params) = CallbackParams::parse(query, top_level) else {
        return Ok(Err(LoginRefused::WrongAnswer));
    };
    let expectation = LoginExpectation {
        state: pre.state.as_bytes(),
        expires: pre.expires,
        issuer: issuer.slug.as_str(),
        anew_since: pre.fresh.then(|| pre.expires.minus(PRE_LOGIN)),
    };
    let presented = OauthState::parse(&params.state);
    let bytes = presented.as_ref().map_or(&[][..], |state| state.as_bytes());
    let answer = match expectation.matches(bytes, path_issuer, ctx.now) {
        Ok(answer) => answer,
        Err(refused) => return Ok(Err(refused)),
    };
    match core.upstream.issuer_iss_rule(issuer, ctx.now).await {
        Ok(rule) if !rule.fits(params.iss.as_deref()) => return Ok(Err(LoginRefused::WrongAnswer)),
        Ok(_) => {}
        Err(refused) => return Ok(Err(refused)),
    }
    // Before `state` is spent: whoever finds the desk full may come back with the same answer.
    let _permit = desks.issuer(&issuer.slug).await?;
    if !spend(core, pre).await? {
        return Ok(Err(LoginRefused::WrongAnswer));
    }
    let code = match params.answer {
        CallbackAnswer::Code(code) => code,
        CallbackAnswer::Error(_) => return Ok(Err(LoginRefused::Refused)),
    };
    let code = LoginCode {
        code,
        nonce: &pre.nonce,
        verifier: &pre.verifier,
    };
    Ok(core
        .upstream
        .finish_login(&answer, issuer, code, ctx.now)
        .await)
}

/// Remembers that the `state` of this login was answered; an answer counts once. `false`: it was answered before.
async fn spend(core: &Core, pre: &PreLogin) -> Result<bool, Refusal> {
    let used = core.lookup(crypto::LookupLabel::State, pre.state.as_bytes());
    let mut changes = Changes::default();
    changes.create(rows::keys::used_login(&used), &pre.expires);
    changes.create(expiry_row(pre.expires, &Due::UsedLogin(used)), &());
    match changes.commit(&*core.store).await {
        Ok(()) => Ok(true),
        Err(StoreError::Conflict { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Begins a fresh session; one try.
async fn begin_session(
    core: &Core,
    ctx: Ctx,
    (login, onward): (&VerifiedLogin, Onward),
    cookies: &Cookies,
) -> Result<SessionCookie, Stepped> {
    let cookie = SessionCookie::generate(&*core.entropy);
    let (kind, before) = match onward {
        Onward::Flow(_) => (walk::SESSION, walk::session(core, ctx.now, cookies).await?),
        Onward::OwnPage => (
            walk::OWN_PAGE,
            walk::own_session(core, ctx.now, cookies).await?,
        ),
    };
    let id = core.lookup(kind, cookie.as_bytes());
    let session = BrowserSession::begin(login, id);
    let csrf = CsrfSecret::generate(&*core.entropy);
    let sealed = core.seal_session(&SessionSecrets {
        session: &session,
        csrf: &csrf,
    })?;
    let row = SessionRow {
        tenant: session.identity.tenant.clone(),
        sealed,
        used: ctx.now,
    };
    let mut changes = Changes::default();
    if let Some(before) = before {
        // Whoever was signed in in this browser before is so no longer.
        changes.delete(
            rows::keys::session(&before.open.session.id),
            before.row.revision,
        );
    }
    changes.create(rows::keys::session(&id), &row);
    changes.create(
        expiry_row(ctx.now.plus(BrowserSession::LIFE), &Due::Session(id)),
        &(),
    );
    let about = AuditAbout {
        tenant: Some(session.identity.tenant.clone()),
        ..AuditAbout::default()
    };
    let what = (AuditClass::Browser, AuditAction::SignedIn);
    let entry = event(what, core.by_person(Some(&session)), about);
    // "Again" means that another tab has just used the session that ends here.
    core.commit_audited(ctx, changes, entry).await?;
    Ok(cookie)
}

/// C6 right after the login: the elicitation moves on for the right person and counts a wrong one.
async fn compare(
    core: &Core,
    ctx: Ctx,
    flow: BrowserFlowId,
    login: &VerifiedLogin,
) -> Result<Option<domain::ElicitationId>, Stepped> {
    let Some(flow) = walk::flow(core, flow).await? else {
        return Ok(None);
    };
    let Some(row) = elicit::load(core, flow.value.elicitation).await? else {
        return Ok(None);
    };
    let Ok(live) = row.value.clone().live(ctx.now) else {
        return Ok(None);
    };
    let owner = core.open_owner(&row.value)?;
    let session = BrowserSession::begin(login, domain::Digest([0; 32]));
    let person = SamePerson::check(&session, &owner);
    let changed: Elicitation = match &person {
        Ok(same) => live
            .signed_in(same, ctx.now)
            .map_err(|_| Refusal::Internal)?,
        Err(_) => live.mismatched(),
    };
    let mut changes = Changes::default();
    if changed != row.value {
        changes.put(rows::keys::elicitation(changed.id), row.revision, &changed);
    }
    let mut walked = flow.value;
    walked.step(ctx.now);
    walked.owned |= person.is_ok();
    changes.put(rows::keys::flow(walked.id), flow.revision, &walked);
    if person.is_ok() {
        changes.commit(&*core.store).await?;
        return Ok(Some(changed.id));
    }
    mismatch::commit(core, ctx, changes, (&changed, &session)).await?;
    Ok(Some(changed.id))
}

async fn failed(
    core: &Core,
    ctx: Ctx,
    issuer: &Issuer,
    reason: LoginRefused,
    onward: Option<Onward>,
) -> Result<LoginFailed, Refusal> {
    let about = AuditAbout {
        tenant: Some(issuer.tenant.clone()),
        ..AuditAbout::default()
    };
    let what = (AuditClass::Browser, AuditAction::LoginRefused);
    core.audited_as(ctx, what, login_code(reason), (Principal::Nobody, about))
        .await?;
    Ok(LoginFailed {
        reason,
        reference: reference(ctx.request).into(),
        onward,
    })
}

async fn nobody(core: &Core, ctx: Ctx, reason: LoginRefused) -> Result<LoginFailed, Refusal> {
    let what = (AuditClass::Browser, AuditAction::LoginRefused);
    core.audited_as(
        ctx,
        what,
        login_code(reason),
        (Principal::Nobody, AuditAbout::default()),
    )
    .await?;
    Ok(LoginFailed {
        reason,
        reference: reference(ctx.request).into(),
        onward: None,
    })
}

const fn login_code(reason: LoginRefused) -> &'static str {
    match reason {
        LoginRefused::NotStartedHere => "not-started-here",
        LoginRefused::WrongAnswer => "wrong-answer",
        LoginRefused::Refused => "refused",
        LoginRefused::IdToken => "id-token",
        LoginRefused::Unreachable => "unreachable",
        LoginRefused::Misconfigured => "misconfigured",
    }
}
