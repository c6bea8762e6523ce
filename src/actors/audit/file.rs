//! The file of the audit log: one JSON object a line, sequence numbers without gaps, and a chain of SHA-256 hashes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use domain::{AuditEvent, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The audit log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The folder or file cannot be opened.
    #[error(
        "the audit log cannot be opened: {0}; check that its folder exists and belongs to this user"
    )]
    Open(#[source] io::Error),
    /// The last line is not one of ours.
    #[error(
        "the last line of the audit log is not one that Strongroom wrote; move the file away and keep it"
    )]
    Foreign,
    /// A line could not be written.
    #[error("an audit entry cannot be written")]
    Write,
}

/// The open file and the head of its chain.
pub(crate) struct AuditFile {
    head: Mutex<Head>,
    sync: File,
}

struct Head {
    file: File,
    next: u64,
    previous: String,
    broken: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    time: String,
    #[serde(flatten)]
    event: &'a AuditEvent,
    prev: &'a str,
}

#[derive(Deserialize)]
struct Known {
    seq: u64,
}

impl AuditFile {
    /// Opens `dir/audit.jsonl`, making both when they are missing.
    pub(super) fn open(dir: &Path) -> Result<Self, AuditError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(AuditError::Open)?;
        let path = dir.join(FILE);
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(AuditError::Open)?;
        let last = last_line(&mut file, dir).map_err(AuditError::Open)?;
        let (next, previous) = match last {
            None => (1, hex(&[0; 32])),
            Some(line) => {
                let known: Known =
                    serde_json::from_slice(&line).map_err(|_| AuditError::Foreign)?;
                (known.seq.saturating_add(1), hash(&line))
            }
        };
        let sync = file.try_clone().map_err(AuditError::Open)?;
        // The name of the file itself must survive a power cut, too.
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(AuditError::Open)?;
        Ok(Self {
            head: Mutex::new(Head {
                file,
                next,
                previous,
                broken: false,
            }),
            sync,
        })
    }

    /// Appends one entry.
    pub(super) fn append(&self, event: &AuditEvent, now: Timestamp) -> Result<(), AuditError> {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.broken {
            return Err(AuditError::Write);
        }
        let line = Line {
            seq: head.next,
            time: millis(now),
            event,
            prev: &head.previous,
        };
        let mut bytes = serde_json::to_vec(&line).map_err(|_| AuditError::Write)?;
        let chained = hash(&bytes);
        bytes.push(b'\n');
        if head.file.write_all(&bytes).is_err() {
            // Half a line may be there now. Going on would bury it inside the log; the operator must look first.
            head.broken = true;
            return Err(AuditError::Write);
        }
        head.next = head.next.saturating_add(1);
        head.previous = chained;
        Ok(())
    }

    /// Waits for the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        let synced = self.sync.sync_data();
        if synced.is_err() {
            self.head
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .broken = true;
        }
        synced
    }

    /// Whether entries can be written.
    pub(super) fn writable(&self) -> bool {
        !self
            .head
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .broken
    }
}

/// The last whole line. What follows it was being written when the process died, and was never answered for; it is kept
/// beside the log and cut off.
fn last_line(file: &mut File, dir: &Path) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let whole = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let torn = tail.split_off(whole);
    if !torn.is_empty() {
        std::fs::write(dir.join(format!("audit.torn-{length}")), &torn)?;
        file.set_len(length - torn.len() as u64)?;
        file.sync_all()?;
    }
    let line = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let line = line
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    Ok((!line.is_empty()).then(|| line.to_vec()))
}

fn hash(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |text, byte| {
        text + &format!("{byte:02x}")
    })
}

/// RFC 3339 with milliseconds.
fn millis(now: Timestamp) -> String {
    let text = now.rfc3339();
    let ms = now.as_ms().rem_euclid(1000);
    text.strip_suffix('Z')
        .map_or_else(|| text.clone(), |seconds| format!("{seconds}.{ms:03}Z"))
}

const FILE: &str = "audit.jsonl";
/// No line of ours is longer.
const TAIL: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{AuditAbout, AuditAction, AuditClass, Principal};

    impl AuditFile {
        /// A log over any file, such as one whose disk is full.
        pub(in crate::audit) fn over(file: File) -> Self {
            Self {
                sync: file.try_clone().unwrap(),
                head: Mutex::new(Head {
                    file,
                    next: 1,
                    previous: hex(&[0; 32]),
                    broken: false,
                }),
            }
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

    fn lines(dir: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(dir.join(FILE)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn the_chain_goes_on_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let file = AuditFile::open(dir.path()).unwrap();
            file.append(&event(), Timestamp::from_ms(1_500)).unwrap();
            file.append(&event(), Timestamp::from_ms(2_500)).unwrap();
        }
        let text = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        let read = lines(dir.path());
        assert_eq!(
            read.iter()
                .map(|l| l["seq"].as_u64().unwrap())
                .collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        let mut previous = hex(&[0; 32]);
        for (raw, line) in text.lines().zip(&read) {
            assert_eq!(line["prev"], previous.as_str());
            previous = hash(raw.as_bytes());
        }
        assert_eq!(read[0]["time"], "1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn half_a_line_is_set_aside_and_the_chain_goes_on_before_it() {
        let dir = tempfile::tempdir().unwrap();
        AuditFile::open(dir.path())
            .unwrap()
            .append(&event(), Timestamp::from_ms(1))
            .unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(dir.path().join(FILE))
            .unwrap();
        file.write_all(b"{\"seq\":2,\"ti").unwrap();
        AuditFile::open(dir.path())
            .unwrap()
            .append(&event(), Timestamp::from_ms(2))
            .unwrap();
        assert_eq!(lines(dir.path()).len(), 2);
        assert!(
            std::fs::read_dir(dir.path()).unwrap().any(|f| f
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains("torn"))
        );
    }

    #[test]
    fn a_foreign_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), "something else\n").unwrap();
        assert!(matches!(
            AuditFile::open(dir.path()),
            Err(AuditError::Foreign)
        ));
    }
}
