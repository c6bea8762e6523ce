//! What every flow works with: declarations, store, keys, the way out, time and randomness. Cheap to share, holds no truth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::{
    AuditEvent, Clock, Digest, ElicitationId, Identity, Pseudonym, Registry, ServerSlug, Timestamp,
    VaultId,
};
use secret::Entropy;
use storage::{Holder, Store, StoreError};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::audit::{AuditError, AuditLog};
use crate::desk::Desks;
use crate::doors::{Ctx, Refusal};
use crate::polls::Polls;
use crate::rows::Changes;
use crate::uses::Uses;

/// Shared by all flows of one process.
pub(crate) struct Core {
    /// This installation.
    pub(crate) vault: VaultId,
    /// What the operator declared.
    pub(crate) registry: Arc<Registry>,
    /// The store.
    pub(crate) store: Arc<dyn Store>,
    /// Opened keys.
    pub(crate) keyring: Arc<crypto::Keyring>,
    /// The only way out.
    pub(crate) upstream: upstream::Upstream,
    /// Leave to take it.
    pub(crate) desks: Desks,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Randomness.
    pub(crate) entropy: Arc<dyn Entropy>,
    /// The audit log.
    pub(crate) audit: AuditLog,
    /// How often elicitations are asked about.
    pub(crate) polls: Polls<ElicitationId>,
    /// When grants were used last.
    pub(crate) uses: Uses,
    /// How often servers make elicitations.
    pub(crate) creations: Polls<ServerSlug>,
    /// The runtime of the flows. What must end is started with [`Core::start`].
    pub(crate) io: tokio::runtime::Handle,
    /// Flows that run: the process waits for them when it stops.
    pub(crate) flows: TaskTracker,
    /// The connect origin.
    pub(crate) public_url: Url,
    /// This process, as the holder of leases.
    pub(crate) holder: Holder,
}

impl Core {
    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sixteen random bytes.
    pub(crate) fn id_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// The keyed pseudonym of a person.
    pub(crate) fn pseudonym(&self, identity: &Identity) -> Pseudonym {
        let subject = identity.subject.to_bytes();
        let hash = self.keyring.pseudonym(
            &identity.tenant,
            &identity.issuer,
            identity.issuer_url.as_str(),
            &subject,
        );
        Pseudonym(*hash.as_bytes())
    }

    /// The keyed hash of one of our own words.
    pub(crate) fn lookup(&self, label: crypto::LookupLabel, word: &[u8]) -> Digest {
        Digest(*self.keyring.lookup_hash(label, word).as_bytes())
    }

    /// Starts a flow on the IO runtime. It ends whatever becomes of whoever asked for it, and a process that stops in good
    /// order waits for it.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        flow: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.flows.spawn_on(flow, &self.io)
    }

    /// Makes a change and its audit entry in a flow of their own, see [`change_audited`]: a request that goes away in
    /// between leaves neither without the other.
    ///
    /// # Errors
    /// [`Stepped::Again`] when another request changed the rows; otherwise why it is refused.
    pub(crate) async fn commit_audited(
        &self,
        ctx: Ctx,
        changes: Changes,
        event: AuditEvent,
    ) -> Result<(), Stepped> {
        self.commit_all_audited(ctx, changes, vec![event]).await
    }

    /// The same for a change that is several things at once, with an entry for each.
    ///
    /// # Errors
    /// As [`Self::commit_audited`].
    pub(crate) async fn commit_all_audited(
        &self,
        ctx: Ctx,
        changes: Changes,
        events: Vec<AuditEvent>,
    ) -> Result<(), Stepped> {
        let (store, audit) = (Arc::clone(&self.store), self.audit.clone());
        let change = (changes, events);
        let work = self.start(async move { change_audited(&*store, &audit, ctx, change).await });
        work.await.unwrap_or(Err(Stepped::Stop(Refusal::Internal)))
    }

    /// Runs a flow detached from its caller: it goes on when the caller is gone.
    ///
    /// # Errors
    /// What the flow says; [`Refusal::Internal`] when it panicked.
    pub(crate) async fn detached<T: Send + 'static, E: From<Refusal> + Send + 'static>(
        &self,
        flow: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        self.start(flow)
            .await
            .unwrap_or_else(|_| Err(Refusal::Internal.into()))
    }
}

/// Commits a change and writes its audit entries.
///
/// Entries that survive a power cut (links, keys, operators) are on the disk before the change is made. In the other
/// order a kill, a power cut or a full disk between the two would leave a change that nobody can account for, and the
/// caller would learn of a failure although the change stands. In this order the worst is an entry too many: when the
/// commit fails, a second entry with the same action takes it back (`not-done`, or `not-known` when the store cannot say);
/// when the process dies in between, the rows themselves show that the change is not there. Browser steps change nothing
/// that outlives their link, so the cheaper order is enough for them.
///
/// # Errors
/// [`Stepped::Again`] when another request changed the rows; otherwise why it is refused. When a first entry is not
/// written, nothing is changed.
async fn change_audited(
    store: &dyn Store,
    audit: &AuditLog,
    ctx: Ctx,
    (changes, events): (Changes, Vec<AuditEvent>),
) -> Result<(), Stepped> {
    // Whoever comes too late leaves no entry about a change that was never begun.
    changes.still_fit(store).await?;
    let (first, after): (Vec<_>, Vec<_>) = events
        .into_iter()
        .partition(|event| event.class.survives_power_cut());
    let mut written = Vec::with_capacity(first.len());
    for event in first {
        let copy = event.clone();
        let tried = audit.record(ctx, event).await;
        if stands(&tried) {
            written.push(copy);
        }
        if let Err(error) = tried {
            take_back(audit, ctx, (written, "not-done")).await;
            return Err(Refusal::from(error).into());
        }
    }
    if let Err(error) = changes.commit(store).await {
        take_back(audit, ctx, (written, undone(&error))).await;
        return Err(error.into());
    }
    for event in after {
        audit.record(ctx, event).await.map_err(Refusal::from)?;
    }
    Ok(())
}

/// Whether an entry is in the log after this: a line that was written and could not be synced is there all the same.
pub(crate) const fn stands(tried: &Result<(), AuditError>) -> bool {
    matches!(tried, Ok(()) | Err(AuditError::Sync))
}

/// What became of a change that the store did not acknowledge.
pub(crate) const fn undone(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable { .. } => "not-known",
        _ => "not-done",
    }
}

/// Says of entries that stand already what became of their change.
pub(crate) async fn take_back(
    audit: &AuditLog,
    ctx: Ctx,
    (entries, outcome): (Vec<AuditEvent>, &'static str),
) {
    for entry in entries {
        let taken_back = AuditEvent { outcome, ..entry };
        if audit.record(ctx, taken_back).await.is_err() {
            tracing::error!("an audit entry stands for a change that was not made");
        }
    }
}

/// How a store's answer looks to a caller.
impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let soon = std::time::Duration::from_secs(1);
        match error {
            StoreError::Busy | StoreError::Conflict { .. } => Self::Busy { retry_after: soon },
            StoreError::Unavailable { what } => {
                tracing::error!(what, "the store is unavailable");
                Self::Unavailable
            }
            other => {
                tracing::error!(error = %other, "the store failed");
                Self::Internal
            }
        }
    }
}

/// How often a change is tried again when another request changed the same rows.
pub(crate) const CONFLICT_TRIES: usize = 12;

/// Tries `step` again while it ends in a conflict.
///
/// # Errors
/// What `step` says last.
pub(crate) async fn retrying<T, F>(mut step: impl FnMut() -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Stepped>>,
{
    for tried in 0..CONFLICT_TRIES {
        match step().await {
            Ok(value) => return Ok(value),
            Err(Stepped::Again) => tokio::time::sleep(pause(tried)).await,
            Err(Stepped::Stop(refusal)) => return Err(refusal),
        }
    }
    Err(Refusal::Busy {
        retry_after: std::time::Duration::from_secs(1),
    })
}

/// How long a try that came too late waits before the next one: at first not at all, then longer and longer. Those who
/// collide wait for different times, or they would collide again.
pub(crate) fn pause(tried: usize) -> std::time::Duration {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let longest = (1_u64 << tried.min(6)) - 1; // milliseconds
    let place = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(7);
    std::time::Duration::from_millis(place % (longest + 1))
}

/// How one try of a change ended.
#[derive(Debug)]
pub(crate) enum Stepped {
    /// Another request was faster: read again and decide anew.
    Again,
    /// It is refused.
    Stop(Refusal),
}

impl From<StoreError> for Stepped {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { .. } => Self::Again,
            other => Self::Stop(other.into()),
        }
    }
}

impl From<Refusal> for Stepped {
    fn from(refusal: Refusal) -> Self {
        Self::Stop(refusal)
    }
}

/// A change that is tried once: a conflict is for the caller to try again.
impl From<Stepped> for Refusal {
    fn from(step: Stepped) -> Self {
        match step {
            Stepped::Again => Self::Busy {
                retry_after: std::time::Duration::from_secs(1),
            },
            Stepped::Stop(refusal) => refusal,
        }
    }
}

#[cfg(test)]
mod tests;
