//! Why the audit log cannot be used.

use std::io;
use std::path::PathBuf;

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
