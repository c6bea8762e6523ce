//! The door of the api listener, answered by the flows.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    AuditAction, AuditClass, AuthenticatedServer, Digest, ElicitationId, GrantId, Issuer,
    McpClient, Subject, SubjectRefused, VerifiedSubject,
};

use super::Vault;
use crate::doors::{
    Answer, ConnectLink, Ctx, ElicitationView, Ensure, Ensured, GrantView, Refusal,
    RevocationReceipt, ServerDoor, SubjectInput, Wanted,
};
use crate::flows::audit_trail::{about_call, by_server};
use crate::flows::{credentials, elicit, grants, pending, release, request_state};

impl ServerDoor for Vault {
    fn begin(&self) -> Ctx {
        self.ctx()
    }

    fn authenticate<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, AuthenticatedServer> {
        Box::pin(credentials::authenticate(&self.core, ctx, key))
    }

    fn subject<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        input: SubjectInput,
    ) -> Answer<'a, VerifiedSubject> {
        Box::pin(async move {
            match self.verify(ctx, caller, input).await {
                Ok(subject) => {
                    // The issuer's keys may have been waited for; what is done with the proofs follows at once.
                    credentials::still(&self.core, ctx, caller, &subject).await?;
                    Ok(subject)
                }
                Err(refused) => {
                    let about = about_call(&self.core, caller, None);
                    let what = (AuditClass::Browser, AuditAction::SubjectRefused);
                    self.core
                        .audited_as(ctx, what, subject_code(refused), (by_server(caller), about))
                        .await?;
                    Err(Refusal::Subject(refused))
                }
            }
        })
    }

    fn ensure<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: Ensure,
    ) -> Answer<'a, Ensured> {
        Box::pin(async move {
            let ended_by_client = request.client_answer.is_some();
            let answer =
                release::ensure(&self.core, &self.grants, ctx, (caller, subject), request).await?;
            if let (Ensured::Ended(view), true) = (&answer, ended_by_client) {
                self.taken_back(ctx, view.id);
            }
            Ok(answer)
        })
    }

    fn create_elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        (wanted, idempotency): (Wanted, Option<Box<str>>),
    ) -> Answer<'a, ConnectLink> {
        Box::pin(async move {
            let permitted = release::permit(&self.core, ctx, caller, subject, &wanted).await?;
            elicit::create(
                &self.core,
                ctx,
                caller,
                subject,
                (&permitted, &wanted, idempotency.as_deref()),
            )
            .await
        })
    }

    fn elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: (ElicitationId, Duration),
    ) -> Answer<'a, ElicitationView> {
        Box::pin(async move {
            let busy = || Refusal::Busy {
                retry_after: Duration::from_secs(5),
            };
            let places = self
                .waits
                .get(&caller.server().slug)
                .ok_or(Refusal::Internal)?;
            // A look takes no place; only those who wait are counted.
            let _place = if request.1.is_zero() {
                None
            } else {
                Some(places.try_acquire().map_err(|_| busy())?)
            };
            elicit::watch(
                &self.core,
                &self.elicitations,
                ctx,
                (caller, subject),
                request,
            )
            .await
        })
    }

    fn cancel_elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: ElicitationId,
    ) -> Answer<'a, ElicitationView> {
        Box::pin(async move {
            let view = elicit::cancel(&self.core, ctx, caller, subject, id).await?;
            self.taken_back(ctx, id);
            Ok(view)
        })
    }

    fn resolve<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        (text, digest): (Box<str>, Option<Digest>),
    ) -> Answer<'a, ElicitationView> {
        Box::pin(async move {
            let claims = (&*text, digest, None);
            let (proof, row) =
                request_state::presented(&self.core, ctx, caller, subject, claims).await?;
            if proof.elicitation() != row.value.id {
                return Err(Refusal::Internal);
            }
            Ok(elicit::view(&self.core, &row.value, ctx))
        })
    }

    fn grants<'a>(
        &'a self,
        _: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
    ) -> Answer<'a, Vec<GrantView>> {
        Box::pin(grants::list(&self.core, caller, subject))
    }

    fn grant<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, GrantView> {
        Box::pin(async move {
            let (grant, _) = grants::mine(&self.core, ctx, caller, subject, id).await?;
            Ok(grants::view(&grant.value))
        })
    }

    fn revoke_grant<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, RevocationReceipt> {
        Box::pin(grants::revoke_mine(&self.core, ctx, caller, subject, id))
    }

    fn ready(&self) -> bool {
        self.is_ready()
    }
}

impl Vault {
    /// Wakes those who wait for an elicitation that its server ended, and destroys tokens that were pending in it. The
    /// janitor does it later, if this fails.
    fn taken_back(&self, ctx: Ctx, id: ElicitationId) {
        self.elicitations.changed(id);
        let core = Arc::clone(&self.core);
        drop(self.core.start(async move {
            if let Err(refusal) = pending::abandon(&core, ctx, id).await {
                tracing::warn!(elicitation.id = %id, %refusal, "pending tokens wait for the janitor");
            }
        }));
    }

    /// C2, on whichever evidence was presented.
    async fn verify(
        &self,
        ctx: Ctx,
        caller: &AuthenticatedServer,
        input: SubjectInput,
    ) -> Result<VerifiedSubject, SubjectRefused> {
        let server = caller.server();
        let issuer: &Arc<Issuer> = self
            .core
            .registry
            .issuer(&server.issuer)
            .ok_or(SubjectRefused::Issuer)?;
        match input {
            SubjectInput::Token(token) => {
                self.core
                    .upstream
                    .verify_subject(&token, server, issuer, ctx.now)
                    .await
            }
            SubjectInput::Asserted {
                iss,
                values,
                client,
            } => {
                let subject = Subject::new(values).map_err(|_| SubjectRefused::Assertion)?;
                let client = client.map_or(McpClient::Unnamed, McpClient::Asserted);
                VerifiedSubject::check_assertion(server, issuer, (&iss, subject), client, ctx.now)
            }
        }
    }
}

const fn subject_code(refused: SubjectRefused) -> &'static str {
    match refused {
        SubjectRefused::Malformed => "malformed",
        SubjectRefused::Signature => "signature",
        SubjectRefused::NotAnAccessToken => "not-an-access-token",
        SubjectRefused::Issuer => "issuer",
        SubjectRefused::Audience => "audience",
        SubjectRefused::Time => "time",
        SubjectRefused::Subject => "subject",
        SubjectRefused::Client => "client",
        SubjectRefused::Assertion => "assertion",
        SubjectRefused::KeysUnavailable => "keys-unavailable",
    }
}
