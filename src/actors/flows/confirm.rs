//! F9: the person says that the account is the right one (C12), which makes the grant.

use std::sync::Arc;

use domain::{
    AuditAction, AuditClass, BrowserFlowId, Confirmed, Elicitation, FormAction, Grant, GrantKey,
    GrantStatus, Pending, Stage, TokenSlot, UserId,
};
use storage::Revision;

use super::audit_trail::{about_grant, event, event_as};
use super::consent::{Admitted, admit, stepping, tick, touch_session};
use super::revocation::{self, Authorization};
use super::walk::Walk;
use super::{grants, page, people};
use crate::core::{Core, Stepped};
use crate::doors::{Cookies, Ctx, Posted, PostedForm, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::rows::{self, Changes};
use crate::sealing::{DataKey, POLICY_VERSION, PendingTokens, TokenRecord, TokenToSeal, main_slot};

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

/// Yes, this account.
pub(crate) async fn confirm(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Refusal> {
    stepping(core, place.0, || take_up(core, watchers, ctx, place, form)).await
}

async fn take_up(
    core: &Arc<Core>,
    watchers: &Elicitations,
    ctx: Ctx,
    place: (BrowserFlowId, &Cookies),
    form: &PostedForm,
) -> Result<Posted, Stepped> {
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
    let (work, id) = (Arc::clone(core), walk.elicitation.value.id);
    core.detached(async move { activate(&work, ctx, &walk, &confirmed).await })
        .await?;
    watchers.changed(id);
    Ok(Posted::Page)
}

/// Makes the grant usable: facts, records, elicitation and flow in one commit. Runs to its end whatever becomes of the
/// request.
async fn activate(
    core: &Core,
    ctx: Ctx,
    walk: &Walk,
    confirmed: &Confirmed,
) -> Result<(), Stepped> {
    let facts = &walk.elicitation.value;
    let Stage::AwaitingConfirm { pending } = &walk.flow.value.stage else {
        return Err(Refusal::Gone.into());
    };
    let live = facts.clone().live(ctx.now).map_err(|_| Refusal::Gone)?;
    let owner = people::find_or_create(core, walk.owner.identity()).await?;
    let tokens = core.open_pending(&owner, facts, pending)?;
    let grant = new_grant(ctx, facts, pending, &owner);
    let before = grants::by_key(core, &grant.key()).await?;
    if before
        .as_ref()
        .is_some_and(|before| before.value.id == grant.id)
    {
        return Ok(()); // the same yes, sent twice: the other one was faster
    }
    // One that has ended already ends no second time.
    let ends = before
        .as_ref()
        .filter(|before| before.value.status != GrantStatus::Revoked);
    let token = match ends {
        Some(ends) => revocation::token_of(core, (&ends.value, ends.revision), &owner).await?,
        None => None,
    };
    let ends = ends.map(|ends| &ends.value);
    let mut changes = Changes::default();
    if let Some(before) = &before {
        grants::remove_records(core, &mut changes, before.value.id).await?;
        remove_index(core, &mut changes, before.value.id).await?;
    }
    let at = rows::keys::grant(&grant.key());
    let by_id = rows::keys::grant_id(grant.id);
    changes.put_bytes(by_id, Revision::NONE, at.key.clone());
    let revision = before.as_ref().map(|before| before.revision);
    changes.put(at, revision.unwrap_or(Revision::NONE), &grant);
    add_records(core, &mut changes, &owner, (&grant, &tokens))?;
    let completed = live.completed(confirmed).map_err(|_| Refusal::Internal)?;
    changes.put(
        rows::keys::elicitation(completed.id),
        walk.elicitation.revision,
        &completed,
    );
    let mut flow = walk.flow.value.clone();
    flow.stage = Stage::Done { grant: grant.id };
    changes.put(rows::keys::flow(flow.id), walk.flow.revision, &flow);
    touch_session(walk, ctx, &mut changes);
    let session = walk.signed_in.as_ref().map(|here| &here.open.session);
    let about = domain::AuditAbout {
        elicitation: Some(completed.id),
        ..about_grant(&grant)
    };
    let what = (AuditClass::Link, AuditAction::GrantActivated);
    let mut entries = vec![event(what, core.by_person(session), about)];
    let what = (AuditClass::Link, AuditAction::GrantRevoked);
    let end = ends.map(|ends| (core.by_person(session), about_grant(ends)));
    entries.extend(end.clone().map(|who| event_as(what, "replaced", who)));
    core.commit_all_audited(ctx, changes, entries).await?;
    let Some((ends, who)) = ends.zip(end) else {
        return Ok(());
    };
    // Of the same account, or one that is not known, the new grant may hang on the same authorization: then it is kept.
    let told = revocation::tell(core, Authorization::of_grant(ends), token).await;
    Ok(core
        .audited_as(ctx, what, revocation::outcome(told), who)
        .await?)
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
        holds: pending.holds,
    }
}

/// The sealed records of a grant.
pub(crate) fn add_records(
    core: &Core,
    changes: &mut Changes,
    owner: &DataKey,
    (grant, tokens): (&Grant, &PendingTokens),
) -> Result<(), Refusal> {
    let mut add = |key, sealed| changes.put_bytes(key, Revision::NONE, sealed);
    let access = core.seal_token(owner, grant, (TokenToSeal::Access(&tokens.access), 1))?;
    add(
        grants::record_key(grant.id, TokenRecord::released(grant)),
        access,
    );
    if let Some(refresh) = &tokens.refresh {
        let refresh = core.seal_token(owner, grant, (TokenToSeal::Refresh(refresh), 1))?;
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
