//! What the configuration reads from outside its own text: environment variables and files, both injected so that tests are pure.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use secret::{ClientSecret, Passphrase};

use super::section::Section;

/// Longest secret and longest configuration file we read, in bytes.
const LONGEST_SECRET: usize = 4096;
const LONGEST_FILE: u64 = 1 << 20;

/// A file as it was read.
pub struct FileRead {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its Unix permission bits, where the system has them.
    pub mode: Option<u32>,
}

/// Reads whole files.
pub trait Files {
    /// The bytes and permission bits of a file.
    ///
    /// # Errors
    /// Whatever the system says; a file of more than 1 MiB is refused.
    fn read(&self, path: &Path) -> io::Result<FileRead>;

    /// The path without `..` and links, as far as it exists.
    fn real(&self, path: &Path) -> PathBuf {
        without_dots(path)
    }

    /// What stands at the path, if anything.
    fn found(&self, _path: &Path) -> Option<Found> {
        None
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A folder, or a link to one.
    Folder,
    /// A socket.
    Socket,
    /// A file, or anything else.
    Other,
}

/// Takes `.` and `..` out of a path, as if there were no links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The real file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsFiles;

impl Files for OsFiles {
    fn read(&self, path: &Path) -> io::Result<FileRead> {
        // Asked before opening as well: opening a pipe would wait for its other end.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let file = std::fs::File::open(path)?;
        let facts = file.metadata()?;
        if facts.len() > LONGEST_FILE {
            return Err(io::Error::other("longer than 1 MiB"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(facts.len()).unwrap_or_default());
        file.take(LONGEST_FILE).read_to_end(&mut bytes)?;
        Ok(FileRead {
            bytes,
            mode: mode_of(&facts),
        })
    }

    fn real(&self, path: &Path) -> PathBuf {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        // Once more: what follows a part that does not exist may lead back to one that does.
        without_links(&without_links(&path))
    }

    fn found(&self, path: &Path) -> Option<Found> {
        let facts = std::fs::metadata(path).ok()?;
        Some(if facts.is_dir() {
            Found::Folder
        } else if is_socket(&facts) {
            Found::Socket
        } else {
            Found::Other
        })
    }
}

fn without_links(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|part| Some((part, std::fs::canonicalize(part).ok()?)));
    match existing.and_then(|(part, real)| Some(real.join(path.strip_prefix(part).ok()?))) {
        Some(real) => without_dots(&real),
        None => without_dots(path),
    }
}

#[cfg(unix)]
fn is_socket(facts: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&facts.file_type())
}

#[cfg(not(unix))]
fn is_socket(_facts: &std::fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have no permission bits"
)]
fn mode_of(facts: &std::fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(
        &facts.permissions(),
    ))
}

#[cfg(not(unix))]
fn mode_of(_facts: &std::fs::Metadata) -> Option<u32> {
    None
}

/// Everything outside the configuration's own text.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// The value of an environment variable; U+FFFD stands for what is not UTF-8 in it.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The files.
    pub files: &'a dyn Files,
}

/// The client secret that `key` refers to: `env:NAME` or `file:/path`. A secret that stands in the file itself is refused.
pub(super) fn secret(section: &Section<'_>, key: &'static str) -> Option<ClientSecret> {
    referred(section, key, ClientSecret::new)
}

/// The passphrase that `key` refers to, in the same way.
pub(super) fn passphrase(section: &Section<'_>, key: &'static str) -> Option<Passphrase> {
    referred(section, key, Passphrase::new)
}

/// A passphrase that was read elsewhere, under the same rules: one line, whose end is taken off.
///
/// # Errors
/// What is wrong with it.
pub fn passphrase_line(mut text: String) -> Result<Passphrase, &'static str> {
    without_line_end(&mut text);
    match flaw(&text) {
        None => Ok(Passphrase::new(text)),
        Some(flaw) => {
            drop(Passphrase::new(text)); // wiped
            Err(flaw)
        }
    }
}

fn referred<T>(section: &Section<'_>, key: &'static str, make: fn(String) -> T) -> Option<T> {
    let reference = section.text(key)?;
    if let Some(name) = reference.strip_prefix("env:") {
        from_environment(section, key, name).map(make)
    } else if let Some(path) = reference.strip_prefix("file:") {
        from_file(section, key, path).map(make)
    } else {
        section.fault(key, "a secret never stands in this file itself");
        None
    }
}

fn from_environment(section: &Section<'_>, key: &'static str, name: &str) -> Option<String> {
    let good = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if !good {
        // The text is not repeated: it may be the secret itself, written behind `env:` by mistake.
        section.fault(
            key,
            "what follows `env:` is not the name of a variable (A-Z, 0-9 and _)",
        );
        return None;
    }
    let Some(value) = (section.reading().outside.env)(name) else {
        section.fault_with(
            key,
            &format!("the environment variable {name} is not set"),
            &format!(
                "Set {name} for the process, or write `{key} = \"file:/path/to/the/secret\"`."
            ),
        );
        return None;
    };
    if value.contains(char::REPLACEMENT_CHARACTER) {
        drop(ClientSecret::new(value)); // wiped
        section.fault_with(
            key,
            &format!("the environment variable {name} is not UTF-8 text"),
            "Put exactly the secret there, as the console of the other side shows it.",
        );
        return None;
    }
    word(
        section,
        key,
        value,
        &format!("the environment variable {name}"),
    )
}

fn from_file(section: &Section<'_>, key: &'static str, path: &str) -> Option<String> {
    if path.is_empty() {
        section.fault(key, "no path follows `file:`");
        return None;
    }
    let path = section.reading().resolve(path);
    let shown = path.display();
    let read = match section.reading().outside.files.read(&path) {
        Ok(read) => read,
        Err(error) => {
            section.fault_with(
                key,
                &format!("cannot read {shown}: {error}"),
                &format!("Put the secret into {shown}, readable by strongroom's user alone."),
            );
            return None;
        }
    };
    if read.mode.is_some_and(|mode| mode & 0o077 != 0) {
        section.fault_with(
            key,
            &format!("{shown} can be read by other users"),
            &format!("Run `chmod 600 {shown}`."),
        );
    }
    let Ok(mut text) = String::from_utf8(read.bytes) else {
        section.fault_with(
            key,
            &format!("{shown} is not UTF-8 text"),
            "Put the secret alone into the file.",
        );
        return None;
    };
    without_line_end(&mut text);
    word(section, key, text, &shown.to_string())
}

fn without_line_end(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
}

/// Why a word cannot be a secret at all.
fn flaw(word: &str) -> Option<&'static str> {
    if word.is_empty() {
        Some("is empty")
    } else if word.len() > LONGEST_SECRET {
        Some("is longer than 4096 bytes")
    } else if word.chars().any(char::is_control) || word.trim() != word {
        Some("holds a line break, a control character or surrounding space")
    } else {
        None
    }
}

/// Takes the word over after checking that it can be a secret at all.
fn word(section: &Section<'_>, key: &'static str, word: String, origin: &str) -> Option<String> {
    let Some(fault) = flaw(&word) else {
        return Some(word);
    };
    drop(ClientSecret::new(word)); // wiped
    section.fault_with(
        key,
        &format!("{origin} {fault}"),
        "Put exactly the secret there, as the console of the other side shows it.",
    );
    None
}
