//! The audit log: JSON lines, written before the answer goes out, each naming the hash of the line before it.
//!
//! A line is appended with one `write` under a short lock, so a release crosses no mailbox and survives the death of the
//! process. Entries about links, keys and operators wait for `fdatasync` as well; the [`AuditLog`]'s actor gathers those
//! that wait at the same moment into one sync. When the file cannot be written the log says so and nothing is answered
//! until it can be. The store keeps the last entry, so that a file cut or exchanged while nothing ran is noticed.
//! What anybody can cause without being known is written up to a number each minute and counted beyond it (`crowd.rs`):
//! nobody must be able to fill the disk with it, and nobody can hide an attack behind it.

mod crowd;
mod error;
mod file;
mod findings;
mod kept;
mod sync;
mod tail;

use std::path::Path;
use std::sync::Arc;

use domain::{AuditAbout, AuditAction, AuditClass, AuditEvent, Clock, Principal, Timestamp};
use storage::Store;
use tokio::sync::OnceCell;

use crate::doors::{Ctx, Refusal};
use crate::supervise::Stage;

use crowd::{Crowd, Kind};
pub use error::AuditError;
use file::AuditFile;
use sync::SyncHandle;

/// A handle on the audit log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    file: Arc<AuditFile>,
    clock: Arc<dyn Clock>,
    sync: SyncHandle,
    crowd: Arc<Crowd>,
    store: Arc<dyn Store>,
    /// Set once the file was compared with what the store knows of it.
    compared: Arc<OnceCell<()>>,
}

impl AuditLog {
    /// Opens the log in `dir`, continuing the chain of the lines that are there. The syncing actor runs on `stage`.
    ///
    /// # Errors
    /// [`AuditError`] when the folder or file cannot be used, or its last line is not one of ours.
    pub(crate) fn open(
        dir: &Path,
        clock: Arc<dyn Clock>,
        store: Arc<dyn Store>,
        stage: Stage,
    ) -> Result<Self, AuditError> {
        let file = Arc::new(AuditFile::open(dir)?);
        let sync = SyncHandle::start(Arc::clone(&file), stage);
        let crowd = Arc::default();
        Ok(Self {
            file,
            clock,
            sync,
            crowd,
            store,
            compared: Arc::default(),
        })
    }

    /// Writes an entry and returns when it is as durable as its class demands.
    ///
    /// # Errors
    /// [`AuditError`] when it is not; the caller must not answer. [`AuditError::Sync`] alone means that it was written all
    /// the same.
    pub(crate) async fn record(&self, ctx: Ctx, mut event: AuditEvent) -> Result<(), AuditError> {
        event.about.request = Some(ctx.request);
        self.write(&event).await
    }

    /// Writes an entry of the vault itself, outside any request.
    ///
    /// # Errors
    /// As [`AuditLog::record`].
    pub(crate) async fn record_own(&self, event: &AuditEvent) -> Result<(), AuditError> {
        self.write(event).await
    }

    async fn write(&self, event: &AuditEvent) -> Result<(), AuditError> {
        self.compare().await?;
        let now = self.clock.now();
        if let Some(count) = self.crowd.counted(now) {
            self.append(&stands_for(count), now).await?;
        }
        if let Some(kind) = Kind::of(event)
            && !self.crowd.admits(kind, now)
        {
            return Ok(());
        }
        self.append(event, now).await?;
        if event.class.survives_power_cut() {
            self.sync.wait().await?;
        }
        Ok(())
    }

    /// Appends an entry. Before the first one of a new file the store learns of the last one before it: otherwise a start
    /// after a crash would miss the entries that were moved away with the old file.
    async fn append(&self, event: &AuditEvent, now: Timestamp) -> Result<(), AuditError> {
        self.file.look()?;
        if let Some(left) = self.file.left() {
            match kept::keep(&*self.store, left.clone()).await {
                Ok(()) => self.file.forget_left(&left),
                Err(error) => {
                    tracing::warn!(%error, "the store does not know yet that the audit log goes on in a new file");
                }
            }
        }
        self.file.append(event, now)
    }

    /// Before the first entry: compares the file with what the store knows of it.
    async fn compare(&self) -> Result<(), AuditError> {
        let compared = self.compared.get_or_try_init(|| async {
            match kept::load(&*self.store).await? {
                Some(known) => self.file.compare(&known),
                None => Ok(()),
            }
        });
        compared.await?;
        Ok(())
    }

    /// Lets the store know of the last entry.
    ///
    /// # Errors
    /// [`AuditError`]; the entry before is known then, which only means that less is noticed.
    pub(crate) async fn keep_last(&self) -> Result<(), AuditError> {
        self.compare().await?;
        // What was found would not be found again.
        self.file.tell(self.clock.now())?;
        let last = self.file.last();
        // A power cut may take what is not on the disk, and that must not look as if somebody had removed it.
        self.sync.wait().await?;
        Ok(kept::keep(&*self.store, last).await?)
    }

    /// Writes how many entries were only counted, when the process stops within their minute.
    pub(crate) fn write_counted(&self) {
        if let Some(count) = self.crowd.rest() {
            self.file.append(&stands_for(count), self.clock.now()).ok(); // the operator log has it
        }
    }

    /// Whether entries can be written.
    pub(crate) fn writable(&self) -> bool {
        self.file.writable(self.clock.now())
    }
}

/// What a caller learns: nothing was accounted for, so nothing is answered. The operator's log has the cause.
impl From<AuditError> for Refusal {
    fn from(_: AuditError) -> Self {
        Self::Unavailable
    }
}

/// Writes an entry of an operator while no vault runs, and returns when it is on the disk.
///
/// # Errors
/// [`AuditError`].
pub fn record_alone(
    dir: &Path,
    clock: &dyn Clock,
    (action, outcome): (AuditAction, &'static str),
) -> Result<(), AuditError> {
    let file = AuditFile::open(dir)?;
    let event = AuditEvent {
        class: AuditClass::Admin,
        action,
        outcome,
        principal: Principal::Operator,
        about: AuditAbout::default(),
    };
    file.append(&event, clock.now())?;
    file.sync().map_err(|_| AuditError::Sync)
}

/// The entry for entries that were only counted.
fn stands_for(count: u64) -> AuditEvent {
    AuditEvent {
        class: AuditClass::Browser,
        action: AuditAction::RefusalsCounted,
        outcome: "too-many",
        principal: Principal::Vault,
        about: AuditAbout {
            count: Some(count),
            ..AuditAbout::default()
        },
    }
}

#[cfg(test)]
pub(crate) mod tests;
