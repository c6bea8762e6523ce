//! A set-up that is under way, and what an interrupted one left behind.
//!
//! `init` makes several things: the key file, the store, its sidecar, the keys in it. A file beside them says so until all of
//! them are there, and its lock says that somebody is at work. While the file is there nothing opens the installation, so
//! nothing can have been kept in it: the next `init` removes the half-made store and begins again. The file goes for good (the
//! folder is synced) before anything is kept.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::FoundationError;

const NAME: &str = "init.unfinished";

/// A set-up that is under way. What it made goes again unless it is finished.
pub(super) struct Unfinished {
    mark: PathBuf,
    /// Its lock ends with it.
    _file: File,
    data_dir: PathBuf,
    store: PathBuf,
    key_file: Option<PathBuf>,
    resumed: bool,
    finished: bool,
}

/// Whether a set-up in this folder was begun and has not ended.
pub(super) fn is_there(data_dir: &Path) -> bool {
    fs::symlink_metadata(data_dir.join(NAME)).is_ok()
}

impl Unfinished {
    /// Begins a set-up in a folder that holds no installation, after removing what an interrupted one left.
    ///
    /// # Errors
    /// [`FoundationError::Exists`], [`FoundationError::BeingSetUp`], [`FoundationError::Files`].
    pub(super) fn begin(data_dir: &Path, store: &Path) -> Result<Self, FoundationError> {
        let mark = data_dir.join(NAME);
        let (file, resumed) = take(&mark, data_dir)?;
        let mut unfinished = Self {
            mark,
            _file: file,
            data_dir: data_dir.to_owned(),
            store: store.to_owned(),
            key_file: None,
            resumed,
            finished: false,
        };
        if resumed {
            unfinished.remove_store()?;
        } else if let Some(path) = something_there(store)? {
            // Not ours: only the mark goes.
            unfinished.finished = true;
            remove(&unfinished.mark)?;
            return Err(FoundationError::Exists {
                path,
                data_dir: data_dir.to_owned(),
            });
        }
        sync(data_dir)?;
        Ok(unfinished)
    }

    /// Whether an earlier set-up was interrupted here.
    pub(super) const fn resumed(&self) -> bool {
        self.resumed
    }

    /// Notes a key file that this set-up made.
    pub(super) fn made_key_file(&mut self, path: &Path) {
        self.key_file = Some(path.to_owned());
    }

    /// Everything is there and on the disk.
    ///
    /// # Errors
    /// [`FoundationError::Files`]; then what was made goes again.
    pub(super) fn finish(mut self) -> Result<(), FoundationError> {
        remove(&self.mark)?;
        // Before anything is kept: a mark that a power cut brings back would have the next `init` remove it.
        sync(&self.data_dir)?;
        self.finished = true;
        Ok(())
    }

    fn remove_store(&self) -> Result<(), FoundationError> {
        match fs::remove_dir_all(&self.store) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fault(&self.store)(error));
            }
            _ => {}
        }
        remove(&sidecar(&self.store))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // The mark last: what cannot be removed now is removed by the next `init`.
        let removed = self
            .remove_store()
            .and_then(|()| self.key_file.as_deref().map_or(Ok(()), remove))
            .and_then(|()| remove(&self.mark));
        if let Err(error) = removed {
            tracing::warn!(%error, "what the failed set-up made is not all removed; the next `strongroom init` removes it");
        }
    }
}

/// The mark, locked, and whether it was there before.
fn take(mark: &Path, data_dir: &Path) -> Result<(File, bool), FoundationError> {
    let busy = || FoundationError::BeingSetUp {
        data_dir: data_dir.to_owned(),
    };
    let open = |new: bool| {
        OpenOptions::new()
            .write(true)
            .create_new(new)
            .mode(0o600)
            .open(mark)
    };
    let (file, resumed) = match open(true) {
        Ok(file) => (file, false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match open(false) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(busy()),
            Err(error) => return Err(fault(mark)(error)),
        },
        Err(error) => return Err(fault(mark)(error)),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(busy()),
        Err(TryLockError::Error(error)) => return Err(fault(mark)(error)),
    }
    // Whoever held the lock before may have finished and removed the mark: then the installation is theirs.
    let ours = file.metadata().map_err(fault(mark))?;
    match fs::symlink_metadata(mark) {
        Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok((file, resumed)),
        _ => Err(busy()),
    }
}

/// The store or its sidecar, if there is one.
fn something_there(store: &Path) -> Result<Option<PathBuf>, FoundationError> {
    let full = match fs::read_dir(store) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(fault(store)(error)),
    };
    if full {
        return Ok(Some(store.to_owned()));
    }
    let sidecar = sidecar(store);
    Ok(fs::symlink_metadata(&sidecar).is_ok().then_some(sidecar))
}

/// The commit number beside the store.
fn sidecar(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".commit");
    PathBuf::from(path)
}

fn remove(path: &Path) -> Result<(), FoundationError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(path)(error)),
        _ => Ok(()),
    }
}

fn sync(folder: &Path) -> Result<(), FoundationError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(fault(folder))
}

fn fault(path: &Path) -> impl FnOnce(io::Error) -> FoundationError {
    move |source| FoundationError::Files {
        path: path.to_owned(),
        source,
    }
}
