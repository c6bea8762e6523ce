//! What every flow works with: declarations, store, keys, the way out, time and randomness. Cheap to share, holds no truth.

use std::sync::Arc;

use domain::{AuditEvent, Clock, Digest, Identity, Pseudonym, Registry, Timestamp, VaultId};
use secret::Entropy;
use storage::{Holder, Store, StoreError};
use url::Url;

use crate::audit::AuditLog;
use crate::doors::{Ctx, Refusal};
use crate::polls::Polls;
use crate::rows::Changes;

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
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Randomness.
    pub(crate) entropy: Arc<dyn Entropy>,
    /// The audit log.
    pub(crate) audit: AuditLog,
    /// How often elicitations are asked about.
    pub(crate) polls: Polls,
    /// Where flows run that must not be lost with their first caller.
    pub(crate) io: tokio::runtime::Handle,
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

    /// Commits and writes the audit entry of the change, detached from the caller: a request that goes away in between
    /// cannot leave a change without its entry.
    ///
    /// # Errors
    /// [`Stepped::Again`] when another request changed the rows; otherwise why it is refused.
    pub(crate) async fn commit_audited(
        &self,
        ctx: Ctx,
        changes: Changes,
        event: AuditEvent,
    ) -> Result<(), Stepped> {
        let (store, audit) = (Arc::clone(&self.store), self.audit.clone());
        let work = self.io.spawn(async move {
            changes.commit(&*store).await?;
            Ok(audit.record(ctx, event).await?)
        });
        work.await.unwrap_or(Err(Stepped::Stop(Refusal::Internal)))
    }

    /// Runs a flow detached from its caller: it goes on when the caller is gone.
    ///
    /// # Errors
    /// [`Refusal::Internal`] when the flow panicked.
    pub(crate) async fn detached<T: Send + 'static>(
        &self,
        flow: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.io.spawn(flow).await.unwrap_or(Err(Refusal::Internal))
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
pub(crate) const CONFLICT_TRIES: usize = 8;

/// Tries `step` again while it ends in a conflict.
///
/// # Errors
/// What `step` says last.
pub(crate) async fn retrying<T, F>(mut step: impl FnMut() -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Stepped>>,
{
    for _ in 0..CONFLICT_TRIES {
        match step().await {
            Ok(value) => return Ok(value),
            Err(Stepped::Again) => {}
            Err(Stepped::Stop(refusal)) => return Err(refusal),
        }
    }
    Err(Refusal::Busy {
        retry_after: std::time::Duration::from_secs(1),
    })
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
