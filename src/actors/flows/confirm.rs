//! F9: the person says whether the account is the right one (C12). Yes makes the grant; no, or silence, destroys the tokens
//! here and at the provider.

use domain::{
    AuditAction, AuditClass, BrowserFlow, BrowserFlowId, Confirmed, Elicitation, Endpoints,
    FormAction, Grant, GrantKey, GrantStatus, Pending, Principal, Provider, Stage, TokenSlot,
    UserId,
};
use secret::Reveal as _;
use storage::Revision;
use upstream::{RevokeOutcome, TokenToRevoke};

use super::audit_trail::{about_elicitation, about_grant};
use super::consent::{Admitted, admit, tick, touch_session};
use super::walk::Walk;
use super::{elicit, grants, page, people, walk};
use crate::core::Core;
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes, Stored};
use crate::sealing::{DataKey, POLICY_VERSION, PendingTokens, TokenRecord, main_slot};

/// What identifies the grant that an elicitation is about.
pub(crate) fn grant_key(facts: &Elicitation, user: UserId) -> GrantKey {
    GrantKey {
        tenant: facts.tenant.clone(),
        user,
        server: facts.server.clone(),
        provider: facts.provider.clone(),
        alias: facts.alias.clone(),
    }
}

/// What stands for the provider itself in an account's pseudonym.
pub(crate) fn provider_url(provider: &Provider) -> &str {
    match &provider.endpoints {
        Endpoints::Pinned { token, .. } => token.as_str(),
        Endpoints::Discovered(issuer) => issuer.as_str(),
    }
}

/// Yes, this account.
pub(crate) async fn confirm(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let (walk, person, proof) = match admit(core, ctx, place, (FormAction::Confirm, form)).await? {
        Admitted::Yes(walk, person, proof) => (walk, person, proof),
        Admitted::No(posted) => return Ok(posted),
    };
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Ok(Posted::Page);
    };
    let Some(confirmed) = Confirmed::check(&person, &proof, tick(form), pending, ctx.now) else {
        return Ok(if form.ticked {
            Posted::Page
        } else {
            Posted::TickMissing(Box::new(page::show(core, ctx, &walk).await?))
        });
    };
    activate(core, ctx, &walk, (&confirmed, pending)).await?;
    watchers.changed(walk.elicitation.value.id);
    Ok(Posted::Page)
}

/// Makes the grant usable: facts, records, elicitation and flow in one commit.
async fn activate(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    (confirmed, pending): (&Confirmed, &Pending),
) -> Result<(), Refusal> {
    let facts = &walk.elicitation.value;
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let owner = people::find_or_create(core, walk.owner.identity()).await?;
    let tokens = core.open_pending(&owner, facts, pending)?;
    let grant = new_grant(ctx, facts, pending, &owner);
    let before = grants::by_key(core, &grant.key()).await?;
    let mut changes = Changes::default();
    if let Some(before) = &before {
        grants::remove_records(core, &mut changes, before.value.id).await?;
        remove_index(core, &mut changes, before.value.id).await?;
    }
    changes.put(
        rows::keys::grant(&grant.key()),
        before.map_or(Revision::NONE, |before| before.revision),
        &grant,
    );
    changes.put_bytes(
        rows::keys::grant_id(grant.id),
        Revision::NONE,
        rows::keys::grant(&grant.key()).key,
    );
    add_records(core, &mut changes, &owner, (&grant, &tokens))?;
    let completed = live.completed(confirmed, grant.id);
    changes.put(
        rows::keys::elicitation(completed.id),
        walk.elicitation.revision,
        &completed,
    );
    let mut flow = walk.flow.value.clone();
    flow.stage = Stage::Done { grant: grant.id };
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    touch_session(walk, ctx, &mut changes);
    changes.commit(&*core.store).await?;
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let about = domain::AuditAbout {
        elicitation: Some(completed.id),
        ..about_grant(&grant)
    };
    core.audited(
        ctx,
        (AuditClass::Link, AuditAction::GrantActivated),
        core.by_person(session),
        about,
    )
    .await
}

fn new_grant(ctx: Ctx, facts: &Elicitation, pending: &Pending, owner: &DataKey) -> Grant {
    Grant {
        id: pending.grant,
        tenant: facts.tenant.clone(),
        user: owner.user,
        pseudonym: facts.pseudonym,
        issuer: facts.issuer.clone(),
        server: facts.server.clone(),
        provider: facts.provider.clone(),
        alias: facts.alias.clone(),
        status: GrantStatus::Active,
        confirmed: true,
        offline: false,
        scopes: pending.scopes.clone(),
        account: pending.account,
        policy_version: POLICY_VERSION,
        created: ctx.now,
        data_key: owner.key.id(),
        slots: vec![TokenSlot {
            name: main_slot(),
            generation: 1,
            issued: pending.since,
            expires: pending.access_expires,
            access_version: 1,
            refresh_version: pending.refreshable.then_some(1),
        }],
    }
}

fn add_records(
    core: &Core,
    changes: &mut Changes,
    owner: &DataKey,
    (grant, tokens): (&Grant, &PendingTokens),
) -> Result<(), Refusal> {
    let mut add = |key, sealed| changes.put_bytes(key, Revision::NONE, sealed);
    let access = core.seal_token(
        owner,
        grant,
        (TokenRecord::Access, 1),
        tokens.access.reveal(),
    )?;
    add(grants::record_key(grant.id, TokenRecord::Access), access);
    if let Some(refresh) = &tokens.refresh {
        let refresh = core.seal_token(owner, grant, (TokenRecord::Refresh, 1), refresh.reveal())?;
        add(grants::record_key(grant.id, TokenRecord::Refresh), refresh);
    }
    add(
        grants::account_key(grant.id),
        core.seal_account(owner, grant, tokens.account.as_ref())?,
    );
    Ok(())
}

async fn remove_index(
    core: &Core,
    changes: &mut Changes,
    id: domain::GrantId,
) -> Result<(), Refusal> {
    let at = rows::keys::grant_id(id);
    if let Some(row) = core.store.read(at.table, &at.key).await? {
        changes.delete(at, row.revision);
    }
    Ok(())
}

/// No, at any step.
pub(crate) async fn decline(
    core: &Core,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let (walk, person) = match admit(core, ctx, place, (FormAction::Decline, form)).await? {
        Admitted::Yes(walk, person, _) => (walk, person),
        Admitted::No(posted) => return Ok(posted),
    };
    let facts = &walk.elicitation.value;
    let declined = facts
        .clone()
        .live(ctx.now)
        .map_err(|_| Refusal::Gone)?
        .declined(&person);
    let pending = take_pending(core, &walk).await?;
    let mut flow = walk.flow.value.clone();
    flow.stage = Stage::Declined;
    let mut changes = Changes::default();
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    changes.put(
        rows::keys::elicitation(declined.id),
        walk.elicitation.revision,
        &declined,
    );
    touch_session(&walk, ctx, &mut changes);
    changes.commit(&*core.store).await?;
    watchers.changed(declined.id);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    core.audited(
        ctx,
        (AuditClass::Link, AuditAction::Declined),
        core.by_person(session),
        about_elicitation(&declined),
    )
    .await?;
    destroyed(core, ctx, &walk, pending).await?;
    Ok(Posted::Page)
}

/// Another account, or once more after a failure: back to the question.
pub(crate) async fn again(
    core: &Core,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    let walk = match admit(core, ctx, place, (FormAction::Again, form)).await? {
        Admitted::Yes(walk, ..) => walk,
        Admitted::No(posted) => return Ok(posted),
    };
    let pending = take_pending(core, &walk).await?;
    let mut flow = walk.flow.value.clone();
    let mut changes = Changes::default();
    match &flow.stage {
        Stage::AwaitingConfirm { .. }
        | Stage::Failed {
            poisoned: false, ..
        }
        | Stage::Exchanging { .. } => {}
        Stage::Consented { state, .. } => {
            let at = rows::keys::state(state);
            if let Some(row) = core.store.read(at.table, &at.key).await? {
                changes.delete(at, row.revision);
            }
        }
        Stage::Arrived
        | Stage::Done { .. }
        | Stage::Declined
        | Stage::Failed { poisoned: true, .. } => return Ok(Posted::Page),
    }
    flow.stage = Stage::Arrived;
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    touch_session(&walk, ctx, &mut changes);
    changes.commit(&*core.store).await?;
    destroyed(core, ctx, &walk, pending).await?;
    Ok(Posted::Page)
}

/// Opens what is pending in a flow, to tell the provider once the row is gone.
async fn take_pending(core: &Core, walk: &Walk) -> Result<Option<PendingTokens>, Refusal> {
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Ok(None);
    };
    let owner = people::find_or_create(core, walk.owner.identity()).await?;
    core.open_pending(&owner, &walk.elicitation.value, pending)
        .map(Some)
}

async fn destroyed(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    pending: Option<PendingTokens>,
) -> Result<(), Refusal> {
    let Some(tokens) = pending else { return Ok(()) };
    let outcome = revoke_pending(core, &walk.declared.provider, &tokens).await;
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let who = (
        core.by_person(session),
        about_elicitation(&walk.elicitation.value),
    );
    core.audited_as(
        ctx,
        (AuditClass::Link, AuditAction::PendingDestroyed),
        outcome,
        who,
    )
    .await
}

/// Tells the provider that tokens nobody confirmed are not wanted. One try; the tokens are gone here either way.
pub(crate) async fn revoke_pending(
    core: &Core,
    provider: &Provider,
    tokens: &PendingTokens,
) -> &'static str {
    let token = tokens.refresh.as_ref().map_or(
        TokenToRevoke::Access(&tokens.access),
        TokenToRevoke::Refresh,
    );
    match core.upstream.revoke(provider, token, core.now()).await {
        RevokeOutcome::Revoked => "revoked",
        RevokeOutcome::NoEndpoint => "no-revocation-endpoint",
        RevokeOutcome::Failed(_) => "revocation-failed",
    }
}

/// Pending tokens whose time is over: destroyed here, revoked at the provider. For the janitor.
pub(crate) async fn expire_pending(
    core: &Core,
    ctx: Ctx,
    id: BrowserFlowId,
) -> Result<(), Refusal> {
    let Some(flow) = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(id)).await? else {
        return Ok(());
    };
    let Stage::AwaitingConfirm { pending } = &flow.value.stage else {
        return Ok(());
    };
    if !pending
        .since
        .plus(BrowserFlow::PENDING_LIFE)
        .passed(ctx.now)
    {
        return Ok(());
    }
    let Some(elicitation) = elicit::load(core, flow.value.elicitation).await? else {
        return Ok(());
    };
    let owner = core.open_owner(&elicitation.value)?;
    let key = people::find_or_create(core, owner.identity()).await?;
    let tokens = core.open_pending(&key, &elicitation.value, pending)?;
    let Stored {
        value: mut next,
        revision,
    } = flow.clone();
    next.stage = Stage::Failed {
        code: domain::FailureCode::NotConfirmed,
        poisoned: false,
    };
    let mut changes = Changes::default();
    changes.put(rows::keys::flow(id), revision, &next);
    changes.commit(&*core.store).await?;
    let outcome = match walk::declared(core, &elicitation.value) {
        Some(declared) => revoke_pending(core, &declared.provider, &tokens).await,
        None => "provider-not-declared",
    };
    let who = (Principal::Vault, about_elicitation(&elicitation.value));
    core.audited_as(
        ctx,
        (AuditClass::Link, AuditAction::PendingDestroyed),
        outcome,
        who,
    )
    .await
}
