//! How often something may be asked for. One elicitation may be asked about so often: waiting (`wait=`) is the way to learn
//! of its end; asking over and over is not, and costs others. Each request counts once, whether it waits or not. And one
//! server may make so many elicitations, for however many people.
//!
//! The counts are in memory and of no consequence for correctness: a restart only forgives.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{ElicitationId, ServerSlug, Timestamp};

use crate::doors::Refusal;

/// So many requests for each thing in a span of time.
pub(crate) struct Polls<K> {
    counted: Mutex<HashMap<K, Window>>,
    span: Duration,
    most: u32,
}

struct Window {
    since: Timestamp,
    asked: u32,
}

impl Polls<ElicitationId> {
    /// Questions about one elicitation.
    pub(crate) fn of_elicitations() -> Self {
        Self::new(Duration::from_secs(60), PER_MINUTE)
    }
}

impl Polls<ServerSlug> {
    /// Elicitations that one server makes.
    pub(crate) fn of_creations() -> Self {
        Self::new(Duration::from_secs(1), PER_SECOND)
    }
}

impl<K: Hash + Eq> Polls<K> {
    fn new(span: Duration, most: u32) -> Self {
        Self {
            counted: Mutex::default(),
            span,
            most,
        }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] with the rest of the span.
    pub(crate) fn ask(&self, about: K, now: Timestamp) -> Result<(), Refusal> {
        // A clock that was set back ends a span, too: nobody waits for a time that was.
        let over = |since: Timestamp| now < since || since.plus(self.span).passed(now);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= KEPT {
            counted.retain(|_, window| !over(window.since));
        }
        let fresh = || Window {
            since: now,
            asked: 0,
        };
        let window = counted.entry(about).or_insert_with(fresh);
        if over(window.since) {
            *window = fresh();
        }
        window.asked = window.asked.saturating_add(1);
        if window.asked > self.most {
            return Err(Refusal::TooMany {
                retry_after: window.since.plus(self.span).left(now),
            });
        }
        Ok(())
    }
}

/// Questions about one elicitation in a minute: a client that retries a call every second is still served.
const PER_MINUTE: u32 = 60;
/// Elicitations of one server in a second.
const PER_SECOND: u32 = 100;
/// Things counted before old ones are looked for and forgotten.
const KEPT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixty_first_question_in_a_minute_waits_for_the_next() {
        let polls = Polls::of_elicitations();
        let (one, other) = (
            ElicitationId::from_bytes([1; 16]),
            ElicitationId::from_bytes([2; 16]),
        );
        for _ in 0..PER_MINUTE {
            polls.ask(one, Timestamp::from_seconds(100)).unwrap();
        }
        let refused = polls.ask(one, Timestamp::from_seconds(130)).unwrap_err();
        assert!(
            matches!(refused, Refusal::TooMany { retry_after } if retry_after == Duration::from_secs(30))
        );
        polls.ask(other, Timestamp::from_seconds(130)).unwrap();
        polls.ask(one, Timestamp::from_seconds(160)).unwrap();
    }

    #[test]
    fn old_counts_are_forgotten_when_there_are_many() {
        let polls = Polls::of_elicitations();
        for number in 0..KEPT {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&number.to_be_bytes());
            polls
                .ask(ElicitationId::from_bytes(id), Timestamp::from_seconds(0))
                .unwrap();
        }
        polls
            .ask(
                ElicitationId::from_bytes([255; 16]),
                Timestamp::from_seconds(61),
            )
            .unwrap();
        assert_eq!(polls.counted.lock().unwrap().len(), 1);
    }
}
