//! The rules of the house, read from the files themselves: who may know whom, and where secrets are said aloud.
//! `src/ARCHITECTURE.md` tells them; this is what notices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOMS: [&str; 9] = [
    "secret", "domain", "crypto", "storage", "upstream", "actors", "api", "pages", "lab",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file of the program, with its path from the root and its text.
pub(crate) fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                all.push(path);
            }
        }
    }
    let mut all = Vec::new();
    walk(&root().join("src"), &mut all);
    all.sort();
    let named = |path: &PathBuf| path.strip_prefix(root()).unwrap().display().to_string();
    all.iter()
        .map(|path| (named(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// Whether a file holds nothing but tests, examples or help for tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let folder = |name: &str| parts.contains(&name);
    let last = parts.last().copied().unwrap_or_default();
    folder("tests") || folder("examples") || folder("suite") || folder("proof") || folder("conformance") || folder("testing")
        || folder("lab") // the practice server is no part of the vault
        || matches!(last, "tests.rs" | "testing.rs" | "conformance.rs" | "proof.rs" | "algorithms.rs")
}

/// The part of a file that is compiled into the program: tests stand at the bottom.
pub(crate) fn program(text: &str) -> &str {
    let end = ["#[cfg(test)]\nmod ", "#[cfg(test)]\n#[expect"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    &text[..end.unwrap_or(text.len())]
}

/// Lines without comments.
pub(crate) fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
}

/// Which rooms a manifest names under `[dependencies]`.
fn known_rooms(manifest: &str) -> BTreeSet<String> {
    let parsed: toml_edit::DocumentMut = manifest.parse().unwrap();
    let names = parsed["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .map(|(name, _)| name.to_owned());
    names
        .filter(|name| ROOMS.contains(&name.as_str()))
        .collect()
}

#[test]
fn rooms_know_only_whom_they_may() {
    let allowed: [(&str, &[&str]); 9] = [
        ("secret", &[]),
        ("domain", &["secret"]),
        ("crypto", &["secret", "domain"]),
        ("storage", &[]), // it needs no word of the domain: rows are bytes
        ("upstream", &["secret", "domain"]),
        (
            "actors",
            &["secret", "domain", "crypto", "storage", "upstream"],
        ),
        ("api", &["secret", "domain", "actors", "pages"]),
        ("pages", &[]),
        ("lab", &[]),
    ];
    for (room, may) in allowed {
        let manifest =
            std::fs::read_to_string(root().join("src").join(room).join("Cargo.toml")).unwrap();
        let may: BTreeSet<String> = may.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(known_rooms(&manifest), may, "{room}");
    }
}

#[test]
fn rooms_stay_free_of_libraries_that_would_lead_them_astray() {
    let forbidden: [(&str, &[&str]); 7] = [
        ("secret", &["serde", "serde_json", "tokio", "tracing"]),
        (
            "domain",
            &[
                "tokio",
                "reqwest",
                "sled",
                "actix",
                "actix-web",
                "futures-util",
                "tracing",
            ],
        ),
        ("crypto", &["tokio", "reqwest", "sled", "actix", "tracing"]),
        (
            "storage",
            &[
                "secrecy",
                "aes-gcm",
                "reqwest",
                "actix",
                "actix-web",
                "serde_json",
            ],
        ),
        ("upstream", &["sled", "aes-gcm", "actix", "actix-web"]),
        (
            "actors",
            &["actix-web", "reqwest", "sled", "openidconnect", "oauth2"],
        ),
        (
            "api",
            &[
                "reqwest",
                "sled",
                "aes-gcm",
                "actix",
                "openidconnect",
                "oauth2",
            ],
        ),
    ];
    for (room, never) in forbidden {
        let manifest =
            std::fs::read_to_string(root().join("src").join(room).join("Cargo.toml")).unwrap();
        let parsed: toml_edit::DocumentMut = manifest.parse().unwrap();
        let there = parsed["dependencies"].as_table().unwrap();
        let bad: Vec<&&str> = never
            .iter()
            .filter(|name| there.contains_key(name))
            .collect();
        assert!(bad.is_empty(), "{room} has {bad:?}");
    }
}

/// Where a provider's token, or a word of ours, is said aloud, and why. The list is short on purpose: think before making it
/// longer.
const REVEAL: [(&str, &str); 9] = [
    (
        "src/actors/sealing/flow.rs",
        "our own words of a flow, sealed",
    ),
    ("src/actors/sealing/tokens.rs", "the codec of token records"),
    (
        "src/api/v1/credential.rs",
        "the one answer with a credential",
    ),
    (
        "src/upstream/account.rs",
        "the account endpoint is asked with the fresh token",
    ),
    (
        "src/upstream/authorize.rs",
        "the challenge of our own PKCE verifier",
    ),
    (
        "src/upstream/issuer.rs",
        "subject and ID tokens are verified",
    ),
    (
        "src/upstream/provider.rs",
        "refresh and revocation requests",
    ),
    (
        "src/upstream/token_call.rs",
        "the client secret in the request",
    ),
    (
        "src/upstream/subject_memory.rs",
        "keyed hashes of subject tokens",
    ),
];

#[test]
fn secrets_are_said_aloud_in_a_short_list_of_files() {
    let mut expected: Vec<&str> = REVEAL.iter().map(|(path, _)| *path).collect();
    expected.sort_unstable();
    let says = |text: &str| {
        code(program(text)).any(|line| {
            line.contains("Reveal as _")
                || line.contains("Reveal,")
                || line.contains("Reveal;")
                || line.contains(".reveal()")
        })
    };
    let sources = sources();
    let found: Vec<&str> = sources
        .iter()
        .filter(|(path, text)| {
            !path.starts_with("src/secret/") && !is_test_file(path) && says(text)
        })
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(found, expected);
    let keys = sources.iter().filter(|(_, text)| {
        code(text).any(|line| line.contains("RevealKey") || line.contains(".reveal_key()"))
    });
    for (path, _) in keys {
        assert!(
            path.starts_with("src/crypto/") || path.starts_with("src/secret/"),
            "{path} says a key aloud"
        );
    }
}

#[test]
fn the_domain_does_no_input_or_output() {
    for (path, text) in sources()
        .iter()
        .filter(|(path, _)| path.starts_with("src/domain/") || path.starts_with("src/pages/"))
    {
        if is_test_file(path) {
            continue;
        }
        for word in [
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "tokio::",
            "async fn",
            ".await",
            "println!",
            "SystemTime",
            "Instant::now",
        ] {
            assert!(
                !code(program(text)).any(|line| line.contains(word)),
                "{path} has {word}"
            );
        }
    }
}

#[test]
fn rooms_below_the_listeners_know_no_status_codes() {
    for (path, text) in &sources() {
        let below = [
            "src/secret/",
            "src/domain/",
            "src/crypto/",
            "src/storage/",
            "src/actors/",
        ]
        .iter()
        .any(|room| path.starts_with(room));
        assert!(
            !below
                || !code(text)
                    .any(|line| line.contains("StatusCode") || line.contains("HttpResponse")),
            "{path}"
        );
    }
}
