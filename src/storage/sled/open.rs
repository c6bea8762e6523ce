//! Creating and opening the folder, with every way it can go wrong told apart and named.
//!
//! sled panics on some damaged files and silently drops the end of others. So opening is guarded against
//! panics, and the commit number is compared with the sidecar before anything is served. A store that did not
//! close in good order, or was changed since, is tried on a copy first: a refused open changes nothing. The
//! sidecar lies beside the folder: give the store a folder *inside* a volume, not the volume's root.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicU64, AtomicUsize},
    },
    thread,
};

use tokio::sync::mpsc;

use super::{
    OpenError, Settings, Shared, SledStore,
    committer::{Committer, Home},
    error::{io_error, sled_error},
    layout::{FORMAT_KEY, NUMBER_KEY, Trees, VAULT_KEY},
    mark,
    raw::{guarded_open, identify, wait_for_sled},
    sidecar::{self, Sidecar, VAULT_MAX},
    trial,
    veil::Veil,
};
use crate::{engine::Health, leases::Leases};

/// Longest format marker in bytes.
const FORMAT_MAX: usize = 64;

impl SledStore {
    /// Makes a new store in `dir` (created with mode 0700; must be absent or empty) and opens it.
    ///
    /// `format` (1 to 64 bytes) must be given again to open it; `vault` (1 to 32 bytes) ties folder and
    /// sidecar together. When this is interrupted, what it left does not open: remove the folder and its
    /// sidecar (`DIR.commit`), and create again. Blocks on the disk.
    ///
    /// # Errors
    /// Any [`OpenError`] but `UnknownFormat`, `RolledBack` and `SidecarLost`.
    pub fn create(
        dir: &Path,
        format: &str,
        vault: &[u8],
        settings: Settings,
    ) -> Result<Self, OpenError> {
        if format.is_empty() || format.len() > FORMAT_MAX {
            return Err(OpenError::Malformed {
                what: "a format marker has 1 to 64 bytes",
            });
        }
        if vault.is_empty() || vault.len() > VAULT_MAX {
            return Err(OpenError::Malformed {
                what: "a vault id has 1 to 32 bytes",
            });
        }
        let witness = sidecar::path_of(dir);
        if witness
            .try_exists()
            .map_err(io_error("looking for the sidecar"))?
        {
            return Err(OpenError::Exists { dir: witness });
        }
        make_folder(dir)?;
        let lock = lock_sidecar(&witness, true)?;
        let trees = guarded_open(dir, settings, |trees| {
            trees.own.insert(FORMAT_KEY, format.as_bytes())?;
            trees.own.insert(VAULT_KEY, vault)?;
            trees.own.insert(NUMBER_KEY, &0_u64.to_be_bytes())?;
            Ok(())
        })?;
        let data = sync(dir, &trees)?;
        let sidecar = Sidecar::start(lock, vault, 0).map_err(io_error("writing the sidecar"))?;
        sync_folder(dir)?;
        sync_folder(parent(dir))?;
        start(
            Opened {
                home: Home::new(dir, format),
                trees,
                data,
                sidecar,
                vault: vault.to_vec(),
                number: 0,
            },
            settings,
        )
    }

    /// Opens the store in `dir`, if it has this `format` and lost nothing. Blocks on the disk.
    ///
    /// Unless it was closed in good order and is as it was then, it is tried on a copy first (`DIR.trial`), which takes
    /// as much room as the store for a moment, where the filesystem cannot share blocks.
    ///
    /// # Errors
    /// Any [`OpenError`] but `Exists`. The files are as they were then, except after a failure of the disk itself.
    pub fn open(dir: &Path, format: &str, settings: Settings) -> Result<Self, OpenError> {
        let path = sidecar::path_of(dir);
        must_exist(dir)?;
        let lock = lock_sidecar(&path, false)?;
        let found = Sidecar::read(&lock).map_err(io_error("reading the sidecar"))?;
        let Some(witness) = found else {
            return Err(OpenError::SidecarLost { path });
        };
        wait_for_sled(dir)?;
        let judge = |trees: &Trees| {
            let (vault, store) = identify(trees, format)?;
            if vault != witness.vault {
                return Err(OpenError::SidecarLost { path: path.clone() });
            }
            if store < witness.number {
                return Err(OpenError::RolledBack {
                    store,
                    sidecar: witness.number,
                });
            }
            Ok(())
        };
        if !mark::holds(&lock, dir, format.as_bytes(), witness.number) {
            trial::pass(dir, settings, &judge)?;
        }
        let trees = guarded_open(dir, settings, |_| Ok(()))?;
        judge(&trees)?;
        let (vault, store) = identify(&trees, format)?;
        finish_open((dir, format), trees, (lock, vault, store), settings)
    }

    /// Opens the store as it is after a deliberate restore, although commits are missing or the sidecar is.
    ///
    /// Commit numbers go on behind the greatest one known, so that none is used twice. Whoever calls this
    /// must ask a human first, and must treat every grant as possibly outdated. Blocks on the disk.
    ///
    /// # Errors
    /// Any [`OpenError`] but `Exists`, `RolledBack` and `SidecarLost`.
    pub fn accept_rollback(
        dir: &Path,
        format: &str,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        must_exist(dir)?;
        let lock = lock_sidecar(&sidecar::path_of(dir), true)?;
        let witness = Sidecar::read(&lock).map_err(io_error("reading the sidecar"))?;
        wait_for_sled(dir)?;
        trial::pass(dir, settings, &|trees| identify(trees, format).map(drop))?;
        let trees = guarded_open(dir, settings, |_| Ok(()))?;
        let (vault, store) = identify(&trees, format)?;
        let seen = witness
            .filter(|witness| witness.vault == vault)
            .map_or(0, |witness| witness.number);
        let number = store.max(seen).saturating_add(1);
        trees
            .own
            .insert(NUMBER_KEY, &number.to_be_bytes())
            .map_err(sled_error)?;
        tracing::warn!(
            store,
            sidecar = seen,
            number,
            "the store was accepted as it is; commits may be missing"
        );
        finish_open((dir, format), trees, (lock, vault, number), settings)
    }
}

/// An open database and everything held with it.
struct Opened {
    home: Home,
    trees: Trees,
    data: File,
    sidecar: Sidecar,
    vault: Vec<u8>,
    number: u64,
}

/// Makes what was found durable, then serves it.
fn finish_open(
    (dir, format): (&Path, &str),
    trees: Trees,
    (lock, vault, number): (File, Vec<u8>, u64),
    settings: Settings,
) -> Result<SledStore, OpenError> {
    // After a crash the newest rows may be in the page cache only; nobody may see them before the disk has them.
    let data = sync(dir, &trees)?;
    let sidecar = Sidecar::start(lock, &vault, number).map_err(io_error("writing the sidecar"))?;
    sync_folder(parent(dir))?;
    start(
        Opened {
            home: Home::new(dir, format),
            trees,
            data,
            sidecar,
            vault,
            number,
        },
        settings,
    )
}

fn start(opened: Opened, settings: Settings) -> Result<SledStore, OpenError> {
    let Opened {
        home,
        trees,
        data,
        sidecar,
        vault,
        number,
    } = opened;
    let shared = Arc::new(Shared {
        trees: RwLock::new(Some(trees.clone())),
        veil: Veil::default(),
        durable: AtomicU64::new(number),
        queued_bytes: AtomicUsize::new(0),
        state: Mutex::new((Health::Serving, "")),
    });
    let committer = Committer {
        shared: Arc::clone(&shared),
        home,
        trees,
        data,
        sidecar,
        number,
    };
    let (orders, queue) = mpsc::channel(settings.queue.max(1));
    let thread = thread::Builder::new()
        .name("store-committer".into())
        .spawn(move || committer.run(queue))
        .map_err(io_error("starting the committer"))?;
    Ok(SledStore {
        shared,
        orders: Some(orders),
        thread: Some(thread),
        leases: Leases::new(),
        vault,
    })
}

/// Flushes sled, then syncs its file through a descriptor of our own, which is returned for later.
fn sync(dir: &Path, trees: &Trees) -> Result<File, OpenError> {
    trees.db.flush().map_err(sled_error)?;
    let data = File::open(dir.join("db")).map_err(io_error("opening the store's file"))?;
    data.sync_all()
        .map_err(io_error("syncing the store's file"))?;
    Ok(data)
}

fn make_folder(dir: &Path) -> Result<(), OpenError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut entries = fs::read_dir(dir).map_err(io_error("reading the folder"))?;
            match entries.next() {
                None => fs::set_permissions(dir, Permissions::from_mode(0o700))
                    .map_err(io_error("closing the folder to others")),
                Some(_) => Err(OpenError::Exists { dir: dir.into() }),
            }
        }
        Err(error) => Err(io_error("making the folder")(error)),
    }
}

/// sled would make a new store where there is none.
pub(super) fn must_exist(dir: &Path) -> Result<(), OpenError> {
    let data = dir.join("db");
    match fs::metadata(&data) {
        Ok(facts) if facts.is_file() => Ok(()),
        // Opening a named pipe would wait for ever.
        Ok(_) => Err(trial::not_a_file(&data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(OpenError::Missing { dir: dir.into() })
        }
        Err(error) => Err(io_error("looking for the store")(error)),
    }
}

pub(super) fn lock_sidecar(path: &Path, create: bool) -> Result<File, OpenError> {
    match sidecar::lock(path, create) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(OpenError::InUse),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(OpenError::SidecarLost { path: path.into() })
        }
        Err(error) => Err(io_error("opening the sidecar")(error)),
    }
}

fn sync_folder(dir: &Path) -> Result<(), OpenError> {
    File::open(dir)
        .and_then(|folder| folder.sync_all())
        .map_err(io_error("syncing the folder"))
}

fn parent(dir: &Path) -> &Path {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}
