//! The suite every engine passes: what [`Store`] promises, said as tests.
//!
//! A new method or promise lands here first. Each law gets a fresh store; a broken one panics with its name.

mod leases;

use std::sync::Arc;

use crate::engine::{
    BODY_MAX, Fence, Health, Holder, KEY_MAX, Revision, SCAN_MAX, Store, StoreError, Table,
    WRITES_MAX, Write,
};

const GRANTS: Table = Table::Grants;
const IDS: Table = Table::GrantIds;
const ONE: Holder = Holder([1; 16]);

/// Runs every law against stores made by `fresh`.
pub async fn store_suite(fresh: impl AsyncFn() -> Arc<dyn Store>) {
    of_two_writers_one_wins(&*fresh().await).await;
    racing_creations_have_one_winner(fresh().await).await;
    what_is_read_is_counted(fresh().await).await;
    a_commit_is_all_or_nothing(&*fresh().await).await;
    revisions_count_writes(&*fresh().await).await;
    deletes_and_checks_expect_revisions(&*fresh().await).await;
    tables_do_not_mix(&*fresh().await).await;
    scans_are_ordered_and_bounded(&*fresh().await).await;
    scans_know_the_edges_of_prefixes(&*fresh().await).await;
    the_commit_number_counts_changes(&*fresh().await).await;
    limits_refuse_before_anything_is_written(&*fresh().await).await;
    the_largest_commit_fits(&*fresh().await).await;
    malformed_commits_are_refused(&*fresh().await).await;
    leases::a_lease_is_held_once(&*fresh().await).await;
    leases::a_late_release_frees_nobody_else(&*fresh().await).await;
    leases::leases_have_limits(&*fresh().await).await;
    a_closed_store_says_so(&*fresh().await).await;
}

/// A `Put`.
pub fn put(table: Table, key: &[u8], expected: u64, body: &[u8]) -> Write {
    Write::Put {
        table,
        key: key.to_vec(),
        expected: Revision(expected),
        body: body.to_vec(),
    }
}

/// A `Delete`.
pub fn delete(table: Table, key: &[u8], expected: u64) -> Write {
    Write::Delete {
        table,
        key: key.to_vec(),
        expected: Revision(expected),
    }
}

/// A `Check`.
pub fn check(table: Table, key: &[u8], expected: u64) -> Write {
    Write::Check {
        table,
        key: key.to_vec(),
        expected: Revision(expected),
    }
}

const fn conflict(table: Table) -> Result<(), StoreError> {
    Err(StoreError::Conflict { table })
}

/// What is in a row: revision and body.
async fn look(store: &dyn Store, table: Table, key: &[u8]) -> Option<(u64, Vec<u8>)> {
    let row = store.read(table, key).await;
    assert!(row.is_ok(), "read answers: {row:?}");
    let row = row.ok().flatten()?;
    assert_eq!(row.key, key, "a row carries its own key");
    Some((row.revision.0, row.body))
}

/// The keys a scan finds.
async fn keys(
    store: &dyn Store,
    prefix: &[u8],
    after: Option<&[u8]>,
    limit: usize,
) -> Vec<Vec<u8>> {
    let rows = store.scan(GRANTS, prefix, after, limit).await;
    assert!(rows.is_ok(), "scan answers: {rows:?}");
    rows.into_iter().flatten().map(|row| row.key).collect()
}

async fn of_two_writers_one_wins(store: &dyn Store) {
    assert_eq!(look(store, GRANTS, b"g").await, None);
    assert_eq!(store.commit(vec![put(GRANTS, b"g", 0, b"a")]).await, Ok(()));
    assert_eq!(store.commit(vec![put(GRANTS, b"g", 1, b"b")]).await, Ok(()));
    let late = store.commit(vec![put(GRANTS, b"g", 1, b"c")]).await;
    assert_eq!(late, conflict(GRANTS), "the second writer is told");
    let again = store.commit(vec![put(GRANTS, b"g", 0, b"d")]).await;
    assert_eq!(again, conflict(GRANTS), "creating what exists is refused");
    assert_eq!(look(store, GRANTS, b"g").await, Some((2, b"b".to_vec())));
}

async fn racing_creations_have_one_winner(store: Arc<dyn Store>) {
    let mut racers = Vec::new();
    for racer in 0..32_u8 {
        let store = Arc::clone(&store);
        racers.push(tokio::spawn(async move {
            store.commit(vec![put(GRANTS, b"g", 0, &[racer])]).await
        }));
    }
    let mut won = Vec::new();
    for (racer, task) in (0..32_u8).zip(racers) {
        match task.await {
            Ok(Ok(())) => won.push(racer),
            other => assert!(
                matches!(other, Ok(Err(StoreError::Conflict { table: GRANTS }))),
                "a loser gets a conflict: {other:?}"
            ),
        }
    }
    assert_eq!(won.len(), 1, "one winner");
    assert_eq!(look(&*store, GRANTS, b"g").await, Some((1, won)));
}

/// Nothing is shown before it is durable: a reader never sees a write the commit number does not count.
async fn what_is_read_is_counted(store: Arc<dyn Store>) {
    let start = store.commit_number();
    let writer = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            for revision in 0..200 {
                store.commit(vec![put(GRANTS, b"g", revision, b"")]).await?;
            }
            Ok::<(), StoreError>(())
        }
    });
    let mut seen = 0;
    while !writer.is_finished() {
        let read = look(&*store, GRANTS, b"g").await;
        let counted = store.commit_number() - start;
        let revision = read.map_or(0, |(revision, _)| revision);
        assert!(revision <= counted, "{revision} shown, {counted} durable");
        assert!(revision >= seen, "revisions do not go back");
        let rows = store.scan(GRANTS, b"", None, 1).await;
        let counted = store.commit_number() - start;
        let scanned = rows.into_iter().flatten().map(|row| row.revision.0).max();
        seen = scanned.unwrap_or(revision);
        assert!(
            revision <= seen && seen <= counted,
            "{seen} scanned, {counted} durable"
        );
        tokio::task::yield_now().await;
    }
    assert!(
        matches!(writer.await, Ok(Ok(()))),
        "the writer is undisturbed"
    );
    let last = look(&*store, GRANTS, b"g").await;
    assert_eq!(last, Some((200, Vec::new())));
}

async fn a_commit_is_all_or_nothing(store: &dyn Store) {
    let all = vec![
        put(GRANTS, b"g", 0, b"grant"),
        put(IDS, b"id", 0, b"g"),
        put(Table::Expiry, b"1", 0, b""),
    ];
    assert_eq!(store.commit(all).await, Ok(()));
    let nothing = vec![
        put(GRANTS, b"g", 1, b"new"),
        delete(Table::Expiry, b"1", 1),
        put(Table::Expiry, b"2", 0, b""),
        check(IDS, b"id", 7),
    ];
    assert_eq!(store.commit(nothing).await, conflict(IDS));
    assert_eq!(look(store, GRANTS, b"g").await, Some((1, b"grant".into())));
    assert_eq!(
        look(store, Table::Expiry, b"1").await,
        Some((1, Vec::new()))
    );
    assert_eq!(look(store, Table::Expiry, b"2").await, None);
}

async fn revisions_count_writes(store: &dyn Store) {
    for revision in 0..5 {
        let write = put(GRANTS, b"g", revision, &revision.to_be_bytes());
        assert_eq!(store.commit(vec![write]).await, Ok(()));
        let seen = look(store, GRANTS, b"g")
            .await
            .map(|(revision, _)| revision);
        assert_eq!(seen, Some(revision + 1), "one more per write");
    }
    assert_eq!(store.commit(vec![delete(GRANTS, b"g", 5)]).await, Ok(()));
    assert_eq!(look(store, GRANTS, b"g").await, None);
    assert_eq!(store.commit(vec![put(GRANTS, b"g", 0, b"")]).await, Ok(()));
    let anew = look(store, GRANTS, b"g").await;
    assert_eq!(anew, Some((1, Vec::new())), "a new row starts at 1 again");
}

async fn deletes_and_checks_expect_revisions(store: &dyn Store) {
    let absent = store.commit(vec![delete(GRANTS, b"g", 1)]).await;
    assert_eq!(absent, conflict(GRANTS), "nothing there to delete");
    assert_eq!(store.commit(vec![check(GRANTS, b"g", 0)]).await, Ok(()));
    assert_eq!(store.commit(vec![put(GRANTS, b"g", 0, b"a")]).await, Ok(()));
    let there = store.commit(vec![check(GRANTS, b"g", 0)]).await;
    assert_eq!(there, conflict(GRANTS), "it is not absent any more");
    assert_eq!(store.commit(vec![check(GRANTS, b"g", 1)]).await, Ok(()));
    let stale = store.commit(vec![delete(GRANTS, b"g", 2)]).await;
    assert_eq!(stale, conflict(GRANTS), "a delete needs the revision");
    assert_eq!(look(store, GRANTS, b"g").await, Some((1, b"a".to_vec())));
    assert_eq!(store.commit(vec![delete(GRANTS, b"g", 1)]).await, Ok(()));
    assert_eq!(look(store, GRANTS, b"g").await, None);
}

async fn tables_do_not_mix(store: &dyn Store) {
    // 14 and 15 are reserved.
    let frozen: Vec<u8> = (1..=13).chain(16..=20).collect();
    assert_eq!(Table::ALL.map(Table::number).to_vec(), frozen);
    for (index, table) in frozen.into_iter().zip(Table::ALL) {
        assert_eq!(
            store.commit(vec![put(table, b"", 0, &[index])]).await,
            Ok(())
        );
    }
    for table in Table::ALL {
        let body = vec![table.number()];
        assert_eq!(look(store, table, b"").await, Some((1, body)));
    }
}

async fn scans_are_ordered_and_bounded(store: &dyn Store) {
    for key in ["b3", "a", "b1", "c", "b2", "b"] {
        let write = put(GRANTS, key.as_bytes(), 0, key.as_bytes());
        assert_eq!(store.commit(vec![write]).await, Ok(()));
    }
    let other = put(IDS, b"b11", 0, b"another table");
    assert_eq!(store.commit(vec![other]).await, Ok(()));
    let all = keys(store, b"", None, 100).await;
    assert_eq!(all, [&b"a"[..], b"b", b"b1", b"b2", b"b3", b"c"]);
    let some = keys(store, b"b", None, 2).await;
    assert_eq!(some, [&b"b"[..], b"b1"]);
    let rest = keys(store, b"b", Some(b"b1"), 100).await;
    assert_eq!(rest, [b"b2", b"b3"], "behind after, within the prefix");
    let between = keys(store, b"b", Some(b"b10"), 1).await;
    assert_eq!(between, [b"b2"], "after need not exist");
    let before = keys(store, b"b", Some(b"a"), 100).await;
    assert_eq!(before.len(), 4, "after in front of the prefix is no limit");
    assert!(keys(store, b"b", Some(b"c"), 100).await.is_empty());
    assert!(keys(store, b"b", None, 0).await.is_empty());
    assert!(keys(store, b"x", None, 100).await.is_empty());
    let rows = store.scan(GRANTS, b"b2", None, 9).await;
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    let whole = rows
        .iter()
        .all(|row| row.revision == Revision(1) && row.body == b"b2");
    assert!(rows.len() == 1 && whole, "a scanned row is whole: {rows:?}");
}

async fn scans_know_the_edges_of_prefixes(store: &dyn Store) {
    let edge: [&[u8]; 7] = [
        b"",
        b"\x00",
        b"\xfe\xff",
        b"\xff",
        b"\xff\x00",
        b"\xff\xff",
        b"\xff\xff\xff",
    ];
    for key in edge {
        assert_eq!(store.commit(vec![put(GRANTS, key, 0, b"")]).await, Ok(()));
    }
    assert_eq!(keys(store, b"", None, 100).await, edge);
    let high = keys(store, b"\xff", None, 100).await;
    assert_eq!(
        high,
        [&b"\xff"[..], b"\xff\x00", b"\xff\xff", b"\xff\xff\xff"]
    );
    assert_eq!(keys(store, b"\xff\xff", None, 100).await.len(), 2);
    assert_eq!(keys(store, b"\xfe", None, 100).await, [b"\xfe\xff"]);
    let behind_empty = keys(store, b"", Some(b""), 1).await;
    assert_eq!(behind_empty, [b"\x00"], "the empty key counts as a key");
}

async fn the_commit_number_counts_changes(store: &dyn Store) {
    let start = store.commit_number();
    assert_eq!(store.commit(Vec::new()).await, Ok(()));
    assert_eq!(store.commit(vec![check(GRANTS, b"g", 0)]).await, Ok(()));
    assert_eq!(store.commit_number(), start, "nothing changed");
    let two = vec![put(GRANTS, b"g", 0, b""), put(IDS, b"i", 0, b"")];
    assert_eq!(store.commit(two).await, Ok(()));
    assert_eq!(store.commit_number(), start + 1, "one commit");
    let refused = store.commit(vec![put(GRANTS, b"g", 0, b"")]).await;
    assert_eq!(refused, conflict(GRANTS));
    assert_eq!(store.commit_number(), start + 1, "a refused one");
    assert_eq!(store.health(), Health::Serving);
}

async fn limits_refuse_before_anything_is_written(store: &dyn Store) {
    let key = vec![b'k'; KEY_MAX + 1];
    let body = vec![0; BODY_MAX + 1];
    let many: Vec<_> = (0..=WRITES_MAX)
        .map(|n| put(GRANTS, &n.to_be_bytes(), 0, b""))
        .collect();
    let first = put(GRANTS, b"first", 0, b"");
    let cases = [
        vec![first.clone(), put(GRANTS, &key, 0, b"")],
        vec![first, put(GRANTS, b"g", 0, &body)],
        many,
    ];
    for writes in cases {
        let refused = store.commit(writes).await;
        assert!(
            matches!(refused, Err(StoreError::TooLarge { .. })),
            "{refused:?}"
        );
    }
    assert!(
        keys(store, b"", None, 100).await.is_empty(),
        "nothing written"
    );
    let read = store.read(GRANTS, &key).await;
    assert!(matches!(read, Err(StoreError::TooLarge { .. })), "{read:?}");
    for scan in [
        store.scan(GRANTS, &key, None, 1),
        store.scan(GRANTS, b"", Some(&key), 1),
    ] {
        let scan = scan.await;
        assert!(matches!(scan, Err(StoreError::TooLarge { .. })), "{scan:?}");
    }
    assert_eq!(store.health(), Health::Serving, "a refusal harms nobody");
}

async fn the_largest_commit_fits(store: &dyn Store) {
    let body = vec![0x5a; BODY_MAX];
    let key_of = |n: usize| {
        let mut key = vec![b'k'; KEY_MAX - 8];
        key.extend_from_slice(&n.to_be_bytes());
        key
    };
    let writes = (0..WRITES_MAX).map(|n| put(GRANTS, &key_of(n), 0, &body));
    assert_eq!(store.commit(writes.collect()).await, Ok(()));
    let last = look(store, GRANTS, &key_of(WRITES_MAX - 1)).await;
    assert_eq!(last, Some((1, body)));
    for round in 0..SCAN_MAX.div_ceil(WRITES_MAX) {
        let writes =
            (0..WRITES_MAX).map(|n| put(IDS, &[round, n].map(usize::to_be_bytes).concat(), 0, b""));
        assert_eq!(store.commit(writes.collect()).await, Ok(()));
    }
    assert_eq!(
        store.commit(vec![put(IDS, b"one more", 0, b"")]).await,
        Ok(())
    );
    let most = store
        .scan(IDS, b"", None, usize::MAX)
        .await
        .map(|rows| rows.len());
    assert_eq!(most, Ok(SCAN_MAX), "a scan is bounded whatever was asked");
}

async fn malformed_commits_are_refused(store: &dyn Store) {
    let cases = [
        vec![delete(GRANTS, b"g", 0)],
        vec![put(GRANTS, b"g", 0, b""), put(GRANTS, b"g", 1, b"")],
        vec![put(GRANTS, b"g", 0, b""), check(GRANTS, b"g", 0)],
    ];
    for writes in cases {
        let refused = store.commit(writes).await;
        assert!(
            matches!(refused, Err(StoreError::Malformed { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(look(store, GRANTS, b"g").await, None);
}

async fn a_closed_store_says_so(store: &dyn Store) {
    assert_eq!(store.commit(vec![put(GRANTS, b"g", 0, b"")]).await, Ok(()));
    assert_eq!(store.close().await, Ok(()));
    assert_eq!(store.close().await, Ok(()), "twice is once");
    assert_eq!(store.health(), Health::Closed);
    let gone = |outcome: bool| assert!(outcome, "a closed store is unavailable");
    let commit = store.commit(vec![put(GRANTS, b"g", 1, b"")]).await;
    gone(matches!(commit, Err(StoreError::Unavailable { .. })));
    let read = store.read(GRANTS, b"g").await;
    gone(matches!(read, Err(StoreError::Unavailable { .. })));
    let scan = store.scan(GRANTS, b"", None, 1).await;
    gone(matches!(scan, Err(StoreError::Unavailable { .. })));
    let claim = store.claim(b"grant", ONE, 0, 1).await;
    gone(matches!(claim, Err(StoreError::Unavailable { .. })));
    let release = store.release(b"grant", Fence(1)).await;
    gone(matches!(release, Err(StoreError::Unavailable { .. })));
}
