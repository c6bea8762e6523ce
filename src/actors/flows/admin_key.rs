//! The admin key: one at a time. A new one replaces those before it, in one commit.
//!
//! One row names the live key, and every replacement changes it by compare-and-swap: of two at once, one finds it changed and
//! looks again, and whoever was let in with a key that was replaced meanwhile is refused then. So whoever holds an earlier key
//! is out as soon as anybody replaces it. An installation that has no such row yet keeps its live keys until the first
//! replacement.

use std::ops::ControlFlow;
use std::sync::Arc;

use domain::{AuditAbout, AuditAction, AuditClass, CallerRefused, Principal};
use secret::{KeyClass, ServerKeyText};
use serde::{Deserialize, Serialize};
use storage::{Revision, StoreError, Table};

use super::audit_trail::event;
use super::credentials;
use crate::core::{Core, Stepped, retrying};
use crate::doors::{Ctx, NewKey, Refusal};
use crate::rows::{self, Changes, Row, RowKey, ServerKeyRow, Stored};

#[derive(Serialize, Deserialize)]
struct LiveKey {
    id: String,
}

impl Row for LiveKey {
    /// There is one of its kind, and the key that it names has to hold by its own row as well.
    fn belongs_at(&self, _key: &[u8]) -> bool {
        true
    }
}

fn place() -> RowKey {
    rows::keys::meta("admin-key")
}

/// Whether `id` is the admin key that replaced all others, or no replacement was made yet.
pub(super) async fn is_the_one(core: &Core, id: &str) -> Result<bool, StoreError> {
    let live = rows::load::<LiveKey>(&*core.store, &place()).await?;
    Ok(live.is_none_or(|live| live.value.id == id))
}

/// Makes an admin key and revokes every earlier one. `sent` is the key that the request came with, if it needed one. It goes
/// on when whoever asked is gone.
pub(crate) async fn replace(
    core: &Arc<Core>,
    ctx: Ctx,
    sent: Option<&str>,
) -> Result<NewKey, Refusal> {
    let sent = match sent.map(|text| ServerKeyText::parse(KeyClass::Admin, text)) {
        Some(Ok(key)) => Some(key.id().to_owned()),
        Some(Err(_)) => return Err(Refusal::Caller),
        None => None,
    };
    let work = Arc::clone(core);
    core.detached(async move {
        let (key, row) = credentials::generate(&work, ctx, None);
        retrying(|| step(&work, ctx, sent.as_deref(), (key.id(), &row))).await?;
        Ok(credentials::shown(&key, &row))
    })
    .await
}

async fn step(
    core: &Core,
    ctx: Ctx,
    sent: Option<&str>,
    (fresh, row): (&str, &ServerKeyRow),
) -> Result<(), Stepped> {
    // Read before anything that rests on it: the commit fails when it has changed since.
    let known = rows::load::<LiveKey>(&*core.store, &place()).await?;
    let earlier = live(core).await?;
    if let Some(sent) = sent {
        let named = known.as_ref().is_none_or(|known| known.value.id == sent);
        if !named || !earlier.iter().any(|(id, _)| id == sent) {
            let reason = CallerRefused::Revoked;
            return Ok(credentials::refuse(core, ctx, Some(sent), reason).await?);
        }
    }
    let mut changes = Changes::default();
    let revision = known.map_or(Revision::NONE, |known| known.revision);
    let named = LiveKey { id: fresh.into() };
    changes.put(place(), revision, &named);
    changes.create(rows::keys::server_key(fresh), row);
    let mut entries = vec![entry(AuditAction::ServerKeyCreated, fresh)];
    for (id, stored) in earlier {
        let revoked = ServerKeyRow {
            revoked: Some(ctx.now),
            ..stored.value
        };
        changes.put(rows::keys::server_key(&id), stored.revision, &revoked);
        entries.push(entry(AuditAction::ServerKeyRevoked, &id));
    }
    core.commit_all_audited(ctx, changes, entries).await
}

fn entry(action: AuditAction, id: &str) -> domain::AuditEvent {
    let about = AuditAbout {
        key: Some(id.into()),
        ..AuditAbout::default()
    };
    event((AuditClass::Key, action), Principal::Operator, about)
}

/// The admin keys that are not revoked, as they are now.
async fn live(core: &Core) -> Result<Vec<(String, Stored<ServerKeyRow>)>, StoreError> {
    let is_live = |row: &ServerKeyRow| row.server.is_none() && row.revoked.is_none();
    let mut ids = Vec::new();
    let all = (Table::ServerKeys, &[][..]);
    rows::each(&*core.store, all, |id, key: ServerKeyRow| {
        if is_live(&key) {
            ids.push(String::from_utf8_lossy(id).into_owned());
        }
        ControlFlow::Continue(())
    })
    .await?;
    let mut keys = Vec::new();
    for id in ids {
        let at = rows::keys::server_key(&id);
        match rows::load::<ServerKeyRow>(&*core.store, &at).await? {
            Some(stored) if is_live(&stored.value) => keys.push((id, stored)),
            _ => {}
        }
    }
    Ok(keys)
}
