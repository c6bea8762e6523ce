//! The door of the connect listener, answered by the flows. What changes something runs detached from the request: a
//! browser that goes away in the middle of a step does not leave half of it undone.

use domain::{BrowserFlowId, FailureCode};
use secret::ConnectTicket;

use super::Vault;
use crate::doors::{
    Answer, BrowserDoor, Cookies, Ctx, FlowPage, LoginFailed, LoginLeaving, LoginStarted, Opened,
    Posted, PostedForm, ProviderLeaving, Refusal, SignedIn,
};
use crate::flows::{audit_trail, callback, confirm, consent, link, login, page, walk};
use crate::rows::{self, Changes};
use domain::{AuditAction, AuditClass, FormAction, FormProof};

impl BrowserDoor for Vault {
    fn begin(&self) -> Ctx {
        self.ctx()
    }

    fn open_link<'a>(
        &'a self,
        ctx: Ctx,
        ticket: &'a ConnectTicket,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Opened>> {
        Box::pin(link::open(
            &self.core,
            &self.elicitations,
            ctx,
            ticket,
            cookies,
        ))
    }

    fn page<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, FlowPage> {
        Box::pin(page::page(&self.core, ctx, flow, cookies))
    }

    fn start_login<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>> {
        Box::pin(async move { login::start(&self.core, ctx, flow, cookies, &form).await })
    }

    fn login_leaving<'a>(
        &'a self,
        ctx: Ctx,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Result<LoginLeaving, LoginFailed>>> {
        Box::pin(login::leaving(&self.core, ctx, cookies))
    }

    fn finish_login<'a>(
        &'a self,
        ctx: Ctx,
        issuer: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Result<SignedIn, LoginFailed>> {
        Box::pin(login::finish(
            &self.core,
            (&self.desks, &self.elicitations),
            ctx,
            (issuer, query),
            arrival,
        ))
    }

    fn consent<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move {
            consent::consent(&self.core, &self.elicitations, ctx, (flow, cookies), &form).await
        })
    }

    fn leaving<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Result<ProviderLeaving, FailureCode>>> {
        Box::pin(consent::leaving(&self.core, ctx, flow, cookies))
    }

    fn callback<'a>(
        &'a self,
        ctx: Ctx,
        provider: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Option<BrowserFlowId>> {
        Box::pin(callback::callback(
            &self.core,
            &self.desks,
            ctx,
            (provider, query),
            arrival,
        ))
    }

    fn confirm<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move {
            confirm::confirm(&self.core, &self.elicitations, ctx, (flow, cookies), &form).await
        })
    }

    fn decline<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move {
            confirm::decline(&self.core, &self.elicitations, ctx, (flow, cookies), &form).await
        })
    }

    fn again<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move { confirm::again(&self.core, ctx, (flow, cookies), &form).await })
    }

    fn sign_out<'a>(
        &'a self,
        ctx: Ctx,
        flow: Option<BrowserFlowId>,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move { self.end_session(ctx, flow, cookies, &form).await })
    }
}

impl Vault {
    /// Ends the session of this browser, on the word of a form of its own page.
    async fn end_session(
        &self,
        ctx: Ctx,
        flow: Option<BrowserFlowId>,
        cookies: &Cookies,
        form: &PostedForm,
    ) -> Result<Posted, Refusal> {
        let core = &*self.core;
        let Some(here) = walk::session(core, ctx.now, cookies).await? else {
            return Ok(Posted::Page);
        };
        let walk = match flow {
            Some(flow) => walk::load(core, ctx, flow, cookies).await?,
            None => None,
        };
        let fits = walk
            .as_ref()
            .is_some_and(|walk| walk.form(FormAction::SignOut, form).is_ok());
        if let Err(refused) = FormProof::check(FormAction::SignOut, form.same_origin, fits) {
            let what = (AuditClass::Browser, AuditAction::FormRefused);
            let who = (
                core.by_person(Some(&here.open.session)),
                domain::AuditAbout::default(),
            );
            core.audited_as(ctx, what, login::form_code(refused), who)
                .await?;
            return Ok(Posted::Refused);
        }
        let mut changes = Changes::default();
        changes.delete(
            rows::keys::session(&here.open.session.id),
            here.row.revision,
        );
        let mut about = domain::AuditAbout::default();
        if let Some(walk) = &walk {
            let mut flow = walk.flow.value.clone();
            flow.signed_out = true;
            changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
            about = audit_trail::about_elicitation(&walk.elicitation.value);
        }
        let by = core.by_person(Some(&here.open.session));
        let entry = audit_trail::event((AuditClass::Browser, AuditAction::SignedOut), by, about);
        core.commit_audited(ctx, changes, entry).await?;
        Ok(Posted::Page)
    }
}
