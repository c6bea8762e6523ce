//! One refresh at a time for each grant of this process: callers that ask while a flow runs share its end.
//!
//! The shard only coalesces. What excludes a second redemption, in this process or another, is the lease in the store, so
//! replacing a shard in the middle of a flow is safe. The flow runs outside the actor and ends whatever happens to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, AsyncContext as _, Context, Handler, Message, ResponseFuture};
use domain::GrantId;
use tokio::sync::oneshot;

use crate::flows::obtain::{ObtainError, Refresher};
use crate::supervise::{Slot, Stage, finished};

/// Flows in flight and their waiters, for a slice of all grants.
pub(crate) struct GrantShard {
    refresher: Refresher,
    waiting: HashMap<GrantId, Vec<oneshot::Sender<Result<(), ObtainError>>>>,
}

impl Actor for GrantShard {
    type Context = Context<Self>;
}

/// Answers when the grant's access token is fresh in the store, or cannot be had. There is no token in the answer.
#[derive(Message)]
#[rtype(result = "Result<(), ObtainError>")]
struct Obtain(GrantId);

/// Somebody read an aging token: refresh it in good time.
#[derive(Message)]
#[rtype(result = "()")]
struct Touch(GrantId);

/// The flow has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Finished {
    grant: GrantId,
    outcome: Result<(), ObtainError>,
}

impl Handler<Obtain> for GrantShard {
    type Result = ResponseFuture<Result<(), ObtainError>>;

    fn handle(&mut self, Obtain(grant): Obtain, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.join(grant, Some(reply), &ctx.address());
        Box::pin(async move { answer.await.unwrap_or(Err(ObtainError::Running)) })
    }
}

impl Handler<Touch> for GrantShard {
    type Result = ();

    fn handle(&mut self, Touch(grant): Touch, ctx: &mut Self::Context) {
        self.join(grant, None, &ctx.address());
    }
}

impl Handler<Finished> for GrantShard {
    type Result = ();

    fn handle(&mut self, Finished { grant, outcome }: Finished, _: &mut Self::Context) {
        for waiter in self.waiting.remove(&grant).unwrap_or_default() {
            waiter.send(outcome).ok(); // who no longer waits has gone away
        }
    }
}

impl GrantShard {
    /// Joins the flow of this grant, starting it when none runs.
    fn join(
        &mut self,
        grant: GrantId,
        waiter: Option<oneshot::Sender<Result<(), ObtainError>>>,
        own: &Addr<Self>,
    ) {
        let running = self.waiting.contains_key(&grant);
        self.waiting.entry(grant).or_default().extend(waiter);
        if running {
            return;
        }
        let (flow, own) = (self.refresher.begin(grant), own.clone());
        actix::spawn(async move {
            let outcome = flow.await.unwrap_or(Err(ObtainError::Failed)); // it panicked
            finished(&own, Finished { grant, outcome });
        });
    }
}

/// All shards.
#[derive(Clone)]
pub(crate) struct Grants {
    shards: Arc<[Slot<GrantShard>]>,
}

impl Grants {
    /// Starts the shards.
    pub(crate) fn start(stage: &Stage, refresher: &Refresher) -> Self {
        let shard = |_| {
            let refresher = refresher.clone();
            Slot::start("grant", stage.clone(), ROOM, move || GrantShard {
                refresher: refresher.clone(),
                waiting: HashMap::new(),
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
        }
    }

    /// Makes the grant's access token fresh, at most `within`; the flow goes on when the caller's time is over.
    pub(crate) async fn obtain(&self, grant: GrantId, within: Duration) -> Result<(), ObtainError> {
        match self.shard(grant) {
            Some(shard) => shard
                .ask(Obtain(grant), within)
                .await
                .unwrap_or(Err(ObtainError::Running)),
            None => Err(ObtainError::Failed),
        }
    }

    /// Asks for a refresh in good time, without waiting.
    pub(crate) fn touch(&self, grant: GrantId) {
        if let Some(shard) = self.shard(grant) {
            shard.hint(Touch(grant));
        }
    }

    fn shard(&self, grant: GrantId) -> Option<&Slot<GrantShard>> {
        self.shards
            .get(usize::from(grant.as_bytes().first()? % SHARDS))
    }
}

/// A power of two; one core serves them all, so few are enough.
const SHARDS: u8 = 8;
/// Waiters on one shard.
const ROOM: usize = 2048;
