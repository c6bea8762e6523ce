//! What opening a store takes, and every way it can fail, told apart and named.

use std::{io, path::PathBuf};

/// How much memory the store may take.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// sled's cache in bytes; the process grows by up to 1.75 times this.
    pub cache_bytes: u64,
    /// Commits that may wait before new ones are refused as busy; at least 1.
    pub queue: usize,
}

impl Default for Settings {
    /// 64 MiB of cache, 1 024 waiting commits.
    fn default() -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            queue: 1024,
        }
    }
}

/// Why a store folder was not opened. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// `create` found something.
    #[error("{} exists already; choose another folder, or open it instead of creating it", .dir.display())]
    Exists {
        /// The folder, or its sidecar.
        dir: PathBuf,
    },
    /// `open` found nothing.
    #[error("there is no store in {}; check the path, or create the store first", .dir.display())]
    Missing {
        /// The folder.
        dir: PathBuf,
    },
    /// Another process has it.
    #[error(
        "another strongroom has this folder open: one that serves it (talk to its admin socket, `listen.admin_socket`), or a \
         command that is about to end (try again)"
    )]
    InUse,
    /// sled could not make sense of its file.
    #[error(
        "the store's file is damaged ({what}); keep a copy of the folder and restore from a backup"
    )]
    Damaged {
        /// What the engine said.
        what: String,
    },
    /// Made by a newer (or unfinished) version.
    #[error(
        "the store has format {found:?}, which this version does not know; use the version that wrote it"
    )]
    UnknownFormat {
        /// The marker in the store; empty if there is none.
        found: String,
    },
    /// Acknowledged commits are missing.
    #[error(
        "the store went back in time: it ends at commit {store}, but commit {sidecar} was acknowledged. \
         An old copy was put back or the end of the file is lost. Restore the newest backup; \
         if this copy is the one you want, run `strongroom accept-rollback`"
    )]
    RolledBack {
        /// Last commit in the store.
        store: u64,
        /// Last commit known to be acknowledged.
        sidecar: u64,
    },
    /// Without the sidecar a rollback cannot be ruled out.
    #[error(
        "{} is missing, unreadable or belongs to another vault, so nobody can tell whether commits are missing; \
         put it back, or run `strongroom accept-rollback` to take the store as it is", .path.display()
    )]
    SidecarLost {
        /// Where the sidecar should be.
        path: PathBuf,
    },
    /// No room.
    #[error(
        "the disk is full; make room and try again (a store cannot even be opened without some)"
    )]
    DiskFull,
    /// The operating system said no.
    #[error("{what} failed; check path, permissions and disk")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A fault of the caller.
    #[error("malformed request to open a store: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

pub(super) fn sled_error(error: ::sled::Error) -> OpenError {
    match error {
        ::sled::Error::Io(error) => io_error("opening the store")(error),
        other => OpenError::Damaged {
            what: other.to_string(),
        },
    }
}

pub(super) fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> OpenError {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OpenError::DiskFull,
        _ => OpenError::Io { what, source },
    }
}
