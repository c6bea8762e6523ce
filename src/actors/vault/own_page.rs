//! The door of a person's own page, answered by its flows.

use domain::{ElicitationId, GrantId};

use super::Vault;
use crate::doors::{
    Answer, Cookies, Ctx, EndedView, LoginStarted, OwnPage, OwnPageDoor, OwnPosted, PostedForm,
};
use crate::flows::{own_deeds, own_page};

impl OwnPageDoor for Vault {
    fn own_page<'a>(&'a self, ctx: Ctx, cookies: &'a Cookies) -> Answer<'a, OwnPage> {
        Box::pin(own_page::page(&self.core, ctx, cookies))
    }

    fn start_own_login<'a>(
        &'a self,
        ctx: Ctx,
        issuer: &'a str,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>> {
        Box::pin(async move { own_deeds::start_login(&self.core, ctx, issuer, &form).await })
    }

    fn end<'a>(
        &'a self,
        ctx: Ctx,
        grant: GrantId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<EndedView>> {
        Box::pin(async move { own_deeds::end(&self.core, ctx, (grant, cookies), &form).await })
    }

    fn decline_waiting<'a>(
        &'a self,
        ctx: Ctx,
        elicitation: ElicitationId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>> {
        Box::pin(async move {
            let place = (elicitation, cookies);
            own_deeds::decline(&self.core, &self.elicitations, ctx, place, &form).await
        })
    }

    fn leave_own_page<'a>(
        &'a self,
        ctx: Ctx,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>> {
        Box::pin(async move { own_deeds::leave(&self.core, ctx, cookies, &form).await })
    }
}
