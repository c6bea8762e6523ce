//! F8: the code is exchanged (C11), and what comes back is kept as pending or not at all.

use domain::{
    AuditAction, AuditClass, BrowserFlow, Digest, ExchangedTokens, FailureCode, GrantId, Pending,
    Returned, ScopeSet, Stage, Timestamp,
};
use secret::AuthorizationCode;
use upstream::ProviderCode;

use super::audit_trail::about_elicitation;
use super::consent::code_of;
use super::walk::Walk;
use super::{people, revocation};
use crate::core::Core;
use crate::doors::{Ctx, Refusal};
use crate::rows::{self, Changes, Due, Stored};
use crate::sealing::PendingTokens;

/// Exchanges the code of a callback that was judged; `state` is spent already.
pub(crate) async fn exchange(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (flow, returned, code): (Stored<BrowserFlow>, Returned, AuthorizationCode),
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    let Stage::Consented { verifier, .. } = &walk.flow.value.stage else {
        return Err(Refusal::Internal);
    };
    let verifier = core.open_verifier(facts, flow.value.id, verifier)?;
    let code = ProviderCode {
        code,
        verifier: &verifier,
        asked: &facts.scopes,
    };
    let provider = &walk.declared.provider;
    match core
        .upstream
        .exchange(&returned, provider, code, &*core.clock)
        .await
    {
        Ok(tokens) => keep(core, ctx, walk, (flow, tokens)).await,
        Err(failure) => {
            tracing::warn!(provider.id = %provider.slug, elicitation.id = %facts.id, %failure, "a code exchange failed");
            let code = code_of(&failure);
            advance(
                core,
                flow,
                Stage::Failed {
                    code,
                    poisoned: false,
                },
                Changes::default(),
            )
            .await?;
            let session = walk.signed_in.as_ref().map(|here| &here.open.session);
            let who = (core.by_person(session), about_elicitation(facts));
            core.audited_as(
                ctx,
                (AuditClass::Browser, AuditAction::ExchangeFailed),
                code.as_str(),
                who,
            )
            .await
        }
    }
}

/// Keeps the tokens as pending: nobody may use them before the person has confirmed the account. What cannot be kept, for
/// whatever reason, is kept nowhere, and the provider is told.
async fn keep(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (flow, tokens): (Stored<BrowserFlow>, ExchangedTokens),
) -> Result<(), Refusal> {
    let facts = (tokens.scopes, tokens.expires);
    let secrets = PendingTokens {
        access: tokens.access,
        refresh: tokens.refresh,
        account: tokens.account,
    };
    if let Err(refusal) = store_pending(core, walk, flow.clone(), (facts, &secrets)).await {
        not_kept(core, ctx, walk, (flow, secrets)).await?;
        return Err(refusal);
    }
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Link, AuditAction::TokensPending);
    core.audited(
        ctx,
        what,
        core.by_person(session),
        about_elicitation(&walk.elicitation.value),
    )
    .await
}

/// Tokens that could not be kept: the provider is told, and the flow does not wait for an exchange that is over.
async fn not_kept(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (flow, secrets): (Stored<BrowserFlow>, PendingTokens),
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    tracing::error!(elicitation.id = %facts.id, "tokens could not be kept as pending; they are revoked");
    let code = FailureCode::ProviderUnreadable;
    let stage = Stage::Failed {
        code,
        poisoned: false,
    };
    if advance(core, flow, stage, Changes::default())
        .await
        .is_err()
    {
        tracing::error!(elicitation.id = %facts.id, "nor could it be written that the exchange failed");
    }
    let account = account_of(core, walk, &secrets);
    revocation::tell_pending(core, facts, account, Some(secrets)).await;
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let what = (AuditClass::Browser, AuditAction::ExchangeFailed);
    let who = (core.by_person(session), about_elicitation(facts));
    core.audited_as(ctx, what, code.as_str(), who).await
}

/// Keyed pseudonym of the account that tokens are for, when it is known.
fn account_of(core: &Core, walk: &Walk, secrets: &PendingTokens) -> Option<Digest> {
    let url = super::confirm::provider_url(&walk.declared.provider);
    let account = secrets.account.as_ref()?;
    Some(core.account_pseudonym(&walk.elicitation.value, url, account))
}

async fn store_pending(
    core: &Core,
    walk: &Walk,
    flow: Stored<BrowserFlow>,
    ((scopes, access_expires), secrets): ((ScopeSet, Option<Timestamp>), &PendingTokens),
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    let owner = people::find_or_create(core, walk.owner.identity()).await?;
    let now = core.now();
    let mut pending = Pending {
        bundle: domain::Blob(Vec::new()),
        grant: GrantId::from_bytes(core.id_bytes()),
        scopes,
        access_expires,
        refreshable: secrets.refresh.is_some(),
        account: account_of(core, walk, secrets),
        since: now,
    };
    pending.bundle = core.seal_pending(&owner, facts, &pending, secrets)?;
    let mut changes = Changes::default();
    let due = Due::Pending(flow.value.id);
    rows::look_at(
        &*core.store,
        &mut changes,
        (now.plus(BrowserFlow::PENDING_LIFE), &due),
    )
    .await?;
    advance(core, flow, Stage::AwaitingConfirm { pending }, changes).await
}

async fn advance(
    core: &Core,
    flow: Stored<BrowserFlow>,
    stage: Stage,
    mut changes: Changes,
) -> Result<(), Refusal> {
    let mut next = flow.value;
    next.stage = stage;
    changes.put(rows::keys::flow(next.id), flow.revision, &next);
    Ok(changes.commit(&*core.store).await?)
}
