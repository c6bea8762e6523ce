//! Grants: found, listed, changed in status, ended with one revocation at the provider.

use std::ops::ControlFlow;
use std::sync::Arc;

use domain::{
    AuditAbout, AuditAction, AuditClass, AuditEvent, AuthenticatedServer, Grant, GrantId, GrantKey,
    GrantStatus, Principal, VerifiedSubject,
};
use storage::{Revision, Table};

use super::audit_trail::{about_anothers, about_grant, by_server, event};
use super::people;
use super::revocation::{self, Authorization};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{
    AdminGrantPage, AdminGrantView, Ctx, GrantView, ProviderRevocation, Refusal, RevocationReceipt,
};
use crate::rows::{self, Changes, RowKey, Stored, UserRow};
use crate::sealing::{DataKey, TokenRecord, TokenToSeal, main_slot};

/// A grant and what opens its records.
pub(crate) struct Found {
    /// The grant.
    pub(crate) grant: Stored<Grant>,
    /// Its owner's data key.
    pub(crate) owner: DataKey,
}

/// Where a record of a grant is.
pub(crate) fn record_key(grant: GrantId, record: TokenRecord) -> RowKey {
    rows::keys::record(grant, record.kind(), &main_slot())
}

/// Where the account name of a grant is.
pub(crate) fn account_key(grant: GrantId) -> RowKey {
    rows::keys::record(grant, crypto::Kind::UserProfile, &main_slot())
}

/// A sealed record of a grant.
pub(crate) async fn record(
    core: &Core,
    grant: GrantId,
    which: TokenRecord,
) -> Result<Option<Stored<Vec<u8>>>, Refusal> {
    raw(core, &record_key(grant, which)).await
}

/// A row whose body is a sealed record.
pub(crate) async fn raw(core: &Core, key: &RowKey) -> Result<Option<Stored<Vec<u8>>>, Refusal> {
    let row = core.store.read(key.table, &key.key).await?;
    Ok(row.map(|row| Stored {
        value: row.body,
        revision: row.revision,
    }))
}

/// A grant by what identifies it.
pub(crate) async fn by_key(core: &Core, key: &GrantKey) -> Result<Option<Stored<Grant>>, Refusal> {
    Ok(rows::load(&*core.store, &rows::keys::grant(key)).await?)
}

/// A grant by its id, for work that no request about its person started: the identity comes from the sealed profile.
pub(crate) async fn by_id(core: &Core, id: GrantId) -> Result<Option<Found>, Refusal> {
    let Some(grant) = row_by_id(core, id).await? else {
        return Ok(None);
    };
    let Some(user) = people::find(core, &grant.value.pseudonym).await? else {
        return Ok(None);
    };
    if user.value.id != grant.value.user {
        tracing::error!(grant.id = %id, "a grant names another person than its pseudonym");
        return Err(Refusal::Internal);
    }
    let owner = core.data_key_from_profile(&user.value, &grant.value.pseudonym)?;
    Ok(Some(Found { grant, owner }))
}

/// The row of a grant by its id, whoever's it is.
pub(crate) async fn row_by_id(core: &Core, id: GrantId) -> Result<Option<Stored<Grant>>, Refusal> {
    let index = rows::keys::grant_id(id);
    let Some(at) = core.store.read(index.table, &index.key).await? else {
        return Ok(None);
    };
    let key = RowKey {
        table: Table::Grants,
        key: at.body,
    };
    let grant = rows::load::<Grant>(&*core.store, &key).await?;
    Ok(grant.filter(|grant| grant.value.id == id))
}

/// What a person has connected to a server.
pub(crate) async fn list(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
) -> Result<Vec<GrantView>, Refusal> {
    let server = caller.server();
    let Some(user) = people::find(core, &core.pseudonym(subject.identity())).await? else {
        return Ok(Vec::new());
    };
    let prefix = rows::keys::grants_prefix(&server.tenant, user.value.id, &server.slug);
    let mut views = Vec::new();
    rows::each(&*core.store, (Table::Grants, &prefix), |_, grant: Grant| {
        views.push(view(&grant));
        ControlFlow::Continue(())
    })
    .await?;
    Ok(views)
}

/// One grant of this person at this server; anybody else's looks like one that is not there, but the log says who came
/// and, within the same tenant, whose it is.
pub(crate) async fn mine(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    id: GrantId,
) -> Result<(Stored<Grant>, Stored<UserRow>), Refusal> {
    let server = caller.server();
    let pseudonym = core.pseudonym(subject.identity());
    let grant = row_by_id(core, id).await?.ok_or(Refusal::NotFound)?;
    let is_mine = grant.value.tenant == server.tenant
        && grant.value.server == server.slug
        && grant.value.pseudonym == pseudonym;
    let user = match people::find(core, &pseudonym).await? {
        Some(user) if is_mine && user.value.id == grant.value.user => user,
        _ => return not_mine(core, ctx, (caller, subject), &grant.value).await,
    };
    Ok((grant, user))
}

async fn not_mine<T>(
    core: &Core,
    ctx: Ctx,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    grant: &Grant,
) -> Result<T, Refusal> {
    let theirs = (&grant.tenant, about_grant(grant));
    let (outcome, about) = about_anothers(core, caller, subject, theirs);
    let about = AuditAbout {
        grant: Some(grant.id),
        ..about
    };
    let what = (AuditClass::Browser, AuditAction::GrantRefused);
    core.audited_as(ctx, what, outcome, (by_server(caller), about))
        .await?;
    Err(Refusal::NotFound)
}

/// A page of all grants, for the operator. Whether there are more is decided by the index: a grant that went away just now
/// leaves its page shorter and ends no list.
pub(crate) async fn all(
    core: &Core,
    after: Option<GrantId>,
    limit: usize,
) -> Result<AdminGrantPage, Refusal> {
    let after = after.map(|id| id.as_bytes().to_vec());
    let limit = limit.clamp(1, storage::SCAN_MAX - 1);
    let mut index = core
        .store
        .scan(Table::GrantIds, &[], after.as_deref(), limit + 1)
        .await?;
    let more = index.len() > limit;
    index.truncate(limit);
    let mut page = AdminGrantPage {
        grants: Vec::with_capacity(index.len()),
        next: None,
    };
    if let Some(last) = index.last().filter(|_| more) {
        let id: [u8; 16] = last.key.as_slice().try_into().map_err(|_| {
            tracing::error!("the index of grants has an entry that this program did not write");
            Refusal::Internal
        })?;
        page.next = Some(GrantId::from_bytes(id));
    }
    for at in index {
        let key = RowKey {
            table: Table::Grants,
            key: at.body,
        };
        if let Some(grant) = rows::load::<Grant>(&*core.store, &key).await? {
            page.grants.push(admin_view(&grant.value));
        }
    }
    Ok(page)
}

/// Ends a grant for its own server and person.
pub(crate) async fn revoke_mine(
    core: &Arc<Core>,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    id: GrantId,
) -> Result<RevocationReceipt, Refusal> {
    let (grant, _) = mine(core, ctx, caller, subject, id).await?;
    end_detached(core, ctx, grant, by_server(caller)).await
}

/// Ends a grant for the operator.
pub(crate) async fn revoke_any(
    core: &Arc<Core>,
    ctx: Ctx,
    id: GrantId,
) -> Result<RevocationReceipt, Refusal> {
    let grant = row_by_id(core, id).await?.ok_or(Refusal::NotFound)?;
    end_detached(core, ctx, grant, Principal::Operator).await
}

/// Ends a grant in a flow of its own: once it has ended here, the provider is told whatever becomes of the request.
pub(crate) async fn end_detached(
    core: &Arc<Core>,
    ctx: Ctx,
    grant: Stored<Grant>,
    by: Principal,
) -> Result<RevocationReceipt, Refusal> {
    let work = Arc::clone(core);
    core.detached(async move {
        let id = grant.value.id;
        let mut found = Some(grant);
        retrying(|| {
            let (first, work, by) = (found.take(), &work, by.clone());
            async move {
                // A refresh may have moved it; then what there is now ends.
                let grant = match first {
                    Some(grant) => grant,
                    None => row_by_id(work, id).await?.ok_or(Refusal::NotFound)?,
                };
                end(work, ctx, grant, by).await
            }
        })
        .await
    })
    .await
}

/// Ends a grant here first, so that nothing is released while the provider is asked, then asks the provider once. What does
/// not open is erased all the same. What has ended already stays as it is.
async fn end(
    core: &Core,
    ctx: Ctx,
    Stored {
        value: grant,
        revision,
    }: Stored<Grant>,
    by: Principal,
) -> Result<RevocationReceipt, Stepped> {
    let what = (AuditClass::Link, AuditAction::GrantRevoked);
    if grant.status == GrantStatus::Revoked {
        let who = (by, about_grant(&grant));
        core.audited_as(ctx, what, "already-revoked", who).await?;
        return Ok(RevocationReceipt {
            grant: grant.id,
            ended: core.now(),
            provider: ProviderRevocation::NothingToRevoke,
        });
    }
    let owner = revocation::opened(by_id(core, grant.id).await)?.flatten();
    let token = match owner {
        Some(found) => revocation::token_of(core, (&grant, revision), &found.owner).await?,
        None => None,
    };
    let mut ended = grant.clone();
    ended.status = GrantStatus::Revoked;
    ended.slots.clear();
    let mut changes = Changes::default();
    changes.put(rows::keys::grant(&grant.key()), revision, &ended);
    remove_records(core, &mut changes, grant.id).await?;
    core.commit_audited(ctx, changes, event(what, by.clone(), about_grant(&grant)))
        .await?;
    let provider = revocation::tell(core, Authorization::of_grant(&grant), token).await;
    let who = (by, about_grant(&grant));
    core.audited_as(ctx, what, revocation::outcome(provider), who)
        .await?;
    Ok(RevocationReceipt {
        grant: grant.id,
        ended: core.now(),
        provider,
    })
}

/// Adds the removal of all of a grant's records to a commit.
pub(crate) async fn remove_records(
    core: &Core,
    changes: &mut Changes,
    grant: GrantId,
) -> Result<(), Refusal> {
    let prefix = rows::keys::records_prefix(grant);
    for row in core
        .store
        .scan(Table::Records, &prefix, None, storage::WRITES_MAX / 2)
        .await?
    {
        changes.delete(
            RowKey {
                table: Table::Records,
                key: row.key,
            },
            row.revision,
        );
    }
    Ok(())
}

/// Changes a grant's status. The status is one of the facts that its records are bound to, so they are sealed anew in the
/// same commit.
///
/// # Errors
/// As [`Core::commit_audited`].
pub(crate) async fn set_status(
    core: &Core,
    ctx: Ctx,
    ((grant, revision), owner): ((Grant, Revision), &DataKey),
    (status, entry): (GrantStatus, AuditEvent),
) -> Result<(), Stepped> {
    let mut changed = grant.clone();
    changed.status = status;
    if let Some(slot) = changed.slots.first_mut() {
        slot.access_version += 1;
        slot.refresh_version = slot.refresh_version.map(|version| version + 1);
    }
    let mut changes = Changes::default();
    for which in [TokenRecord::released(&grant), TokenRecord::Refresh] {
        let versions = (version_of(&grant, which), version_of(&changed, which));
        let (Some(old), Some(new), Some(row)) =
            (versions.0, versions.1, record(core, grant.id, which).await?)
        else {
            continue;
        };
        let sealed = match which {
            TokenRecord::Access | TokenRecord::Key => {
                let token = core.open_access(owner, &grant, old, row.value)?;
                core.seal_token(owner, &changed, (TokenToSeal::Access(&token), new))?
            }
            TokenRecord::Refresh => {
                let token = core.open_refresh(owner, &grant, old, row.value)?;
                core.seal_token(owner, &changed, (TokenToSeal::Refresh(&token), new))?
            }
        };
        changes.put_bytes(record_key(grant.id, which), row.revision, sealed);
    }
    changes.put(rows::keys::grant(&grant.key()), revision, &changed);
    core.commit_audited(ctx, changes, entry).await
}

/// Record version of one of a grant's records.
pub(crate) fn version_of(grant: &Grant, which: TokenRecord) -> Option<u64> {
    let slot = grant.slots.first()?;
    match which {
        TokenRecord::Access | TokenRecord::Key => Some(slot.access_version),
        TokenRecord::Refresh => slot.refresh_version,
    }
}

/// A grant as its server sees it.
pub(crate) fn view(grant: &Grant) -> GrantView {
    let slot = grant.slots.first();
    GrantView {
        id: grant.id,
        provider: grant.provider.clone(),
        alias: grant.alias.clone(),
        status: grant.status,
        scopes: grant.scopes.clone(),
        created: grant.created,
        access_expires: slot.and_then(|slot| slot.expires),
        generation: slot.map_or(0, |slot| slot.generation),
    }
}

fn admin_view(grant: &Grant) -> AdminGrantView {
    AdminGrantView {
        id: grant.id,
        tenant: grant.tenant.clone(),
        server: grant.server.clone(),
        provider: grant.provider.clone(),
        user: grant.pseudonym.short().into(),
        status: grant.status,
        created: grant.created,
    }
}
