//! What a start finds of the log that an earlier one left.

use std::path::PathBuf;

use super::*;

/// Where one log is opened again and again.
struct Place {
    store: Arc<dyn Store>,
    folder: tempfile::TempDir,
    clock: Arc<Movable>,
}

impl Place {
    fn new() -> Self {
        Self {
            store: Arc::new(storage::MemoryStore::new()),
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::default(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    fn open(&self) -> AuditLog {
        AuditLog::open(
            self.folder.path(),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::clone(&self.store),
            stage(&self.clock),
        )
        .unwrap()
    }

    /// Outcomes of what the log says about itself.
    fn told(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["action"].as_str().unwrap().starts_with("audit_log"))
            .map(|line| line["outcome"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[actix::test]
async fn a_log_that_was_emptied_while_nothing_ran_says_so() {
    let place = Place::new();
    let path = place.path();
    let open = || place.open();
    let log = open();
    for count in 0..5 {
        log.write(&stands_for(count)).await.unwrap();
    }
    log.keep_last().await.unwrap();
    drop(log);
    let text = std::fs::read_to_string(&path).unwrap();
    let first_three: String = text.split_inclusive('\n').take(3).collect();
    let altered = text.replace("\"count\":4", "\"count\":9");
    for (content, outcome, count) in [
        (String::new(), "begun-anew", None),
        (first_three, "entries-missing", Some(2)),
        (altered, "entries-altered", None),
    ] {
        std::fs::write(&path, &content).unwrap();
        open().write(&stands_for(0)).await.unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        let added: Vec<serde_json::Value> = now
            .strip_prefix(&content)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(added.len(), 2);
        assert_eq!(added[0]["action"], "audit_log_changed");
        assert_eq!(added[0]["outcome"], outcome);
        assert_eq!(added[0]["count"].as_u64(), count);
        assert_eq!(added[0]["seq"], 6, "the chain never goes back");
    }
    // As it was: nothing to say.
    std::fs::write(&path, &text).unwrap();
    open().write(&stands_for(0)).await.unwrap();
    assert!(
        !std::fs::read_to_string(&path)
            .unwrap()
            .contains("audit_log_changed")
    );
}

/// The store knew only an entry of the old file, and the entries between it and the new file were said to be missing.
#[actix::test]
async fn nothing_is_missing_after_a_rotation_and_a_crash() {
    let place = Place::new();
    let log = place.open();
    log.write(&stands_for(1)).await.unwrap();
    log.keep_last().await.unwrap();
    log.write(&stands_for(2)).await.unwrap();
    log.write(&stands_for(3)).await.unwrap();
    std::fs::rename(place.path(), place.folder.path().join("old")).unwrap();
    log.write(&stands_for(4)).await.unwrap();
    log.write(&stands_for(5)).await.unwrap();
    drop(log); // as a crash would: the store is not told of the last entry
    place.open().write(&stands_for(6)).await.unwrap();
    assert_eq!(place.told(), [""; 0]);
}

#[actix::test]
async fn what_the_store_knows_never_goes_back() {
    let place = Place::new();
    let log = place.open();
    log.write(&stands_for(1)).await.unwrap();
    let early = log.file.last();
    log.write(&stands_for(2)).await.unwrap();
    log.keep_last().await.unwrap();
    kept::keep(&*place.store, early).await.unwrap();
    let known = kept::load(&*place.store).await.unwrap();
    assert_eq!(known, Some(log.file.last()));
}

/// The second try once compared with what the first one had set, and said that entries were altered.
#[actix::test]
async fn a_comparison_that_could_not_be_told_is_told_later_and_as_it_was() {
    let place = Place::new();
    let log = place.open();
    for count in 0..5 {
        log.write(&stands_for(count)).await.unwrap();
    }
    log.keep_last().await.unwrap();
    drop(log);
    std::fs::write(place.path(), b"").unwrap();
    let log = place.open();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let real = log.file.exchange(full);
    for _ in 0..2 {
        log.write(&stands_for(6)).await.unwrap_err();
        assert!(!log.writable());
        log.keep_last().await.unwrap_err();
    }
    log.file.exchange(Arc::into_inner(real).unwrap());
    log.write(&stands_for(7)).await.unwrap();
    assert_eq!(place.told(), ["begun-anew", "ok"]);
    let text = std::fs::read_to_string(place.path()).unwrap();
    assert!(text.starts_with("{\"seq\":6,"), "the chain never goes back");
}
