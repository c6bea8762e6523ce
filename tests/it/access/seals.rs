//! The seals, as operators change them: from key file to passphrase and back, and what is never done.

use std::process::Command;

use storage::{Settings, SledStore, Store as _, Table, Write};
use strongroom::foundation::FORMAT;

use super::commands::{audited, place};
use crate::program::Place;

const PASSPHRASE: &str = "caf\u{e9} staple horse battery correct 7";
const OTHER: &str = "another battery staple, incorrect 8";
/// The cheapest there is.
const CHEAP: [&str; 6] = ["--memory-mib", "19", "--passes", "2", "--lanes", "1"];

fn key_file_line(place: &Place) -> String {
    format!("seal.key_file = \"{}\"\n", place.path("root.key").display())
}

fn passphrase_line(place: &Place) -> String {
    let path = place.path("passphrase.secret");
    format!("seal.passphrase = \"file:{}\"\n", path.display())
}

/// Declares these seals and no other.
fn declare(place: &Place, seals: &[String]) {
    let file = place.path("strongroom.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let rest = text.lines().filter(|line| !line.starts_with("seal."));
    let rest: Vec<&str> = rest.collect();
    std::fs::write(&file, seals.concat() + &rest.join("\n")).unwrap();
}

fn passphrase(place: &Place, text: &str) {
    place.secret_file("passphrase.secret", ("passphrase", text));
}

fn add_passphrase(place: &Place) -> String {
    place.run(&[&["seal", "add-passphrase"][..], &CHEAP].concat())
}

fn refused(place: &Place, arguments: &[&str], told: &str) {
    let (done, said) = place.attempt(arguments);
    assert!(!done && said.contains(told), "{arguments:?}: {said}");
}

#[test]
fn a_vault_moves_from_its_key_file_to_a_passphrase_and_back() {
    let place = place();
    place.run(&["init"]);
    let (file, words) = (key_file_line(&place), passphrase_line(&place));
    passphrase(&place, PASSPHRASE);
    declare(&place, &[file.clone(), words.clone()]);
    let said = add_passphrase(&place);
    assert!(said.contains("Slot 1") && said.contains("19 MiB"), "{said}");
    let listed = place.run(&["seal", "list"]);
    assert_eq!(listed.matches("  opens with [seal]").count(), 2, "{listed}");
    assert!(listed.contains("19 MiB, 2 passes, 1 lanes"), "{listed}");

    // By the passphrase alone, and however its letters were typed.
    std::fs::rename(place.path("root.key"), place.path("safe.key")).unwrap();
    passphrase(&place, &PASSPHRASE.replace('\u{e9}', "e\u{301}"));
    place.run(&["server", "list"]);
    declare(&place, std::slice::from_ref(&words));
    let program = place.serve();
    refused(&place, &["seal", "list"], "while it is stopped");
    program.stop();
    place.run(&["seal", "remove", "0"]);

    // The key file opens nothing any more.
    std::fs::rename(place.path("safe.key"), place.path("root.key")).unwrap();
    declare(&place, std::slice::from_ref(&file));
    refused(&place, &["server", "list"], "slot 1 (passphrase)");
    declare(&place, &[words]);
    let path = place.path("root.key").display().to_string();
    let said = place.run(&["seal", "add-key-file", &path]);
    assert!(
        said.contains("Slot 0") && said.contains("was there already"),
        "{said}"
    );
    declare(&place, &[file]);
    place.run(&["seal", "remove", "1"]);
    place.run(&["server", "list"]);
    assert_eq!(audited(&place, "seal_added"), 2);
    assert_eq!(audited(&place, "seal_removed"), 2);
    let log = std::fs::read_to_string(place.path("data/audit/audit.jsonl")).unwrap();
    let removed: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("seal_removed"))
        .collect();
    assert!(removed[0].contains("\"seal\":0") && removed[0].contains("\"class\":\"admin\""));
    assert!(removed[1].contains("\"seal\":1"));
}

#[test]
fn no_slot_is_removed_that_could_be_missed() {
    let place = place();
    place.run(&["init"]);
    refused(&place, &["seal", "remove", "0"], "the only one");
    refused(&place, &["seal", "remove", "3"], "no slot 3");
    let add = [&["seal", "add-passphrase", "--stdin"][..], &CHEAP].concat();
    let (done, said) = place.attempt_with(&add, &format!("{PASSPHRASE}\n"));
    assert!(done, "{said}");
    // What is declared opens slot 0 alone.
    refused(&place, &["seal", "remove", "0"], "slot 0 stays");
    passphrase(&place, OTHER);
    declare(&place, &[passphrase_line(&place)]);
    refused(&place, &["seal", "remove", "0"], "another passphrase");
    refused(&place, &["serve"], "another passphrase");
    declare(&place, &[key_file_line(&place)]);
    let listed = place.run(&["seal", "list"]);
    assert_eq!(
        listed.matches("does not open with [seal]").count(),
        1,
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 2);
    assert_eq!(audited(&place, "seal_removed"), 0);
    place.run(&["seal", "remove", "1"]);
}

#[test]
fn what_would_weaken_the_seal_is_refused() {
    let place = place();
    place.run(&["init"]);
    let add = ["seal", "add-passphrase", "--stdin"];
    for (input, told) in [
        ("too short\n", "too easy to guess"),
        ("abababababababababab", "too easy to guess"),
        ("", "is empty"),
        ("two lines of a good passphrase\nand more", "a line break"),
        (" space around a good passphrase ", "surrounding space"),
    ] {
        let (done, said) = place.attempt_with(&add, input);
        assert!(!done && said.contains(told), "{input}: {said}");
        assert!(input.len() < 5 || !said.contains(input.trim()), "{said}");
    }
    for cost in [
        ["--memory-mib", "65536"], // 64 GiB
        ["--memory-mib", "8"],
        ["--passes", "4294967295"],
        ["--passes", "1"],
        ["--lanes", "0"],
    ] {
        let (done, said) = place.attempt_with(&[&add[..], &cost].concat(), PASSPHRASE);
        assert!(!done && said.contains("is outside"), "{cost:?}: {said}");
    }
    refused(
        &place,
        &["seal", "add-passphrase"],
        "declares no passphrase",
    );
    let inside = place.path("data/second.key").display().to_string();
    refused(&place, &["seal", "add-key-file", &inside], "data folder");
    let same = place.path("root.key").display().to_string();
    refused(
        &place,
        &["seal", "add-key-file", &same],
        "slot 0 opens with it already",
    );
    assert_eq!(audited(&place, "seal_added"), 0);
    assert_eq!(place.run(&["seal", "list"]).lines().count(), 1);
}

#[test]
fn a_vault_is_set_up_with_a_passphrase_alone() {
    let place = place();
    declare(&place, &[passphrase_line(&place)]);
    passphrase(&place, "weak");
    refused(&place, &["init"], "too easy to guess");
    assert!(!place.path("data/store").exists());
    passphrase(&place, PASSPHRASE);
    let said = place.run(&["init"]);
    assert!(said.contains("seal.passphrase"), "{said}");
    assert!(!place.path("root.key").exists());
    assert!(
        place
            .run(&["check"])
            .contains("root key    by a passphrase")
    );
    place.run(&["server", "list"]);
    passphrase(&place, OTHER);
    let (done, said) = place.attempt(&["server", "list"]);
    assert!(
        !done && said.contains("another passphrase") && !said.contains(OTHER),
        "{said}"
    );
}

#[test]
fn a_vault_that_is_set_up_with_both_opens_with_either() {
    let place = place();
    let both = [key_file_line(&place), passphrase_line(&place)];
    declare(&place, &both);
    passphrase(&place, PASSPHRASE);
    place.run(&["init"]);
    for one in &both {
        declare(&place, std::slice::from_ref(one));
        let listed = place.run(&["seal", "list"]);
        assert_eq!(listed.matches("  opens with [seal]").count(), 1, "{listed}");
        assert_eq!(listed.lines().count(), 2, "{listed}");
    }
}

/// Replaces the body of a slot's row by what `change` makes of it.
async fn change_slot(place: &Place, number: u8, change: impl Fn(String) -> String) {
    let store = SledStore::open(&place.path("data/store"), FORMAT, Settings::default()).unwrap();
    let key = format!("seal/{number}").into_bytes();
    let row = store.read(Table::Meta, &key).await.unwrap().unwrap();
    let body = change(String::from_utf8(row.body.clone()).unwrap()).into_bytes();
    let write = Write::Put {
        table: Table::Meta,
        key,
        expected: row.revision,
        body,
    };
    store.commit(vec![write]).await.unwrap();
    store.close().await.unwrap();
}

#[actix_web::test]
async fn a_slot_that_somebody_changed_costs_nothing_and_stops_no_other() {
    let place = place();
    let both = [key_file_line(&place), passphrase_line(&place)];
    declare(&place, &both);
    passphrase(&place, PASSPHRASE);
    place.run(&["init"]);
    declare(&place, &both[1..]);
    // 64 GiB and 2^32 - 1 passes instead of 64 MiB and 3: refused before anything is taken.
    let costly = |body: String| {
        let row: serde_json::Value = serde_json::from_str(&body).unwrap();
        let at = row["parameters"].as_str().unwrap().to_owned();
        let cheap = base64_of(&parameters(65_536, 3, 4));
        assert_eq!(at[..cheap.len()], cheap);
        body.replace(&cheap, &base64_of(&parameters(u32::MAX, u32::MAX, 4)))
    };
    change_slot(&place, 1, costly).await;
    let mut limited = Command::new("prlimit");
    limited.args(["--as=2000000000", "--cpu=20"]);
    let (done, said) = place.attempt_under(limited, &["server", "list"]);
    assert!(!done && said.contains("4294967295 KiB"), "{said}");
    // The key file's slot stands by itself.
    declare(&place, &both);
    place.run(&["server", "list"]);
    // A row that is no slot, and one that was copied from another place.
    change_slot(&place, 1, |_| String::from("{}")).await;
    let listed = place.run(&["seal", "list"]);
    assert!(listed.contains("slot 1  cannot be read"), "{listed}");
    place.run(&["seal", "remove", "1"]);
    assert_eq!(place.run(&["seal", "list"]).lines().count(), 1);
    change_slot(&place, 0, |body| {
        body.replace("\"number\":0", "\"number\":1")
    })
    .await;
    refused(&place, &["server", "list"], "slot 0 cannot be read");
}

fn parameters(memory: u32, passes: u32, lanes: u32) -> [u8; 12] {
    let mut all = [0; 12];
    for (place, number) in all.chunks_exact_mut(4).zip([memory, passes, lanes]) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    all
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
