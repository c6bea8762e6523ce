//! Creating and opening the folder, with every way it can go wrong told apart and named.
//!
//! sled panics on some damaged files and silently drops the end of others. So opening is guarded against
//! panics, and the commit number is compared with the sidecar before anything is served. The sidecar lies
//! beside the folder: give the store a folder *inside* a volume, not the volume's root.

use std::{
    fs::{self, DirBuilder, File, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicU64, AtomicUsize},
    },
    thread,
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    OpenError, Settings, Shared, SledStore,
    committer::Committer,
    error::{io_error, sled_error},
    layout::{FORMAT_KEY, NUMBER_KEY, Trees, VAULT_KEY},
    sidecar::{self, Sidecar, VAULT_MAX},
    veil::Veil,
};
use crate::{engine::Health, leases::Leases};

/// Segments this large keep every tree node (at most 19 rows of 96 KiB) below a quarter segment; larger nodes
/// would go to separate files that sled does not sync.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
/// sled's own background flush; commits do not wait for it.
const FLUSH_EVERY_MS: u64 = 500;
/// How often, and how far apart, sled's lock is tried: half a second, which its helpers never need.
const RELEASE_TRIES: u32 = 100;
const RELEASE_PAUSE: Duration = Duration::from_millis(5);
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
    /// # Errors
    /// Any [`OpenError`] but `Exists`.
    pub fn open(dir: &Path, format: &str, settings: Settings) -> Result<Self, OpenError> {
        let path = sidecar::path_of(dir);
        must_exist(dir)?;
        let lock = lock_sidecar(&path, false)?;
        let found = Sidecar::read(&lock).map_err(io_error("reading the sidecar"))?;
        let Some(witness) = found else {
            return Err(OpenError::SidecarLost { path });
        };
        wait_for_sled(dir)?;
        forget_unfinished_snapshots(dir)?;
        let trees = guarded_open(dir, settings, |_| Ok(()))?;
        let (vault, store) = identify(&trees, format)?;
        if vault != witness.vault {
            return Err(OpenError::SidecarLost { path });
        }
        if store < witness.number {
            return Err(OpenError::RolledBack {
                store,
                sidecar: witness.number,
            });
        }
        finish_open(dir, trees, (lock, vault, store), settings)
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
        forget_unfinished_snapshots(dir)?;
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
        finish_open(dir, trees, (lock, vault, number), settings)
    }
}

/// An open database and everything held with it.
struct Opened {
    trees: Trees,
    data: File,
    sidecar: Sidecar,
    vault: Vec<u8>,
    number: u64,
}

/// Makes what was found durable, then serves it.
fn finish_open(
    dir: &Path,
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

/// Opens sled and its trees; a panic inside is an answer like any other.
fn guarded_open(
    dir: &Path,
    settings: Settings,
    then: impl FnOnce(&Trees) -> ::sled::Result<()>,
) -> Result<Trees, OpenError> {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let db = ::sled::Config::new()
            .path(dir)
            .cache_capacity(settings.cache_bytes)
            .segment_size(SEGMENT_BYTES)
            .mode(::sled::Mode::HighThroughput)
            .flush_every_ms(Some(FLUSH_EVERY_MS))
            .use_compression(false)
            .open()?;
        let trees = Trees::open(db)?;
        then(&trees)?;
        Ok(trees)
    }));
    match opened {
        Ok(outcome) => outcome.map_err(sled_error),
        Err(_) => Err(OpenError::Damaged {
            what: "the engine panicked on it".into(),
        }),
    }
}

/// Waits until sled's own lock is free.
///
/// Whoever calls this holds the sidecar's lock, so no other store is open. But sled's helper threads may keep
/// its file, and with it the lock, for a moment after a store of this process was closed.
fn wait_for_sled(dir: &Path) -> Result<(), OpenError> {
    let data = File::open(dir.join("db")).map_err(io_error("opening the store's file"))?;
    for _ in 0..RELEASE_TRIES {
        match data.try_lock() {
            Ok(()) => {
                return data
                    .unlock()
                    .map_err(io_error("unlocking the store's file"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(RELEASE_PAUSE),
            Err(TryLockError::Error(error)) => {
                return Err(io_error("locking the store's file")(error));
            }
        }
    }
    Err(OpenError::InUse)
}

/// Removes snapshots that were being written when the process ended.
///
/// A snapshot only shortens the next start: everything in it is in the log as well. sled writes it under a name ending in
/// `.generating` and renames it when it is whole, but its reader takes unfinished ones, too, and then refuses the store.
fn forget_unfinished_snapshots(dir: &Path) -> Result<(), OpenError> {
    for entry in fs::read_dir(dir).map_err(io_error("listing the store's folder"))? {
        let entry = entry.map_err(io_error("listing the store's folder"))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            tracing::warn!(
                "a snapshot was not finished when the process ended; it is removed, nothing is lost"
            );
            fs::remove_file(entry.path()).map_err(io_error("removing an unfinished snapshot"))?;
        }
    }
    Ok(())
}

/// Checks the format marker; returns vault id and commit number.
fn identify(trees: &Trees, format: &str) -> Result<(Vec<u8>, u64), OpenError> {
    let facts = catch_unwind(AssertUnwindSafe(|| {
        Ok((
            trees.own.get(FORMAT_KEY)?,
            trees.own.get(VAULT_KEY)?,
            trees.number()?,
        ))
    }));
    let (found, vault, number) = facts
        .map_err(|_| OpenError::Damaged {
            what: "the engine panicked on it".into(),
        })?
        .map_err(sled_error)?;
    let found = found.unwrap_or_default();
    if found != format.as_bytes() {
        let found = String::from_utf8_lossy(&found).into_owned();
        return Err(OpenError::UnknownFormat { found });
    }
    match (vault, number) {
        (Some(vault), Some(number)) => Ok((vault.to_vec(), number)),
        _ => Err(OpenError::Damaged {
            what: "vault id or commit number is missing".into(),
        }),
    }
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
fn must_exist(dir: &Path) -> Result<(), OpenError> {
    match dir.join("db").try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(OpenError::Missing { dir: dir.into() }),
        Err(error) => Err(io_error("looking for the store")(error)),
    }
}

fn lock_sidecar(path: &Path, create: bool) -> Result<File, OpenError> {
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
