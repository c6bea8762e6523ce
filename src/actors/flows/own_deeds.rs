//! What a person does on their own page: sign in and out, end a connection, say no to a request that waits.
//!
//! Each form is believed from our own page alone, in the session that it was drawn for and for the one thing that it names
//! (C7); whose that thing is, its row says.

use std::sync::Arc;

use domain::{
    AuditAbout, AuditAction, AuditClass, ElicitationId, FormAction, FormProof, FormRefused, Grant,
    GrantId, Principal, SamePerson,
};

use super::audit_trail::{about_elicitation, about_grant, event};
use super::own_page::{NOTHING, form_of, is_theirs};
use super::walk::{self, SignedInHere};
use super::{elicit, grants, login, people};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Cookies, Ctx, EndedView, LoginStarted, Onward, OwnPosted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};

/// Starts the login of a person's own page. It changes nothing for anybody: the cookie binds the answer to this browser, and
/// the person signs in anew, so that whoever is at the keyboard says who they are. No form token: nobody is known yet.
pub(crate) async fn start_login(
    core: &Core,
    ctx: Ctx,
    issuer: &str,
    form: &PostedForm,
) -> Result<Option<LoginStarted>, Refusal> {
    if let Err(refused) = FormProof::check(FormAction::Login, form.same_origin, true) {
        let what = (AuditClass::Browser, AuditAction::FormRefused);
        let who = (Principal::Nobody, AuditAbout::default());
        core.audited_as(ctx, what, login::form_code(refused), who)
            .await?;
        return Ok(None);
    }
    let slug = issuer.parse().ok();
    let Some(issuer) = slug.and_then(|slug| core.registry.issuer(&slug)) else {
        return Ok(None);
    };
    let pre = login::pre_login_for(core, ctx.now, (Onward::OwnPage, true));
    let cookie = core.seal_pre_login(issuer, &pre)?;
    Ok(Some(LoginStarted {
        cookie: cookie.into(),
    }))
}

/// Whose form it is.
enum Admitted<T> {
    /// That of whoever is signed in.
    Yes(Box<SignedInHere>),
    /// Answer this.
    No(OwnPosted<T>),
}

async fn admit<T>(
    core: &Core,
    ctx: Ctx,
    (about, cookies): (&[u8; 16], &Cookies),
    (action, form): (FormAction, &PostedForm),
) -> Result<Admitted<T>, Refusal> {
    // Before anything else: a post from another site learns nothing about who is signed in.
    if let Err(refused) = FormProof::check(action, form.same_origin, true) {
        refuse(core, ctx, refused, Principal::Nobody).await?;
        return Ok(Admitted::No(OwnPosted::Refused));
    }
    let Some(here) = walk::own_session(core, ctx.now, cookies).await? else {
        return Ok(Admitted::No(OwnPosted::SignedOut));
    };
    let fits = crypto::csrf_verify(&here.open.csrf, &form_of(about, action), &form.csrf);
    if let Err(refused) = FormProof::check(action, form.same_origin, fits) {
        let by = core.by_person(Some(&here.open.session));
        refuse(core, ctx, refused, by).await?;
        return Ok(Admitted::No(OwnPosted::Refused));
    }
    Ok(Admitted::Yes(Box::new(here)))
}

async fn refuse(core: &Core, ctx: Ctx, refused: FormRefused, by: Principal) -> Result<(), Refusal> {
    let what = (AuditClass::Browser, AuditAction::FormRefused);
    let who = (by, AuditAbout::default());
    core.audited_as(ctx, what, login::form_code(refused), who)
        .await
}

/// Ends a connection, as its server and the operator can: here first, then at the provider.
pub(crate) async fn end(
    core: &Arc<Core>,
    ctx: Ctx,
    (id, cookies): (GrantId, &Cookies),
    form: &PostedForm,
) -> Result<OwnPosted<EndedView>, Refusal> {
    let place = (id.as_bytes(), cookies);
    let here = match admit(core, ctx, place, (FormAction::End, form)).await? {
        Admitted::Yes(here) => here,
        Admitted::No(posted) => return Ok(posted),
    };
    let Some(grant) = theirs(core, ctx, &here, id).await? else {
        return Ok(OwnPosted::Gone);
    };
    let facts = grant.value.clone();
    let by = core.by_person(Some(&here.open.session));
    let receipt = grants::end_detached(core, ctx, grant, by).await?;
    let registry = &core.registry;
    Ok(OwnPosted::Done(EndedView {
        holds: facts.holds,
        receipt,
        server: (
            facts.server.clone(),
            registry.server(&facts.server).map(Arc::clone),
        ),
        provider: (
            facts.provider.clone(),
            registry.provider(&facts.provider).map(Arc::clone),
        ),
    }))
}

/// A grant of this person; anybody else's looks like one that is not there, but the log says who came.
async fn theirs(
    core: &Core,
    ctx: Ctx,
    here: &SignedInHere,
    id: GrantId,
) -> Result<Option<Stored<Grant>>, Refusal> {
    let Some(grant) = grants::row_by_id(core, id).await? else {
        return Ok(None);
    };
    let pseudonym = core.pseudonym(&here.open.session.identity);
    let user = people::find(core, &pseudonym).await?;
    let is_theirs = grant.value.pseudonym == pseudonym
        && user.is_some_and(|user| user.value.id == grant.value.user);
    if is_theirs {
        return Ok(Some(grant));
    }
    let about = AuditAbout {
        other_user: Some(pseudonym.short().into()),
        ..about_grant(&grant.value)
    };
    let by = core.by_person(Some(&here.open.session));
    let what = (AuditClass::Browser, AuditAction::GrantRefused);
    core.audited_as(ctx, what, "other-person", (by, about))
        .await?;
    Ok(None)
}

/// No to a request that waits. Tokens that a browser of theirs has pending for it are destroyed with the next sweep after
/// their ten minutes, as when its server takes a request back.
pub(crate) async fn decline(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    (id, cookies): (ElicitationId, &Cookies),
    form: &PostedForm,
) -> Result<OwnPosted<()>, Refusal> {
    let place = (id.as_bytes(), cookies);
    let here = match admit(core, ctx, place, (FormAction::DeclineWaiting, form)).await? {
        Admitted::Yes(here) => here,
        Admitted::No(posted) => return Ok(posted),
    };
    if !retrying(|| say_no(core, ctx, &here, id)).await? {
        return Ok(OwnPosted::Gone);
    }
    watchers.changed(id);
    Ok(OwnPosted::Done(()))
}

async fn say_no(
    core: &Core,
    ctx: Ctx,
    here: &SignedInHere,
    id: ElicitationId,
) -> Result<bool, Stepped> {
    let session = &here.open.session;
    let Some(row) = elicit::load(core, id).await? else {
        return Ok(false);
    };
    if !is_theirs(core, &row.value, session)? {
        return Ok(false);
    }
    let owner = core.open_owner(&row.value)?;
    let Ok(person) = SamePerson::check(session, &owner) else {
        return Ok(false);
    };
    let Ok(live) = row.value.live(ctx.now) else {
        return Ok(true); // it has ended meanwhile, by a no or otherwise; the page shows that it waits no more
    };
    let declined = live.declined(&person).map_err(|_| Refusal::Internal)?;
    let mut changes = Changes::default();
    changes.put(
        rows::keys::elicitation(declined.id),
        row.revision,
        &declined,
    );
    let what = (AuditClass::Link, AuditAction::Declined);
    let entry = event(
        what,
        core.by_person(Some(session)),
        about_elicitation(&declined),
    );
    core.commit_audited(ctx, changes, entry).await?;
    Ok(true)
}

/// Ends the session of the own page.
pub(crate) async fn leave(
    core: &Core,
    ctx: Ctx,
    cookies: &Cookies,
    form: &PostedForm,
) -> Result<OwnPosted<()>, Refusal> {
    let admitted = admit(core, ctx, (&NOTHING, cookies), (FormAction::SignOut, form)).await?;
    let here = match admitted {
        Admitted::Yes(here) => here,
        Admitted::No(posted) => return Ok(posted),
    };
    let mut changes = Changes::default();
    let session = rows::keys::session(&here.open.session.id);
    changes.delete(session, here.row.revision);
    let about = AuditAbout {
        tenant: Some(here.open.session.identity.tenant.clone()),
        ..AuditAbout::default()
    };
    let by = core.by_person(Some(&here.open.session));
    let entry = event((AuditClass::Browser, AuditAction::SignedOut), by, about);
    core.commit_audited(ctx, changes, entry).await?;
    Ok(OwnPosted::Done(()))
}
