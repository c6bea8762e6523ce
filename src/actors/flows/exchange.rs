//! F8: the code is exchanged (C11), and what comes back is kept as pending or not at all.

use domain::{
    AuditAbout, AuditAction, AuditClass, BrowserFlow, Digest, ExchangedTokens, FailureCode,
    GrantId, Holds, Pending, Principal, Returned, ScopeSet, Stage, Timestamp, UnusedTokens,
};
use secret::AuthorizationCode;
use upstream::{ProviderCode, Unkept};

use super::audit_trail::{about_elicitation, event, event_as};
use super::consent::code_of;
use super::walk::Walk;
use super::{elicit, pending, people, revocation};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Ctx, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Due, Stored};
use crate::sealing::PendingTokens;

/// Exchanges the code of a callback that was judged; `state` is spent already.
pub(crate) async fn exchange(
    core: &Core,
    watchers: &Elicitations,
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
        Ok(tokens) => keep(core, watchers, ctx, walk, (flow, tokens)).await,
        Err(Unkept { failure, tokens }) => {
            tracing::warn!(provider.id = %provider.slug, elicitation.id = %facts.id, %failure, "a code exchange failed");
            let ended = (flow, code_of(&failure));
            match tokens.filter(UnusedTokens::are_there) {
                None => failed(core, watchers, ctx, walk, ended).await,
                Some(UnusedTokens { access, refresh }) => {
                    let secrets = PendingTokens {
                        access,
                        refresh,
                        account: None,
                    };
                    not_kept(core, watchers, ctx, walk, (ended, secrets)).await
                }
            }
        }
    }
}

/// A try that failed: the flow says why, and so does the audit log, whatever becomes of the flow. Where no other try can go
/// better, the link ends with it, and whoever waits for it is told at once.
pub(crate) async fn failed(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    walk: &Walk,
    (flow, code): (Stored<BrowserFlow>, FailureCode),
) -> Result<(), Refusal> {
    let id = walk.elicitation.value.id;
    match retrying(|| end_try(core, ctx, walk, (&flow, code))).await {
        Ok(Ended::Try) => Ok(()),
        Ok(Ended::Link) => {
            pending::hopeless(core, watchers, ctx, id).await;
            Ok(())
        }
        Err(refusal) => {
            tracing::error!(elicitation.id = %id, "it could not be written that an exchange failed");
            noted(core, ctx, walk, code).await?;
            Err(refusal)
        }
    }
}

/// What ended.
enum Ended {
    /// This try of the flow.
    Try,
    /// The elicitation with it.
    Link,
}

async fn end_try(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (flow, code): (&Stored<BrowserFlow>, FailureCode),
) -> Result<Ended, Stepped> {
    let at = rows::keys::flow(flow.value.id);
    let current = rows::load::<BrowserFlow>(&*core.store, &at).await?;
    if current.is_none_or(|current| current.revision != flow.revision) {
        // The person went on without it: there is nothing to write but what happened.
        noted(core, ctx, walk, code).await?;
        return Ok(Ended::Try);
    }
    let mut next = flow.value.clone();
    next.stage = Stage::Failed {
        code,
        poisoned: false,
    };
    let mut changes = Changes::default();
    changes.put(at, flow.revision, &next);
    let link = elicit::load(core, walk.elicitation.value.id).await?;
    let mut outcome = (AuditClass::Browser, Ended::Try);
    if let Some(link) = link
        && let Some(next) = elicit::after_failure(&link.value, code, core.now())
    {
        changes.put(rows::keys::elicitation(next.id), link.revision, &next);
        if next.is_final() {
            outcome = (AuditClass::Link, Ended::Link);
        }
    }
    let (class, ended) = outcome;
    let what = (class, AuditAction::ExchangeFailed);
    let entry = event_as(what, code.as_str(), who(core, walk));
    core.commit_audited(ctx, changes, entry).await?;
    Ok(ended)
}

/// The failure as it is noted when no row says it.
async fn noted(core: &Core, ctx: Ctx, walk: &Walk, code: FailureCode) -> Result<(), Refusal> {
    let what = (AuditClass::Browser, AuditAction::ExchangeFailed);
    core.audited_as(ctx, what, code.as_str(), who(core, walk))
        .await
}

/// Who is at work here, and on what.
fn who(core: &Core, walk: &Walk) -> (Principal, AuditAbout) {
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    (
        core.by_person(session),
        about_elicitation(&walk.elicitation.value),
    )
}

/// Keeps the tokens as pending: nobody may use them before the person has confirmed the account. What cannot be kept, for
/// whatever reason, is kept nowhere, and the provider is told. So is what came for a link that has ended meanwhile.
async fn keep(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    walk: &Walk,
    (flow, tokens): (Stored<BrowserFlow>, ExchangedTokens),
) -> Result<(), Refusal> {
    let facts = (tokens.scopes, tokens.expires, Holds::Tokens);
    let secrets = PendingTokens {
        access: tokens.access,
        refresh: tokens.refresh,
        account: tokens.account,
    };
    let link = elicit::load(core, walk.elicitation.value.id).await;
    let over = match &link {
        Ok(link) => link
            .as_ref()
            .is_none_or(|link| link.value.is_over(core.now())),
        Err(_) => false, // then it cannot be kept either
    };
    if over {
        return not_kept(core, watchers, ctx, walk, ((flow, UNKEPT), secrets)).await;
    }
    if let Err(refusal) = store_pending(core, ctx, walk, flow.clone(), (facts, &secrets)).await {
        not_kept(core, watchers, ctx, walk, ((flow, UNKEPT), secrets)).await?;
        return Err(refusal);
    }
    Ok(())
}

/// What a try is told whose tokens were good and could not be kept.
pub(crate) const UNKEPT: FailureCode = FailureCode::ProviderUnreadable;

/// Tokens that cannot be kept: the flow does not wait for an exchange that is over, and the provider is told.
async fn not_kept(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    walk: &Walk,
    (ended, secrets): ((Stored<BrowserFlow>, FailureCode), PendingTokens),
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    tracing::error!(elicitation.id = %facts.id, "tokens could not be kept as pending; they are revoked");
    let written = failed(core, watchers, ctx, walk, ended).await;
    let account = account_of(core, walk, &secrets);
    let told = revocation::tell_pending(core, facts, account, Some(secrets)).await;
    let what = (AuditClass::Link, AuditAction::PendingDestroyed);
    core.audited_as(ctx, what, revocation::outcome(told), who(core, walk))
        .await?;
    written
}

/// Keyed pseudonym of the account that tokens are for, when it is known.
fn account_of(core: &Core, walk: &Walk, secrets: &PendingTokens) -> Option<Digest> {
    let url = walk.declared.provider.identity();
    let account = secrets.account.as_ref()?;
    Some(core.account_pseudonym(&walk.elicitation.value, url, account))
}

/// Keeps what came as pending, under the person's own data key.
pub(crate) async fn store_pending(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    flow: Stored<BrowserFlow>,
    ((scopes, access_expires, holds), secrets): (
        (ScopeSet, Option<Timestamp>, Holds),
        &PendingTokens,
    ),
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
        holds,
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
    let Stored {
        value: mut next,
        revision,
    } = flow;
    next.stage = Stage::AwaitingConfirm { pending };
    changes.put(rows::keys::flow(next.id), revision, &next);
    let what = (AuditClass::Link, AuditAction::TokensPending);
    let (by, about) = who(core, walk);
    Ok(core
        .commit_audited(ctx, changes, event(what, by, about))
        .await?)
}
