//! Reads an audit log as an examiner would: whole lines, no gap in the numbers, each naming the hash of the line before it.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// An audit log that is read on as it grows.
pub(crate) struct AuditReader {
    path: PathBuf,
    read: usize,
    next: u64,
    previous: String,
    /// Every entry so far.
    pub(crate) entries: Vec<Value>,
}

impl AuditReader {
    /// A reader that begins at the first line.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            next: 1,
            previous: "0".repeat(64),
            entries: Vec::new(),
        }
    }

    /// Reads what is new and checks it. Nothing that was read before may have gone away.
    pub(crate) fn read_on(&mut self) {
        let bytes = std::fs::read(&self.path).unwrap();
        assert!(bytes.len() >= self.read, "the audit log has become shorter");
        let new = bytes[self.read..].to_vec();
        assert!(
            new.is_empty() || new.ends_with(b"\n"),
            "the audit log ends with half a line"
        );
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            let text = &line[..line.len() - 1];
            let entry: Value = serde_json::from_slice(text)
                .unwrap_or_else(|error| panic!("line {}: {error}", self.next));
            assert_eq!(entry["seq"], self.next, "the numbers have a gap");
            assert_eq!(
                entry["prev"],
                self.previous.as_str(),
                "line {} does not follow from the line before it",
                self.next
            );
            self.previous = Sha256::digest(text)
                .iter()
                .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
            self.next += 1;
            self.entries.push(entry);
        }
        self.read = bytes.len();
    }

    /// How many entries have this action and outcome `ok`, about this grant.
    pub(crate) fn count(&self, action: &str, grant: &str) -> usize {
        self.about("grant", grant, action)
    }

    /// The same about something else: what it is, and which.
    pub(crate) fn about(&self, what: &str, which: &str, action: &str) -> usize {
        let fits = |entry: &&Value| {
            entry["action"] == action && entry["outcome"] == "ok" && entry[what] == which
        };
        self.entries.iter().filter(fits).count()
    }
}
