//! Desks: leave to call an outside service, one desk for each provider and each issuer.
//!
//! A desk bounds how many calls to one service are under way, so that a service that hangs takes its own callers with it
//! and nobody else's. A permit is given back when it is dropped, whatever became of the flow that held it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use domain::{IssuerSlug, ProviderSlug, Registry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::doors::Refusal;
use crate::supervise::{Slot, Stage};

/// Leave to make one call. Given back when dropped.
#[derive(Debug)]
#[must_use = "a call without a permit is not bounded"]
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
}

/// Permits of one provider.
pub(crate) struct ProviderDesk {
    permits: Arc<Semaphore>,
}

/// Permits of one issuer's logins.
pub(crate) struct LoginDesk {
    permits: Arc<Semaphore>,
}

impl Actor for ProviderDesk {
    type Context = Context<Self>;
}

impl Actor for LoginDesk {
    type Context = Context<Self>;
}

/// Asks for a permit; answers when there is one.
#[derive(Message)]
#[rtype(result = "Option<Permit>")]
struct Admit;

impl Handler<Admit> for ProviderDesk {
    type Result = ResponseFuture<Option<Permit>>;

    fn handle(&mut self, _: Admit, _: &mut Self::Context) -> Self::Result {
        permit(&self.permits)
    }
}

impl Handler<Admit> for LoginDesk {
    type Result = ResponseFuture<Option<Permit>>;

    fn handle(&mut self, _: Admit, _: &mut Self::Context) -> Self::Result {
        permit(&self.permits)
    }
}

fn permit(permits: &Arc<Semaphore>) -> ResponseFuture<Option<Permit>> {
    let permits = Arc::clone(permits);
    Box::pin(async move {
        permits
            .acquire_owned()
            .await
            .ok()
            .map(|permit| Permit { _permit: permit })
    })
}

/// All desks.
#[derive(Clone)]
pub(crate) struct Desks {
    providers: Arc<HashMap<ProviderSlug, Slot<ProviderDesk>>>,
    issuers: Arc<HashMap<IssuerSlug, Slot<LoginDesk>>>,
}

impl Desks {
    /// Starts a desk for everything declared.
    pub(crate) fn start(stage: &Stage, registry: &Registry) -> Self {
        let providers = registry.providers().map(|provider| {
            let make = || ProviderDesk {
                permits: Arc::new(Semaphore::new(CALLS)),
            };
            (
                provider.slug.clone(),
                Slot::start("provider desk", stage.clone(), WAITING, make),
            )
        });
        let issuers = registry.issuers().map(|issuer| {
            let make = || LoginDesk {
                permits: Arc::new(Semaphore::new(CALLS)),
            };
            (
                issuer.slug.clone(),
                Slot::start("login desk", stage.clone(), WAITING, make),
            )
        });
        Self {
            providers: Arc::new(providers.collect()),
            issuers: Arc::new(issuers.collect()),
        }
    }

    /// Leave to call a provider.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when none is free for [`PATIENCE`].
    pub(crate) async fn provider(&self, provider: &ProviderSlug) -> Result<Permit, Refusal> {
        let desk = self.providers.get(provider).ok_or(Refusal::Internal)?;
        desk.ask(Admit, PATIENCE).await?.ok_or(BUSY)
    }

    /// Leave to call an issuer for a login.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when none is free for [`PATIENCE`].
    pub(crate) async fn issuer(&self, issuer: &IssuerSlug) -> Result<Permit, Refusal> {
        let desk = self.issuers.get(issuer).ok_or(Refusal::Internal)?;
        desk.ask(Admit, PATIENCE).await?.ok_or(BUSY)
    }
}

const BUSY: Refusal = Refusal::Busy {
    retry_after: Duration::from_secs(5),
};
/// Calls to one service under way at one time.
const CALLS: usize = 20;
/// Flows that wait for a permit of one service.
const WAITING: usize = 256;
/// How long a flow waits for a permit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
