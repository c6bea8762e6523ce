//! The durable default engine: sled 0.34.7, used in the one way that was shown to survive power cuts.
//!
//! Commits go through a bounded queue to one thread (`committer`); readers read sled directly and see
//! acknowledged rows only (`veil`); a store that went back in time is noticed when it is opened (`sidecar`).
//! A folder belongs to one process. Back up by stopping the process and copying the folder whole, together with its sidecar;
//! never copy a folder in use, and never delete or rename a file in it. Point reads run on the caller's thread (about a microsecond in the cache, up to
//! milliseconds outside it): give the cache the size of the live data. It then takes up to 1.75 times that.

mod committer;
mod error;
mod hold;
mod layout;
mod look;
mod mark;
mod open;
mod raw;
mod sidecar;
#[cfg(test)]
mod tests;
mod trial;
mod veil;

use std::{
    collections::BTreeMap,
    fmt,
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use self::{committer::Order, layout::Trees, veil::Veil};
use crate::{
    engine::{Claim, Fence, Fut, Health, Holder, Row, Store, StoreError, Table, Write},
    leases::Leases,
    limits::{check_commit, check_key, check_scan, scan_start},
};

pub use error::{OpenError, Settings};
pub use hold::HeldStore;
pub use look::Looked;

/// Most bytes of rows waiting in the commit queue, whatever their number.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;

const CLOSED: &str = "it was closed";

/// A store in a folder of this machine, owned by this process.
pub struct SledStore {
    shared: Arc<Shared>,
    /// Taken when dropped, which ends the thread.
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    leases: Leases,
    vault: Vec<u8>,
}

/// What readers and the committer share.
struct Shared {
    /// `None` once closed. Readers hold the lock while they read, so that closing waits for them.
    trees: RwLock<Option<Trees>>,
    veil: Veil,
    durable: AtomicU64,
    queued_bytes: AtomicUsize,
    state: Mutex<(Health, &'static str)>,
}

impl SledStore {
    /// The vault id given when the store was created.
    pub fn vault_id(&self) -> &[u8] {
        &self.vault
    }

    async fn submit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        check_commit(&writes)?;
        if writes.is_empty() {
            return Ok(());
        }
        let orders = self.orders.as_ref().ok_or(closed())?;
        let bytes = writes.iter().map(Write::size).sum();
        self.shared.queue(bytes)?;
        let (answer, answered) = oneshot::channel();
        let order = Order::Commit {
            writes,
            bytes,
            answer,
        };
        if let Err(refused) = orders.try_send(order) {
            self.shared.unqueue(bytes);
            return Err(match refused {
                mpsc::error::TrySendError::Full(_) => StoreError::Busy,
                mpsc::error::TrySendError::Closed(_) => self.shared.unavailable(),
            });
        }
        // The committer answers every order it takes; silence means that it ended before this one.
        answered.await.map_err(|_| self.shared.unavailable())?
    }

    async fn finish(&self) -> Result<(), StoreError> {
        let orders = self.orders.as_ref().ok_or(closed())?;
        let (answer, answered) = oneshot::channel();
        if orders.send(Order::Close(answer)).await.is_err() {
            return Ok(());
        }
        answered.await.unwrap_or(Ok(()))
    }
}

impl fmt::Debug for SledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledStore")
            .field("health", &self.shared.health())
            .field("commit_number", &self.shared.number())
            .finish_non_exhaustive()
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread catches its panics; and there is nobody left to tell.
            thread.join().ok();
        }
    }
}

impl Shared {
    fn read(&self, table: Table, key: &[u8]) -> Result<Option<Row>, StoreError> {
        check_key(key)?;
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let tree = trees.as_ref().ok_or(closed())?.table(table)?;
        let found = guarded(table, || tree.get(key))?;
        self.veil
            .see(table, key, found)
            .map(|value| layout::decode(table, key, &value))
            .transpose()
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let limit = check_scan(prefix, after, limit)?;
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let tree = trees.as_ref().ok_or(closed())?.table(table)?;
        let mut rows = Vec::new();
        let mut after = after.map(<[u8]>::to_vec);
        while rows.len() < limit {
            let want = limit.saturating_sub(rows.len());
            let range = (scan_start(prefix, after.as_deref()), Bound::Unbounded);
            let found = guarded(table, || {
                tree.range::<&[u8], _>(range)
                    .take_while(|item| {
                        item.as_ref()
                            .map_or(true, |(key, _)| key.starts_with(prefix))
                    })
                    .take(want)
                    .collect::<::sled::Result<Vec<_>>>()
            })?;
            let whole = found.len() < want;
            let last = found.last().map(|(key, _)| key.to_vec());
            let mut piece: BTreeMap<_, _> = found
                .into_iter()
                .map(|(key, value)| (key.to_vec(), value))
                .collect();
            let upto = if whole { None } else { last.as_deref() };
            self.veil
                .correct(&mut piece, table, prefix, (after.as_deref(), upto));
            for (key, value) in piece.iter().take(want) {
                rows.push(layout::decode(table, key, value)?);
            }
            // The veil may have hidden rows: go on behind the last one sled had, until enough or the end.
            if whole {
                break;
            }
            after = last;
        }
        Ok(rows)
    }

    /// Counts bytes as waiting, or refuses them.
    fn queue(&self, bytes: usize) -> Result<(), StoreError> {
        let waiting = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if waiting.saturating_add(bytes) > QUEUE_BYTES_MAX {
            self.unqueue(bytes);
            return Err(StoreError::Busy);
        }
        Ok(())
    }

    fn unqueue(&self, bytes: usize) {
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn number(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Everything up to `number` is on the disk: readers may see it. The number first, so that whoever
    /// reads a row finds its commit counted.
    fn durable(&self, number: u64) {
        self.durable.store(number, Ordering::Release);
        self.veil.lift();
    }

    fn health(&self) -> Health {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn unavailable(&self) -> StoreError {
        let (health, what) = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let what = if health == Health::Serving {
            CLOSED
        } else {
            what
        };
        StoreError::Unavailable { what }
    }

    /// Stops writing for good; the veil stays, so readers keep seeing acknowledged rows only.
    fn fail(&self, what: &'static str) -> Result<(), StoreError> {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (Health::ReadOnly, what);
        Err(StoreError::Unavailable { what })
    }

    fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (Health::Closed, CLOSED);
        *self.trees.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn must_be_open(&self) -> Result<(), StoreError> {
        if self.health() == Health::Closed {
            return Err(closed());
        }
        Ok(())
    }
}

impl Store for SledStore {
    fn read(&self, table: Table, key: &[u8]) -> Fut<'_, Option<Row>> {
        let key = key.to_vec();
        Box::pin(async move { self.shared.read(table, &key) })
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Fut<'_, Vec<Row>> {
        let (prefix, after) = (prefix.to_vec(), after.map(<[u8]>::to_vec));
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let scan = move || shared.scan(table, &prefix, after.as_deref(), limit);
            // A scan may read megabytes from the disk: not on a thread that serves others.
            match Handle::try_current() {
                Ok(runtime) => {
                    runtime
                        .spawn_blocking(scan)
                        .await
                        .map_err(|_| StoreError::Unavailable {
                            what: "the process is ending",
                        })?
                }
                Err(_) => scan(),
            }
        })
    }

    fn commit(&self, writes: Vec<Write>) -> Fut<'_, ()> {
        Box::pin(self.submit(writes))
    }

    fn claim(&self, name: &[u8], holder: Holder, now_ms: i64, for_ms: i64) -> Fut<'_, Claim> {
        let name = name.to_vec();
        Box::pin(async move {
            self.shared.must_be_open()?;
            self.leases.claim(&name, holder, now_ms, for_ms)
        })
    }

    fn release(&self, name: &[u8], fence: Fence) -> Fut<'_, ()> {
        let name = name.to_vec();
        Box::pin(async move {
            self.shared.must_be_open()?;
            self.leases.release(&name, fence)
        })
    }

    fn commit_number(&self) -> u64 {
        self.shared.number()
    }

    fn health(&self) -> Health {
        self.shared.health()
    }

    fn close(&self) -> Fut<'_, ()> {
        Box::pin(self.finish())
    }
}

const fn closed() -> StoreError {
    StoreError::Unavailable { what: CLOSED }
}

/// Runs one read of sled. Damage may show as an error or as a panic; both become an answer.
fn guarded<T>(table: Table, read: impl FnOnce() -> ::sled::Result<T>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(::sled::Error::Io(error))) => {
            tracing::error!(%error, "reading the store failed");
            Err(StoreError::Unavailable {
                what: "reading failed; check the disk and restart",
            })
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the store's file is damaged");
            Err(StoreError::Inconsistent {
                table,
                what: "the store's file is damaged",
            })
        }
        Err(_) => Err(StoreError::Inconsistent {
            table,
            what: "the store's file is damaged; reading it panicked",
        }),
    }
}
