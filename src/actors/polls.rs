//! How often one elicitation may be asked about. Waiting (`wait=`) is the way to learn of its end; asking over and over is
//! not, and costs others. Each request counts once, whether it waits or not.
//!
//! The counts are in memory and of no consequence for correctness: a restart only forgives.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{ElicitationId, Timestamp};

use crate::doors::Refusal;

/// Counts of the running minute.
#[derive(Default)]
pub(crate) struct Polls {
    counted: Mutex<HashMap<ElicitationId, Window>>,
}

struct Window {
    since: Timestamp,
    asked: u32,
}

impl Polls {
    /// Counts one question about an elicitation.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] with the rest of the minute.
    pub(crate) fn ask(&self, id: ElicitationId, now: Timestamp) -> Result<(), Refusal> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= KEPT {
            counted.retain(|_, window| !window.since.plus(MINUTE).passed(now));
        }
        let window = counted.entry(id).or_insert(Window {
            since: now,
            asked: 0,
        });
        if window.since.plus(MINUTE).passed(now) {
            *window = Window {
                since: now,
                asked: 0,
            };
        }
        window.asked = window.asked.saturating_add(1);
        if window.asked > PER_MINUTE {
            return Err(Refusal::TooMany {
                retry_after: window.since.plus(MINUTE).left(now),
            });
        }
        Ok(())
    }
}

const MINUTE: Duration = Duration::from_secs(60);
/// Questions about one elicitation in a minute: a client that retries a call every second is still served.
const PER_MINUTE: u32 = 60;
/// Elicitations counted before old ones are looked for and forgotten.
const KEPT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixty_first_question_in_a_minute_waits_for_the_next() {
        let polls = Polls::default();
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
        let polls = Polls::default();
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
