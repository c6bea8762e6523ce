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

/// Names of values that no log line may hold.
const UNSPEAKABLE: [&str; 12] = [
    "token",
    "secret",
    "cookie",
    "cookies",
    "authorization",
    "ticket",
    "body",
    "query",
    "url",
    "headers",
    "verifier",
    "passphrase",
];

/// What one argument of a log macro puts into the line, if it is something that nobody may read there: `token = x`,
/// `%token`, `x = ?self.token`, or `token` alone. Texts are not looked at, nor what is only asked about a value
/// (`url.host_str()`).
fn unspeakable(argument: &str) -> Option<&'static str> {
    let argument = argument.trim();
    if argument.starts_with('"') {
        return None;
    }
    let (name, value) = argument.split_once('=').unwrap_or((argument, argument));
    let last = |path: &str| {
        let path = path.trim().trim_start_matches(['%', '?', '&', '*']);
        path.rsplit(['.', ':'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let whole = value.trim().starts_with('?') && last(value) == "request"; // `%` is its id
    if whole {
        return Some("request");
    }
    let (name, value) = (last(name), last(value));
    UNSPEAKABLE
        .into_iter()
        .find(|word| name == *word || value == *word)
}

/// Arguments of the call whose text begins behind its opening bracket.
fn arguments(call: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut all = vec![String::new()];
    for c in call.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => break,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        all.last_mut().unwrap().push(c);
    }
    all
}

#[test]
fn the_log_rule_notices_every_way_to_quote_a_value() {
    for bad in [
        r#"token = "x", "said")"#,
        r#"%token, "said")"#,
        r#"?secret, "said")"#,
        r#"token, "said")"#,
        r#"at = %url, "said")"#,
        r#"a.b = ?self.headers, "said")"#,
        r#""said", ?asked.request)"#,
        r#"upstream.url = %address, "said")"#,
    ] {
        assert!(
            arguments(bad).iter().any(|one| unspeakable(one).is_some()),
            "{bad}"
        );
    }
    for good in [
        r#""the token, the secret")"#,
        r#"upstream.host = url.host_str(), "call failed")"#,
        r#"grant.id = %id, "tokens (all of them), url")"#,
        r#"request.id = %ctx.request_id, "refused")"#,
    ] {
        assert!(
            arguments(good).iter().all(|one| unspeakable(one).is_none()),
            "{good}"
        );
    }
}

#[test]
fn log_lines_never_quote_secrets_headers_or_bodies() {
    for (path, text) in &sources() {
        if is_test_file(path) {
            continue;
        }
        let program = program(text);
        for name in [
            "trace!(", "debug!(", "info!(", "warn!(", "error!(", "span!(",
        ] {
            for (at, _) in program.match_indices(name) {
                for argument in arguments(&program[at + name.len()..]) {
                    assert_eq!(unspeakable(&argument), None, "{path}: {argument}");
                }
            }
        }
    }
}
