//! A refused open leaves every file as it was, and what can be spared is no reason to refuse.

use std::collections::BTreeMap;

use super::*;

/// Every file of the store and its sidecar.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("list") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let content = fs::read(&path).expect("read");
                found.insert(path, content);
            }
        }
    }
    let sidecar = sidecar::path_of(dir);
    let content = fs::read(&sidecar).expect("read");
    found.insert(sidecar, content);
    found
}

fn restore(dir: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(dir).into_keys() {
        fs::remove_file(path).expect("remove");
    }
    for (path, content) in before {
        fs::write(path, content).expect("restore");
    }
}

fn snapshot(dir: &Path) -> PathBuf {
    let names = fs::read_dir(dir).expect("list");
    names
        .map(|entry| entry.expect("entry").path())
        .find(|path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("snap."))
        })
        .expect("sled wrote a snapshot")
}

/// A store of ten rows that was opened twice, so that it has a snapshot, and closed.
async fn closed(root: &Path) -> PathBuf {
    let (dir, store) = fresh(root);
    fill(&store, 0, 6).await;
    store.close().await.expect("close");
    drop(store);
    let store = reopen(&dir).expect("open");
    fill(&store, 6, 10).await;
    store.close().await.expect("close");
    dir
}

async fn assert_whole(store: &SledStore) {
    let rows = store.scan(Table::Grants, b"", None, 100).await;
    assert_eq!(rows.expect("scan").len(), 10);
    assert_eq!(store.commit_number(), 10);
}

#[tokio::test]
async fn a_flipped_bit_that_is_flipped_back_has_harmed_nothing() {
    let root = tempfile::tempdir().expect("folder");
    let dir = closed(root.path()).await;
    let before = files(&dir);
    let data = dir.join("db");
    let used = before[&data].iter().rposition(|b| *b != 0).expect("used");
    let mut refusals = 0;
    for part in 0..24 {
        restore(&dir, &before);
        let mut damaged = before.clone();
        let content = damaged.get_mut(&data).expect("the store's file");
        content[used * part / 24] ^= 0x10;
        fs::write(&data, &*content).expect("damage");
        if reopen(&dir).is_ok() {
            continue; // in a part that no start reads
        }
        refusals += 1;
        assert!(
            files(&dir) == damaged,
            "changed by the refused open, part {part}"
        );
        fs::write(&data, &before[&data]).expect("mend");
        let store = reopen(&dir).expect("whole again");
        assert_whole(&store).await;
    }
    assert!(refusals > 0, "some were noticed");
}

#[tokio::test]
async fn every_refusal_leaves_the_files_as_they_are() {
    let root = tempfile::tempdir().expect("folder");
    let dir = closed(root.path()).await;
    let before = files(&dir);
    let data = dir.join("db");
    let whole = &before[&data];
    let used = whole.iter().rposition(|b| *b != 0).expect("used");
    for content in [
        Vec::new(),
        vec![0; 8 << 20],
        whole[..used / 2].to_vec(),
        whole[..used - 100].to_vec(),
        b"something else".repeat(1000),
    ] {
        restore(&dir, &before);
        fs::write(&data, &content).expect("damage");
        let damaged = files(&dir);
        reopen(&dir).expect_err("must not open");
        assert!(files(&dir) == damaged, "changed by the refused open");
        assert!(!root.path().join("store.trial").exists(), "no copy is left");
    }
    fs::write(&data, whole).expect("mend");
    assert_whole(&reopen(&dir).expect("whole again")).await;
}

#[tokio::test]
async fn a_damaged_snapshot_is_set_aside() {
    for damage in 0..5 {
        let root = tempfile::tempdir().expect("folder");
        let dir = closed(root.path()).await;
        let path = snapshot(&dir);
        let mut content = fs::read(&path).expect("read");
        match damage {
            0 => content.clear(),
            1 => content.truncate(20),
            2 => content[3] ^= 1,
            3 => fs::write(dir.join("snap.ZZZ"), b"x").expect("stray"),
            _ => fs::write(dir.join("snap.FFFFFFFFFFFFFFFF"), b"junkjunkjunkjunk").expect("stray"),
        }
        fs::write(&path, &content).expect("damage");
        let store = reopen(&dir).expect("opens without it");
        assert_whole(&store).await;
        fill(&store, 10, 11).await;
        store.close().await.expect("close");
        let kept = root
            .path()
            .join("store.set-aside")
            .join(path.file_name().expect("name"));
        assert_eq!(fs::read(kept).expect("kept"), content);
    }
}

#[tokio::test]
async fn a_trial_that_was_cut_short_is_forgotten() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    fill(&store, 0, 10).await;
    // As if the process had been killed here.
    let killed = root.path().join("killed");
    copy_folder(&dir, &killed);
    fs::copy(sidecar::path_of(&dir), sidecar::path_of(&killed)).expect("copy");
    let left = root.path().join("killed.trial");
    fs::create_dir(&left).expect("folder");
    fs::write(left.join("db"), b"half").expect("write");
    let store = reopen(&killed).expect("opens");
    assert_whole(&store).await;
    assert!(!left.exists(), "removed");
}

#[tokio::test]
async fn a_store_that_was_closed_and_not_touched_needs_no_trial() {
    let root = tempfile::tempdir().expect("folder");
    let dir = closed(root.path()).await;
    // A trial would remove it.
    let left = root.path().join("store.trial");
    fs::create_dir(&left).expect("folder");
    assert_whole(&reopen(&dir).expect("opens")).await;
    assert!(left.exists(), "nothing was tried");
    fs::write(dir.join("blobs").join("note"), b"").ok();
    fs::write(dir.join("conf.bak"), b"").expect("touch");
    assert_whole(&reopen(&dir).expect("opens")).await;
    assert!(!left.exists(), "tried");
}

/// Opening a pipe to read it would wait for ever.
#[test]
fn what_is_no_regular_file_is_refused() {
    let root = tempfile::tempdir().expect("folder");
    let (dir, store) = fresh(root.path());
    drop(store);
    for name in ["db", "conf"] {
        let kept = root.path().join(name);
        fs::rename(dir.join(name), &kept).expect("move");
        let made = std::process::Command::new("mkfifo")
            .arg(dir.join(name))
            .status();
        assert!(made.expect("mkfifo").success());
        assert!(matches!(reopen(&dir), Err(OpenError::Damaged { .. })));
        fs::rename(&kept, dir.join(name)).expect("move back");
    }
    assert!(reopen(&dir).is_ok());
}
