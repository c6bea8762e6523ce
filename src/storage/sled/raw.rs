//! sled itself: opened so that a panic inside is an answer, and asked what it holds.

use std::{
    fs::{File, TryLockError},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
    time::Duration,
};

use super::{
    OpenError, Settings,
    error::{io_error, sled_error},
    layout::{FORMAT_KEY, Trees, VAULT_KEY},
};

/// Segments this large keep every tree node (at most 19 rows of 96 KiB) below a quarter segment; larger nodes
/// would go to separate files that sled does not sync.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
/// sled's own background flush; commits do not wait for it.
const FLUSH_EVERY_MS: u64 = 500;
/// How often, and how far apart, sled's lock is tried: half a second, which its helpers never need.
const RELEASE_TRIES: u32 = 100;
const RELEASE_PAUSE: Duration = Duration::from_millis(5);

/// Opens sled and its trees; a panic inside is an answer like any other.
pub(super) fn guarded_open(
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
pub(super) fn wait_for_sled(dir: &Path) -> Result<(), OpenError> {
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

/// Checks the format marker; returns vault id and commit number.
pub(super) fn identify(trees: &Trees, format: &str) -> Result<(Vec<u8>, u64), OpenError> {
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
