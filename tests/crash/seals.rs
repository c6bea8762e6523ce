//! `seal` is killed at seeded moments, while it adds a slot and while it removes one: the vault opens afterwards with what
//! opened it before, a slot is there whole or not at all, and each that is there is accounted for.

use std::time::Duration;

use crate::configuration::Parts;
use crate::point::Dice;
use crate::program::{Place, free_port};

const KILLS: u64 = 10;
/// No `seal` takes longer than this on a quiet machine.
const LONGEST_US: u64 = 600_000;
const ADD: [&str; 8] = [
    "seal",
    "add-passphrase",
    "--memory-mib",
    "19",
    "--passes",
    "2",
    "--lanes",
    "1",
];

#[test]
fn a_seal_that_was_killed_leaves_a_vault_that_opens() {
    let mut dice = Dice::new(2);
    let place = place();
    let key_file = place.path("root.key").display().to_string();
    let (mut added, mut removed) = (0, 0);
    for kill in 0..KILLS {
        let at = LONGEST_US * kill / KILLS;
        killed(&place, &ADD, at + dice.below(LONGEST_US / KILLS));
        let slots = slots(&place);
        assert!(slots.contains(&0), "kill {kill}: {slots:?}");
        if slots.contains(&1) {
            added += 1;
        } else {
            place.run(&ADD);
        }
        killed(
            &place,
            &["seal", "remove", "0"],
            at + dice.below(LONGEST_US / KILLS),
        );
        let slots = self::slots(&place);
        assert!(slots.contains(&1), "kill {kill}: {slots:?}");
        if slots.contains(&0) {
            place.run(&["seal", "remove", "1"]);
        } else {
            // As it was: the key file in slot 0 alone.
            removed += 1;
            place.run(&["seal", "add-key-file", &key_file]);
            place.run(&["seal", "remove", "1"]);
        }
    }
    println!("{KILLS} kills each; {added} slots were added before the kill, {removed} removed");
}

fn place() -> Place {
    let place = Place::new("client-secret-of-the-seal-test");
    let words = place.secret_file(
        "passphrase.secret",
        ("passphrase", "six words of the seal kill test"),
    );
    let parts = Parts {
        host: "localhost",
        ports: (free_port(), free_port()),
        folder: &place.path("").display().to_string(),
        issuer: "http://127.0.0.1:3",
        provider: "http://127.0.0.2:4",
        endpoints: ["/authorize", "/token", "/revoke"],
        servers: &[("s1", "https://s1.test/mcp")],
    };
    let words = format!("seal.passphrase = \"file:{}\"\n", words.display());
    // Set up with the key file alone; the passphrase is declared afterwards.
    place.configure(&parts.text());
    place.run(&["init"]);
    place.configure(&(words + &parts.text()));
    place
}

fn killed(place: &Place, arguments: &[&str], after_us: u64) {
    let mut command = place.begin(arguments);
    // The moment itself is what is tried.
    std::thread::sleep(Duration::from_micros(after_us));
    command.kill().ok(); // an error means that it has ended already
    command.wait().unwrap();
}

/// The slots, each of which opens, and has an entry of its own.
fn slots(place: &Place) -> Vec<u8> {
    let listed = place.run(&["seal", "list"]);
    let number = |line: &str| -> u8 {
        assert!(line.contains("  opens with [seal]"), "{listed}");
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let slots: Vec<u8> = listed.lines().map(number).collect();
    let log = std::fs::read_to_string(place.path("data/audit/audit.jsonl")).unwrap();
    if slots.contains(&1) {
        assert!(log.contains("\"seal_added\""), "{log}");
    }
    if !slots.contains(&0) {
        assert!(log.contains("\"seal_removed\""), "{log}");
    }
    slots
}
