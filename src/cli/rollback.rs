//! `accept-rollback`: goes on with a store or a clock that went back, after saying what that may cost.

use domain::AuditAction;
use storage::OpenError;

use super::{CommandError, hands, say};
use crate::config::Config;
use crate::foundation::{Foundation, FoundationError, Hands};

const COST: &str = "\
What was committed after the point to which it went back is lost or comes back to life:
  - grants and keys made since then are gone; grants and keys ended since then work again;
  - refresh tokens that were replaced since then no longer work, and providers may end those grants when they are used;
  - links, flows and sessions that had ended may be open again until their own end.
Afterwards look through `strongroom server list` and `strongroom grants list`, and end again what must not live.
If a newer copy of the data folder exists, restore that one instead.";

const CLOCK_TOO: &str = "\
The clock is behind as well, and is not taken together with the store: set it, or run `strongroom accept-rollback` once more \
for it.";

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
            let marks = told(config, &hands, &wrong);
            return Err(CommandError::Usage(format!(
                "{wrong}\n\n{marks}{COST}\n\nTo go on nevertheless: `strongroom accept-rollback --yes`"
            )));
        }
        // The entry first: what cannot be accounted for is not done.
        note(config, &hands, "ok").map_err(|error| CommandError::Start(error.into()))?;
        match Foundation::accept_rollback(config, &hands).await {
            Ok(opened) => close(&opened).await?,
            Err(error) => return Err(failed(config, &hands, (is_of_store(&wrong), error))),
        }
        say(if is_of_store(&wrong) {
            "The store is taken as it is from now on."
        } else {
            "The clock is taken as it is from now on."
        });
        say(COST);
        Ok(())
    })
}

/// Both marks, whichever of them is wrong.
fn told(config: &Config, hands: &Hands, wrong: &FoundationError) -> String {
    match Foundation::marks(config, hands) {
        Ok(marks) if is_of_store(wrong) && marks.clock_is_behind() => {
            format!("As it is now:\n{marks}\n{CLOCK_TOO}\n\n")
        }
        Ok(marks) => format!("As it is now:\n{marks}\n\n"),
        Err(error) => format!("The store cannot be read as it is: {error}\n\n"),
    }
}

/// What is told, and what the audit log has to say, when the entry stands and accepting ended badly.
fn failed(
    config: &Config,
    hands: &Hands,
    (of_store, error): (bool, FoundationError),
) -> CommandError {
    let outcome = match &error {
        // The store was taken. That the clock is behind was not what the operator was asked about.
        FoundationError::ClockBehind { .. } if of_store => {
            say("The store is taken as it is from now on.");
            say(CLOCK_TOO);
            return error.into();
        }
        FoundationError::Store(OpenError::Io { .. } | OpenError::DiskFull)
        | FoundationError::Rows(_) => "not-known",
        FoundationError::Store(_)
        | FoundationError::KeyFile(_)
        | FoundationError::Passphrase(_) => "not-done",
        // It was taken, and cannot be used for another reason.
        _ => return error.into(),
    };
    match note(config, hands, outcome) {
        Ok(()) => error.into(),
        Err(unwritten) => CommandError::Other(format!(
            "{error}\nThe audit log says that it was accepted, and that it was not could not be written: {unwritten}"
        )),
    }
}

fn note(config: &Config, hands: &Hands, outcome: &'static str) -> Result<(), actors::AuditError> {
    let folder = config.data_dir.join("audit");
    let what = (AuditAction::RollbackAccepted, outcome);
    actors::record_alone(&folder, &*hands.clock, what)
}

fn is_rollback(error: &FoundationError) -> bool {
    is_of_store(error) || matches!(error, FoundationError::ClockBehind { .. })
}

const fn is_of_store(error: &FoundationError) -> bool {
    matches!(
        error,
        FoundationError::Store(OpenError::RolledBack { .. } | OpenError::SidecarLost { .. })
    )
}

async fn close(opened: &Foundation) -> Result<(), CommandError> {
    let closed = opened.store.close().await;
    closed.map_err(|error| CommandError::Other(error.to_string()))
}
