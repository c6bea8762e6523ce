//! Checks the golden vectors in `tests/vectors` at the root: every kind opens what it should and refuses the rest.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a damaged vector file must stop it"
)]

mod hashes;
mod read;
mod records;
mod states;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// What came out of one case, in the words of the files.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// A value: hex of a plaintext, digest or hash, or the fields of a requestState.
    Is(Value),
    /// Refused for this reason.
    Refused(String),
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors"))
}

/// All files, by name.
fn files() -> Vec<(String, Value)> {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("the vectors are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (
                name,
                serde_json::from_str(&fs::read_to_string(&path).expect("text")).expect("JSON"),
            )
        })
        .collect();
    files.sort_by(|left, right| left.0.cmp(&right.0));
    files
}

/// The base with the case's own members over it; of `context`, only the named fields are replaced.
fn merged(base: &Value, case: &Value) -> Value {
    let mut whole = base.clone();
    for (name, value) in case.as_object().expect("a case is an object") {
        match (name.as_str(), value, whole.get_mut("context")) {
            ("context", Value::Object(fields), Some(Value::Object(context))) => {
                context.extend(fields.clone());
            }
            _ => whole[name] = value.clone(),
        }
    }
    whole
}

fn run(op: &str, case: &Value) -> Outcome {
    match op {
        "open" => records::open(case),
        "aad" => records::aad(case),
        "digest" => hashes::digest(case),
        "hash" => hashes::hash(case),
        "request_state" => states::request_state(case),
        "root_slot" => states::root_slot(case),
        other => panic!("no such operation: {other}"),
    }
}

/// Whether the outcome is the declared one.
fn as_declared(outcome: &Outcome, expect: &Value) -> bool {
    let (word, value) = expect
        .as_object()
        .and_then(|expect| expect.iter().next())
        .expect("one expectation");
    match (word.as_str(), outcome) {
        ("opens" | "is", Outcome::Is(found)) => found == value,
        ("differs", Outcome::Is(found)) => found != value,
        ("refused", Outcome::Refused(reason)) => value == reason,
        _ => false,
    }
}

#[test]
fn every_vector_turns_out_as_declared() {
    let mut checked = 0;
    for (name, file) in files() {
        let op = file["op"].as_str().expect("an operation");
        for case in file["cases"].as_array().expect("cases") {
            let outcome = run(op, &merged(&file["base"], case));
            assert!(
                as_declared(&outcome, &case["expect"]),
                "{name}: {}: {outcome:?}",
                case["name"]
            );
            checked += 1;
        }
    }
    assert!(checked > 1000, "only {checked} vectors");
}

#[test]
fn every_kind_has_vectors_most_of_which_must_fail() {
    let files = files();
    for code in 1..=21_u64 {
        let file = files
            .iter()
            .map(|(_, file)| file)
            .find(|file| file["base"]["context"]["kind"] == code);
        let cases = file.expect("a file for each kind")["cases"]
            .as_array()
            .expect("cases");
        let refused = cases
            .iter()
            .filter(|case| case["expect"].get("refused").is_some())
            .count();
        assert!(
            refused < cases.len() && refused > cases.len() / 2,
            "kind {code}"
        );
    }
}
