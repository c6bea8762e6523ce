//! The rules of the house, read from the files themselves: who may know whom.
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

/// The part of a file that is compiled into the program: everything before an inline module of tests, which stands at the
/// bottom. `#[cfg(test)] mod tests;` names another file and cuts nothing off.
pub(crate) fn program(text: &str) -> &str {
    let end = text.match_indices("#[cfg(test)]\n").find_map(|(at, mark)| {
        let item = after_attributes(&text[at + mark.len()..]);
        let head = item.lines().next().unwrap_or_default();
        let inline = head.contains("mod ") && head.ends_with('{');
        inline.then_some(at)
    });
    &text[..end.unwrap_or(text.len())]
}

/// What follows the attributes at the beginning of a text.
fn after_attributes(mut text: &str) -> &str {
    while text.starts_with("#[") {
        let Some((_, rest)) = text.split_once("]\n") else {
            return text;
        };
        text = rest;
    }
    text
}

#[test]
fn tests_are_cut_off_where_they_stand_and_nothing_else_is() {
    let named = "mod a;\n#[cfg(test)]\nmod tests;\nmod z;\nfn reveals() {}\n";
    assert_eq!(program(named), named, "tests in another file");
    let visible = "#[cfg(test)]\npub(crate) mod tests;\nfn on() {}\n";
    assert_eq!(program(visible), visible);
    let single = "fn on() {}\n#[cfg(test)]\nfn helps() {}\nfn goes_on() {}\n";
    assert_eq!(program(single), single, "one item");
    let program_only = "fn on() {}\n\n";
    for tail in [
        "#[cfg(test)]\nmod tests {\n}\n",
        "#[cfg(test)]\npub(crate) mod tests {\n}\n",
        "#[cfg(test)]\n#[expect(clippy::panic, reason = \"tests\")]\nmod tests {\n}\n",
        "#[cfg(test)]\n#[expect(\n    clippy::panic,\n    reason = \"tests\"\n)]\nmod tests {\n}\n",
    ] {
        assert_eq!(
            program(&format!("{program_only}{tail}")),
            program_only,
            "{tail}"
        );
    }
    let both = "#[cfg(test)]\nmod algorithms;\nfn on() {}\n";
    let tail = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {}\n}\n";
    assert_eq!(program(&format!("{both}{tail}")), both);
    // Nothing of the program stands behind the tests of any file.
    for (path, text) in sources().iter().filter(|(path, _)| !is_test_file(path)) {
        let cut = &text[program(text).len()..];
        let inline = cut.matches("#[cfg(test)]\n").count();
        let ends = cut.lines().filter(|line| *line == "}").count();
        assert!(
            cut.is_empty() || ends == inline,
            "{path} goes on behind its tests"
        );
    }
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

/// A status code is an answer of ours or an answer to us: the first is made by the listeners, the second is read by
/// `upstream`. Nobody in between decides by one.
#[test]
fn rooms_below_the_listeners_make_no_http_answers() {
    let words = [
        "StatusCode",
        "HttpResponse",
        "HttpRequest",
        "http::",
        "status_code",
        ".status()",
        "status: u16",
        "as_u16()",
        "actix_web",
        "reqwest",
        "hyper",
    ];
    let rooms = [
        "src/secret/",
        "src/domain/",
        "src/crypto/",
        "src/storage/",
        "src/actors/",
    ];
    let below = |path: &str| rooms.iter().any(|room| path.starts_with(room));
    let sources = sources();
    for (path, text) in sources.iter().filter(|(path, _)| below(path)) {
        for word in words {
            let there = code(program(text)).any(|line| line.contains(word));
            assert!(is_test_file(path) || !there, "{path} has {word}");
        }
    }
    // `upstream` reads the statuses of others and makes no answer of ours.
    let upstream = sources
        .iter()
        .filter(|(path, _)| path.starts_with("src/upstream/"));
    for (path, text) in upstream {
        let answers = code(text).any(|line| line.contains("actix_web"));
        assert!(!answers, "{path} makes answers of ours");
    }
}
