//! `accept-rollback`: goes on with a store or a clock that went back, after saying what that may cost.

use domain::AuditAction;
use storage::OpenError;

use super::{CommandError, hands, say};
use crate::config::Config;
use crate::foundation::{Foundation, FoundationError};

const COST: &str = "\
What was committed after the point to which it went back is lost or comes back to life:
  - grants and keys made since then are gone; grants and keys ended since then work again;
  - refresh tokens that were replaced since then no longer work, and providers may end those grants when they are used;
  - links, flows and sessions that had ended may be open again until their own end.
Afterwards look through `strongroom server list` and `strongroom grants list`, and end again what must not live.
If a newer copy of the data folder exists, restore that one instead.";

/// `strongroom accept-rollback`.
pub(super) fn accept(config: &Config, yes: bool) -> Result<(), CommandError> {
    let hands = hands()?;
    super::on_a_system(async {
        let wrong = match Foundation::open(config, &hands).await {
            Ok(opened) => {
                close(&opened).await?;
                say("Nothing has gone back: the store opens as it is. Nothing was changed.");
                return Ok(());
            }
            Err(error) if is_rollback(&error) => error,
            Err(other) => return Err(other.into()),
        };
        if !yes {
            return Err(CommandError::Usage(format!(
                "{wrong}\n\n{COST}\n\nTo go on nevertheless: `strongroom accept-rollback --yes`"
            )));
        }
        // The entry first: what cannot be accounted for is not done.
        let folder = config.data_dir.join("audit");
        actors::record_alone(&folder, &*hands.clock, AuditAction::RollbackAccepted)
            .map_err(|error| CommandError::Start(error.into()))?;
        let opened = Foundation::accept_rollback(config, &hands).await?;
        close(&opened).await?;
        say("The store and the clock are taken as they are from now on.");
        say(COST);
        Ok(())
    })
}

fn is_rollback(error: &FoundationError) -> bool {
    matches!(
        error,
        FoundationError::ClockBehind { .. }
            | FoundationError::Store(OpenError::RolledBack { .. } | OpenError::SidecarLost { .. })
    )
}

async fn close(opened: &Foundation) -> Result<(), CommandError> {
    let closed = opened.store.close().await;
    closed.map_err(|error| CommandError::Other(error.to_string()))
}
