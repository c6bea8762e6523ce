//! What another wrote is told and kept, and a failure hides nothing of it.

use super::*;

/// The entries' actions, or their outcomes where the log tells of itself.
fn told(path: &Path) -> Vec<String> {
    let lines = lines(path);
    let words = lines.iter().map(|line| match line["action"].as_str() {
        Some("audit_log_changed") => &line["outcome"],
        _ => &line["action"],
    });
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Every file in the folder but the log itself, by name.
fn beside(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name() != FILE && entry.path().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// It once failed a request, erased the lines at the next one as if they were half a line of ours, and said "resumed".
#[test]
fn lines_of_another_are_told_and_kept_and_no_entry_fails() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    append(&path, b"x\n");
    let found = std::fs::read(&path).unwrap();
    file.append(&event(), at(2)).unwrap();
    file.append(&event(), at(3)).unwrap();
    assert_eq!(
        told(&path),
        [
            "entries-altered",
            "credential_released",
            "credential_released"
        ]
    );
    assert_eq!(lines(&path)[0]["seq"], 2, "the chain goes on");
    let name = format!("audit.altered-{}", found.len());
    assert_eq!(beside(dir.path()), [(name, found)]);
}

#[test]
fn nothing_that_was_kept_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    let mut kept = Vec::new();
    for bytes in [b"a\n", b"b\n", b"c\n"] {
        std::fs::write(&path, bytes).unwrap();
        file.append(&event(), at(1)).unwrap();
        kept.push(bytes.to_vec());
    }
    let torn = [b"d", b"e"];
    for bytes in torn {
        let length = std::fs::metadata(&path).unwrap().len();
        append(&path, bytes);
        file.append(&event(), at(2)).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length)
            .unwrap();
        kept.push(bytes.to_vec());
    }
    let found: Vec<_> = beside(dir.path()).into_iter().map(|file| file.1).collect();
    assert_eq!(found, kept);
}

#[test]
fn what_was_written_during_another_failure_is_not_ours() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let moved = dir.path().join("moved");
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    std::fs::create_dir(&path).unwrap();
    let refused = file.append(&event(), at(2));
    assert!(matches!(refused, Err(AuditError::NotAFile { .. })));
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&moved, &path).unwrap();
    append(&path, b"{\"seq\":2,\"time");
    file.append(&event(), at(3)).unwrap();
    assert_eq!(
        told(&path),
        [
            "credential_released",
            "entries-altered",
            "audit_log_resumed",
            "credential_released"
        ]
    );
    let kept = beside(dir.path());
    assert_eq!(kept[0].1, b"{\"seq\":2,\"time");
    assert_one_chain(&[path]);
}

#[test]
fn what_was_written_while_the_disk_was_full_is_not_ours() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let real = file.exchange(full);
    file.append(&event(), at(2)).unwrap_err();
    append(&path, b"somebody");
    file.exchange(Arc::into_inner(real).unwrap());
    file.append(&event(), at(3)).unwrap();
    assert_eq!(told(&path)[1..3], ["entries-altered", "audit_log_resumed"]);
    assert_eq!(beside(dir.path())[0].1, b"somebody");
}

#[test]
fn what_was_found_while_nothing_could_be_written_is_told_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    std::fs::write(&path, b"").unwrap();
    let real = file.exchange(full);
    file.append(&event(), at(2)).unwrap_err();
    file.exchange(Arc::into_inner(real).unwrap());
    file.append(&event(), at(3)).unwrap();
    assert_eq!(
        told(&path),
        [
            "entries-missing",
            "audit_log_resumed",
            "credential_released"
        ]
    );
}

#[test]
fn a_foreign_file_in_the_place_of_one_that_was_moved_away_fails_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    std::fs::write(&path, b"something else\n").unwrap();
    file.append(&event(), at(2)).unwrap();
    assert_eq!(told(&path), ["entries-altered", "credential_released"]);
    assert_eq!(beside(dir.path())[0].1, b"something else\n");
}

/// The system tells of a failed sync once; the next one succeeds although the entries are lost.
#[test]
fn a_failed_sync_of_the_file_that_was_moved_away_is_final() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    let unsyncable = OpenOptions::new().write(true).open("/dev/full").unwrap();
    unsyncable.sync_data().unwrap_err();
    let real = file.exchange(unsyncable);
    let refused = file.append(&event(), at(2));
    assert!(matches!(refused, Err(AuditError::Sync)));
    file.exchange(Arc::into_inner(real).unwrap());
    let refused = file.append(&event(), at(3));
    assert!(matches!(refused, Err(AuditError::Sync)));
    assert!(!file.writable(at(3)));
    assert!(!path.exists());
}
