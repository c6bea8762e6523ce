//! The actor that syncs the audit file: whoever waits while one sync runs shares the next.

use std::sync::Arc;

use actix::{Actor, Addr, AsyncContext as _, Context, Handler, Message, ResponseFuture};
use tokio::sync::oneshot;

use super::error::AuditError;
use super::file::AuditFile;
use crate::supervise::{Slot, Stage};

/// Gathers syncs. Owns the list of those who wait; if it dies, they are refused and nothing is lost.
pub(crate) struct AuditSync {
    file: Arc<AuditFile>,
    running: bool,
    waiting: Vec<oneshot::Sender<bool>>,
}

impl Actor for AuditSync {
    type Context = Context<Self>;
}

/// Wait until everything appended so far is on the disk.
#[derive(Message)]
#[rtype(result = "bool")]
struct Sync;

/// The sync that was running has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Synced {
    good: bool,
    answered: Vec<oneshot::Sender<bool>>,
}

impl Handler<Sync> for AuditSync {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, _: Sync, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.waiting.push(reply);
        if !self.running {
            self.begin(&ctx.address());
        }
        Box::pin(async move { answer.await.unwrap_or(false) })
    }
}

impl Handler<Synced> for AuditSync {
    type Result = ();

    fn handle(&mut self, done: Synced, ctx: &mut Self::Context) {
        for reply in done.answered {
            reply.send(done.good).ok(); // who no longer waits has gone away
        }
        self.running = false;
        if !self.waiting.is_empty() {
            self.begin(&ctx.address());
        }
    }
}

impl AuditSync {
    fn begin(&mut self, own: &Addr<Self>) {
        self.running = true;
        let (file, own, answered) = (
            Arc::clone(&self.file),
            own.clone(),
            std::mem::take(&mut self.waiting),
        );
        actix::spawn(async move {
            let good = tokio::task::spawn_blocking(move || file.sync().is_ok())
                .await
                .unwrap_or(false);
            crate::supervise::finished(&own, Synced { good, answered });
        });
    }
}

/// How others reach the actor.
#[derive(Clone)]
pub(super) struct SyncHandle {
    slot: Arc<Slot<AuditSync>>,
}

impl SyncHandle {
    /// Starts the actor.
    pub(super) fn start(file: Arc<AuditFile>, stage: Stage) -> Self {
        let make = move || AuditSync {
            file: Arc::clone(&file),
            running: false,
            waiting: Vec::new(),
        };
        Self {
            slot: Arc::new(Slot::start("audit", stage, ROOM, make)),
        }
    }

    /// Waits until everything appended so far is on the disk.
    ///
    /// # Errors
    /// [`AuditError::Sync`], also when the disk takes too long: the entry is in the file, so nobody may be told that
    /// nothing was changed, as [`Refusal::Busy`](crate::doors::Refusal::Busy) would.
    pub(super) async fn wait(&self) -> Result<(), AuditError> {
        if matches!(self.slot.ask(Sync, WAIT).await, Ok(true)) {
            return Ok(());
        }
        tracing::error!("the audit log is not on the disk in time; nothing is answered");
        Err(AuditError::Sync)
    }
}

/// Entries that wait for one disk at a time.
const ROOM: usize = 4096;
/// A sync that takes longer than this counts as failed.
const WAIT: std::time::Duration = std::time::Duration::from_secs(2);
