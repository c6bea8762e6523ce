//! What issuers and providers said about themselves, kept for a while.
//!
//! One fetch at a time for each of them; everybody else waits for it or goes on with the old snapshot. An old snapshot
//! keeps serving while a new one cannot be had, up to a hard limit: a key that its issuer has withdrawn must not count for
//! as long as somebody can keep us from hearing of it. Tokens with made-up key ids cannot make us fetch more than twice a
//! minute.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use domain::Timestamp;
use http::StatusCode;

use crate::budgets::DISCOVERY;
use crate::keys::KeySet;
use crate::metadata::{self, FetchFailure, Metadata, Role, Source};
use crate::outbound::{CallKind, Outbound};

/// How long metadata and keys are used before they are asked for again.
const TTL: Duration = Duration::from_secs(10 * 60);
/// How long the keys of an issuer are believed while no newer ones can be had, counted from when they were asked for: long
/// enough for the outage of a night, and no longer than its tokens are accepted by default. Then nobody is identified by them.
const KEYS_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The same for the endpoints of a provider. They stay on hosts that the operator approved, so a longer outage of the
/// document alone need not stop refreshes.
const ENDPOINTS_LIMIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Pause after a refetch that failed while an old snapshot serves, and between two fetches for unknown key ids.
const REFETCH_PAUSE: Duration = Duration::from_secs(30);
/// Pause after a fetch that failed while there is no snapshot at all.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// Metadata, and for issuers the keys.
pub(crate) struct Snapshot {
    pub(crate) metadata: Arc<Metadata>,
    /// There for [`Role::Issuer`] alone.
    pub(crate) keys: Option<KeySet>,
    /// When the older of the two was asked for.
    fetched: Timestamp,
}

impl Snapshot {
    fn is_old(&self, now: Timestamp) -> bool {
        self.fetched.plus(TTL).passed(now)
    }

    /// Whether it may not be used any more, whatever happens to its successor.
    fn is_dead(&self, role: Role, now: Timestamp) -> bool {
        let limit = match role {
            Role::Issuer => KEYS_LIMIT,
            Role::Provider => ENDPOINTS_LIMIT,
        };
        self.fetched.plus(limit).passed(now)
    }
}

/// All snapshots.
#[derive(Default)]
pub(crate) struct Snapshots {
    slots: Mutex<HashMap<Source, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    current: ArcSwapOption<Snapshot>,
    /// Finished fetches, good or bad.
    attempts: AtomicU64,
    gate: tokio::sync::Mutex<Gate>,
}

#[derive(Default)]
struct Gate {
    failed: Option<(Timestamp, FetchFailure)>,
    key_miss: Option<Timestamp>,
}

impl Gate {
    fn cooling(&self, pause: Duration, now: Timestamp) -> Option<FetchFailure> {
        let (at, failure) = self.failed?;
        (!at.plus(pause).passed(now)).then_some(failure)
    }
}

impl Snapshots {
    /// The snapshot of a source, fetched if there is none or it is too old.
    pub(crate) async fn get(
        &self,
        outbound: &Outbound,
        of: &Source,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>, FetchFailure> {
        let slot = self.slot(of);
        if let Some(snapshot) = slot.usable(of, now) {
            if snapshot.is_old(now) {
                slot.renew(outbound, of, now).await;
            }
            return Ok(slot.usable(of, now).unwrap_or(snapshot));
        }
        let seen = slot.attempts.load(Ordering::Acquire);
        let mut gate = slot.gate.lock().await;
        if let Some(snapshot) = slot.usable(of, now) {
            return Ok(snapshot);
        }
        let waited_for_another = slot.attempts.load(Ordering::Acquire) != seen;
        match (gate.failed, gate.cooling(FIRST_PAUSE, now)) {
            (_, Some(failure)) => return Err(failure),
            (Some((_, failure)), None) if waited_for_another => return Err(failure),
            _ => {}
        }
        slot.fetch(&mut gate, outbound, of, now).await
    }

    /// A snapshot with newer keys than `seen`, or `seen` itself when it is too early to ask again or nothing new came.
    pub(crate) async fn after_key_miss(
        &self,
        outbound: &Outbound,
        of: &Source,
        seen: Arc<Snapshot>,
        now: Timestamp,
    ) -> Arc<Snapshot> {
        let slot = self.slot(of);
        let mut gate = slot.gate.lock().await;
        let current = slot
            .current
            .load_full()
            .unwrap_or_else(|| Arc::clone(&seen));
        let too_early = gate
            .key_miss
            .is_some_and(|at| !at.plus(REFETCH_PAUSE).passed(now));
        if !Arc::ptr_eq(&current, &seen) || too_early {
            return current;
        }
        gate.key_miss = Some(now);
        let Ok(keys) = fetch_keys(outbound, &current.metadata).await else {
            return current;
        };
        let renewed = Arc::new(Snapshot {
            metadata: Arc::clone(&current.metadata),
            keys: Some(keys),
            fetched: current.fetched,
        });
        slot.current.store(Some(Arc::clone(&renewed)));
        renewed
    }

    fn slot(&self, of: &Source) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(of.clone()).or_default())
    }
}

impl Slot {
    /// The snapshot, unless there is none or its hard limit is over.
    fn usable(&self, of: &Source, now: Timestamp) -> Option<Arc<Snapshot>> {
        let snapshot = self.current.load_full()?;
        (!snapshot.is_dead(of.role, now)).then_some(snapshot)
    }

    /// Replaces an old snapshot, unless somebody else is at it or has just failed.
    async fn renew(&self, outbound: &Outbound, of: &Source, now: Timestamp) {
        let Ok(mut gate) = self.gate.try_lock() else {
            return;
        };
        let still_old = (self.current.load().as_ref()).is_none_or(|snapshot| snapshot.is_old(now));
        if still_old && gate.cooling(REFETCH_PAUSE, now).is_none() {
            // A failure is remembered in the gate; the old snapshot goes on serving until its hard limit.
            drop(self.fetch(&mut gate, outbound, of, now).await);
        }
    }

    async fn fetch(
        &self,
        gate: &mut Gate,
        outbound: &Outbound,
        of: &Source,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>, FetchFailure> {
        let fetched = tokio::time::timeout(DISCOVERY, fetch_all(outbound, of, now)).await;
        self.attempts.fetch_add(1, Ordering::AcqRel);
        match fetched.unwrap_or(Err(FetchFailure::Timeout)) {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                self.current.store(Some(Arc::clone(&snapshot)));
                gate.failed = None;
                Ok(snapshot)
            }
            Err(failure) => {
                tracing::warn!(issuer = of.issuer.as_str(), reason = ?failure, "metadata or keys cannot be had");
                gate.failed = Some((now, failure));
                Err(failure)
            }
        }
    }
}

async fn fetch_all(
    outbound: &Outbound,
    of: &Source,
    now: Timestamp,
) -> Result<Snapshot, FetchFailure> {
    let metadata = metadata::fetch(outbound, of).await?;
    let keys = match of.role {
        Role::Issuer => Some(fetch_keys(outbound, &metadata).await?),
        Role::Provider => None,
    };
    Ok(Snapshot {
        metadata: Arc::new(metadata),
        keys,
        fetched: now,
    })
}

async fn fetch_keys(outbound: &Outbound, metadata: &Metadata) -> Result<KeySet, FetchFailure> {
    let url = metadata.keys.usable().ok_or(FetchFailure::Misconfigured)?;
    let answer = outbound.get(CallKind::KeySet, url).await?;
    if answer.status == StatusCode::OK {
        return KeySet::parse(answer.body.expose()).ok_or(FetchFailure::Unreadable);
    }
    // The metadata names this address, so that nothing is there is no contradiction of ours.
    Err(FetchFailure::of_status(answer.status).max(FetchFailure::Unreadable))
}
