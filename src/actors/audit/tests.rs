//! A log to test with, and what happens to it when very many write.

mod starts;

use std::sync::atomic::{AtomicI64, Ordering};

use domain::Timestamp;

use super::*;
use crate::supervise::Vitals;

/// A clock that a test moves.
#[derive(Default)]
pub(crate) struct Movable(AtomicI64);

impl Clock for Movable {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// A log in a folder of its own.
pub(crate) struct Bench {
    /// The log.
    pub(crate) log: AuditLog,
    /// Its clock.
    pub(crate) clock: Arc<Movable>,
    folder: tempfile::TempDir,
}

impl Bench {
    /// An ordinary log.
    pub(crate) fn new() -> Self {
        let (clock, folder) = (Arc::<Movable>::default(), tempfile::tempdir().unwrap());
        let log = AuditLog::open(
            folder.path(),
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::new(storage::MemoryStore::new()),
            stage(&clock),
        );
        Self {
            log: log.unwrap(),
            clock,
            folder,
        }
    }

    /// A log that takes no line.
    pub(crate) fn on_a_full_disk() -> Self {
        let bench = Self::new();
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        bench.log.file.exchange(full);
        bench
    }

    fn lines(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The outcomes of all entries.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        self.lines()
            .iter()
            .map(|line| line["outcome"].as_str().unwrap().to_owned())
            .collect()
    }

    async fn as_nobody(&self, action: AuditAction, outcome: &'static str) {
        let event = AuditEvent {
            class: AuditClass::Browser,
            action,
            outcome,
            principal: Principal::Nobody,
            about: AuditAbout::default(),
        };
        self.log.write(&event).await.unwrap();
    }

    async fn refused(&self, class: AuditClass, principal: Principal) {
        let event = AuditEvent {
            class,
            action: AuditAction::CallbackRefused,
            outcome: "unknown-state",
            principal,
            about: AuditAbout::default(),
        };
        self.log.write(&event).await.unwrap();
    }

    fn counted(&self) -> Vec<u64> {
        self.lines()
            .iter()
            .filter(|line| line["action"] == "refusals_counted")
            .map(|line| line["count"].as_u64().unwrap())
            .collect()
    }
}

/// What is written however often it comes.
const ALWAYS: [(AuditAction, &str); 2] = [
    (AuditAction::FlowPoisoned, "other-browser"),
    (AuditAction::IdentityMismatch, "other-person"),
];

fn stage(clock: &Arc<Movable>) -> Stage {
    Stage {
        arbiter: actix_rt::Arbiter::current(),
        vitals: Arc::new(Vitals::new(Arc::clone(clock) as Arc<dyn Clock>)),
    }
}

#[actix::test]
async fn a_crowd_of_nobodies_is_written_up_to_a_number_and_counted_beyond_it() {
    let bench = Bench::new();
    for _ in 0..1_000 {
        bench.refused(AuditClass::Browser, Principal::Nobody).await;
    }
    assert_eq!(bench.lines().len(), 120);
    // A flood of one kind hides none of another, and never what tells of an attack.
    bench.as_nobody(AuditAction::LoginRefused, "refused").await;
    bench
        .as_nobody(AuditAction::FlowPoisoned, "other-browser")
        .await;
    bench
        .as_nobody(AuditAction::CallerRefused, "revoked-key")
        .await;
    assert_eq!(bench.lines().len(), 123);
    for _ in 0..130 {
        for (action, outcome) in ALWAYS {
            bench.as_nobody(action, outcome).await;
        }
    }
    let before = 123 + 130 * ALWAYS.len();
    assert_eq!(bench.lines().len(), before);
    // Who is known, and every other class, is written in any case.
    bench
        .refused(AuditClass::Browser, Principal::Person("p".into()))
        .await;
    bench.refused(AuditClass::Release, Principal::Nobody).await;
    assert_eq!(bench.lines().len(), before + 2);
    assert_eq!(bench.counted(), [0; 0]);

    bench.clock.0.store(60_000, Ordering::SeqCst);
    bench.refused(AuditClass::Browser, Principal::Nobody).await;
    assert_eq!(bench.counted(), [880]);
    assert_eq!(bench.lines().len(), before + 4, "the next minute has begun");
    bench.clock.0.store(120_000, Ordering::SeqCst);
    bench.refused(AuditClass::Release, Principal::Vault).await;
    assert_eq!(bench.counted(), [880], "nothing was left out since");
}

#[actix::test]
async fn what_was_counted_is_told_at_the_end_and_after_a_clock_was_set_back() {
    let bench = Bench::new();
    for _ in 0..121 {
        bench.refused(AuditClass::Browser, Principal::Nobody).await;
    }
    bench.log.write_counted();
    bench.log.write_counted();
    assert_eq!(bench.counted(), [1], "once");
    bench.refused(AuditClass::Browser, Principal::Nobody).await;
    bench.clock.0.store(-1, Ordering::SeqCst);
    bench.refused(AuditClass::Browser, Principal::Nobody).await;
    assert_eq!(bench.counted(), [1, 1]);
}

/// Whoever holds a revoked key or knows the id of one could once write until the disk was full.
#[actix::test]
async fn refusals_of_our_keys_are_counted_for_each_key() {
    let bench = Bench::new();
    let refused = async |outcome, key: &str| {
        let event = AuditEvent {
            class: AuditClass::Browser,
            action: AuditAction::CallerRefused,
            outcome,
            principal: Principal::Nobody,
            about: AuditAbout {
                key: Some(key.into()),
                ..AuditAbout::default()
            },
        };
        bench.log.write(&event).await.unwrap();
    };
    let of_ours = ["unknown-key", "revoked-key", "server-disabled"];
    for (n, outcome) in (1..).zip(of_ours) {
        for _ in 0..200 {
            refused(outcome, "one").await;
        }
        refused(outcome, "another").await;
        assert_eq!(bench.lines().len(), n * 121, "{outcome}");
    }
    // Ids that we never made are one kind: there is no end of them.
    for n in 0..200 {
        refused("no-such-key", &n.to_string()).await;
    }
    assert_eq!(bench.lines().len(), 3 * 121 + 120);
    bench.clock.0.store(60_000, Ordering::SeqCst);
    refused("revoked-key", "one").await;
    assert_eq!(bench.counted(), [4 * 80]);
}

#[actix::test]
async fn what_was_never_written_is_not_taken_back() {
    let bench = Bench::on_a_full_disk();
    let unwritten = bench.log.write(&stands_for(1)).await;
    assert!(matches!(unwritten, Err(AuditError::Write { .. })));
    assert!(!bench.log.writable(), "not ready");
}
