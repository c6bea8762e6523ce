//! The one real clock. It never goes back while the process runs, nor below what the store has seen when it starts: a clock
//! that is set back revives nothing that had ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::{Clock, Timestamp};

/// The system's clock, held at its highest reading.
#[derive(Debug, Default)]
pub struct SystemClock {
    highest: AtomicI64,
    /// From which reading on it is said again that the clock is behind.
    say_again: AtomicI64,
    #[cfg(feature = "test-hooks")]
    shift: Option<std::path::PathBuf>,
}

impl SystemClock {
    /// The system's clock.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that a test moves by writing a number of milliseconds into `shift`.
    #[cfg(feature = "test-hooks")]
    pub fn shifted_by(shift: std::path::PathBuf) -> Self {
        Self {
            shift: Some(shift),
            ..Self::default()
        }
    }

    fn reading(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "this is the one real clock")]
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let ms = since.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        ms.saturating_add(self.shift_ms())
    }

    #[cfg(feature = "test-hooks")]
    fn shift_ms(&self) -> i64 {
        let text = self
            .shift
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    #[cfg(not(feature = "test-hooks"))]
    #[expect(clippy::unused_self, reason = "the other build reads it")]
    const fn shift_ms(&self) -> i64 {
        0
    }
}

/// A clock that never says less than a moment that was seen before the process started.
pub struct NotBefore {
    clock: Arc<dyn Clock>,
    floor: Timestamp,
}

impl NotBefore {
    /// `clock`, or `floor` for as long as it is earlier.
    pub fn new(clock: Arc<dyn Clock>, floor: Timestamp) -> Self {
        Self { clock, floor }
    }
}

impl Clock for NotBefore {
    fn now(&self) -> Timestamp {
        self.clock.now().max(self.floor)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let reading = self.reading();
        let before = self.highest.fetch_max(reading, Ordering::AcqRel);
        let behind_ms = before.saturating_sub(reading);
        if self.is_to_be_told(behind_ms, reading) {
            let seconds = behind_ms / 1000;
            tracing::error!(
                seconds,
                "the system's clock is behind the latest time that this vault has seen; for the vault time stands still until it \
                 catches up. Correct the clock; if it had jumped ahead, stop, and see `strongroom accept-rollback`"
            );
        }
        Timestamp::from_ms(before.max(reading))
    }
}

/// How far the clock may be behind before anybody is told, and how often it is told: a minute.
const BEHIND_MS: i64 = 60_000;

impl SystemClock {
    /// A clock that jumped ahead and came back stops time here until it catches up; the operator has to know why tokens are
    /// refused meanwhile.
    fn is_to_be_told(&self, behind_ms: i64, reading: i64) -> bool {
        if behind_ms < BEHIND_MS {
            return false;
        }
        let due = self.say_again.load(Ordering::Acquire);
        let next = reading.saturating_add(BEHIND_MS);
        let claim = || {
            self.say_again
                .compare_exchange(due, next, Ordering::AcqRel, Ordering::Acquire)
        };
        reading >= due && claim().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_far_behind_is_told_of_once_a_minute() {
        let clock = SystemClock::new();
        let told = [
            (BEHIND_MS - 1, 5_000_000),
            (BEHIND_MS, 5_000_000),
            (BEHIND_MS, 5_000_001),
            (BEHIND_MS, 5_000_000 + BEHIND_MS),
        ]
        .map(|(behind, reading)| clock.is_to_be_told(behind, reading));
        assert_eq!(told, [false, true, false, true]);
    }
}
