//! Signing out: the session of this browser ends, on the word of a form of our own page (C7). The flow whose page it was
//! stays, and its next login asks the issuer for a fresh one.

use domain::{
    AuditAbout, AuditAction, AuditClass, BrowserFlow, BrowserFlowId, FormAction, FormProof,
    FormRefused, Principal,
};

use super::audit_trail::{about_elicitation, event};
use super::elicit;
use super::login::form_code;
use super::walk::{self, SignedInHere, csrf_form};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::rows::{self, Changes, Stored};

/// Ends the session of this browser. It works whatever has become of the flow's server or request: whoever sees our page may
/// leave.
pub(crate) async fn sign_out(
    core: &Core,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    // Before anything else: a post from another site comes without our cookies, and an answer that removes them would sign
    // people out.
    if let Err(refused) = FormProof::check(FormAction::SignOut, form.same_origin, true) {
        return not_ours(core, ctx, refused, Principal::Nobody).await;
    }
    retrying(|| step(core, ctx, place, form)).await
}

async fn step(
    core: &Core,
    ctx: Ctx,
    (id, cookies): (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Stepped> {
    let Some(here) = walk::session(core, ctx.now, cookies).await? else {
        // Signed out already, by another tab or by time; the flow's page says what there is to say.
        return Ok(Posted::Page);
    };
    let flow = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(id))
        .await?
        .filter(|flow| walk::holds_cookie(core, &flow.value, cookies));
    let fits = flow.as_ref().is_some_and(|flow| {
        let page = csrf_form(flow, FormAction::SignOut);
        crypto::csrf_verify(&here.open.csrf, &page, &form.csrf)
    });
    if let Err(refused) = FormProof::check(FormAction::SignOut, form.same_origin, fits) {
        let by = core.by_person(Some(&here.open.session));
        return Ok(not_ours(core, ctx, refused, by).await?);
    }
    end(core, ctx, &here, flow).await?;
    Ok(Posted::Page)
}

async fn end(
    core: &Core,
    ctx: Ctx,
    here: &SignedInHere,
    flow: Option<Stored<BrowserFlow>>,
) -> Result<(), Stepped> {
    let mut changes = Changes::default();
    let session = rows::keys::session(&here.open.session.id);
    changes.delete(session, here.row.revision);
    let mut about = AuditAbout::default();
    if let Some(Stored {
        value: mut flow,
        revision,
    }) = flow
    {
        if let Some(elicitation) = elicit::load(core, flow.elicitation).await? {
            about = about_elicitation(&elicitation.value);
        }
        flow.signed_out = true;
        changes.put(rows::keys::flow(flow.id), revision, &flow);
    }
    let by = core.by_person(Some(&here.open.session));
    let entry = event((AuditClass::Browser, AuditAction::SignedOut), by, about);
    core.commit_audited(ctx, changes, entry).await
}

async fn not_ours(
    core: &Core,
    ctx: Ctx,
    refused: FormRefused,
    by: Principal,
) -> Result<Posted, Refusal> {
    let what = (AuditClass::Browser, AuditAction::FormRefused);
    let who = (by, AuditAbout::default());
    core.audited_as(ctx, what, form_code(refused), who).await?;
    Ok(Posted::Refused)
}
