//! `accept-rollback` takes what it was asked about and nothing else.

use crate::access::commands::{audited, place};
use crate::program::Place;

fn outcomes(place: &Place) -> Vec<String> {
    let text = std::fs::read_to_string(place.path("data/audit/audit.jsonl")).unwrap();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    entries
        .filter(|entry| entry["action"] == "rollback_accepted")
        .map(|entry| entry["outcome"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_clock_that_is_behind_is_not_taken_together_with_a_store() {
    let place = place();
    std::fs::write(place.path("clock"), "7200000").unwrap();
    place.run(&["init"]);
    std::fs::write(place.path("clock"), "0").unwrap();
    std::fs::remove_file(place.path("data/store.commit")).unwrap();
    let (done, said) = place.attempt(&["accept-rollback"]);
    assert!(!done && said.contains("store.commit"), "{said}");
    for told in [
        "the store ends at commit",
        "has run until",
        "not taken together",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert_eq!(audited(&place, "rollback_accepted"), 0);
    assert!(
        !place.path("data/store.commit").exists(),
        "asking changes nothing"
    );

    let (done, said) = place.attempt(&["accept-rollback", "--yes"]);
    assert!(!done && said.contains("The store is taken"), "{said}");
    let (done, said) = place.attempt(&["server", "list"]);
    assert!(!done && said.contains("Set the clock"), "{said}");
    place.run(&["accept-rollback", "--yes"]);
    place.run(&["server", "list"]);
    assert_eq!(outcomes(&place), ["ok", "ok"]);
}

#[test]
fn what_could_not_be_accepted_is_taken_back_in_the_log() {
    let place = place();
    place.run(&["init"]);
    std::fs::remove_file(place.path("data/store.commit")).unwrap();
    std::fs::write(place.path("data/store/db"), vec![7; 4096]).unwrap();
    let (done, said) = place.attempt(&["accept-rollback"]);
    assert!(!done && said.contains("cannot be read as it is"), "{said}");
    let (done, _) = place.attempt(&["accept-rollback", "--yes"]);
    assert!(!done);
    assert_eq!(outcomes(&place), ["ok", "not-done"]);
}
