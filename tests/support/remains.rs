//! What the tests leave for the last step of `scripts/test`, which looks for secrets in all of it
//! (`tests/remains/search.rs`): the secrets that they saw, what was answered, what reached the labs, logs and disks.
//!
//! The folder is named by `STRONGROOM_TEST_REMAINS`; without it nothing is kept.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::canary::SHORTEST;

/// Where it is kept, if it is.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("STRONGROOM_TEST_REMAINS").map(PathBuf::from)
}

/// Notes a secret: from now on it may stand in its own places alone.
pub(crate) fn secret(what: &str, text: &str) {
    if text.len() >= SHORTEST {
        append("canaries", || {
            json!({ "what": what, "text": text }).to_string()
        });
    }
}

/// Keeps something that was said, with the kinds of secrets that belong into it.
pub(crate) fn said(place: &str, allowed: &[&str], text: &str) {
    append("said", || {
        json!({ "place": place, "allowed": allowed, "text": text }).to_string()
    });
}

/// Keeps an answer of the api or admin listener; credential and new key stand each in its one place, which is not kept.
pub(crate) fn answer(headers: &reqwest::header::HeaderMap, body: &Value) {
    let mut body = body.clone();
    if let Some(value) = body.pointer_mut("/credential/header/value") {
        let text = value.take();
        let text = text.as_str().unwrap_or_default();
        secret("access token", text.trim_start_matches("Bearer "));
    }
    if let Some(key) = body.get_mut("secret") {
        secret("server key", key.take().as_str().unwrap_or_default());
    }
    if let Some(url) = body.pointer("/elicitation/connect_url") {
        let ticket = url.as_str().and_then(|url| url.rsplit('/').next());
        secret("ticket", ticket.unwrap_or_default());
    }
    // Links stand in several payloads; the request state is for the client that asked.
    said(
        "an answer of the api listener",
        &["ticket"],
        &format!("{headers:?}\n{body}"),
    );
}

/// Keeps a copy of a folder: the store, the audit log, the key file.
pub(crate) fn disk(from: &Path) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = folder() else { return };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    copy(
        from,
        &folder.join(format!("disk/{}-{number}", std::process::id())),
    );
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    // A store that is still running may take a file away while it is looked at.
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else if path.is_file() && !name.to_string_lossy().ends_with(".secret") {
            std::fs::copy(&path, to.join(name)).ok();
        }
    }
}

/// Keeps what was logged.
pub(crate) fn log(bytes: &[u8]) {
    let Some(folder) = folder() else { return };
    write(
        &folder.join(format!("log-{}.txt", std::process::id())),
        bytes,
    );
}

/// A file of this process, one line an entry.
fn append(name: &str, line: impl FnOnce() -> String) {
    let Some(folder) = folder() else { return };
    let path = folder.join(format!("{name}-{}.jsonl", std::process::id()));
    write(&path, (line() + "\n").as_bytes());
}

/// In one write, so that entries of several threads do not mix.
fn write(path: &Path, bytes: &[u8]) {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.unwrap().write_all(bytes).unwrap();
}
