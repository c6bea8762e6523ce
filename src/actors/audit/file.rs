//! The file of the audit log: one JSON object a line, sequence numbers without gaps, and a chain of SHA-256 hashes.
//!
//! Whoever moves the file away (to rotate it) or changes it is noticed at the next entry: the chain never goes back. In a
//! new file the first line follows the last one of the file before. Nothing is erased but a line of our own that went to
//! the disk in part: what another wrote is evidence.

use std::cmp::Ordering;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{AuditEvent, Timestamp};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::error::AuditError;
use super::findings::{self, Finding};
use super::tail::{self, Known, Way};

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
    /// The line that could not be written. A part of it may stand behind `end`; anything else there is not ours.
    unwritten: Vec<u8>,
    /// What was found and has no entry yet. It waits here while entries cannot be written.
    untold: Vec<Finding>,
    /// The last entry of a file that was left for another one, until the store knows of it.
    left: Option<Known>,
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
                unwritten: Vec::new(),
                untold: Vec::new(),
                left: None,
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

    /// Looks what became of the file since the last entry, before the next one is written.
    pub(super) fn look(&self) -> Result<(), AuditError> {
        self.look_at(&mut self.head())
    }

    /// Looks, tells what was found, and takes up writing again after a failure.
    fn get_ready(&self, head: &mut Head, now: Timestamp) -> Result<(), AuditError> {
        self.look_at(head)?;
        while let Some(event) = head.untold.first().map(Finding::event) {
            self.put(head, &event, now)?;
            head.untold.remove(0);
        }
        if head.state == State::Failing {
            self.put(head, &findings::resumed(), now)?;
            head.state = State::Good;
            tracing::warn!(path = %self.path.display(), "the audit log is written again");
        }
        Ok(())
    }

    fn look_at(&self, head: &mut Head) -> Result<(), AuditError> {
        if head.state == State::Broken {
            return Err(AuditError::Sync);
        }
        self.find(head).map_err(|error| self.failed(head, error))
    }

    fn find(&self, head: &mut Head) -> Result<(), AuditError> {
        head.cut_unwritten().map_err(AuditError::Open)?;
        let facts = match std::fs::metadata(&self.path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.reopen(head),
            Err(error) => return Err(AuditError::Open(error)),
        };
        if (facts.dev(), facts.ino()) != head.id {
            return self.reopen(head);
        }
        // Cut, or written to by somebody else. The chain goes on; whoever checks it sees the break.
        match facts.len().cmp(&head.end) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => self.note(head, Finding::missing(None)),
            Ordering::Greater => self.note(head, Finding::altered()),
        }
        match tail::last_entry(&head.file, &self.dir) {
            Ok(_) => {}
            Err(AuditError::Foreign) => return self.reopen(head),
            Err(error) => return Err(error),
        }
        head.end = head.file.metadata().map_err(AuditError::Open)?.len();
        Ok(())
    }

    /// The file was moved away, or nothing can follow its end: goes on in the one that stands in its place now, or in a
    /// new one.
    fn reopen(&self, head: &mut Head) -> Result<(), AuditError> {
        // What was promised to survive a power cut lies in the old file.
        self.confirm(head.file.sync_data(), head)
            .map_err(|_| AuditError::Sync)?;
        let (file, facts, last) = match open_file(&self.dir, &self.path) {
            Err(AuditError::Foreign) => {
                self.note(head, Finding::altered());
                tail::set_aside(&self.dir, &self.path).map_err(AuditError::Open)?;
                open_file(&self.dir, &self.path)?
            }
            other => other?,
        };
        (head.file, head.id, head.end) = (file, (facts.dev(), facts.ino()), facts.len());
        head.unwritten.clear();
        head.left = Some(head.last());
        tracing::info!(path = %self.path.display(), seq = head.next, "the audit log goes on in a new file");
        if last.is_some_and(|last| last != head.last()) {
            self.note(head, Finding::altered());
        }
        Ok(())
    }

    /// Notes what was found, once until it has its entry.
    fn note(&self, head: &mut Head, finding: Finding) {
        if !head.untold.contains(&finding) {
            finding.log(&self.path);
            head.untold.push(finding);
        }
    }

    fn put(&self, head: &mut Head, event: &AuditEvent, now: Timestamp) -> Result<(), AuditError> {
        let line = Line {
            seq: head.next,
            time: millis(now),
            event,
            prev: &head.previous,
        };
        let path = || self.path.clone();
        let mut bytes = serde_json::to_vec(&line).map_err(|error| {
            let (path, source) = (path(), io::Error::other(error));
            self.failed(head, AuditError::Write { path, source })
        })?;
        let chained = hash(&bytes);
        bytes.push(b'\n');
        if let Err(source) = (&*head.file).write_all(&bytes) {
            head.unwritten = bytes;
            // What cannot be cut off now is cut off before the next entry.
            if let Err(error) = head.cut_unwritten() {
                tracing::warn!(%error, "half an audit entry cannot be cut off yet");
            }
            let path = path();
            return Err(self.failed(head, AuditError::Write { path, source }));
        }
        head.unwritten.clear();
        head.end = head.end.saturating_add(bytes.len() as u64);
        head.next = head.next.saturating_add(1);
        head.previous = chained;
        Ok(())
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

    /// Compares the log with the last entry that the store knows of, and goes on behind whichever is later. What is
    /// missing or different becomes an entry before the next one.
    pub(super) fn compare(&self, known: &Known) -> Result<(), AuditError> {
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
        if let Some(finding) = finding {
            self.note(&mut head, finding);
        }
        Ok(())
    }

    /// The last entry of the file before, while the store need not know of it.
    pub(super) fn left(&self) -> Option<Known> {
        self.head().left.clone()
    }

    /// The store knows of `left`, or of a later one.
    pub(super) fn forget_left(&self, left: &Known) {
        let mut head = self.head();
        if head.left.as_ref() == Some(left) {
            head.left = None;
        }
    }

    /// Tells what was found and has no entry yet.
    pub(super) fn tell(&self, now: Timestamp) -> Result<(), AuditError> {
        self.get_ready(&mut self.head(), now)
    }

    /// The last entry.
    pub(super) fn last(&self) -> Known {
        self.head().last()
    }

    /// Waits for the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        let file = Arc::clone(&self.head().file);
        let synced = file.sync_data(); // without the lock: entries are written meanwhile
        self.confirm(synced, &mut self.head())
    }

    /// A failed sync is final: the system tells of it once, and the next one succeeds although entries are lost.
    fn confirm(&self, synced: io::Result<()>, head: &mut Head) -> io::Result<()> {
        if let Err(error) = &synced {
            head.state = State::Broken;
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
    /// Cuts off what stands behind the last entry if it is a part of the line that could not be written.
    fn cut_unwritten(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let length = self.file.metadata()?.len();
        let half = length.saturating_sub(self.end);
        if half == 0 || half > self.unwritten.len() as u64 {
            return Ok(());
        }
        if self
            .unwritten
            .starts_with(&tail::read(&self.file, self.end, length)?)
        {
            self.file.set_len(self.end)?;
            self.unwritten.clear();
        }
        Ok(())
    }

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
