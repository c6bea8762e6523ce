//! Keys of servers and operators: made, shown once, checked on every call (C1), revoked.

use std::ops::ControlFlow;

use domain::{
    AuditAbout, AuditAction, AuditClass, AuthenticatedServer, CallerRefused, CallerState,
    Principal, ServerSlug, SubjectRefused, TenantSlug, VerifiedSubject,
};
use secret::{KeyClass, Reveal as _, ServerKeyText};
use storage::Revision;
use zeroize::Zeroizing;

use super::admin_key;
use super::audit_trail::{about_call, by_server, event};
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Ctx, KeyView, NewKey, Refusal};
use crate::rows::{self, Changes, ServerKeyRow, ServerRow, Stored};

/// C1: whose key is this? A text that is not a key of ours never reaches the store, but the log tells of it.
pub(crate) async fn authenticate(
    core: &Core,
    ctx: Ctx,
    text: &str,
) -> Result<AuthenticatedServer, Refusal> {
    let Ok(key) = ServerKeyText::parse(KeyClass::Server, text) else {
        return malformed(core, ctx, text).await;
    };
    let at = rows::keys::server_key(key.id());
    let Some(row) = rows::load::<ServerKeyRow>(&*core.store, &at).await? else {
        return refuse(core, ctx, Some(key.id()), CallerRefused::NoSuchKey).await;
    };
    let owner = row.value.server.as_ref();
    let Some(server) = owner.and_then(|slug| core.registry.server(slug)) else {
        return refuse(core, ctx, Some(key.id()), CallerRefused::Unknown).await;
    };
    let dynamic = rows::load::<ServerRow>(&*core.store, &rows::keys::server(&server.slug)).await?;
    let state = CallerState {
        hash_matches: hash_matches(core, &key, &row.value),
        key_revoked: row.value.revoked.is_some(),
        server_disabled: dynamic.is_some_and(|dynamic| dynamic.value.disabled),
    };
    match AuthenticatedServer::check(server, key.id(), state) {
        Ok(caller) => Ok(caller),
        Err(reason) => refuse(core, ctx, Some(key.id()), reason).await,
    }
}

/// C1 and C2 once more, on what is stored and what time it is now. A request that has waited for somebody outside asks this
/// before it acts: its key may have been revoked, its server disabled or its subject token ended meanwhile.
pub(crate) async fn still(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
) -> Result<(), Refusal> {
    still_calling(core, ctx, caller).await?;
    if subject.holds(core.now()) {
        return Ok(());
    }
    let about = about_call(core, caller, Some(subject));
    let what = (AuditClass::Browser, AuditAction::SubjectRefused);
    core.audited_as(ctx, what, "time", (by_server(caller), about))
        .await?;
    Err(Refusal::Subject(SubjectRefused::Time))
}

/// C1 once more, see [`still`].
pub(crate) async fn still_calling(
    core: &Core,
    ctx: Ctx,
    caller: &AuthenticatedServer,
) -> Result<(), Refusal> {
    let slug = &caller.server().slug;
    let row =
        rows::load::<ServerKeyRow>(&*core.store, &rows::keys::server_key(caller.key())).await?;
    let row = row.map(|row| row.value);
    let state = CallerState {
        // The hash was compared when the request came; a key that is somebody else's now is not that key.
        hash_matches: row
            .as_ref()
            .is_some_and(|row| row.server.as_ref() == Some(slug)),
        key_revoked: row.is_some_and(|row| row.revoked.is_some()),
        server_disabled: is_disabled(core, slug).await?,
    };
    match caller.still(state) {
        Ok(()) => Ok(()),
        Err(reason) => refuse(core, ctx, Some(caller.key()), reason).await,
    }
}

/// What was presented is no key of the class that belongs here. A key of the other class is named: it was shown around.
async fn malformed<T>(core: &Core, ctx: Ctx, text: &str) -> Result<T, Refusal> {
    let other = [KeyClass::Server, KeyClass::Admin]
        .into_iter()
        .find_map(|class| ServerKeyText::parse(class, text).ok());
    refuse(
        core,
        ctx,
        other.as_ref().map(ServerKeyText::id),
        CallerRefused::Malformed,
    )
    .await
}

pub(super) async fn refuse<T>(
    core: &Core,
    ctx: Ctx,
    key: Option<&str>,
    reason: CallerRefused,
) -> Result<T, Refusal> {
    let about = AuditAbout {
        key: key.map(Into::into),
        ..AuditAbout::default()
    };
    core.audited_as(
        ctx,
        (AuditClass::Browser, AuditAction::CallerRefused),
        reason.as_str(),
        (Principal::Nobody, about),
    )
    .await?;
    Err(Refusal::Caller)
}

/// Whether `text` is a live admin key.
pub(crate) async fn authenticate_admin(core: &Core, ctx: Ctx, text: &str) -> Result<(), Refusal> {
    let Ok(key) = ServerKeyText::parse(KeyClass::Admin, text) else {
        return malformed(core, ctx, text).await;
    };
    let at = rows::keys::server_key(key.id());
    let Some(row) = rows::load::<ServerKeyRow>(&*core.store, &at).await? else {
        return refuse(core, ctx, Some(key.id()), CallerRefused::NoSuchKey).await;
    };
    if row.value.server.is_some() || !hash_matches(core, &key, &row.value) {
        return refuse(core, ctx, Some(key.id()), CallerRefused::Unknown).await;
    }
    if row.value.revoked.is_some() || !admin_key::is_the_one(core, key.id()).await? {
        return refuse(core, ctx, Some(key.id()), CallerRefused::Revoked).await;
    }
    Ok(())
}

fn hash_matches(core: &Core, key: &ServerKeyText, row: &ServerKeyRow) -> bool {
    let stored = crypto::ServerKeyHash::from_bytes(row.hash.0);
    core.keyring
        .server_key_candidates(key, owner(row.server.as_ref()))
        .any(|hash| hash.ct_eq(&stored))
}

/// Whose key it is, as the keyed hash names them; nobody's slug is empty, so that stands for the operator.
fn owner(server: Option<&ServerSlug>) -> &str {
    server.map_or("", ServerSlug::as_str)
}

/// Makes a key for a server and shows it once.
pub(crate) async fn new_key(core: &Core, ctx: Ctx, slug: &ServerSlug) -> Result<NewKey, Refusal> {
    core.registry.server(slug).ok_or(Refusal::NotFound)?;
    let (key, row) = generate(core, ctx, Some(slug));
    retrying(|| store_key(core, ctx, (slug, key.id()), &row)).await?;
    Ok(shown(&key, &row))
}

/// A fresh key of a server (or, without one, of the operator), not stored yet.
pub(super) fn generate(
    core: &Core,
    ctx: Ctx,
    server: Option<&ServerSlug>,
) -> (ServerKeyText, ServerKeyRow) {
    let class = if server.is_some() {
        KeyClass::Server
    } else {
        KeyClass::Admin
    };
    let key = ServerKeyText::generate(class, &*core.entropy);
    let hash = core.keyring.server_key_hash(&key, owner(server));
    let row = ServerKeyRow {
        server: server.cloned(),
        hash: domain::Digest(*hash.as_bytes()),
        created: ctx.now,
        revoked: None,
    };
    (key, row)
}

/// A key that was stored, as its owner is shown it this once.
pub(super) fn shown(key: &ServerKeyText, row: &ServerKeyRow) -> NewKey {
    NewKey {
        view: view(key.id(), row),
        text: Zeroizing::new(key.reveal().to_owned()),
    }
}

async fn store_key(
    core: &Core,
    ctx: Ctx,
    (slug, id): (&ServerSlug, &str),
    row: &ServerKeyRow,
) -> Result<(), Stepped> {
    // The server's row is written as it was: of two that count the live keys at once, one finds the row changed and
    // counts again.
    let at = rows::keys::server(slug);
    let known = rows::load::<ServerRow>(&*core.store, &at).await?;
    let (same, revision) = known.map_or((ServerRow::default(), Revision::NONE), |known| {
        (known.value, known.revision)
    });
    let keys = keys_of(core, slug).await?;
    if keys.iter().filter(|key| key.revoked.is_none()).count() >= LIVE_KEYS {
        return Err(Refusal::KeyLimit.into());
    }
    let mut changes = Changes::default();
    changes.put(at, revision, &same);
    changes.create(rows::keys::server_key(id), row);
    let about = AuditAbout {
        server: row.server.clone(),
        key: Some(id.into()),
        ..AuditAbout::default()
    };
    let what = (AuditClass::Key, AuditAction::ServerKeyCreated);
    core.commit_audited(ctx, changes, event(what, Principal::Operator, about))
        .await
}

/// Revokes a key. One that is revoked already stays as it is.
pub(crate) async fn revoke_key(core: &Core, ctx: Ctx, id: &str) -> Result<KeyView, Refusal> {
    retrying(|| store_revoked(core, ctx, id)).await
}

async fn store_revoked(core: &Core, ctx: Ctx, id: &str) -> Result<KeyView, Stepped> {
    let at = rows::keys::server_key(id);
    let Some(Stored {
        value: mut row,
        revision,
    }) = rows::load::<ServerKeyRow>(&*core.store, &at).await?
    else {
        return Err(Refusal::NotFound.into());
    };
    let about = AuditAbout {
        server: row.server.clone(),
        key: Some(id.into()),
        ..AuditAbout::default()
    };
    let what = (AuditClass::Key, AuditAction::ServerKeyRevoked);
    if row.revoked.is_some() {
        let by = (Principal::Operator, about);
        core.audited_as(ctx, what, "already-revoked", by).await?;
        return Ok(view(id, &row));
    }
    row.revoked = Some(ctx.now);
    let mut changes = Changes::default();
    changes.put(at, revision, &row);
    core.commit_audited(ctx, changes, event(what, Principal::Operator, about))
        .await?;
    Ok(view(id, &row))
}

/// All keys of a server, revoked ones included.
pub(crate) async fn keys_of(core: &Core, server: &ServerSlug) -> Result<Vec<KeyView>, Refusal> {
    let mut keys = Vec::new();
    let all = (storage::Table::ServerKeys, &[][..]);
    rows::each(&*core.store, all, |id, row: ServerKeyRow| {
        if row.server.as_ref() == Some(server) {
            keys.push(view(&String::from_utf8_lossy(id), &row));
        }
        ControlFlow::Continue(())
    })
    .await?;
    keys.sort_by_key(|key: &KeyView| key.created);
    Ok(keys)
}

/// Disables or enables a server.
pub(crate) async fn set_disabled(
    core: &Core,
    ctx: Ctx,
    slug: &ServerSlug,
    disabled: bool,
) -> Result<(), Refusal> {
    let server = core.registry.server(slug).ok_or(Refusal::NotFound)?;
    let tenant = &server.tenant;
    retrying(|| store_disabled(core, ctx, (tenant, slug), disabled)).await
}

async fn store_disabled(
    core: &Core,
    ctx: Ctx,
    (tenant, slug): (&TenantSlug, &ServerSlug),
    disabled: bool,
) -> Result<(), Stepped> {
    let at = rows::keys::server(slug);
    let revision = rows::load::<ServerRow>(&*core.store, &at)
        .await?
        .map_or(Revision::NONE, |row| row.revision);
    let mut changes = Changes::default();
    changes.put(at, revision, &ServerRow { disabled });
    let action = if disabled {
        AuditAction::ServerDisabled
    } else {
        AuditAction::ServerEnabled
    };
    let about = AuditAbout {
        tenant: Some(tenant.clone()),
        server: Some(slug.clone()),
        ..AuditAbout::default()
    };
    let entry = event((AuditClass::Admin, action), Principal::Operator, about);
    core.commit_audited(ctx, changes, entry).await
}

/// Whether a server is disabled.
pub(crate) async fn is_disabled(core: &Core, slug: &ServerSlug) -> Result<bool, Refusal> {
    let row = rows::load::<ServerRow>(&*core.store, &rows::keys::server(slug)).await?;
    Ok(row.is_some_and(|row| row.value.disabled))
}

fn view(id: &str, row: &ServerKeyRow) -> KeyView {
    KeyView {
        id: id.into(),
        created: row.created,
        revoked: row.revoked,
    }
}

/// Live keys of one server at a time: the old one and its successor.
const LIVE_KEYS: usize = 2;
