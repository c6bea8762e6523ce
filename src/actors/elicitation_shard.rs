//! Who waits for an elicitation to change. Holds waiters only; where an elicitation stands is in the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use domain::ElicitationId;
use tokio::sync::oneshot;

use crate::supervise::{Slot, Stage};

/// Waiters of a slice of all elicitations.
pub(crate) struct ElicitationShard {
    waiting: HashMap<ElicitationId, Vec<oneshot::Sender<()>>>,
}

impl Actor for ElicitationShard {
    type Context = Context<Self>;
}

/// Answers when the elicitation has changed.
#[derive(Message)]
#[rtype(result = "()")]
struct Watch(ElicitationId);

/// The elicitation has changed.
#[derive(Message)]
#[rtype(result = "()")]
struct Changed(ElicitationId);

/// The process is stopping: nobody waits any longer.
#[derive(Message)]
#[rtype(result = "()")]
struct Release;

impl Handler<Release> for ElicitationShard {
    type Result = ();

    fn handle(&mut self, _: Release, _: &mut Self::Context) {
        self.waiting.clear();
    }
}

impl Handler<Watch> for ElicitationShard {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, Watch(id): Watch, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        let waiters = self.waiting.entry(id).or_default();
        // Those who went away are forgotten whenever somebody new comes, so the list is bounded by who really waits.
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(reply);
        Box::pin(async move { answer.await.unwrap_or(()) })
    }
}

impl Handler<Changed> for ElicitationShard {
    type Result = ();

    fn handle(&mut self, Changed(id): Changed, _: &mut Self::Context) {
        for waiter in self.waiting.remove(&id).unwrap_or_default() {
            waiter.send(()).ok(); // who no longer waits has gone away
        }
        self.waiting
            .retain(|_, waiters| waiters.iter().any(|waiter| !waiter.is_closed()));
    }
}

/// All shards.
#[derive(Clone)]
pub(crate) struct Elicitations {
    shards: Arc<[Slot<ElicitationShard>]>,
    draining: Arc<AtomicBool>,
}

impl Elicitations {
    /// Lets everybody go who waits, and lets nobody wait from now on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.shards.iter().for_each(|shard| shard.hint(Release));
    }

    /// Whether the process is stopping.
    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Starts the shards.
    pub(crate) fn start(stage: &Stage) -> Self {
        let shard = |_| {
            Slot::start("elicitation", stage.clone(), ROOM, || ElicitationShard {
                waiting: HashMap::new(),
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            draining: Arc::default(),
        }
    }

    /// Waits until the elicitation changes, at most `within`. May return early; the caller reads the store again anyway.
    pub(crate) async fn watch(&self, id: ElicitationId, within: Duration) {
        if let Some(shard) = self.shard(id) {
            // Busy or timed out: the caller finds out where the elicitation stands by reading it.
            drop(shard.ask(Watch(id), within).await);
        }
    }

    /// Wakes those who wait.
    pub(crate) fn changed(&self, id: ElicitationId) {
        if let Some(shard) = self.shard(id) {
            shard.hint(Changed(id));
        }
    }

    fn shard(&self, id: ElicitationId) -> Option<&Slot<ElicitationShard>> {
        self.shards
            .get(usize::from(id.as_bytes().first()? % SHARDS))
    }
}

/// A power of two; one core serves them all, so few are enough.
const SHARDS: u8 = 8;
/// Waiters on one shard.
const ROOM: usize = 2048;
