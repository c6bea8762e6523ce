//! The door of the connect listener, answered by the flows. What changes something runs detached from the request: a
//! browser that goes away in the middle of a step does not leave half of it undone.

use domain::{BrowserFlowId, FailureCode, Locale};
use secret::ConnectTicket;

use super::Vault;
use crate::doors::{
    Answer, BrowserDoor, Cookies, Ctx, FlowPage, LoginFailed, LoginLeaving, LoginStarted, Opened,
    Posted, PostedForm, ProviderLeaving, SignedIn,
};
use crate::flows::{callback, confirm, consent, decline, key, link, login, page, sign_out, walk};

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

    fn locale<'a>(
        &'a self,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Locale>> {
        Box::pin(walk::locale(&self.core, flow, cookies))
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

    fn submit_key<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        (form, inputs): (PostedForm, domain::KeyInputs),
    ) -> Answer<'a, Posted> {
        Box::pin(async move {
            let actors = (&self.desks, &self.elicitations);
            key::submit(&self.core, actors, ctx, (flow, cookies), (&form, &inputs)).await
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
            (&self.desks, &self.elicitations),
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
            decline::decline(&self.core, &self.elicitations, ctx, (flow, cookies), &form).await
        })
    }

    fn again<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move { decline::again(&self.core, ctx, (flow, cookies), &form).await })
    }

    fn sign_out<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted> {
        Box::pin(async move { sign_out::sign_out(&self.core, ctx, (flow, cookies), &form).await })
    }
}
