//! A clock that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::{Clock, Timestamp};

/// Shared by vault and labs of one test.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Starts on 2026-12-01 at noon.
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_796_126_400_000)))
    }

    /// Moves forward (or, negative, back).
    pub(crate) fn move_s(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Seconds since the epoch.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from(self.0.load(Ordering::SeqCst) / 1000).unwrap()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}
