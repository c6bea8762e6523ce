//! A store is tried on a copy before sled may touch it.
//!
//! What sled calls recovery overwrites what it could not read, so a start that is refused afterwards would have destroyed
//! what a flipped bit alone had not. Every verdict is therefore found on a copy beside the folder (`DIR.trial`), and the
//! folder itself is opened only once the copy passed. A store that closed in good order and was not changed since
//! needs no trial: `mark` says so. A trial that was cut short leaves its copy behind, which the next one removes.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::{OpenError, Settings, error::io_error, layout::Trees, raw};
use crate::engine::Table;

/// What must be so before the store may be served; gives its reasons when it is not.
pub(super) type Judge<'a> = &'a dyn Fn(&Trees) -> Result<(), OpenError>;

/// Finds out whether `dir` would open and pass `judge`, and then leaves it ready to be opened.
///
/// A snapshot only shortens a start: everything in it is in the log as well. So when sled cannot make sense of the folder,
/// it gets a second trial without snapshots; if that one passes they are moved to `DIR.set-aside`.
///
/// # Errors
/// What is wrong. Nothing in `dir` was changed then.
pub(super) fn pass(dir: &Path, settings: Settings, judge: Judge<'_>) -> Result<(), OpenError> {
    match attempt(dir, settings, judge, Snapshots::Taken) {
        Ok(()) => {}
        Err(OpenError::Damaged { what }) if has_snapshots(dir)? => {
            if attempt(dir, settings, judge, Snapshots::Left).is_err() {
                return Err(OpenError::Damaged { what });
            }
            set_snapshots_aside(dir)?;
        }
        Err(error) => return Err(error),
    }
    forget_unfinished_snapshots(dir)
}

/// Whether a trial's copy has the snapshots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Snapshots {
    Taken,
    Left,
}

fn attempt(
    dir: &Path,
    settings: Settings,
    judge: Judge<'_>,
    snapshots: Snapshots,
) -> Result<(), OpenError> {
    let copy = Copy::make(dir, snapshots)?;
    let trees = raw::guarded_open(&copy.0, settings, |trees| {
        // What every start reads: damage there would be found too late otherwise.
        for table in [Table::Meta, Table::Keys] {
            if let Ok(tree) = trees.table(table) {
                tree.iter().try_for_each(|row| row.map(drop))?;
            }
        }
        Ok(())
    })?;
    judge(&trees)
}

/// `DIR.trial`; removed when dropped.
struct Copy(PathBuf);

impl Copy {
    fn make(dir: &Path, snapshots: Snapshots) -> Result<Self, OpenError> {
        let copy = Self(beside(dir, ".trial"));
        copy.remove()
            .map_err(io_error("removing the copy of an earlier trial"))?;
        copy_folder(dir, &copy.0, snapshots)?;
        Ok(copy)
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(folder = %self.0.display(), %error, "the copy that was tried is left; remove it");
        }
    }
}

fn copy_folder(from: &Path, to: &Path, snapshots: Snapshots) -> Result<(), OpenError> {
    let io = || io_error("copying the store to try it");
    DirBuilder::new().mode(0o700).create(to).map_err(io())?;
    for entry in fs::read_dir(from).map_err(io())? {
        let entry = entry.map_err(io())?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if is_unfinished(&path) || (snapshots == Snapshots::Left && is_snapshot(&path)) {
            continue;
        }
        // Through links, as sled reads them.
        let facts = fs::metadata(&path).map_err(io())?;
        if facts.is_dir() {
            copy_folder(&path, &target, snapshots)?;
        } else if facts.is_file() {
            // The system shares the blocks where the filesystem can.
            fs::copy(&path, &target).map_err(io())?;
        } else {
            return Err(not_a_file(&path));
        }
    }
    Ok(())
}

pub(super) fn not_a_file(path: &Path) -> OpenError {
    OpenError::Damaged {
        what: format!("{} is not a regular file", path.display()),
    }
}

/// A path beside the folder.
fn beside(dir: &Path, ending: &str) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

fn is_snapshot(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("snap."))
}

fn is_unfinished(path: &Path) -> bool {
    is_snapshot(path) && path.extension().is_some_and(|end| end == "generating")
}

/// Everything in the folder whose name is a snapshot's.
fn snapshots(dir: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error("listing the store's folder"))? {
        let path = entry
            .map_err(io_error("listing the store's folder"))?
            .path();
        if is_snapshot(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

fn has_snapshots(dir: &Path) -> Result<bool, OpenError> {
    Ok(!snapshots(dir)?.is_empty())
}

fn set_snapshots_aside(dir: &Path) -> Result<(), OpenError> {
    let io = || io_error("setting a damaged snapshot aside");
    let aside = beside(dir, ".set-aside");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&aside)
        .map_err(io())?;
    for path in snapshots(dir)? {
        if let Some(name) = path.file_name() {
            fs::rename(&path, aside.join(name)).map_err(io())?;
        }
    }
    tracing::warn!(
        folder = %aside.display(),
        "a snapshot of the store was damaged and is set aside; the store opens without it and nothing is lost. \
         Check the disk"
    );
    Ok(())
}

/// Removes snapshots that were being written when the process ended.
///
/// sled writes a snapshot under a name ending in `.generating` and renames it when it is whole, but its reader takes
/// unfinished ones, too, and then refuses the store.
fn forget_unfinished_snapshots(dir: &Path) -> Result<(), OpenError> {
    for path in snapshots(dir)?.iter().filter(|path| is_unfinished(path)) {
        tracing::warn!(
            "a snapshot was not finished when the process ended; it is removed, nothing is lost"
        );
        fs::remove_file(path).map_err(io_error("removing an unfinished snapshot"))?;
    }
    Ok(())
}
