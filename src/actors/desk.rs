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
    revocations: Arc<Semaphore>,
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

/// Asks for a permit to revoke.
#[derive(Message)]
#[rtype(result = "Option<Permit>")]
struct AdmitRevocation;

impl Handler<Admit> for ProviderDesk {
    type Result = ResponseFuture<Option<Permit>>;

    fn handle(&mut self, _: Admit, _: &mut Self::Context) -> Self::Result {
        permit(&self.permits)
    }
}

impl Handler<AdmitRevocation> for ProviderDesk {
    type Result = ResponseFuture<Option<Permit>>;

    fn handle(&mut self, _: AdmitRevocation, _: &mut Self::Context) -> Self::Result {
        permit(&self.revocations)
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
                permits: Arc::new(Semaphore::new(CALLS - REVOCATIONS)),
                revocations: Arc::new(Semaphore::new(REVOCATIONS)),
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

    /// Leave to revoke at a provider. These permits are kept apart: a flow that holds one to exchange or refresh may have to
    /// revoke what it got, and must not wait for others like itself.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when none is free for [`PATIENCE`].
    pub(crate) async fn revocation(&self, provider: &ProviderSlug) -> Result<Permit, Refusal> {
        let desk = self.providers.get(provider).ok_or(Refusal::Internal)?;
        desk.ask(AdmitRevocation, PATIENCE).await?.ok_or(BUSY)
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
/// How many of a provider's may be revocations; no other calls are taken from these.
const REVOCATIONS: usize = 4;
/// Flows that wait for a permit of one service.
const WAITING: usize = 256;
/// How long a flow waits for a permit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn a_provider_whose_calls_are_all_taken_can_still_be_told_to_revoke() {
        let desk = ProviderDesk {
            permits: Arc::new(Semaphore::new(1)),
            revocations: Arc::new(Semaphore::new(1)),
        }
        .start();
        let call = desk.send(Admit).await.unwrap();
        let revocation = desk.send(AdmitRevocation).await.unwrap();
        assert!(call.is_some() && revocation.is_some());
        // The next of each kind waits for its own kind.
        let mut next = Box::pin(desk.send(AdmitRevocation));
        let waits = tokio::time::timeout(Duration::ZERO, &mut next).await;
        assert!(waits.is_err());
        drop(revocation);
        assert!(next.await.unwrap().is_some());
        drop(call);
    }
}
