//! Habits of every file: it says what it is, stays short, panics for no reason and logs no secret.

use super::architecture::{code, is_test_file, program, sources};

#[test]
fn every_file_says_what_it_is_and_is_short() {
    let mut wrong = Vec::new();
    for (path, text) in &sources() {
        let first = text.lines().next().unwrap_or_default();
        if !first.starts_with("//! ") || first.len() < 12 {
            wrong.push(format!("{path} does not say what it is"));
        }
        if text.lines().count() > 400 {
            wrong.push(format!("{path} has {} lines", text.lines().count()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_panics_by_design_without_naming_its_reason() {
    for (path, text) in &sources() {
        if is_test_file(path) {
            continue;
        }
        let program = program(text);
        for word in [
            ".unwrap()",
            "panic!(",
            "todo!(",
            "unimplemented!(",
            "dbg!(",
            "unsafe ",
        ] {
            let bad = code(program)
                .any(|line| line.contains(word) && !line.trim_start().starts_with("assert"));
            assert!(!bad, "{path} has {word}");
        }
        if code(program).any(|line| line.contains(".expect(\"")) {
            assert!(
                program.contains("clippy::expect_used"),
                "{path} expects without a reason"
            );
        }
        let allows = |line: &str| line.contains("#[allow(") || line.contains("#![allow(");
        assert!(!program.lines().any(allows), "{path} allows something");
    }
}

#[test]
fn nothing_signs_with_rsa_and_no_ring_but_ours_is_used() {
    for (path, text) in &sources() {
        if is_test_file(path) {
            continue;
        }
        for word in [
            "RsaPrivateKey",
            "rsa::pkcs",
            "SigningKey",
            "EncodingKey",
            "RsaKeyPair",
        ] {
            assert!(
                !code(text).any(|line| line.contains(word)),
                "{path} has {word}"
            );
        }
    }
}

#[test]
fn no_file_speaks_of_the_machine_it_was_written_on() {
    let words = ["/home/", "/root/", "/work/", "C:\\Users"];
    for (path, text) in &sources() {
        for word in words {
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
}

#[test]
fn log_lines_never_quote_secrets_headers_or_bodies() {
    let words = [
        "token =",
        "secret =",
        "cookie =",
        "authorization =",
        "ticket =",
        "body =",
        "query =",
        "url =",
        "?token",
        "?secret",
        "?request)",
        "?headers",
    ];
    for (path, text) in &sources() {
        if is_test_file(path) {
            continue;
        }
        let program = program(text);
        for call in ["trace!(", "debug!(", "info!(", "warn!(", "error!("]
            .iter()
            .flat_map(|name| program.match_indices(*name))
        {
            let arguments = program[call.0..].split(");").next().unwrap_or_default();
            assert!(
                !words.iter().any(|word| arguments.contains(word)),
                "{path}: {arguments}"
            );
        }
    }
}
