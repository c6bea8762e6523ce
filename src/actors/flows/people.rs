//! People of a tenant: found by keyed pseudonym, made when they first connect something.

use domain::{Identity, Pseudonym};

use crate::core::Core;
use crate::doors::Refusal;
use crate::rows::{self, Changes, Stored, UserRow};
use crate::sealing::DataKey;

/// The row of a person, if there is one.
pub(crate) async fn find(
    core: &Core,
    pseudonym: &Pseudonym,
) -> Result<Option<Stored<UserRow>>, Refusal> {
    Ok(rows::load(&*core.store, &rows::keys::user(pseudonym)).await?)
}

/// The data key of a person who is there already: for looking and for destroying, which make nobody.
pub(crate) async fn existing(core: &Core, identity: &Identity) -> Result<Option<DataKey>, Refusal> {
    let row = find(core, &core.pseudonym(identity)).await?;
    row.map(|row| core.data_key(&row.value, identity))
        .transpose()
}

/// The data key of a person, making the person when there is none yet. Two requests that make the same person at once
/// agree on whichever was first.
pub(crate) async fn find_or_create(core: &Core, identity: &Identity) -> Result<DataKey, Refusal> {
    let pseudonym = core.pseudonym(identity);
    if let Some(row) = find(core, &pseudonym).await? {
        return core.data_key(&row.value, identity);
    }
    let (row, owner) = core.new_user(identity, &pseudonym, core.now())?;
    let mut changes = Changes::default();
    changes.create(rows::keys::user(&pseudonym), &row);
    match changes.commit(&*core.store).await {
        Ok(()) => Ok(owner),
        Err(storage::StoreError::Conflict { .. }) => {
            let row = find(core, &pseudonym).await?.ok_or(Refusal::Internal)?;
            core.data_key(&row.value, identity)
        }
        Err(error) => Err(error.into()),
    }
}
