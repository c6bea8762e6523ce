//! The audit log: JSON lines, written before the answer goes out, each naming the hash of the line before it.
//!
//! A line is appended with one `write` under a short lock, so a release crosses no mailbox and survives the death of the
//! process. Entries about links, keys and operators wait for `fdatasync` as well; the [`AuditLog`]'s actor gathers those
//! that wait at the same moment into one sync. When the file cannot be written the log says so and nothing is answered.

mod file;
mod sync;

use std::path::Path;
use std::sync::Arc;

use domain::{AuditEvent, Clock};

use crate::doors::{Ctx, Refusal};
use crate::supervise::Stage;

pub use file::AuditError;
use file::AuditFile;
use sync::SyncHandle;

/// A handle on the audit log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    file: Arc<AuditFile>,
    clock: Arc<dyn Clock>,
    sync: SyncHandle,
}

impl AuditLog {
    /// Opens the log in `dir`, continuing the chain of the lines that are there. The syncing actor runs on `stage`.
    ///
    /// # Errors
    /// [`AuditError`] when the folder or file cannot be used, or its last line is not one of ours.
    pub(crate) fn open(
        dir: &Path,
        clock: Arc<dyn Clock>,
        stage: Stage,
    ) -> Result<Self, AuditError> {
        let file = Arc::new(AuditFile::open(dir)?);
        let sync = SyncHandle::start(Arc::clone(&file), stage);
        Ok(Self { file, clock, sync })
    }

    /// Writes an entry and returns when it is as durable as its class demands.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] when it is not written; the caller must not answer.
    pub(crate) async fn record(&self, ctx: Ctx, mut event: AuditEvent) -> Result<(), Refusal> {
        event.about.request = Some(ctx.request);
        self.write(&event).await
    }

    /// Writes an entry of the vault itself, outside any request.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(crate) async fn record_own(&self, event: &AuditEvent) -> Result<(), AuditError> {
        self.write(event).await.map_err(|_| AuditError::Write)
    }

    async fn write(&self, event: &AuditEvent) -> Result<(), Refusal> {
        let written = self.file.append(event, self.clock.now());
        if let Err(error) = written {
            tracing::error!(error = %error, "the audit log cannot be written; nothing is answered");
            return Err(Refusal::Unavailable);
        }
        if event.class.survives_power_cut() {
            self.sync.wait().await?;
        }
        Ok(())
    }

    /// Whether entries can be written.
    pub(crate) fn writable(&self) -> bool {
        self.file.writable()
    }
}
