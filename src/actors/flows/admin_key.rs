//! The admin key: one at a time. A new one replaces those before it.

use std::ops::ControlFlow;

use storage::Table;

use super::credentials;
use crate::core::Core;
use crate::doors::{Ctx, NewKey, Refusal};
use crate::rows::{self, ServerKeyRow};

/// Makes an admin key, then revokes every earlier one: when it ends half way, there is a key too many and never one too few.
pub(crate) async fn replace(core: &Core, ctx: Ctx) -> Result<NewKey, Refusal> {
    let earlier = live(core).await?;
    let fresh = credentials::new_key(core, ctx, None).await?;
    for id in earlier {
        credentials::revoke_key(core, ctx, &id).await?;
    }
    Ok(fresh)
}

/// Ids of the admin keys that are not revoked.
async fn live(core: &Core) -> Result<Vec<String>, Refusal> {
    let mut ids = Vec::new();
    let all = (Table::ServerKeys, &[][..]);
    rows::each(&*core.store, all, |id, key: ServerKeyRow| {
        if key.server.is_none() && key.revoked.is_none() {
            ids.push(String::from_utf8_lossy(id).into_owned());
        }
        ControlFlow::Continue(())
    })
    .await?;
    Ok(ids)
}
