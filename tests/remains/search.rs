//! The last step of `scripts/test`: no secret that any test saw stands in anything that any test left behind.
//!
//!     STRONGROOM_TEST_REMAINS=folder cargo test …; search_remains folder [--whole]
//!
//! Every secret of every run is looked for in all of it, in every encoding (`tests/support/canary.rs`): stores, audit logs
//! and key files, logs at the finest level, answers of all listeners, pages, output of commands, what reached issuers and
//! providers, what MCP clients were told. With `--whole` it also asks for what only the real parts leave. Prints what it
//! searched; exit code 1 when something was found, or when a kind of secret or place was missing from the search.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "part of the tests: what they left has the form they gave it"
)]

#[path = "../support/canary.rs"]
mod canary;
#[path = "../support/encoding.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod encoding;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use canary::{Canary, Search};
use serde_json::Value;

/// Secrets that every run sees.
const SECRETS: [&str; 17] = [
    "ID token",
    "access token",
    "client secret",
    "cookie",
    "login PKCE verifier",
    "login code",
    "login nonce",
    "login state",
    "passphrase",
    "provider PKCE verifier",
    "provider code",
    "provider state",
    "refresh token",
    "server key",
    "subject token",
    "ticket",
    "typed key",
];
/// Places that every run leaves, and how often at least.
const PLACES: [(&str, usize); 9] = [
    ("a page", 500),
    ("an answer of the api listener", 500),
    ("a request to the issuer", 100),
    ("a request to the provider", 100),
    ("output of a command", 3),
    ("the log of the program", 20),
    ("a log", 1),
    ("an audit log", 100),
    ("a file of a store", 300),
];
/// Places that only real parts leave.
const REAL: [(&str, usize); 2] = [
    ("a page in Chromium", 20),
    ("what an MCP client was told", 5),
];

/// Everything that was searched, and what was found.
#[derive(Default)]
struct Report {
    places: BTreeMap<String, (usize, usize)>,
    /// What was found where, how often, and one example.
    found: BTreeMap<String, (usize, String)>,
}

impl Report {
    fn look(
        &mut self,
        search: &Search,
        hay: &[u8],
        (place, whose): (&str, &str),
        allowed: &[String],
    ) {
        let (count, bytes) = self.places.entry(place.to_owned()).or_default();
        *count += 1;
        *bytes += hay.len();
        let found = search.hits(hay, allowed).into_iter();
        for (what, before) in found {
            let (count, _) = self
                .found
                .entry(format!("{what} in {place}"))
                .or_insert_with(|| (0, format!("after {before:?} in {whose}")));
            *count += 1;
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        say("usage: search_remains FOLDER [--whole]");
        return ExitCode::from(2);
    };
    let files = files_below(&folder);
    let canaries = canaries(&files);
    let search = Search::new(&canaries);
    let mut report = Report::default();
    for file in &files {
        look_into(&search, &folder, file, &mut report);
    }
    let mut missing = missing(
        &canaries,
        &report,
        arguments.iter().any(|word| word == "--whole"),
    );
    say(&format!(
        "{} secrets in all their forms were looked for in:",
        canaries.len()
    ));
    for (place, (count, bytes)) in &report.places {
        say(&format!(
            "  {place:32} {count:7} times, {:8} KiB",
            bytes / 1024
        ));
    }
    let told = report.found.iter();
    missing
        .extend(told.map(|(what, (count, example))| format!("{what}, {count} times, {example}")));
    for fault in &missing {
        say(fault);
    }
    ExitCode::from(u8::from(!missing.is_empty()))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files_below(&path));
        } else {
            all.push(path);
        }
    }
    all
}

fn canaries(files: &[PathBuf]) -> Vec<Canary> {
    let mut all = Vec::new();
    for file in files.iter().filter(|file| is_named(file, "canaries-")) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        all.extend(text.lines().map(canary));
    }
    all.sort();
    all.dedup();
    all
}

fn canary(line: &str) -> Canary {
    let value: Value = serde_json::from_str(line).unwrap();
    let part = |name: &str| value[name].as_str().unwrap();
    Canary::new(part("what"), part("text"))
}

fn is_named(file: &Path, start: &str) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(start))
}

fn look_into(search: &Search, folder: &Path, file: &Path, report: &mut Report) {
    let whose = file
        .strip_prefix(folder)
        .unwrap_or(file)
        .display()
        .to_string();
    if is_named(file, "canaries-") {
        return;
    }
    let bytes = std::fs::read(file).unwrap();
    if is_named(file, "said-") {
        for line in String::from_utf8_lossy(&bytes).lines() {
            let said: Value = serde_json::from_str(line).unwrap();
            let allowed: Vec<String> = serde_json::from_value(said["allowed"].clone()).unwrap();
            let (place, text) = (said["place"].as_str(), said["text"].as_str());
            report.look(
                search,
                text.unwrap().as_bytes(),
                (place.unwrap(), &whose),
                &allowed,
            );
        }
        return;
    }
    let place = if is_named(file, "log-") {
        "a log"
    } else if is_named(file, "audit.jsonl") {
        "an audit log"
    } else {
        "a file of a store"
    };
    report.look(search, &bytes, (place, &whose), &[]);
}

/// A search that looks for nothing, or nowhere, finds nothing: what has to be there.
fn missing(canaries: &[Canary], report: &Report, whole: bool) -> Vec<String> {
    let unseen = SECRETS
        .iter()
        .filter(|kind| !canaries.iter().any(|canary| canary.what == **kind))
        .map(|kind| format!("no {kind} was seen by any test: nothing was looked for"));
    let real = if whole { &REAL[..] } else { &[] };
    let empty = PLACES.iter().chain(real).filter_map(|(place, least)| {
        let count = report.places.get(*place).map_or(0, |(count, _)| *count);
        (count < *least)
            .then(|| format!("{place} was kept {count} times, and {least} at least are expected"))
    });
    unseen.chain(empty).collect()
}

#[expect(clippy::print_stdout, reason = "this is a command")]
fn say(text: &str) {
    println!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{base64, base64url, hex};

    #[test]
    fn the_search_finds_what_it_looks_for() {
        let canary = Canary::new("test", "a secret/with+odd=signs");
        let search = Search::new([&canary]);
        for around in ["", "x", "xy", "xyz"] {
            let text = format!("{around}{}{around}", canary.text);
            for hay in [
                text.clone().into_bytes(),
                base64(text.as_bytes()).into_bytes(),
                base64url(text.as_bytes()).into_bytes(),
                hex(text.as_bytes()).into_bytes(),
            ] {
                let shown = String::from_utf8_lossy(&hay).into_owned();
                assert_eq!(search.hits::<&str>(&hay, &[]).len(), 1, "{shown}");
                assert!(search.hits(&hay, &["test"]).is_empty(), "{shown}");
            }
        }
        assert!(
            search
                .hits::<&str>(b"a secret, but another one", &[])
                .is_empty()
        );
    }

    #[test]
    fn parts_of_long_secrets_are_found_and_what_all_tokens_share_is_not() {
        let part = |letter: &str| letter.repeat(50);
        let token = format!("{}.{}.{}", part("h"), part("p"), part("s"));
        let search = Search::new([&Canary::new("token", &token)]);
        let found = |hay: String| search.hits::<&str>(hay.as_bytes(), &[]).len();
        assert_eq!(
            [found(part("p")), found(part("s")), found(part("h"))],
            [1, 1, 0]
        );
        let long = "abcdefgh".repeat(20);
        let search = Search::new([&Canary::new("text", &long)]);
        assert_eq!(search.hits::<&str>(&long.as_bytes()[..50], &[]).len(), 1);
    }

    #[test]
    fn a_secret_in_each_kind_of_place_is_found_and_an_empty_search_is_no_success() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let ticket = "ticket-0123456789-0123456789";
        let line = serde_json::json!({ "what": "ticket", "text": ticket });
        at("canaries-1.jsonl", &line.to_string());
        let said = |allowed: &str| {
            serde_json::json!({ "place": "a page", "allowed": [allowed], "text": ticket })
                .to_string()
        };
        at(
            "said-1.jsonl",
            &format!("{}\n{}\n", said("ticket"), said("cookie")),
        );
        for name in [
            "log-1.txt",
            "disk/1-0/audit/audit.jsonl",
            "disk/1-0/store/db",
        ] {
            at(name, &format!("before {ticket} after"));
        }
        let files = files_below(folder.path());
        let canaries = canaries(&files);
        let search = Search::new(&canaries);
        let mut report = Report::default();
        for file in &files {
            look_into(&search, folder.path(), file, &mut report);
        }
        assert_eq!(report.found.len(), 4, "{:?}", report.found);
        let missing = missing(&canaries, &report, true);
        assert_eq!(
            missing.len(),
            SECRETS.len() - 1 + PLACES.len() - 1 + REAL.len(),
            "{missing:?}"
        );
    }
}
