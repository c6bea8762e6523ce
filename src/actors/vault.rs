//! The vault: everything behind the doors, put together, and the doors themselves.

mod admin;
mod browser;
mod own_page;
mod seals;
mod server;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use domain::{
    AuditAbout, AuditAction, AuditClass, AuditEvent, Clock, Principal, Registry, RequestId,
    ServerSlug, VaultId,
};
use secret::Entropy;
use storage::{Health, Holder, Store};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::audit::{AuditError, AuditLog};
use crate::core::Core;
use crate::desk::Desks;
use crate::doors::{Ctx, Refusal};
use crate::elicitation_shard::Elicitations;
use crate::flows::obtain::Refresher;
use crate::grant_shard::Grants;
use crate::janitor::JanitorHandle;
use crate::polls::Polls;
use crate::supervise::{Stage, Vitals};
use crate::time_mark;
use crate::uses::{self, Uses};

pub use seals::SealsError;

/// What a vault is built from. The composition root makes these; nothing here reads configuration or the environment.
pub struct Parts {
    /// This installation.
    pub vault: VaultId,
    /// What the operator declared.
    pub registry: Arc<Registry>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Opened keys.
    pub keyring: Arc<crypto::Keyring>,
    /// The only way out.
    pub upstream: upstream::Upstream,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Folder of the audit log.
    pub audit_dir: PathBuf,
    /// Runtime of the flows.
    pub io: tokio::runtime::Handle,
    /// Arbiter of the shards and the audit log.
    pub shards: ArbiterHandle,
    /// Arbiter of the desks and the janitor.
    pub desks: ArbiterHandle,
    /// The connect origin.
    pub public_url: Url,
    /// Version of the program.
    pub version: &'static str,
    /// Requests of one server that may wait for a person at the same time.
    pub waits_per_server: usize,
}

/// A running vault. Cheap to clone; all clones are the same vault.
#[derive(Clone)]
pub struct Vault {
    pub(crate) core: Arc<Core>,
    pub(crate) grants: Grants,
    pub(crate) elicitations: Elicitations,
    pub(crate) desks: Desks,
    janitor: JanitorHandle,
    vitals: Arc<Vitals>,
    waits: Arc<HashMap<ServerSlug, Semaphore>>,
    version: &'static str,
}

impl Vault {
    /// Starts the actors.
    ///
    /// # Errors
    /// [`AuditError`] when the audit log cannot be used: a vault that cannot account for itself does not start.
    pub fn start(parts: Parts) -> Result<Self, AuditError> {
        let vitals = Arc::new(Vitals::new(Arc::clone(&parts.clock)));
        let shards = Stage {
            arbiter: parts.shards,
            vitals: Arc::clone(&vitals),
        };
        let desks = Stage {
            arbiter: parts.desks,
            vitals: Arc::clone(&vitals),
        };
        let audit = AuditLog::open(
            &parts.audit_dir,
            Arc::clone(&parts.clock),
            Arc::clone(&parts.store),
            shards.clone(),
        )?;
        let mut holder = [0; 16];
        parts.entropy.fill(&mut holder);
        let desk_handles = Desks::start(&desks, &parts.registry);
        let core = Arc::new(Core {
            vault: parts.vault,
            desks: desk_handles.clone(),
            registry: parts.registry,
            store: parts.store,
            keyring: parts.keyring,
            upstream: parts.upstream,
            clock: parts.clock,
            entropy: parts.entropy,
            audit,
            polls: Polls::of_elicitations(),
            creations: Polls::of_creations(),
            uses: Uses::default(),
            io: parts.io,
            flows: TaskTracker::new(),
            public_url: parts.public_url,
            holder: Holder(holder),
        });
        let refresher = Refresher::new(Arc::clone(&core), desk_handles.clone());
        Ok(Self {
            grants: Grants::start(&shards, &refresher),
            elicitations: Elicitations::start(&shards),
            desks: desk_handles,
            janitor: JanitorHandle::start(Arc::clone(&core), desks),
            waits: Arc::new(
                core.registry
                    .servers()
                    .map(|server| (server.slug.clone(), Semaphore::new(parts.waits_per_server)))
                    .collect(),
            ),
            core,
            vitals,
            version: parts.version,
        })
    }

    /// Writes that the vault was set up or started.
    ///
    /// # Errors
    /// [`AuditError`] when the entry cannot be written.
    pub async fn announce(&self, action: AuditAction) -> Result<(), AuditError> {
        let event = AuditEvent {
            class: AuditClass::Admin,
            action,
            outcome: "ok",
            principal: Principal::Vault,
            about: AuditAbout::default(),
        };
        self.core.audit.record_own(&event).await?;
        self.core.audit.keep_last().await
    }

    /// Looks after everything that is due now; tests move the clock and call this.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when the janitor does not answer in time.
    pub async fn sweep(&self) -> Result<(), Refusal> {
        self.janitor.sweep().await
    }

    /// Lets requests go that wait for a person; the first thing to do when the process stops.
    pub fn drain(&self) {
        self.elicitations.drain();
    }

    /// Waits until every flow that is under way has ended, at most `within`: a refresh that was begun is kept, a code that
    /// was taken is exchanged. To be called when no more requests come in.
    pub async fn flows_ended(&self, within: Duration) {
        let flows = &self.core.flows;
        flows.close();
        if tokio::time::timeout(within, flows.wait()).await.is_err() {
            tracing::error!(
                flows = flows.len(),
                "some flows did not end in time and are cut off"
            );
        }
    }

    /// Closes the store after its last commit. Nothing can be committed afterwards.
    ///
    /// # Errors
    /// What the store says.
    pub async fn close(&self) -> Result<(), storage::StoreError> {
        if let Err(error) = uses::keep(&self.core).await {
            tracing::warn!(%error, "the last uses of some connections were not kept");
        }
        self.core.audit.write_counted();
        if let Err(error) = self.core.audit.keep_last().await {
            tracing::warn!(%error, "the store does not know of the last audit entries");
        }
        let noted = time_mark::note(&*self.core.store, self.core.now(), Duration::ZERO).await;
        if let Err(error) = noted {
            tracing::warn!(%error, "the time of the stop was not noted in the store");
        }
        self.core.store.close().await
    }

    fn ctx(&self) -> Ctx {
        Ctx {
            request: RequestId::from_bytes(self.core.id_bytes()),
            now: self.core.now(),
        }
    }

    fn is_ready(&self) -> bool {
        self.core.store.health() == Health::Serving
            && self.core.audit.writable()
            && self.vitals.healthy()
    }
}
