//! Who waits for an elicitation to change. Holds waiters only; where an elicitation stands is in the store. Callers ask only
//! about elicitations that are there and that they may look at.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use domain::ElicitationId;
use tokio::sync::oneshot;

use crate::doors::Refusal;
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

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Something changed.
    Changed,
    /// The time to wait is over.
    TimeOver,
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

    /// Waits until the elicitation changes, at most `within`. The caller reads the store again anyway. How long that is no
    /// clock decides that somebody may set: one that stands still would let nobody go.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when nobody else may wait at present; never merely because the time is over.
    pub(crate) async fn watch(
        &self,
        id: ElicitationId,
        within: Duration,
    ) -> Result<Watched, Refusal> {
        let shard = self.shard(id).ok_or(Refusal::Internal)?;
        // The shard is given a little more than the caller, so that an error means that there was no room or no shard.
        let watching = shard.ask(Watch(id), within + Duration::from_secs(1));
        match tokio::time::timeout(within, watching).await {
            Ok(woken) => woken.map(|()| Watched::Changed),
            Err(_) => Ok(Watched::TimeOver),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::Vitals;

    fn shards() -> Elicitations {
        let vitals = Arc::new(Vitals::new(Arc::new(Noon)));
        Elicitations::start(&Stage {
            arbiter: actix_rt::Arbiter::current(),
            vitals,
        })
    }

    struct Noon;

    impl domain::Clock for Noon {
        fn now(&self) -> domain::Timestamp {
            domain::Timestamp::from_ms(0)
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[actix::test]
    async fn a_change_wakes_those_who_wait_for_it_and_nobody_else() {
        let shards = shards();
        let (one, other) = (
            ElicitationId::from_bytes([1; 16]),
            ElicitationId::from_bytes([9; 16]),
        );
        let mut waits = Box::pin(shards.watch(one, LONG));
        let mut waits_too = Box::pin(shards.watch(one, LONG));
        let mut waits_for_another = Box::pin(shards.watch(other, LONG));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(futures_util::poll!(&mut waits_too).is_pending());
        assert!(futures_util::poll!(&mut waits_for_another).is_pending());
        shards.changed(one);
        waits.await.unwrap();
        waits_too.await.unwrap();
        assert!(futures_util::poll!(&mut waits_for_another).is_pending());
    }

    #[actix::test]
    async fn nobody_waits_any_longer_when_the_process_stops() {
        let shards = shards();
        let mut waits = Box::pin(shards.watch(ElicitationId::from_bytes([1; 16]), LONG));
        assert!(futures_util::poll!(&mut waits).is_pending());
        shards.drain();
        waits.await.unwrap();
        assert!(shards.draining());
    }

    #[actix::test]
    async fn time_that_is_over_is_no_error() {
        shards()
            .watch(ElicitationId::from_bytes([1; 16]), Duration::ZERO)
            .await
            .unwrap();
    }
}
