//! The file of the audit log: one JSON object a line, sequence numbers without gaps, and a chain of SHA-256 hashes.
//!
//! Whoever moves the file away (to rotate it) or changes it is noticed at the next entry: the chain never goes back. In a
//! new file the first line follows the last one of the file before.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{AuditEvent, Timestamp};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::findings::{self, Finding};
use super::tail::{self, Known, Way};

/// The audit log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The folder or file cannot be opened.
    #[error(
        "the audit log cannot be opened; check that its folder exists, belongs to this user and has room"
    )]
    Open(#[source] io::Error),
    /// Something else stands in the file's place.
    #[error("{} is not a regular file; move it away, the audit log is made anew", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The last line is not one of ours.
    #[error(
        "the end of the audit log is not one that Strongroom wrote; move the file away and keep it: the log goes on in a \
         new file, with the number that follows"
    )]
    Foreign,
    /// A line could not be written.
    #[error("an audit entry cannot be written to {}; make room and check its folder", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line was written and the disk does not confirm it.
    #[error("an audit entry was written, but is not on the disk; check the disk and restart")]
    Sync,
    /// What the store knows of the log cannot be read.
    #[error("what the store knows of the audit log cannot be read")]
    Store(#[from] storage::StoreError),
}

/// The open file and the head of its chain.
pub(crate) struct AuditFile {
    dir: PathBuf,
    path: PathBuf,
    head: Mutex<Head>,
}

struct Head {
    file: Arc<File>,
    /// Device and number of the file.
    id: (u64, u64),
    /// Where the last whole line ends.
    end: u64,
    next: u64,
    previous: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// The last entry could not be written; the next one tries again.
    Failing,
    /// A sync failed: what is on the disk is not known, until a restart reads it.
    Broken,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    time: String,
    #[serde(flatten)]
    event: &'a AuditEvent,
    prev: &'a str,
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
        let (file, facts, last) = open_file(dir, &path)?;
        let (next, previous) = last.map_or_else(
            || (1, hex(&[0; 32])),
            |last| (last.seq.saturating_add(1), last.hash),
        );
        Ok(Self {
            dir: dir.into(),
            path,
            head: Mutex::new(Head {
                file,
                id: (facts.dev(), facts.ino()),
                end: facts.len(),
                next,
                previous,
                state: State::Good,
            }),
        })
    }

    fn head(&self) -> MutexGuard<'_, Head> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends one entry. After a failure what was half written is cut off, and the next entry tries again.
    pub(super) fn append(&self, event: &AuditEvent, now: Timestamp) -> Result<(), AuditError> {
        let mut head = self.head();
        self.get_ready(&mut head, now)?;
        self.put(&mut head, event, now)
    }

    /// Looks what became of the file since the last entry, and takes up writing again after a failure.
    fn get_ready(&self, head: &mut Head, now: Timestamp) -> Result<(), AuditError> {
        if head.state == State::Broken {
            return Err(AuditError::Sync);
        }
        let finding = match self.look(head) {
            Ok(finding) => finding,
            Err(error) => return Err(self.failed(head, error)),
        };
        if let Some(finding) = finding {
            self.tell(head, &finding, now)?;
        }
        if head.state == State::Failing {
            self.put(head, &findings::resumed(), now)?;
            head.state = State::Good;
            tracing::warn!(path = %self.path.display(), "the audit log is written again");
        }
        Ok(())
    }

    fn look(&self, head: &mut Head) -> Result<Option<Finding>, AuditError> {
        let facts = match std::fs::metadata(&self.path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.reopen(head),
            Err(error) => return Err(AuditError::Open(error)),
        };
        if (facts.dev(), facts.ino()) != head.id {
            return self.reopen(head);
        }
        if facts.len() == head.end {
            return Ok(None);
        }
        if head.state == State::Failing && facts.len() > head.end {
            head.file.set_len(head.end).map_err(AuditError::Open)?; // our own half line
            return Ok(None);
        }
        // Cut, or written to by somebody else. The chain goes on; whoever checks it sees the break.
        let finding = if facts.len() < head.end {
            Finding::missing(None)
        } else {
            Finding::altered()
        };
        tail::last_entry(&head.file, &self.dir)?;
        head.end = head.file.metadata().map_err(AuditError::Open)?.len();
        Ok(Some(finding))
    }

    /// The file was moved away: goes on in the one that stands in its place now, or in a new one.
    fn reopen(&self, head: &mut Head) -> Result<Option<Finding>, AuditError> {
        // What was promised to survive a power cut lies in the old file.
        head.file.sync_data().map_err(AuditError::Open)?;
        let (file, facts, last) = open_file(&self.dir, &self.path)?;
        (head.file, head.id, head.end) = (file, (facts.dev(), facts.ino()), facts.len());
        tracing::info!(path = %self.path.display(), seq = head.next, "the audit log goes on in a new file");
        let follows = last.is_none_or(|last| last == head.last());
        Ok((!follows).then(Finding::altered))
    }

    fn put(&self, head: &mut Head, event: &AuditEvent, now: Timestamp) -> Result<(), AuditError> {
        let line = Line {
            seq: head.next,
            time: millis(now),
            event,
            prev: &head.previous,
        };
        let written = serde_json::to_vec(&line)
            .map_err(io::Error::other)
            .and_then(|mut bytes| {
                let chained = hash(&bytes);
                bytes.push(b'\n');
                (&*head.file).write_all(&bytes)?;
                Ok((bytes.len() as u64, chained))
            });
        match written {
            Ok((length, chained)) => {
                head.end = head.end.saturating_add(length);
                head.next = head.next.saturating_add(1);
                head.previous = chained;
                Ok(())
            }
            Err(source) => {
                // Half a line may be there. What cannot be cut off now is cut off before the next entry.
                let grown = head
                    .file
                    .metadata()
                    .is_ok_and(|facts| facts.len() > head.end);
                if grown && let Err(error) = head.file.set_len(head.end) {
                    tracing::warn!(%error, "half an audit entry cannot be cut off yet");
                }
                let path = self.path.clone();
                Err(self.failed(head, AuditError::Write { path, source }))
            }
        }
    }

    /// Notes that entries cannot be written, and says so once.
    fn failed(&self, head: &mut Head, error: AuditError) -> AuditError {
        if head.state == State::Good {
            head.state = State::Failing;
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(
                path = %self.path.display(),
                %error,
                cause,
                "the audit log cannot be written; nothing is answered until it can be, and no restart is needed then"
            );
        }
        error
    }

    fn tell(&self, head: &mut Head, finding: &Finding, now: Timestamp) -> Result<(), AuditError> {
        finding.log(&self.path);
        self.put(head, &finding.event(), now)
    }

    /// Compares the log with the last entry that the store knows of, and goes on behind whichever is later. What is
    /// missing or different becomes an entry.
    pub(super) fn compare(&self, known: &Known, now: Timestamp) -> Result<(), AuditError> {
        let mut head = self.head();
        let last = head.last();
        let finding = if last.seq < known.seq {
            head.next = known.seq.saturating_add(1);
            head.previous.clone_from(&known.hash);
            let missing = known.seq.saturating_sub(last.seq);
            Some(if head.end == 0 {
                Finding::begun_anew()
            } else {
                Finding::missing(Some(missing))
            })
        } else {
            let way = tail::walk_back(&head.file, head.end, &last, known);
            match way.map_err(AuditError::Open)? {
                Way::Whole => None,
                Way::Altered => Some(Finding::altered()),
                Way::Gap => Some(Finding::missing(None)),
            }
        };
        finding.map_or(Ok(()), |finding| self.tell(&mut head, &finding, now))
    }

    /// The last entry.
    pub(super) fn last(&self) -> Known {
        self.head().last()
    }

    /// Waits for the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        let file = Arc::clone(&self.head().file);
        let synced = file.sync_data();
        if let Err(error) = &synced {
            self.head().state = State::Broken;
            tracing::error!(path = %self.path.display(), %error, "the disk does not confirm the audit log; check it and restart");
        }
        synced
    }

    /// Whether entries can be written; after a failure this tries to.
    pub(super) fn writable(&self, now: Timestamp) -> bool {
        let mut head = self.head();
        head.state == State::Good || self.get_ready(&mut head, now).is_ok()
    }
}

impl Head {
    fn last(&self) -> Known {
        Known {
            seq: self.next.saturating_sub(1),
            hash: self.previous.clone(),
        }
    }
}

/// Opens the file, which is made when it is missing, and reads its last entry.
fn open_file(dir: &Path, path: &Path) -> Result<(Arc<File>, Metadata, Option<Known>), AuditError> {
    // Before it is opened: opening a named pipe would wait, and a device may have no end.
    if std::fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
        return Err(AuditError::NotAFile { path: path.into() });
    }
    let file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(AuditError::Open)?;
    let last = tail::last_entry(&file, dir)?;
    // The name of the file itself must survive a power cut, too.
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(AuditError::Open)?;
    let facts = file.metadata().map_err(AuditError::Open)?;
    Ok((Arc::new(file), facts, last))
}

pub(super) fn hash(line: &[u8]) -> String {
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

#[cfg(test)]
mod tests;
