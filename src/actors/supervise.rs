//! Supervision by handles: an actor is reached through a [`Slot`] that bounds, times and, when the actor has died, replaces.
//!
//! actix's own `Supervisor` restarts only on a polite stop and keeps the broken struct, so it is not used. A replacement is
//! safe because no actor holds the truth: what it knew is in the store or is asked again. Vitals count replacements; too
//! many of them turn readiness red, because something is wrong that starting afresh does not mend.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Context, Handler, Message};
use actix_rt::ArbiterHandle;
use arc_swap::ArcSwap;
use domain::{Clock, Timestamp};
use tokio::sync::Semaphore;

use crate::doors::Refusal;

/// Counts replaced actors.
pub(crate) struct Vitals {
    clock: Arc<dyn Clock>,
    replaced: Mutex<Replaced>,
}

#[derive(Default)]
struct Replaced {
    all: u64,
    recent: VecDeque<Timestamp>,
}

impl Vitals {
    /// Nothing was replaced yet.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            replaced: Mutex::default(),
        }
    }

    fn replaced(&self) {
        let now = self.clock.now();
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.all += 1;
        replaced.recent.push_back(now);
        if replaced.recent.len() > TOO_MANY {
            replaced.recent.pop_front();
        }
    }

    /// How many were replaced since the start.
    pub(crate) fn count(&self) -> u64 {
        self.replaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all
    }

    /// Whether fewer than five were replaced within the last minute.
    pub(crate) fn healthy(&self) -> bool {
        let now = self.clock.now();
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced
            .recent
            .iter()
            .filter(|at| !at.plus(WINDOW).passed(now))
            .count()
            < TOO_MANY
    }
}

/// Where actors run, and who counts them.
#[derive(Clone)]
pub(crate) struct Stage {
    /// The arbiter.
    pub(crate) arbiter: ArbiterHandle,
    /// Counts replacements.
    pub(crate) vitals: Arc<Vitals>,
}

/// One actor, reachable from any thread.
pub(crate) struct Slot<A: Actor<Context = Context<A>>> {
    kind: &'static str,
    stage: Stage,
    make: Box<dyn Fn() -> A + Send + Sync>,
    address: ArcSwap<Addr<A>>,
    replacing: Mutex<()>,
    room: Semaphore,
}

impl<A: Actor<Context = Context<A>> + Send> Slot<A> {
    /// Starts the actor. `room` bounds the messages that wait for an answer at one time.
    pub(crate) fn start(
        kind: &'static str,
        stage: Stage,
        room: usize,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        let make: Box<dyn Fn() -> A + Send + Sync> = Box::new(make);
        let address = ArcSwap::from_pointee(start(&stage, make()));
        Self {
            kind,
            stage,
            make,
            address,
            replacing: Mutex::new(()),
            room: Semaphore::new(room),
        }
    }

    /// Sends a message and waits for its answer, at most `within`.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when there is no room, no answer in time, or the actor died over it.
    pub(crate) async fn ask<M>(&self, message: M, within: Duration) -> Result<M::Result, Refusal>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        let busy = || Refusal::Busy { retry_after: RETRY };
        let _room = self.room.try_acquire().map_err(|_| busy())?;
        let address = self.living();
        address
            .send(message)
            .timeout(within)
            .await
            .map_err(|_| busy())
    }

    /// Sends a message without waiting for an answer. When the mailbox is full the message is dropped: only hints are sent
    /// this way.
    pub(crate) fn hint<M>(&self, message: M)
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        if self.living().try_send(message).is_err() {
            tracing::debug!(actor = self.kind, "a hint was dropped");
        }
    }

    fn living(&self) -> Arc<Addr<A>> {
        let address = self.address.load_full();
        if address.connected() {
            return address;
        }
        let _one_at_a_time = self
            .replacing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let address = self.address.load_full();
        if address.connected() {
            return address; // somebody else replaced it meanwhile
        }
        tracing::error!(actor = self.kind, "an actor died and is replaced");
        self.stage.vitals.replaced();
        let fresh = Arc::new(start(&self.stage, (self.make)()));
        self.address.store(Arc::clone(&fresh));
        fresh
    }
}

fn start<A: Actor<Context = Context<A>> + Send>(stage: &Stage, actor: A) -> Addr<A> {
    A::start_in_arbiter(&stage.arbiter, move |context| {
        context.set_mailbox_capacity(MAILBOX);
        actor
    })
}

/// Tells an actor that its own flow has ended. The one message that ignores the mailbox's limit: a flow that began must be
/// able to say that it ended, and there are never more of these than flows.
#[expect(
    clippy::disallowed_methods,
    reason = "a flow's own end message, bounded by the number of flows"
)]
pub(crate) fn finished<A, M>(actor: &Addr<A>, message: M)
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    actor.do_send(message);
}

/// Messages an actor keeps waiting; callers are bounded before it by [`Slot::ask`].
const MAILBOX: usize = 1024;
/// What a caller is told when there is no room.
const RETRY: Duration = Duration::from_secs(1);
/// Replacements within [`WINDOW`] that turn readiness red.
const TOO_MANY: usize = 5;
/// See [`TOO_MANY`].
const WINDOW: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    use actix::ResponseFuture;

    struct Still(AtomicI64);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(self.0.load(Ordering::SeqCst))
        }
    }

    /// Answers at once, never, or by dying.
    struct Worker;

    impl Actor for Worker {
        type Context = Context<Self>;
    }

    #[derive(Message)]
    #[rtype(result = "u8")]
    enum Order {
        Answer,
        Never,
        Die,
    }

    impl Handler<Order> for Worker {
        type Result = ResponseFuture<u8>;

        fn handle(&mut self, order: Order, _: &mut Self::Context) -> Self::Result {
            match order {
                Order::Answer => Box::pin(std::future::ready(7)),
                Order::Never => Box::pin(std::future::pending()),
                Order::Die => panic!("a test kills this actor"),
            }
        }
    }

    fn slot(room: usize) -> (Slot<Worker>, Arc<Vitals>, Arc<Still>) {
        let clock = Arc::new(Still(AtomicI64::new(0)));
        let vitals = Arc::new(Vitals::new(Arc::clone(&clock) as Arc<dyn Clock>));
        let stage = Stage {
            arbiter: actix_rt::Arbiter::current(),
            vitals: Arc::clone(&vitals),
        };
        (Slot::start("worker", stage, room, || Worker), vitals, clock)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[actix::test]
    async fn a_dead_actor_is_replaced_at_its_next_use_and_counted() {
        let (slot, vitals, _) = slot(8);
        assert_eq!(slot.ask(Order::Answer, LONG).await.unwrap(), 7);
        // Whoever killed it is told at once that there is no answer, and everybody after is served by the next one.
        assert!(matches!(
            slot.ask(Order::Die, LONG).await,
            Err(Refusal::Busy { .. })
        ));
        assert_eq!(slot.ask(Order::Answer, LONG).await.unwrap(), 7);
        assert_eq!(vitals.count(), 1);
        assert!(vitals.healthy());
    }

    #[actix::test]
    async fn a_full_slot_says_busy_instead_of_queueing() {
        let (slot, ..) = slot(2);
        let mut first = Box::pin(slot.ask(Order::Never, LONG));
        let mut second = Box::pin(slot.ask(Order::Never, LONG));
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        let third = slot.ask(Order::Answer, LONG).await;
        assert!(matches!(third, Err(Refusal::Busy { retry_after }) if retry_after == RETRY));
        drop(first);
        assert_eq!(slot.ask(Order::Answer, LONG).await.unwrap(), 7);
    }

    #[actix::test]
    async fn an_actor_that_does_not_answer_in_time_is_busy_and_lives_on() {
        let (slot, vitals, _) = slot(8);
        assert!(slot.ask(Order::Never, Duration::ZERO).await.is_err());
        assert_eq!(slot.ask(Order::Answer, LONG).await.unwrap(), 7);
        assert_eq!(vitals.count(), 0);
    }

    #[actix::test]
    async fn many_deaths_within_a_minute_turn_readiness_red_until_it_has_passed() {
        let (slot, vitals, clock) = slot(8);
        for _ in 0..TOO_MANY {
            assert!(slot.ask(Order::Die, LONG).await.is_err());
            assert_eq!(slot.ask(Order::Answer, LONG).await.unwrap(), 7);
        }
        assert!(!vitals.healthy());
        clock.0.store(61_000, Ordering::SeqCst);
        assert!(vitals.healthy());
    }
}
