//! How many entries of nobody known are written: so many each minute, and a count of the rest.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::Timestamp;

/// Counts the entries of nobody known. Shared by all handles on one log.
#[derive(Default)]
pub(super) struct Crowd(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    since: Option<Timestamp>,
    written: u32,
    counted: u64,
}

impl Minute {
    /// Whether it is over at `now`; a clock set back ends it, too.
    fn is_over(&self, now: Timestamp) -> bool {
        self.since
            .is_none_or(|since| now < since || since.plus(MINUTE).passed(now))
    }
}

impl Crowd {
    /// Whether one more entry is written; otherwise it is counted.
    pub(super) fn admits(&self, now: Timestamp) -> bool {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.is_over(now) {
            // What was counted and not yet asked for goes on into the next minute.
            minute.since = Some(now);
            minute.written = 0;
        }
        if minute.written < MOST {
            minute.written += 1;
            return true;
        }
        minute.counted = minute.counted.saturating_add(1);
        false
    }

    /// How many were counted in a minute that is over; each is told once.
    pub(super) fn counted(&self, now: Timestamp) -> Option<u64> {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.is_over(now) {
            take(&mut minute)
        } else {
            None
        }
    }

    /// How many were counted so far, whether the minute is over or not.
    pub(super) fn rest(&self) -> Option<u64> {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn take(minute: &mut Minute) -> Option<u64> {
    let counted = std::mem::take(&mut minute.counted);
    (counted > 0).then_some(counted)
}

/// Entries of nobody known that are written in a minute.
pub(super) const MOST: u32 = 120;
/// See [`MOST`].
const MINUTE: Duration = Duration::from_secs(60);
