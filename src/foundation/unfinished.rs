//! A set-up that is under way, and what an interrupted one left behind.
//!
//! `init` makes several things: the key file, the store, its sidecar, the keys in it. A file beside them, the mark, says so
//! until all of them are there, and its lock says that somebody is at work. The mark alone is no leave to remove anything. It
//! is empty until the store's place was found empty, and only then names the vault whose store is begun; and the first commit
//! to the store, the keys, ends the time in which it may be removed. So the next `init` removes a store only when the mark
//! names its vault and nothing was ever acknowledged to it; everything else stays, and a start beside it removes the mark.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use domain::VaultId;
use storage::{HeldStore, SledStore};

use super::FoundationError;

const NAME: &str = "init.unfinished";

/// What the mark says once the store's place was found empty; the vault's id follows.
const BEGUN: &str = "store begun ";

/// A set-up that is under way. What it made goes again unless it is finished.
pub(super) struct Unfinished {
    mark: PathBuf,
    /// Its lock ends with it.
    file: File,
    data_dir: PathBuf,
    store: PathBuf,
    begun: Option<VaultId>,
    key_file: Option<PathBuf>,
    resumed: bool,
    finished: bool,
}

impl Unfinished {
    /// Begins a set-up in a folder that holds no installation, after removing what an interrupted one left.
    ///
    /// # Errors
    /// [`FoundationError::Exists`], [`FoundationError::BeingSetUp`], [`FoundationError::Store`] when something has the store
    /// open, [`FoundationError::Files`]; then everything is as it was.
    pub(super) fn begin(data_dir: &Path, store: &Path) -> Result<Self, FoundationError> {
        let mark = data_dir.join(NAME);
        // Before anything is made: beside an installation not even a mark is left.
        if let Some(path) = something_there(store)?
            && fs::symlink_metadata(&mark).is_err()
        {
            return Err(exists(path, data_dir));
        }
        let (file, resumed) = take(&mark, data_dir)?;
        // And again, now that no other set-up can be at work.
        let ready = make_room(&file, data_dir, store).and_then(|()| sync(data_dir));
        if let Err(error) = ready {
            if !resumed {
                remove(&mark).ok(); // an empty mark says nothing
            }
            return Err(error);
        }
        Ok(Self {
            mark,
            file,
            data_dir: data_dir.to_owned(),
            store: store.to_owned(),
            begun: None,
            key_file: None,
            resumed,
            finished: false,
        })
    }

    /// Whether an earlier set-up was interrupted here.
    pub(super) const fn resumed(&self) -> bool {
        self.resumed
    }

    /// Notes a key file that this set-up made.
    pub(super) fn made_key_file(&mut self, path: &Path) {
        self.key_file = Some(path.to_owned());
    }

    /// Notes, durably, that what will stand in the store's place is this vault's. Must be called before it is made.
    ///
    /// # Errors
    /// [`FoundationError::Exists`] when something stands there already, [`FoundationError::Files`].
    pub(super) fn begin_store(&mut self, vault: VaultId) -> Result<(), FoundationError> {
        if let Some(path) = something_there(&self.store)? {
            return Err(exists(path, &self.data_dir));
        }
        let text = format!("{BEGUN}{vault}\n");
        self.file
            .set_len(0)
            .and_then(|()| self.file.write_all_at(text.as_bytes(), 0))
            .and_then(|()| self.file.sync_all())
            .map_err(fault(&self.mark))?;
        self.begun = Some(vault);
        Ok(())
    }

    /// Everything is there and on the disk. A mark that cannot be removed does no harm: see [`Stale`].
    pub(super) fn finish(mut self) {
        self.finished = true;
        if let Err(error) = remove(&self.mark).and_then(|()| sync(&self.data_dir)) {
            tracing::warn!(%error, "the set-up is finished, but its mark is not removed; the next start removes it");
        }
    }

    /// Removes the store if this set-up made it.
    fn remove_made_store(&self) -> Result<(), FoundationError> {
        let Some(vault) = self.begun else {
            return Ok(());
        };
        let vault = vault.as_bytes();
        match SledStore::hold(&self.store)? {
            Some(held) if held.is_of(vault) || held.was_never_used(vault) => {
                remove_store(&self.store, &held)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // The mark last: what cannot be removed now is removed by the next `init`.
        let removed = self
            .remove_made_store()
            .and_then(|()| self.key_file.as_deref().map_or(Ok(()), remove))
            .and_then(|()| remove(&self.mark));
        if let Err(error) = removed {
            tracing::warn!(%error, "what the failed set-up made is not all removed; run `strongroom init` again");
        }
    }
}

/// The mark of a set-up beside something that is no half-made store: it was left when all was done.
pub(super) struct Stale {
    mark: PathBuf,
    data_dir: PathBuf,
    /// No `init` begins while it is locked.
    _file: File,
}

impl Stale {
    /// The mark beside the store, if there is one.
    ///
    /// # Errors
    /// [`FoundationError::Unfinished`] when the store is not whole, [`FoundationError::BeingSetUp`],
    /// [`FoundationError::Store`] when something has the store open, [`FoundationError::Files`].
    pub(super) fn beside(data_dir: &Path, store: &Path) -> Result<Option<Self>, FoundationError> {
        let mark = data_dir.join(NAME);
        let file = match File::open(&mark) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(&mark)(error)),
        };
        // Shared: commands that are started at the same time do not stop each other here.
        locked(file.try_lock_shared(), (&mark, data_dir))?;
        match left_over(&file, store)? {
            LeftOver::Nothing | LeftOver::Half(_) => Err(FoundationError::Unfinished {
                data_dir: data_dir.to_owned(),
            }),
            LeftOver::Kept(_) => Ok(Some(Self {
                mark,
                data_dir: data_dir.to_owned(),
                _file: file,
            })),
        }
    }

    /// The installation beside it was opened: the mark goes.
    pub(super) fn remove(self) {
        match remove(&self.mark).and_then(|()| sync(&self.data_dir)) {
            Ok(()) => {
                tracing::warn!(mark = %self.mark.display(), "the mark of a set-up stood beside a whole installation; it is removed");
            }
            Err(error) => {
                tracing::warn!(%error, "the mark of a set-up beside this installation cannot be removed; remove it");
            }
        }
    }
}

/// What stands in the store's place beside a mark.
enum LeftOver {
    /// Nothing.
    Nothing,
    /// What an interrupted set-up made, and nothing was kept in it.
    Half(HeldStore),
    /// Something else, or nobody can tell.
    Kept(PathBuf),
}

fn left_over(mark: &File, store: &Path) -> Result<LeftOver, FoundationError> {
    let Some(path) = something_there(store)? else {
        return Ok(LeftOver::Nothing);
    };
    // A store without its sidecar is none that a set-up left: the sidecar is made first and removed last.
    let Some(held) = SledStore::hold(store)? else {
        return Ok(LeftOver::Kept(path));
    };
    Ok(match begun(mark) {
        Some(vault) if held.was_never_used(vault.as_bytes()) => LeftOver::Half(held),
        _ => LeftOver::Kept(path),
    })
}

/// The vault that the mark names. A mark that was cut off names none, and then nothing was made yet.
fn begun(mark: &File) -> Option<VaultId> {
    let mut text = String::new();
    mark.take(128).read_to_string(&mut text).ok()?;
    let vault = text.strip_prefix(BEGUN)?.strip_suffix('\n')?;
    vault.parse().ok()
}

fn make_room(mark: &File, data_dir: &Path, store: &Path) -> Result<(), FoundationError> {
    match left_over(mark, store)? {
        LeftOver::Nothing => Ok(()),
        LeftOver::Half(held) => remove_store(store, &held),
        LeftOver::Kept(path) => Err(exists(path, data_dir)),
    }
}

/// Removes a store that is held. Its sidecar last: until then the next one who looks knows what it is.
fn remove_store(store: &Path, _held: &HeldStore) -> Result<(), FoundationError> {
    match fs::remove_dir_all(store) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(store)(error)),
        _ => {}
    }
    remove(&sidecar(store))
}

/// The mark, locked, and whether it was there before.
fn take(mark: &Path, data_dir: &Path) -> Result<(File, bool), FoundationError> {
    let busy = || FoundationError::BeingSetUp {
        data_dir: data_dir.to_owned(),
    };
    let open = |new: bool| {
        OpenOptions::new()
            .read(true)
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
    locked(file.try_lock(), (mark, data_dir))?;
    // Whoever held the lock before may have finished and removed the mark: then the installation is theirs.
    let ours = file.metadata().map_err(fault(mark))?;
    match fs::symlink_metadata(mark) {
        Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok((file, resumed)),
        _ => Err(busy()),
    }
}

fn locked(
    lock: Result<(), TryLockError>,
    (mark, data_dir): (&Path, &Path),
) -> Result<(), FoundationError> {
    match lock {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(FoundationError::BeingSetUp {
            data_dir: data_dir.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(fault(mark)(error)),
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
    match fs::symlink_metadata(&sidecar) {
        Ok(_) => Ok(Some(sidecar)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(&sidecar)(error)),
    }
}

/// The commit number beside the store.
fn sidecar(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".commit");
    PathBuf::from(path)
}

fn exists(path: PathBuf, data_dir: &Path) -> FoundationError {
    FoundationError::Exists {
        path,
        data_dir: data_dir.to_owned(),
    }
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
