//! The janitor: walks the index of what ends when, destroys pending tokens nobody confirmed, and sweeps rows away.
//!
//! Correctness does not wait for it: every reader judges times itself. It keeps secrets from lying about and the store
//! from growing. Its sweep runs outside the actor, one at a time.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext as _, Context, Handler, Message, ResponseFuture};
use domain::{BrowserFlow, Digest, Elicitation, RequestId, Stage, Timestamp};
use storage::{Row, StoreError, Table};

use crate::core::Core;
use crate::doors::{Ctx, Refusal};
use crate::flows::{elicit, pending};
use crate::rows::{self, Changes, Due, LiveList, RepeatRow, RowKey, Stored};
use crate::supervise::{Slot, Stage as Arbiter, finished};
use crate::{time_mark, uses};

/// Schedules sweeps. Owns only the fact that one is running.
pub(crate) struct Janitor {
    core: Arc<Core>,
    running: bool,
}

impl Actor for Janitor {
    type Context = Context<Self>;
}

/// Sweep now, unless a sweep is running.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Sweep;

/// The sweep has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Swept;

impl Handler<Sweep> for Janitor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Sweep, ctx: &mut Self::Context) -> Self::Result {
        if self.running {
            return Box::pin(std::future::ready(()));
        }
        self.running = true;
        let (core, own) = (Arc::clone(&self.core), ctx.address());
        Box::pin(async move {
            let flow = core.start({
                let core = Arc::clone(&core);
                async move { sweep(&core).await }
            });
            if !matches!(flow.await, Ok(Ok(()))) {
                tracing::warn!("a sweep did not end well; the next one goes on");
            }
            finished(&own, Swept);
        })
    }
}

impl Handler<Swept> for Janitor {
    type Result = ();

    fn handle(&mut self, _: Swept, _: &mut Self::Context) {
        self.running = false;
    }
}

/// How others reach the janitor.
#[derive(Clone)]
pub(crate) struct JanitorHandle {
    slot: Arc<Slot<Janitor>>,
}

impl JanitorHandle {
    /// Starts the janitor and its ticker, which lives on the IO runtime so that a busy arbiter cannot starve it.
    pub(crate) fn start(core: Arc<Core>, stage: Arbiter) -> Self {
        let io = core.io.clone();
        let make = move || Janitor {
            core: Arc::clone(&core),
            running: false,
        };
        let handle = Self {
            slot: Arc::new(Slot::start("janitor", stage, 4, make)),
        };
        let ticking = Arc::downgrade(&handle.slot);
        io.spawn(async move {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(slot) = ticking.upgrade() else {
                    return;
                };
                slot.hint(Sweep);
            }
        });
        handle
    }

    /// Sweeps and waits for the end; a sweep that is running already counts.
    pub(crate) async fn sweep(&self) -> Result<(), Refusal> {
        self.slot.ask(Sweep, Duration::from_secs(30)).await
    }
}

/// Handles everything that is due, oldest first. What cannot be handled now stays in the index for the next sweep and does
/// not hold up the rest; an entry that nobody can read stays for good, and is said each time.
async fn sweep(core: &Core) -> Result<(), Refusal> {
    time_mark::note(&*core.store, core.now(), time_mark::COARSE).await?;
    // Now and then, so that after a crash little of the audit log is unknown to the store. It says itself what fails.
    core.audit.keep_last().await.ok();
    let mut after: Option<Vec<u8>> = None;
    let mut outcome = uses::keep(core).await.map_err(Refusal::from);
    loop {
        let now = core.now();
        let rows = core
            .store
            .scan(Table::Expiry, &[], after.as_deref(), BATCH)
            .await?;
        for row in &rows {
            let Some((at, due)) = Due::parse(&row.key) else {
                tracing::error!(
                    "the expiry index has an entry that this program did not write; it is passed over"
                );
                outcome = Err(Refusal::Internal);
                continue;
            };
            if !at.passed(now) {
                return outcome;
            }
            if let Err(refusal) = settle(core, now, row, due).await {
                outcome = Err(refusal);
            }
        }
        match rows.last() {
            Some(last) if rows.len() == BATCH => after = Some(last.key.clone()),
            _ => return outcome,
        }
    }
}

/// Handles one entry and takes it out of the index.
async fn settle(core: &Core, now: Timestamp, row: &Row, due: Due) -> Result<(), Refusal> {
    let ctx = Ctx {
        request: RequestId::from_bytes(core.id_bytes()),
        now,
    };
    handle(core, ctx, due).await?;
    let mut changes = Changes::default();
    changes.delete(
        RowKey {
            table: Table::Expiry,
            key: row.key.clone(),
        },
        row.revision,
    );
    Ok(changes.commit(&*core.store).await?)
}

async fn handle(core: &Core, ctx: Ctx, due: Due) -> Result<(), Refusal> {
    match due {
        Due::Pending(flow) => again_on_conflict(|| pending::expire_pending(core, ctx, flow)).await,
        Due::Session(hash) => forget(core, rows::keys::session(&hash)).await,
        Due::UsedLogin(hash) => forget(core, rows::keys::used_login(&hash)).await,
        Due::Elicitation(id) => again_on_conflict(|| finish_elicitation(core, ctx, id)).await,
        Due::Repeat(hash) => forget_repeat(core, ctx, &hash).await,
    }
}

/// When its time has run out: an elicitation that nobody ended expires for good (a clock set back revives nothing), its
/// ticket and flows go, and a day after its hard end the row itself. One that was ended keeps its pages until its hard end.
async fn finish_elicitation(
    core: &Core,
    ctx: Ctx,
    id: domain::ElicitationId,
) -> Result<(), Refusal> {
    let Some(row) = elicit::load(core, id).await? else {
        return Ok(());
    };
    let mut facts = row.value.clone();
    let forgotten = facts.hard_end().plus(KEEP);
    let ends = if facts.is_final() {
        facts.hard_end()
    } else {
        facts.expires.min(facts.hard_end())
    };
    let mut changes = Changes::default();
    if !ends.passed(ctx.now) {
        rows::look_at(&*core.store, &mut changes, (ends, &Due::Elicitation(id))).await?;
        return Ok(changes.commit(&*core.store).await?);
    }
    for flow in std::mem::take(&mut facts.flows) {
        again_on_conflict(|| pending::expire_pending(core, ctx, flow)).await?;
        let Some(stored) = rows::load::<BrowserFlow>(&*core.store, &rows::keys::flow(flow)).await?
        else {
            continue;
        };
        if let Stage::Consented { state, .. } = &stored.value.stage {
            remove(core, &mut changes, rows::keys::state(state)).await?;
        }
        changes.delete(rows::keys::flow(flow), stored.revision);
    }
    remove(core, &mut changes, rows::keys::ticket(&facts.ticket)).await?;
    forget_live(core, ctx, &mut changes, &facts).await?;
    if forgotten.passed(ctx.now) {
        changes.delete(rows::keys::elicitation(id), row.revision);
    } else {
        if !facts.is_final() {
            facts.state = domain::ElicitationState::Expired;
        }
        changes.put(rows::keys::elicitation(id), row.revision, &facts);
        rows::look_at(
            &*core.store,
            &mut changes,
            (forgotten, &Due::Elicitation(id)),
        )
        .await?;
    }
    Ok(changes.commit(&*core.store).await?)
}

/// Takes an elicitation out of its person's list of live ones; an empty list goes.
async fn forget_live(
    core: &Core,
    ctx: Ctx,
    changes: &mut Changes,
    ended: &Elicitation,
) -> Result<(), StoreError> {
    let at = rows::keys::live(&ended.tenant, &ended.server, &ended.pseudonym);
    let Some(Stored {
        value: mut list,
        revision,
    }) = rows::load::<LiveList>(&*core.store, &at).await?
    else {
        return Ok(());
    };
    let shorter = list.forget(ended.id, ctx.now);
    if list.elicitations.is_empty() {
        changes.delete(at, revision);
    } else if shorter {
        changes.put(at, revision, &list);
    }
    Ok(())
}

/// A key that was used again after its time has a later entry in the index.
async fn forget_repeat(core: &Core, ctx: Ctx, hash: &Digest) -> Result<(), Refusal> {
    let at = rows::keys::repeat(hash);
    let kept = rows::load::<RepeatRow>(&*core.store, &at).await?;
    match kept.filter(|kept| kept.value.ends.passed(ctx.now)) {
        Some(kept) => {
            let mut changes = Changes::default();
            changes.delete(at, kept.revision);
            Ok(changes.commit(&*core.store).await?)
        }
        None => Ok(()),
    }
}

async fn forget(core: &Core, at: RowKey) -> Result<(), Refusal> {
    let mut changes = Changes::default();
    remove(core, &mut changes, at).await?;
    Ok(changes.commit(&*core.store).await?)
}

async fn remove(core: &Core, changes: &mut Changes, at: RowKey) -> Result<(), StoreError> {
    if let Some(row) = core.store.read(at.table, &at.key).await? {
        changes.delete(at, row.revision);
    }
    Ok(())
}

/// A conflict means that somebody else acted at this very moment; the next look decides.
async fn again_on_conflict<F: Future<Output = Result<(), Refusal>>>(
    step: impl Fn() -> F,
) -> Result<(), Refusal> {
    match step().await {
        Err(Refusal::Busy { .. }) => step().await,
        other => other,
    }
}

/// Between sweeps.
const TICK: Duration = Duration::from_secs(15);
/// Rows looked at in one go.
const BATCH: usize = 256;
/// How long a finished elicitation can still be asked about.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);
