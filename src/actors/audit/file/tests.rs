//! The file across restarts, failures and rotation.

mod others;

use super::*;
use domain::{AuditAbout, AuditAction, AuditClass, Principal};

impl AuditFile {
    /// Writes go to `file` from now on, such as one whose disk is full; returns the one before.
    pub(in crate::audit) fn exchange(&self, file: File) -> Arc<File> {
        std::mem::replace(&mut self.head().file, Arc::new(file))
    }
}

fn event() -> AuditEvent {
    AuditEvent {
        class: AuditClass::Release,
        action: AuditAction::CredentialReleased,
        outcome: "ok",
        principal: Principal::Vault,
        about: AuditAbout::default(),
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn actions(path: &Path) -> Vec<String> {
    let lines = lines(path);
    let names = lines.iter().map(|line| line["action"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

fn assert_one_chain(files: &[PathBuf]) {
    let mut previous = hex(&[0; 32]);
    let mut seq = 0;
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for (raw, line) in text.lines().zip(lines(file)) {
            seq += 1;
            assert_eq!(
                (&line["prev"], &line["seq"]),
                (&previous.into(), &seq.into())
            );
            previous = hash(raw.as_bytes());
        }
    }
}

#[test]
fn the_chain_goes_on_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    for _ in 0..2 {
        let file = AuditFile::open(dir.path()).unwrap();
        file.append(&event(), at(1_500)).unwrap();
        file.append(&event(), at(2_500)).unwrap();
    }
    assert_one_chain(std::slice::from_ref(&path));
    let read = lines(&path);
    assert_eq!(read.len(), 4);
    assert_eq!(read[0]["time"], "1970-01-01T00:00:01.500Z");
}

#[test]
fn half_a_line_is_set_aside_and_the_chain_goes_on_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let first = AuditFile::open(dir.path()).unwrap();
    first.append(&event(), at(1)).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"seq\":2,\"ti").unwrap();
    let second = AuditFile::open(dir.path()).unwrap();
    second.append(&event(), at(2)).unwrap();
    assert_eq!(lines(&path).len(), 2);
    let mut names = std::fs::read_dir(dir.path()).unwrap();
    assert!(names.any(|f| f.unwrap().file_name().to_string_lossy().contains("torn")));
}

/// Each of these once began a new chain in the middle of the file.
#[test]
fn an_end_that_is_not_ours_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    AuditFile::open(dir.path())
        .unwrap()
        .append(&event(), at(1))
        .unwrap();
    let good = std::fs::read(&path).unwrap();
    let with = |more: &[u8]| [&good, more].concat();
    for content in [
        b"something else\n".to_vec(),
        b"something else".to_vec(),
        b"\n".to_vec(),
        with(b"\n"),
        with(b"\n\n"),
        with(&vec![0; 70_000]),
        with(&vec![b'a'; 300_000]),
        with(b"{\"seq\":0,\"prev\":\"\"}\n"),
        with(b"{\"seq\":18446744073709551615,\"prev\":\"\"}\n"),
        with(
            &[
                &b"{\"seq\":2,\"prev\":\""[..],
                &vec![b'a'; 100_000],
                b"\"}\n",
            ]
            .concat(),
        ),
    ] {
        std::fs::write(&path, &content).unwrap();
        let refused = AuditFile::open(dir.path()).map(drop);
        assert!(
            matches!(refused, Err(AuditError::Foreign)),
            "{:?}",
            content.len()
        );
        assert!(std::fs::read(&path).unwrap() == content, "left as it is");
    }
}

#[test]
fn only_a_regular_file_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    for target in ["/dev/full", "/dev/zero", "/tmp"] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        let refused = AuditFile::open(dir.path()).map(drop);
        assert!(matches!(refused, Err(AuditError::NotAFile { .. })));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_is_moved_away_is_followed_by_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    let mut files = Vec::new();
    for round in 0..3 {
        file.append(&event(), at(round)).unwrap();
        file.append(&event(), at(round)).unwrap();
        let rotated = dir.path().join(format!("audit.{round}"));
        std::fs::rename(&path, &rotated).unwrap();
        files.push(rotated);
        if round == 1 {
            std::fs::write(&path, b"").unwrap(); // as logrotate's `create` does
        }
    }
    file.append(&event(), at(9)).unwrap();
    files.push(path);
    assert_one_chain(&files);
    assert!(
        files
            .iter()
            .all(|file| actions(file).iter().all(|a| a == "credential_released"))
    );
}

#[test]
fn a_file_cut_or_written_to_by_another_is_noticed_at_the_next_entry() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    std::fs::write(&path, b"").unwrap();
    file.append(&event(), at(2)).unwrap();
    assert_eq!(actions(&path), ["audit_log_changed", "credential_released"]);
    assert_eq!(lines(&path)[0]["seq"], 2);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{text}")).unwrap();
    file.append(&event(), at(3)).unwrap();
    assert_eq!(lines(&path)[4]["outcome"], "entries-altered");
    assert_eq!(lines(&path)[4]["seq"], 4);
}

#[test]
fn after_a_full_disk_entries_are_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    file.append(&event(), at(1)).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let real = file.exchange(full);
    for _ in 0..3 {
        let refused = file.append(&event(), at(2));
        assert!(matches!(refused, Err(AuditError::Write { .. })));
        assert!(!file.writable(at(2)));
    }
    // What went through before the disk was full.
    (&*real).write_all(b"{\"seq\":2,\"time").unwrap();
    let real = Arc::into_inner(real).unwrap();
    file.exchange(real);
    assert!(file.writable(at(3)), "ready without a request");
    file.append(&event(), at(3)).unwrap();
    assert_eq!(
        actions(&path),
        [
            "credential_released",
            "audit_log_resumed",
            "credential_released"
        ]
    );
    assert_one_chain(&[path]);
}

#[test]
fn the_way_back_is_found_across_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let file = AuditFile::open(dir.path()).unwrap();
    let mut known = Vec::new();
    for n in 0..700 {
        file.append(&event(), at(n)).unwrap();
        known.push(file.last());
    }
    assert!(std::fs::metadata(&path).unwrap().len() > 2 * 64 * 1024);
    for from in [0, 1, 350, 698, 699] {
        let file = AuditFile::open(dir.path()).unwrap();
        file.compare(&known[from]).unwrap();
        file.tell(at(0)).unwrap();
        let mut other = known[from].clone();
        other.hash = hex(&[7; 32]);
        let end = std::fs::metadata(&path).unwrap().len();
        let file = File::open(&path).unwrap();
        let last = known.last().unwrap();
        assert_eq!(
            tail::walk_back(&file, end, last, &other).unwrap(),
            Way::Altered
        );
    }
    assert_eq!(lines(&path).len(), 700, "nothing was found");
    let text = std::fs::read_to_string(&path).unwrap();
    let (_, late) = text.split_at(text.match_indices('\n').nth(399).unwrap().0 + 1);
    std::fs::write(&path, late).unwrap();
    let way = |from: usize| {
        let file = File::open(&path).unwrap();
        tail::walk_back(
            &file,
            late.len() as u64,
            known.last().unwrap(),
            &known[from],
        )
        .unwrap()
    };
    assert_eq!(way(399), Way::Whole, "the file before ends with it");
    assert_eq!(way(398), Way::Gap);
    assert_eq!(way(400), Way::Whole);
}
