//! The key file: 32 random bytes in a file that only its owner may read.
//!
//! It protects a stolen database and stolen backups, provided that it is kept apart from them.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secret::{Entropy, KeyBytes, RevealKey};
use zeroize::Zeroizing;

use super::{Seal, SealKind, SlotError};

const START: &str = "strongroom-key-1 ";
/// Start, 43 characters, line end.
const LENGTH: usize = START.len() + 43 + 1;

/// Why a key file could not be made or read. Every text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is a file already; it is never overwritten.
    #[error("{} exists already and is never overwritten; move it away if it is not needed any more", .0.display())]
    Exists(PathBuf),
    /// There is no such file.
    #[error("{} does not exist; check the path in [seal], restore the file from where it is kept, or run `strongroom init` if this is a new installation", .0.display())]
    Absent(PathBuf),
    /// A link, a folder, a device or a pipe.
    #[error("{} is not a regular file; give the path of the key file itself, not of a link", .0.display())]
    NotAFile(PathBuf),
    /// Others may read or write it.
    #[error("{} is open to others (mode {mode:04o}); run chmod 600 on it", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is not a key file.
    #[error("{} is not a strongroom key file of version 1; restore it from where it is kept", .0.display())]
    Format(PathBuf),
    /// The operating system refused.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The key from a key file.
#[derive(Debug)]
pub struct KeyFileSeal(KeyBytes);

impl KeyFileSeal {
    /// Makes a key file with a fresh random key. The file is new, its mode is 0600 from the start, and it is on disk when
    /// this returns.
    ///
    /// # Errors
    /// [`KeyFileError::Exists`] or [`KeyFileError::Io`].
    pub fn create(path: &Path, entropy: &dyn Entropy) -> Result<Self, KeyFileError> {
        let key = KeyBytes::generate(entropy);
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        text.push_str(START);
        URL_SAFE_NO_PAD.encode_string(key.reveal_key(), &mut text);
        text.push('\n');
        let fault = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
            _ => KeyFileError::Io {
                path: path.to_owned(),
                source,
            },
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(fault)?;
        if let Err(source) = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
        {
            // Half a key is nobody's key, and would be in the way of the next try.
            fs::remove_file(path).ok();
            return Err(fault(source));
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all())
            .map_err(fault)?;
        Ok(Self(key))
    }

    /// Reads a key file after checking that it is a regular file that only its owner may use.
    ///
    /// # Errors
    /// [`KeyFileError`], each with what to do.
    pub fn open(path: &Path) -> Result<Self, KeyFileError> {
        let mut file = open_checked(path)?;
        let mut text = Zeroizing::new([0; LENGTH]);
        let fault = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => KeyFileError::Format(path.to_owned()),
            _ => KeyFileError::Io {
                path: path.to_owned(),
                source,
            },
        };
        file.read_exact(text.as_mut_slice()).map_err(fault)?;
        let more = file.read(&mut [0]).map_err(fault)? > 0;
        let key = parse(text.as_slice()).filter(|_| !more);
        key.map(Self)
            .ok_or_else(|| KeyFileError::Format(path.to_owned()))
    }
}

impl Seal for KeyFileSeal {
    fn kind(&self) -> SealKind {
        SealKind::KeyFile
    }

    fn new_parameters(&self, _entropy: &dyn Entropy) -> Result<Vec<u8>, SlotError> {
        Ok(Vec::new())
    }

    fn key(&self, _parameters: &[u8]) -> Result<KeyBytes, SlotError> {
        Ok(KeyBytes::from_bytes(Zeroizing::new(*self.0.reveal_key())))
    }
}

/// Opens the file that stands at `path` itself. The path is looked at without following a link, and the opened file must
/// be the one that was looked at, so a link put there in between is noticed.
fn open_checked(path: &Path) -> Result<File, KeyFileError> {
    let fault = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => KeyFileError::Absent(path.to_owned()),
        _ => KeyFileError::Io {
            path: path.to_owned(),
            source,
        },
    };
    let seen = fs::symlink_metadata(path).map_err(fault)?;
    check(path, &seen)?;
    let file = File::open(path).map_err(fault)?;
    let opened = file.metadata().map_err(fault)?;
    check(path, &opened)?;
    if (seen.dev(), seen.ino()) == (opened.dev(), opened.ino()) {
        Ok(file)
    } else {
        Err(KeyFileError::NotAFile(path.to_owned()))
    }
}

fn check(path: &Path, metadata: &Metadata) -> Result<(), KeyFileError> {
    if !metadata.is_file() {
        return Err(KeyFileError::NotAFile(path.to_owned()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o700 == mode {
        Ok(())
    } else {
        Err(KeyFileError::OpenToOthers {
            path: path.to_owned(),
            mode,
        })
    }
}

fn parse(text: &[u8]) -> Option<KeyBytes> {
    let word = text.strip_prefix(START.as_bytes())?.strip_suffix(b"\n")?;
    let mut bytes = Zeroizing::new([0; 32]);
    let written = URL_SAFE_NO_PAD
        .decode_slice(word, bytes.as_mut_slice())
        .ok()?;
    if written == 32 {
        Some(KeyBytes::from_bytes(bytes))
    } else {
        None
    }
}
