//! What the workspace depends on is told in `src/DEPENDENCIES.md`, once each, and is used where a manifest names it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::architecture::sources;

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(path: &str) -> toml_edit::DocumentMut {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    text.parse().unwrap()
}

fn names(table: Option<&toml_edit::Item>) -> BTreeSet<String> {
    let Some(table) = table else {
        return BTreeSet::new();
    };
    let entries = table.as_table().unwrap().iter();
    entries.map(|(name, _)| name.to_owned()).collect()
}

/// The manifests of the root package and of every room, with the folder of each (`.` for the root package).
fn manifests() -> Vec<(String, toml_edit::DocumentMut)> {
    let top = manifest("Cargo.toml");
    let members = top["workspace"]["members"].as_array().unwrap();
    let rooms = members.iter().map(|room| room.as_str().unwrap().to_owned());
    let mut all: Vec<_> = rooms
        .map(|room| (room.clone(), manifest(&format!("{room}/Cargo.toml"))))
        .collect();
    all.push((".".to_owned(), top));
    all
}

/// What a manifest takes from the workspace's list.
fn taken(manifest: &toml_edit::DocumentMut) -> BTreeSet<String> {
    SECTIONS
        .iter()
        .flat_map(|section| names(manifest.get(section)))
        .collect()
}

/// The workspace's list without our own rooms.
fn foreign() -> BTreeSet<String> {
    let top = manifest("Cargo.toml");
    let list = top["workspace"]["dependencies"].as_table().unwrap();
    let of_others = list
        .iter()
        .filter(|(_, item)| item.get("path").is_none())
        .map(|(name, _)| name.to_owned());
    of_others.collect()
}

/// The rows of the table, as cells.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn every_direct_dependency_has_its_reason_its_rival_and_its_price() {
    let text = std::fs::read_to_string(root().join("src/DEPENDENCIES.md")).unwrap();
    let mut told = BTreeSet::new();
    for row in rows(&text) {
        let [name, why, instead, crates, seconds] = row[..] else {
            panic!("a row has five cells: {row:?}");
        };
        assert!(!why.is_empty() && !instead.is_empty(), "{row:?}");
        assert!(crates.parse::<u16>().is_ok(), "{row:?}");
        assert!(seconds == "–" || seconds.parse::<u16>().is_ok(), "{row:?}");
        let fresh = told.insert(name.trim_matches('`').to_owned());
        assert!(fresh, "{name} stands in the table twice");
    }
    assert_eq!(told, foreign(), "src/DEPENDENCIES.md and Cargo.toml");
}

#[test]
fn nothing_is_on_the_list_that_no_manifest_takes_and_nothing_beside_it() {
    let all: BTreeSet<String> = manifests()
        .iter()
        .flat_map(|(_, manifest)| taken(manifest))
        .collect();
    let listed = names(manifest("Cargo.toml")["workspace"].get("dependencies"));
    assert_eq!(all, listed);
}

/// Whether a text names a crate: as a whole word.
fn says(text: &str, name: &str) -> bool {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(word) && !after.is_some_and(word)
    })
}

#[test]
fn a_name_within_a_longer_one_is_not_said() {
    assert!(says("use url::Url;", "url"));
    assert!(!says("use curl::Url; let url_of = 1;", "url"));
}

/// The root package's tests and examples.
fn tests_of_the_root() -> Vec<(String, String)> {
    let mut open: Vec<PathBuf> = vec![root().join("tests")];
    let mut all = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let skipped = ["node", "interop"];
            if path.is_dir() && !skipped.iter().any(|name| path.ends_with(name)) {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                all.push((path.display().to_string(), text));
            }
        }
    }
    all
}

#[test]
fn every_manifest_takes_only_what_its_own_code_names() {
    let sources = sources();
    let of_root = tests_of_the_root();
    let all = manifests();
    let rooms: Vec<&str> = all.iter().map(|(folder, _)| folder.as_str()).collect();
    let mut idle = Vec::new();
    for (folder, manifest) in &all {
        let within = |path: &str, room: &str| {
            path.strip_prefix(room)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let own = sources.iter().filter(|(path, _)| match folder.as_str() {
            "." => !rooms.iter().any(|room| within(path, room)),
            room => within(path, room),
        });
        let mut texts: Vec<&str> = own.map(|(_, text)| text.as_str()).collect();
        if folder == "." {
            texts.extend(of_root.iter().map(|(_, text)| text.as_str()));
        }
        for name in taken(manifest) {
            let word = name.replace('-', "_");
            // Comments may speak of a library; code has to.
            let code = |text: &&&str| {
                text.lines()
                    .filter(|line| !line.trim_start().starts_with("//"))
                    .any(|line| says(line, &word))
            };
            if !texts.iter().any(|text| code(&text)) {
                idle.push(format!("{folder}: {name}"));
            }
        }
    }
    assert!(
        idle.is_empty(),
        "named in a manifest, not in code: {idle:?}"
    );
}
