//! The sled engine: the suite, what survives reopening, damage, and equality with the reference.

mod refused;
mod story;

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::*;
use crate::{
    conformance::{check, delete, put, store_suite},
    engine::{BODY_MAX, Revision},
};

const FORMAT: &str = "test-1";
const VAULT: &[u8] = b"vault";
const SMALL: Settings = Settings {
    cache_bytes: 4 * 1024 * 1024,
    queue: 64,
};

fn fresh(root: &Path) -> (PathBuf, SledStore) {
    let dir = root.join("store");
    let store = SledStore::create(&dir, FORMAT, VAULT, SMALL).expect("create");
    (dir, store)
}

fn reopen(dir: &Path) -> Result<SledStore, OpenError> {
    SledStore::open(dir, FORMAT, SMALL)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copy");
        }
    }
}

async fn fill(store: &SledStore, from: u32, to: u32) {
    for n in from..to {
        let body = vec![b'x'; 2000];
        let commit = store.commit(vec![put(Table::Grants, &n.to_be_bytes(), 0, &body)]);
        commit.await.expect("commit");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sled_passes_the_suite() {
    let root = tempfile::tempdir().expect("folder");
    let count = AtomicU64::new(0);
    store_suite(async || {
        let dir = root
            .path()
            .join(count.fetch_add(1, Ordering::Relaxed).to_string());
        Arc::new(SledStore::create(&dir, FORMAT, VAULT, SMALL).expect("create")) as Arc<dyn Store>
    })
    .await;
}

#[tokio::test]
async fn rows_revisions_and_number_survive_reopening() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    let mode = fs::metadata(&dir).expect("folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    store
        .commit(vec![
            put(Table::Grants, b"g", 0, b"a"),
            put(Table::Keys, b"k", 0, b"b"),
        ])
        .await
        .expect("commit");
    store
        .commit(vec![
            put(Table::Grants, b"g", 1, b"c"),
            delete(Table::Keys, b"k", 1),
        ])
        .await
        .expect("commit");
    store.close().await.expect("close");
    for _ in 0..3 {
        let store = reopen(&dir).expect("open");
        assert_eq!(store.vault_id(), VAULT);
        assert_eq!(store.commit_number(), 2);
        let row = store
            .read(Table::Grants, b"g")
            .await
            .expect("read")
            .expect("row");
        assert_eq!(
            (row.revision, row.body.as_slice()),
            (Revision(2), &b"c"[..])
        );
        assert_eq!(store.read(Table::Keys, b"k").await, Ok(None));
        // Dropped without being closed.
    }
}

#[tokio::test]
async fn a_folder_is_served_by_one_store() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    assert!(matches!(reopen(&dir), Err(OpenError::InUse)));
    let again = SledStore::create(&dir, FORMAT, VAULT, SMALL);
    assert!(matches!(again, Err(OpenError::Exists { .. })));
    store.close().await.expect("close");
    assert!(reopen(&dir).is_ok());
}

#[tokio::test]
async fn sleds_own_lock_counts_as_in_use_too() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    store.close().await.expect("close");
    let foreign = ::sled::Config::new()
        .path(&dir)
        .segment_size(8 * 1024 * 1024)
        .open()
        .expect("sled");
    assert!(matches!(reopen(&dir), Err(OpenError::InUse)));
    drop(foreign);
    assert!(reopen(&dir).is_ok());
}

#[test]
fn a_missing_or_foreign_store_is_refused() {
    let root = tempfile::tempdir().expect("folder");
    assert!(matches!(
        reopen(&root.path().join("none")),
        Err(OpenError::Missing { .. })
    ));
    let (dir, store) = fresh(root.path());
    drop(store);
    match SledStore::open(&dir, "test-2", SMALL) {
        Err(OpenError::UnknownFormat { found }) => assert_eq!(found, FORMAT),
        other => panic!("must not open: {:?}", other.err()),
    }
    for (format, vault) in [("", VAULT), (FORMAT, b""), (FORMAT, &[0; 33])] {
        let refused = SledStore::create(&root.path().join("x"), format, vault, SMALL);
        assert!(matches!(refused, Err(OpenError::Malformed { .. })));
    }
}

#[tokio::test]
async fn an_old_copy_is_noticed_and_can_be_accepted() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    fill(&store, 0, 10).await;
    store.close().await.expect("close");
    let copy = root.path().join("copy");
    copy_folder(&dir, &copy);
    let store = reopen(&dir).expect("open");
    fill(&store, 10, 13).await;
    store.close().await.expect("close");
    fs::remove_dir_all(&dir).expect("remove");
    copy_folder(&copy, &dir);
    match reopen(&dir) {
        Err(OpenError::RolledBack {
            store: 10,
            sidecar: 13,
        }) => {}
        other => panic!("must be noticed: {:?}", other.err()),
    }
    let store = SledStore::accept_rollback(&dir, FORMAT, SMALL).expect("accept");
    assert_eq!(store.commit_number(), 14, "no number is used twice");
    drop(store);
    assert_eq!(reopen(&dir).expect("open").commit_number(), 14);
}

#[tokio::test]
async fn a_lost_or_foreign_sidecar_is_noticed() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    fill(&store, 0, 2).await;
    drop(store);
    let other = root.path().join("other");
    drop(SledStore::create(&other, FORMAT, b"another vault", SMALL).expect("create"));
    let (ours, theirs) = (sidecar::path_of(&dir), sidecar::path_of(&other));
    fs::copy(&theirs, &ours).expect("copy");
    assert!(matches!(reopen(&dir), Err(OpenError::SidecarLost { .. })));
    fs::remove_file(&ours).expect("remove");
    assert!(matches!(reopen(&dir), Err(OpenError::SidecarLost { .. })));
    let store = SledStore::accept_rollback(&dir, FORMAT, SMALL).expect("accept");
    assert_eq!(store.commit_number(), 3);
}

/// sled reacts to a shortened file by panicking or by dropping its end; neither may look healthy.
#[tokio::test]
async fn a_torn_file_never_panics_and_never_loses_silently() {
    for cut in [1, 100, 5000] {
        for commits in [3, 40, 400] {
            let root = tempfile::tempdir().expect("folder");
            let (dir, store) = fresh(root.path());
            fill(&store, 0, commits).await;
            store.close().await.expect("close");
            let file = OpenOptions::new()
                .write(true)
                .open(dir.join("db"))
                .expect("file");
            let length = file.metadata().expect("length").len();
            file.set_len(length - cut).expect("cut");
            match reopen(&dir) {
                Ok(store) => {
                    let rows = store.scan(Table::Grants, b"", None, 1000).await;
                    let rows = rows.map(|rows| rows.len());
                    let seen = (store.commit_number(), rows);
                    let whole = (u64::from(commits), Ok(commits as usize));
                    assert_eq!(seen, whole, "whole, or not opened; {cut} bytes cut");
                }
                Err(OpenError::RolledBack { store, sidecar }) => assert!(store < sidecar),
                Err(OpenError::Damaged { .. } | OpenError::UnknownFormat { .. }) => {}
                Err(other) => panic!("unclear: {other:?}"),
            }
        }
    }
}

/// sled reads a snapshot that was being written when the process died, and then refuses the store.
#[tokio::test]
async fn an_unfinished_snapshot_is_no_damage() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    fill(&store, 0, 5).await;
    store.close().await.expect("close");
    drop(store);
    for (name, bytes) in [
        ("snap.0000000000005FB3.generating", &b""[..]),
        ("snap.FFFFFFFFFFFFFFFF.generating", b"half"),
    ] {
        fs::write(dir.join(name), bytes).expect("write");
        let store = reopen(&dir).expect("opens");
        assert_eq!(store.commit_number(), 5);
        let rows = store
            .scan(Table::Grants, b"", None, 100)
            .await
            .expect("scan");
        assert_eq!(rows.len(), 5);
    }
}

/// Values in files of their own are written by sled without any sync.
#[tokio::test]
async fn large_rows_never_leave_the_synced_file() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    let body = vec![0xa5; BODY_MAX];
    for n in (0..60_u32).map(|n| n * 7 % 60) {
        let commit = store.commit(vec![put(Table::Records, &n.to_be_bytes(), 0, &body)]);
        commit.await.expect("commit");
    }
    for n in 0..55_u32 {
        let commit = store.commit(vec![delete(Table::Records, &n.to_be_bytes(), 1)]);
        commit.await.expect("commit");
    }
    store.close().await.expect("close");
    let blobs = fs::read_dir(dir.join("blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
}

#[tokio::test]
async fn after_a_failed_write_acknowledged_rows_stay_readable() {
    let root = tempfile::tempdir().expect("folder");
    let (_dir, store) = fresh(root.path());
    store
        .commit(vec![put(Table::Grants, b"g", 0, b"durable")])
        .await
        .expect("commit");
    // As if a sync failed after the transaction: the new value is in sled, hidden for good.
    let trees = store
        .shared
        .trees
        .read()
        .expect("lock")
        .clone()
        .expect("open");
    let tree = trees.table(Table::Grants).expect("tree");
    let before = tree.get(b"g").expect("get");
    store
        .shared
        .veil
        .cover(std::iter::once((Table::Grants, b"g".to_vec(), before)));
    tree.insert(b"g", layout::encode(Revision(2), b"not durable"))
        .expect("insert");
    store.shared.fail("a sync failed").expect_err("says why");
    assert_eq!(store.health(), Health::ReadOnly);
    let row = store
        .read(Table::Grants, b"g")
        .await
        .expect("read")
        .expect("row");
    assert_eq!(row.body, b"durable");
    let rows = store.scan(Table::Grants, b"", None, 9).await.expect("scan");
    assert_eq!(rows, [row]);
    let refused = store.commit(vec![put(Table::Grants, b"h", 0, b"")]).await;
    assert_eq!(
        refused,
        Err(StoreError::Unavailable {
            what: "a sync failed"
        })
    );
    drop(trees);
    assert!(store.close().await.is_err());
    assert_eq!(store.health(), Health::Closed);
}

#[tokio::test]
async fn a_scan_goes_on_behind_rows_it_may_not_show() {
    let root = tempfile::tempdir().expect("folder");
    let (_dir, store) = fresh(root.path());
    fill(&store, 0, 20).await;
    let hidden = (0..10_u32).map(|n| (Table::Grants, n.to_be_bytes().to_vec(), None));
    store.shared.veil.cover(hidden);
    let rows = store.scan(Table::Grants, b"", None, 5).await.expect("scan");
    let keys: Vec<_> = rows.iter().map(|row| row.key.as_slice()).collect();
    assert_eq!(keys, (10..15_u32).map(u32::to_be_bytes).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_queue_is_busy_and_gets_free_again() {
    let root = tempfile::tempdir().expect("folder");
    let (_dir, store) = fresh(root.path());
    let commit = |n: u32| store.commit(vec![put(Table::Grants, &n.to_be_bytes(), 0, b"")]);
    let mut waiting: Vec<_> = (0..4000).map(commit).collect();
    let mut busy = 0;
    let mut done = Vec::new();
    futures_poll_all(&mut waiting, &mut done).await;
    for outcome in &done {
        match outcome {
            Ok(()) => {}
            Err(StoreError::Busy) => busy += 1,
            Err(other) => panic!("unexpected: {other}"),
        }
    }
    assert!(busy > 0, "4000 at once do not fit into 64");
    assert_eq!(store.commit_number(), 4000 - busy);
    assert_eq!(store.commit(vec![check(Table::Keys, b"", 0)]).await, Ok(()));
}

/// Polls all futures once in order, then waits for each.
async fn futures_poll_all(waiting: &mut Vec<Fut<'_, ()>>, done: &mut Vec<Result<(), StoreError>>) {
    let mut left = Vec::new();
    for mut future in waiting.drain(..) {
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            std::task::Poll::Ready(outcome) => done.push(outcome),
            std::task::Poll::Pending => left.push(future),
        }
    }
    for future in left {
        done.push(future.await);
    }
}
