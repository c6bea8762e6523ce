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
