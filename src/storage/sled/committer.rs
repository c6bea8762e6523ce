//! The one writer: takes what queued up, writes it, syncs it, and only then answers.
//!
//! One thread per store makes compare-and-swap a read followed by a transaction. Groups form by
//! themselves: whatever arrives during a sync is the next group. In sled 0.34.7 `flush` ends in
//! `sync_file_range`, which writes neither the file's size nor the device's cache; the `fdatasync`
//! through a descriptor of our own is what makes a commit survive a power cut.

use std::{
    fs::File,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use ::sled::{
    IVec, Transactional, Tree,
    transaction::{ConflictableTransactionError, TransactionError},
};
use tokio::sync::{mpsc, oneshot};

use super::{
    Shared,
    layout::{self, NUMBER_KEY, Trees},
    sidecar::Sidecar,
};
use crate::engine::{Health, StoreError, Table, Write};

/// Most commits one sync answers.
const GROUP_MAX: usize = 512;

/// Where answers go.
pub(super) type Answer = oneshot::Sender<Result<(), StoreError>>;

/// What the committer is asked to do.
pub(super) enum Order {
    /// Commit these writes; `bytes` were counted as queued.
    Commit {
        writes: Vec<Write>,
        bytes: usize,
        answer: Answer,
    },
    /// Finish, let go of the files, and end.
    Close(Answer),
}

/// Why the store stops writing. Details go to the operator's log, never to callers.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("writing to the store failed")]
    Sled(#[from] ::sled::Error),
    #[error("syncing the store failed")]
    Io(#[from] io::Error),
    #[error("a transaction was given up: a fault in the program")]
    Aborted,
}

/// Where the store lies and what its format is called.
pub(super) struct Home {
    dir: PathBuf,
    format: Vec<u8>,
}

impl Home {
    pub(super) fn new(dir: &Path, format: &str) -> Self {
        Self {
            dir: dir.into(),
            format: format.into(),
        }
    }
}

/// State of the committing thread.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) home: Home,
    pub(super) trees: Trees,
    /// `DIR/db`, opened once beside sled's own descriptor, for `fdatasync`.
    pub(super) data: File,
    pub(super) sidecar: Sidecar,
    /// The number of the last commit written, durable or not.
    pub(super) number: u64,
}

/// One row to change.
struct Change<'a> {
    table: Table,
    key: &'a [u8],
    before: Option<IVec>,
    after: Option<IVec>,
}

impl Committer {
    /// Serves orders until told to close or nobody can order any more.
    pub(super) fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut closing = None;
        while closing.is_none() {
            let Some(mut order) = orders.blocking_recv() else {
                break;
            };
            let mut group = Vec::new();
            loop {
                match order {
                    Order::Commit {
                        writes,
                        bytes,
                        answer,
                    } => {
                        self.shared.unqueue(bytes);
                        group.push((writes, answer));
                    }
                    Order::Close(answer) => {
                        closing = Some(answer);
                        break;
                    }
                }
                if group.len() >= GROUP_MAX {
                    break;
                }
                match orders.try_recv() {
                    Ok(next) => order = next,
                    Err(_) => break,
                }
            }
            self.group(group);
        }
        self.finish(closing);
    }

    /// Commits a group and answers it. After a failure nothing is written until the store is opened anew.
    fn group(&mut self, group: Vec<(Vec<Write>, Answer)>) {
        let (writes, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        // sled panics on some damage; the thread must live to say no to everybody who waits.
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.write_and_sync(&writes)));
        let outcomes = match outcomes {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(failure)) => {
                let what = explain(&failure);
                tracing::error!(error = ?failure, "{what}");
                vec![self.shared.fail(what); answers.len()]
            }
            Err(_) => {
                let what = "the embedded store panicked; restart, and restore from a backup if it happens again";
                tracing::error!("{what}");
                vec![self.shared.fail(what); answers.len()]
            }
        };
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // Nobody waits any more: the commit stands all the same.
            answer.send(outcome).ok();
        }
    }

    fn write_and_sync(
        &mut self,
        group: &[Vec<Write>],
    ) -> Result<Vec<Result<(), StoreError>>, Failure> {
        if let Some(error) = self.shared.refusal() {
            return Ok(vec![Err(error); group.len()]);
        }
        let mut outcomes = Vec::with_capacity(group.len());
        for writes in group {
            outcomes.push(self.write(writes)?);
        }
        // A conflict, too, is only answered once the commit it lost against is durable.
        if self.number != self.shared.number() {
            self.trees.db.flush()?;
            self.data.sync_data()?;
            self.sidecar.write(self.number)?;
            self.shared.durable(self.number);
        }
        Ok(outcomes)
    }

    /// Checks one commit and writes it as one transaction, not yet durable.
    fn write(&mut self, writes: &[Write]) -> Result<Result<(), StoreError>, Failure> {
        let mut changes = Vec::with_capacity(writes.len());
        for write in writes {
            let table = write.table();
            let before = match self.trees.table(table) {
                Ok(tree) => tree.get(write.key())?,
                Err(error) => return Ok(Err(error)),
            };
            match layout::revision(table, before.as_ref()) {
                Ok(revision) if revision == write.expected() => {}
                Ok(_) => return Ok(Err(StoreError::Conflict { table })),
                Err(error) => return Ok(Err(error)),
            }
            let after = match write {
                Write::Put { expected, body, .. } => Some(layout::encode(expected.next(), body)),
                Write::Delete { .. } => None,
                Write::Check { .. } => continue,
            };
            let key = write.key();
            changes.push(Change {
                table,
                key,
                before,
                after,
            });
        }
        if !changes.is_empty() {
            let covered = changes
                .iter()
                .map(|change| (change.table, change.key.to_vec(), change.before.clone()));
            self.shared.veil.cover(covered);
            let number = self.number.saturating_add(1);
            transact(&self.trees, &changes, number)?;
            self.number = number;
        }
        Ok(Ok(()))
    }

    /// Syncs what is left, lets go of the files, then answers whoever asked to close the store.
    fn finish(self, closing: Option<Answer>) {
        let Self {
            shared,
            home,
            trees,
            data,
            sidecar,
            number,
        } = self;
        let synced = shared.refusal().map_or(Ok(()), Err);
        shared.close();
        drop(trees);
        drop(data);
        // Nothing is lost without the mark: the next start tries the store on a copy.
        if synced.is_ok()
            && let Err(error) = sidecar.mark(&home.dir, &home.format, number)
        {
            tracing::warn!(%error, "the store cannot be marked as closed; its next start takes longer");
        }
        drop(sidecar);
        if let Some(answer) = closing {
            answer.send(synced).ok();
        }
    }
}

/// Writes the changes and the commit number in one transaction over the trees they touch.
///
/// The closure is short and pure: sled runs it again on conflicts, and its lock stops every read meanwhile.
fn transact(trees: &Trees, changes: &[Change<'_>], number: u64) -> Result<(), Failure> {
    let mut touched: Vec<Table> = changes.iter().map(|change| change.table).collect();
    touched.sort_unstable();
    touched.dedup();
    let mut all: Vec<&Tree> = vec![&trees.own];
    for table in &touched {
        all.push(trees.table(*table).map_err(|_| Failure::Aborted)?);
    }
    let number = IVec::from(&number.to_be_bytes());
    let done = all.as_slice().transaction(|views| {
        let mut views = views.iter();
        let own = views
            .next()
            .ok_or(ConflictableTransactionError::Abort(()))?;
        own.insert(NUMBER_KEY, &number)?;
        for (table, view) in touched.iter().zip(views) {
            for change in changes.iter().filter(|change| change.table == *table) {
                match &change.after {
                    Some(value) => view.insert(change.key, value)?,
                    None => view.remove(change.key)?,
                };
            }
        }
        Ok::<(), ConflictableTransactionError<()>>(())
    });
    match done {
        Ok(()) => Ok(()),
        Err(TransactionError::Storage(error)) => Err(Failure::Sled(error)),
        Err(TransactionError::Abort(())) => Err(Failure::Aborted),
    }
}

/// What callers and the health page are told.
fn explain(failure: &Failure) -> &'static str {
    let kind = match failure {
        Failure::Sled(::sled::Error::Io(error)) | Failure::Io(error) => error.kind(),
        Failure::Sled(_) | Failure::Aborted => io::ErrorKind::Other,
    };
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full, nothing is written any more; make room and restart"
        }
        _ => "writing failed, nothing is written any more; check the disk and restart",
    }
}

impl Shared {
    /// Why nothing may be written now, if so.
    fn refusal(&self) -> Option<StoreError> {
        match self.health() {
            Health::Serving => None,
            Health::ReadOnly | Health::Closed => Some(self.unavailable()),
        }
    }
}
