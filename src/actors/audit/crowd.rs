//! Entries that anybody can cause are written up to a number each minute, and counted beyond it.
//!
//! Each kind of them has a number of its own, so that a flood of one kind hides no entry of another: whoever could flood
//! the log could otherwise silence the very lines that tell of an attack. Refusals of a key that we made are of one kind for
//! each key, as whoever holds a revoked one, or knows the public id of any, can repeat them without end. What ends the flow
//! it tells of (it was poisoned, a wrong person came) is never counted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{
    AuditAction, AuditClass, AuditEvent, CallerRefused, ElicitationId, Principal, Timestamp,
};

/// Counts the entries that anybody can cause. Shared by all handles on one log.
#[derive(Default)]
pub(super) struct Crowd(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    since: Option<Timestamp>,
    written: HashMap<Kind, u32>,
    counted: u64,
}

/// What is counted together: the same thing, with the same outcome, on the same link or with the same key of ours. Links
/// and keys are made by servers and operators only, so nobody can make kinds without end, and a minute forgets them.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Kind {
    action: AuditAction,
    outcome: &'static str,
    elicitation: Option<ElicitationId>,
    key: Option<Box<str>>,
}

impl Kind {
    /// The kind of an entry that anybody can cause; `None` for one that is written in any case.
    pub(super) fn of(event: &AuditEvent) -> Option<Self> {
        let of_nobody = event.class == AuditClass::Browser && event.principal == Principal::Nobody;
        let grave = matches!(
            event.action,
            AuditAction::FlowPoisoned | AuditAction::IdentityMismatch
        );
        // Ids of keys that we never made are as many as somebody likes.
        let made_by_us = event.action == AuditAction::CallerRefused
            && !CallerRefused::ANYBODYS
                .iter()
                .any(|reason| reason.as_str() == event.outcome);
        (of_nobody && !grave).then(|| Self {
            action: event.action,
            outcome: event.outcome,
            elicitation: event.about.elicitation,
            key: event.about.key.clone().filter(|_| made_by_us),
        })
    }
}

impl Minute {
    /// Whether it is over at `now`; a clock set back ends it, too.
    fn is_over(&self, now: Timestamp) -> bool {
        self.since
            .is_none_or(|since| now < since || since.plus(MINUTE).passed(now))
    }
}

impl Crowd {
    /// Whether one more entry of a kind is written; otherwise it is counted.
    pub(super) fn admits(&self, kind: Kind, now: Timestamp) -> bool {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.is_over(now) {
            // What was counted and not yet asked for goes on into the next minute.
            minute.since = Some(now);
            minute.written = HashMap::new(); // with its memory
        }
        let written = minute.written.entry(kind).or_default();
        if *written < MOST {
            *written += 1;
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

/// Entries of one kind that are written in a minute.
pub(super) const MOST: u32 = 120;
/// See [`MOST`].
const MINUTE: Duration = Duration::from_secs(60);
