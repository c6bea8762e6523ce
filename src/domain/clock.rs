//! Time as a value: milliseconds since the epoch, and the one trait through which anybody learns what time it is.

use std::fmt;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A moment from milliseconds since the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// A moment from whole seconds since the epoch; saturates.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the epoch.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This moment and `span` more; saturates.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// This moment less `span`; saturates.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long from `now` until this moment; zero when it has passed.
    pub fn left(self, now: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(now.0)).unwrap_or(0))
    }

    /// Whether this moment has come: an expiry counts as passed at its very millisecond.
    pub const fn passed(self, now: Self) -> bool {
        self.0 <= now.0
    }

    /// RFC 3339 text in UTC with whole seconds, as it stands in API answers.
    pub fn rfc3339(self) -> String {
        OffsetDateTime::from_unix_timestamp(self.as_seconds())
            .ok()
            .and_then(|moment| moment.format(&Rfc3339).ok())
            .unwrap_or_else(|| String::from("9999-12-31T23:59:59Z"))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rfc3339())
    }
}

/// Where time comes from. The real one is made in the root package, a movable one in tests.
pub trait Clock: Send + Sync + 'static {
    /// The present moment; never earlier than an answer given before.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_has_passed_at_its_very_millisecond() {
        let end = Timestamp::from_ms(5_000);
        assert!(!end.passed(Timestamp::from_ms(4_999)));
        assert!(end.passed(Timestamp::from_ms(5_000)));
        assert_eq!(end.left(Timestamp::from_ms(9_000)), Duration::ZERO);
        assert_eq!(end.rfc3339(), "1970-01-01T00:00:05Z");
    }
}
