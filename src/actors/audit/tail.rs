//! The end of an audit file, read in bounded pieces: where the chain stands, and the way back to an entry that is known.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::AuditError;
use super::file::hash;

/// An entry by its number, and the hash of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its sequence number.
    pub(crate) seq: u64,
    /// The hash of its line, in hex.
    pub(crate) hash: String,
}

/// What the chain needs from a line.
#[derive(Deserialize)]
struct Link {
    seq: u64,
    prev: String,
}

/// Reads the last entry and cuts off what follows it: that was being written when the process died and was never answered
/// for; it is kept beside the log. `None` when there is no entry.
///
/// # Errors
/// [`AuditError::Foreign`] when the end cannot be something that Strongroom wrote.
pub(super) fn last_entry(file: &File, dir: &Path) -> Result<Option<Known>, AuditError> {
    let end = file.metadata().map_err(AuditError::Open)?.len();
    let start = end.saturating_sub(LINE_MAX);
    let mut tail = read(file, start, end).map_err(AuditError::Open)?;
    let whole = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let torn = tail.split_off(whole);
    if tail.is_empty() && (start > 0 || !may_be_ours(&torn)) {
        return Err(AuditError::Foreign);
    }
    let Some(lines) = tail.strip_suffix(b"\n") else {
        cut(file, dir, (end, &torn)).map_err(AuditError::Open)?;
        return Ok(None);
    };
    let line = lines
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let link: Link = serde_json::from_slice(line).map_err(|_| AuditError::Foreign)?;
    // The greatest number has no successor: no log gets there.
    if link.seq == 0 || link.seq == u64::MAX {
        return Err(AuditError::Foreign);
    }
    cut(file, dir, (end, &torn)).map_err(AuditError::Open)?;
    Ok(Some(Known {
        seq: link.seq,
        hash: hash(line),
    }))
}

/// Whether a file without a whole line may be the first entry, half written: a power cut can also leave zeros.
fn may_be_ours(torn: &[u8]) -> bool {
    let begins = torn
        .iter()
        .zip(b"{\"seq\":")
        .all(|(found, ours)| found == ours);
    begins || torn.iter().all(|byte| *byte == 0)
}

fn cut(file: &File, dir: &Path, (end, torn): (u64, &[u8])) -> io::Result<()> {
    if torn.is_empty() {
        return Ok(());
    }
    keep_beside(dir, end, torn)?;
    file.set_len(end - torn.len() as u64)?;
    file.sync_all()
}

fn keep_beside(dir: &Path, end: u64, torn: &[u8]) -> io::Result<()> {
    for path in names(dir, &format!("audit.torn-{end}")) {
        let opened = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path);
        match opened {
            Ok(mut kept) => {
                kept.write_all(torn)?;
                return kept.sync_all();
            }
            // Kept before, by one that could not cut it off afterwards.
            Err(_) if std::fs::read(&path).is_ok_and(|kept| kept == torn) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Moves a log away whose end another wrote, with everything in it, and never onto something that was kept before.
pub(super) fn set_aside(dir: &Path, path: &Path) -> io::Result<()> {
    let end = std::fs::metadata(path)?.len();
    for aside in names(dir, &format!("audit.altered-{end}")) {
        if std::fs::symlink_metadata(&aside)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            std::fs::rename(path, &aside)?;
            tracing::error!(kept = %aside.display(), "the audit log as it was found is set aside; keep it");
            return Ok(());
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// The name, and others like it for when it is taken.
fn names(dir: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let (first, dir, name) = (dir.join(name), dir.to_owned(), name.to_owned());
    let more = (2..=NAMES).map(move |n| dir.join(format!("{name}.{n}")));
    std::iter::once(first).chain(more)
}

/// How a file stands to an entry that is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The chain leads back to it.
    Whole,
    /// A line between it and the end, or its own, is not the one that was written.
    Altered,
    /// The file begins behind it and does not follow it: entries are missing in between.
    Gap,
}

/// Walks the chain back from `last`, the entry that ends at `end`, to `known`.
pub(super) fn walk_back(file: &File, end: u64, last: &Known, known: &Known) -> io::Result<Way> {
    let mut expected = last.clone();
    let mut lines = Backwards::new(file, end);
    while let Some(line) = lines.next()? {
        let link = serde_json::from_slice::<Link>(&line).ok();
        let Some(link) = link.filter(|link| link.seq == expected.seq) else {
            return Ok(Way::Altered);
        };
        if hash(&line) != expected.hash {
            return Ok(Way::Altered);
        }
        if expected.seq <= known.seq {
            let same = expected == *known;
            return Ok(if same { Way::Whole } else { Way::Altered });
        }
        expected = Known {
            seq: expected.seq - 1,
            hash: link.prev,
        };
    }
    // The file begins here; the line before its first one is in another file, or is `known` itself.
    Ok(if expected == *known {
        Way::Whole
    } else {
        Way::Gap
    })
}

/// The lines of a file, last one first.
struct Backwards<'a> {
    file: &'a File,
    /// Everything before is unread.
    unread: u64,
    /// What was read and not yet given out; ends where a line ends.
    read: Vec<u8>,
}

impl<'a> Backwards<'a> {
    fn new(file: &'a File, end: u64) -> Self {
        Self {
            file,
            unread: end.saturating_sub(1), // without the last line's own end
            read: Vec::new(),
        }
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(at) = self.read.iter().rposition(|byte| *byte == b'\n') {
                let line = self.read.split_off(at + 1);
                self.read.pop();
                return Ok(Some(line));
            }
            if self.unread == 0 {
                return Ok((!self.read.is_empty()).then(|| std::mem::take(&mut self.read)));
            }
            if self.read.len() as u64 > LINE_MAX {
                return Ok(Some(std::mem::take(&mut self.read))); // no line of ours, and never equal to one
            }
            let start = self.unread.saturating_sub(PIECE);
            let mut piece = read(self.file, start, self.unread)?;
            piece.append(&mut self.read);
            (self.read, self.unread) = (piece, start);
        }
    }
}

pub(super) fn read(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

/// No line of ours is longer.
const LINE_MAX: u64 = 64 * 1024;
const PIECE: u64 = 64 * 1024;
/// Files that are kept for ends of one length.
const NAMES: u32 = 1000;
