//! requestState: the sealed text that an MCP client echoes. It selects an elicitation and authorises nothing; whoever
//! presents it must be who it was made for (C13).

use domain::{
    AuditAbout, AuditAction, AuditClass, AuthenticatedServer, Digest, Elicitation, StatePresented,
    StatePrincipal, VerifiedSubject,
};
use sha2::{Digest as _, Sha256};

use super::audit_trail::{about_call, by_server};
use super::elicit;
use crate::core::Core;
use crate::doors::{Ctx, Refusal};
use crate::rows::Stored;

/// A fresh requestState for an elicitation.
pub(crate) fn fresh(
    core: &Core,
    subject: &VerifiedSubject,
    facts: &Elicitation,
    ctx: Ctx,
) -> Result<Box<str>, Refusal> {
    let state = crypto::RequestState {
        elicitation: facts.id,
        tenant: facts.tenant.clone(),
        server: facts.server.clone(),
        issuer: facts.issuer.clone(),
        subject_hash: sha256(&subject.identity().subject.to_bytes()).0,
        provider: facts.provider.clone(),
        client_digest: sha256(&facts.client.to_bytes()).0,
        request_digest: facts.request_digest.map(|digest| digest.0),
        issued_ms: ctx.now.as_ms(),
        expires_ms: facts.hard_end().as_ms(),
    };
    let sealed = core.keyring.seal_request_state(&state, &*core.entropy);
    sealed.map(Into::into).map_err(|_| Refusal::Internal)
}

/// C13: the elicitation that a requestState names, if it was made for whoever presents it.
pub(crate) async fn presented(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (text, request, provider): (&str, Option<Digest>, Option<&domain::ProviderSlug>),
) -> Result<(StatePresented, Stored<Elicitation>), Refusal> {
    let server = caller.server();
    let Ok(state) =
        core.keyring
            .open_request_state(&server.tenant, &server.slug, ctx.now.as_ms(), text)
    else {
        let about = about_call(core, caller, Some(subject));
        return refused(core, ctx, caller, ("not-ours", about)).await;
    };
    let made_for = StatePrincipal {
        issuer: state.issuer.clone(),
        subject: Digest(state.subject_hash),
        client: Digest(state.client_digest),
        request: state.request_digest.map(Digest),
        provider: Some(state.provider.clone()),
    };
    let presenter = StatePrincipal {
        issuer: subject.identity().issuer.clone(),
        subject: sha256(&subject.identity().subject.to_bytes()),
        client: sha256(&subject.client().to_bytes()),
        request,
        provider: provider.cloned(),
    };
    let row = elicit::load(core, state.elicitation).await?;
    let row_is_theirs = match &row {
        Some(row) => elicit::is_mine(core, caller, subject, &row.value)?,
        None => true, // there is nothing that could be anybody's
    };
    let presenter = (&presenter, row_is_theirs);
    let Ok(proof) = StatePresented::check(state.elicitation, &made_for, presenter) else {
        let about = match &row {
            Some(row) => elicit::about_other(core, caller, subject, &row.value),
            None => (OTHER, about_call(core, caller, Some(subject))),
        };
        return refused(core, ctx, caller, about).await;
    };
    core.polls.ask(proof.elicitation(), ctx.now)?;
    if let Some(row) = row {
        return Ok((proof, row));
    }
    let about = about_call(core, caller, Some(subject));
    refused(core, ctx, caller, ("gone", about)).await
}

async fn refused<T>(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    (outcome, about): (&'static str, AuditAbout),
) -> Result<T, Refusal> {
    let what = (AuditClass::Browser, AuditAction::StateRefused);
    core.audited_as(ctx, what, outcome, (by_server(caller), about))
        .await?;
    Err(Refusal::RequestState)
}

/// What the log calls a state that was made for somebody else.
const OTHER: &str = "other-principal";

fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}
