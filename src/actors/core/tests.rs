//! Changes and their audit entries: which of them stand, in whatever order things fail.

use super::*;
use crate::audit::tests::Bench;
use crate::rows::RowKey;
use domain::{AuditAbout, AuditAction, AuditClass, Principal, RequestId};
use storage::{Claim, Fence, Fut, Health, MemoryStore, Row, Table, Write};

fn row() -> RowKey {
    RowKey {
        table: Table::Grants,
        key: b"one".to_vec(),
    }
}

/// A store in which whoever looks sees no rows: as it is when the other request commits between the look and the commit.
struct Late(MemoryStore);

impl Store for Late {
    fn read(&self, _: Table, _: &[u8]) -> Fut<'_, Option<Row>> {
        Box::pin(async { Ok(None) })
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Fut<'_, Vec<Row>> {
        self.0.scan(table, prefix, after, limit)
    }

    fn commit(&self, writes: Vec<Write>) -> Fut<'_, ()> {
        self.0.commit(writes)
    }

    fn claim(&self, name: &[u8], holder: Holder, now_ms: i64, for_ms: i64) -> Fut<'_, Claim> {
        self.0.claim(name, holder, now_ms, for_ms)
    }

    fn release(&self, name: &[u8], fence: Fence) -> Fut<'_, ()> {
        self.0.release(name, fence)
    }

    fn commit_number(&self) -> u64 {
        self.0.commit_number()
    }

    fn health(&self) -> Health {
        self.0.health()
    }

    fn close(&self) -> Fut<'_, ()> {
        self.0.close()
    }
}

async fn create(store: &dyn Store, bench: &Bench, class: AuditClass) -> Result<(), Stepped> {
    let mut changes = Changes::default();
    changes.create(row(), &1);
    let event = AuditEvent {
        class,
        action: AuditAction::GrantActivated,
        outcome: "ok",
        principal: Principal::Operator,
        about: AuditAbout::default(),
    };
    let ctx = Ctx {
        request: RequestId::from_bytes([1; 16]),
        now: bench.clock.now(),
    };
    change_audited(store, &bench.log, ctx, (changes, vec![event])).await
}

#[actix::test]
async fn what_cannot_be_accounted_for_is_not_changed() {
    for class in [AuditClass::Link, AuditClass::Key, AuditClass::Admin] {
        let (store, bench) = (MemoryStore::new(), Bench::on_a_full_disk());
        let refused = create(&store, &bench, class).await;
        assert!(matches!(refused, Err(Stepped::Stop(Refusal::Unavailable))));
        assert_eq!(store.read(row().table, &row().key).await.unwrap(), None);
    }
}

#[actix::test]
async fn a_change_that_is_known_to_come_too_late_leaves_no_entry() {
    let (store, bench) = (MemoryStore::new(), Bench::new());
    create(&store, &bench, AuditClass::Link).await.unwrap();
    let again = create(&store, &bench, AuditClass::Link).await;
    assert!(matches!(again, Err(Stepped::Again)));
    assert_eq!(bench.outcomes(), ["ok"]);
}

#[actix::test]
async fn an_entry_whose_change_failed_is_taken_back() {
    let (store, bench) = (Late(MemoryStore::new()), Bench::new());
    create(&store, &bench, AuditClass::Link).await.unwrap();
    let again = create(&store, &bench, AuditClass::Link).await;
    assert!(matches!(again, Err(Stepped::Again)));
    assert_eq!(bench.outcomes(), ["ok", "ok", "not-done"]);
    // A browser step that failed was never written.
    let again = create(&store, &bench, AuditClass::Browser).await;
    assert!(matches!(again, Err(Stepped::Again)));
    assert_eq!(bench.outcomes().len(), 3);
}

#[actix::test]
async fn a_change_that_is_several_things_has_all_its_entries_or_none_that_stands() {
    let (store, bench) = (Late(MemoryStore::new()), Bench::new());
    for _ in 0..2 {
        let mut changes = Changes::default();
        changes.create(row(), &1);
        let entry = |action| AuditEvent {
            class: AuditClass::Link,
            action,
            outcome: "ok",
            principal: Principal::Operator,
            about: AuditAbout::default(),
        };
        let both = [AuditAction::Declined, AuditAction::PendingDestroyed].map(entry);
        let ctx = Ctx {
            request: RequestId::from_bytes([1; 16]),
            now: bench.clock.now(),
        };
        let change = (changes, both.to_vec());
        drop(change_audited(&store, &bench.log, ctx, change).await);
    }
    let twice = ["ok", "ok", "ok", "ok", "not-done", "not-done"];
    assert_eq!(bench.outcomes(), twice);
}

#[actix::test]
async fn what_the_store_cannot_say_is_not_called_undone() {
    let (store, bench) = (Late(MemoryStore::new()), Bench::new());
    store.close().await.unwrap();
    assert!(create(&store, &bench, AuditClass::Link).await.is_err());
    assert_eq!(bench.outcomes(), ["ok", "not-known"]);
}

#[test]
fn only_an_entry_that_is_in_the_log_is_taken_back() {
    assert!(stands(&Ok(())));
    assert!(stands(&Err(AuditError::Sync)));
    assert!(!stands(&Err(AuditError::Foreign)));
}
