//! Leases of an engine that belongs to one process: kept in memory, gone with the process.
//!
//! Both engines here are held by a single process (sled locks its folder), so a lease cannot outlive its
//! holder: after a crash nobody holds anything, and writing leases to disk would cost a sync per claim to
//! say so. What a crashed holder may have *done* is recorded by the callers as a row, under a revision.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    engine::{Claim, Fence, Holder, StoreError},
    limits::check_key,
};

/// Names kept before ended leases that nobody released are swept out for the first time.
const SWEEP_AT: usize = 1024;

/// All leases of one store.
#[derive(Debug)]
pub(crate) struct Leases {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// One counter for all names: fences keep growing although released names are forgotten.
    last_fence: u64,
    held: HashMap<Vec<u8>, Lease>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Lease {
    fence: Fence,
    holder: Holder,
    until_ms: i64,
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                last_fence: 0,
                held: HashMap::new(),
                sweep_at: SWEEP_AT,
            }),
        }
    }

    /// See [`crate::Store::claim`].
    pub(crate) fn claim(
        &self,
        name: &[u8],
        holder: Holder,
        now_ms: i64,
        for_ms: i64,
    ) -> Result<Claim, StoreError> {
        check_key(name)?;
        if for_ms <= 0 {
            return Err(StoreError::Malformed {
                what: "a lease must last longer than nothing",
            });
        }
        let mut state = self.lock();
        if let Some(lease) = state.held.get(name) {
            if lease.until_ms > now_ms {
                return Ok(Claim::Busy {
                    until_ms: lease.until_ms,
                });
            }
            tracing::debug!(ended = ?lease.holder, next = ?holder, "a lease that was never released is taken over");
        }
        state.sweep(now_ms);
        state.last_fence = state.last_fence.saturating_add(1);
        let fence = Fence(state.last_fence);
        let until_ms = now_ms.saturating_add(for_ms);
        state.held.insert(
            name.to_vec(),
            Lease {
                fence,
                holder,
                until_ms,
            },
        );
        Ok(Claim::Held(fence))
    }

    /// See [`crate::Store::release`].
    pub(crate) fn release(&self, name: &[u8], fence: Fence) -> Result<(), StoreError> {
        check_key(name)?;
        let mut state = self.lock();
        if state
            .held
            .get(name)
            .is_some_and(|lease| lease.fence == fence)
        {
            state.held.remove(name);
        }
        Ok(())
    }

    /// A panic cannot leave the map half changed: every change is one insert or one remove.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets ended leases once in a while, so that names nobody releases cannot fill the memory.
    fn sweep(&mut self, now_ms: i64) {
        if self.held.len() < self.sweep_at {
            return;
        }
        self.held.retain(|_, lease| lease.until_ms > now_ms);
        self.sweep_at = self.held.len().saturating_mul(2).max(SWEEP_AT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_nobody_released_are_forgotten_once_they_ended() {
        let leases = Leases::new();
        for name in 0..10_000_u32 {
            let now_ms = i64::from(name);
            let claim = leases.claim(&name.to_be_bytes(), Holder([1; 16]), now_ms, 10);
            assert!(matches!(claim, Ok(Claim::Held(_))));
        }
        assert!(leases.lock().held.len() <= SWEEP_AT);
    }
}
