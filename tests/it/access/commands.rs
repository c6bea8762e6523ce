//! The command line, as operators type it: what it says when something is wrong, and what it changes.

use crate::configuration::Parts;
use crate::program::{Place, free_port};

pub(crate) fn place() -> Place {
    let place = Place::new("client-secret-of-the-command-test");
    let parts = Parts {
        host: "localhost",
        ports: (free_port(), free_port()),
        folder: &place.path("").display().to_string(),
        issuer: "http://127.0.0.1:3",
        provider: "http://127.0.0.2:4",
        endpoints: ["/authorize", "/token", "/revoke"],
        servers: &[("s1", "https://s1.test/mcp")],
    };
    place.configure(&parts.text());
    place
}

/// The one word of an output that begins like this.
fn word<'t>(said: &'t str, start: &str) -> &'t str {
    said.split_whitespace()
        .find(|word| word.starts_with(start))
        .unwrap_or_else(|| panic!("no {start} in {said}"))
}

pub(crate) fn audited(place: &Place, action: &str) -> usize {
    let text = std::fs::read_to_string(place.path("data/audit/audit.jsonl")).unwrap();
    text.matches(&format!("\"action\":\"{action}\"")).count()
}

#[test]
fn a_name_that_nobody_has_is_told_in_words_of_the_command_line() {
    let place = place();
    place.run(&["init"]);
    for (arguments, told) in [
        (&["server", "new-key", "nope"][..], "strongroom server list"),
        (&["server", "disable", "nope"], "strongroom server list"),
        (
            &["server", "revoke-key", "0123456789ab"],
            "strongroom server list",
        ),
        (
            &["grants", "revoke", "gr_00000000000000000000000000000000"],
            "strongroom grants list",
        ),
    ] {
        let (done, said) = place.attempt(arguments);
        assert!(!done && said.contains(told), "{arguments:?}: {said}");
        assert!(
            !said.contains("request_id") && !said.contains("rq_"),
            "{said}"
        );
    }
}

#[test]
fn an_admin_key_is_replaced_by_a_command() {
    let place = place();
    let first = place.run(&["init"]);
    let second = place.run(&["admin-key", "new"]);
    let (first, second) = (word(&first, "sra_"), word(&second, "sra_"));
    assert_ne!(first, second);
    assert_eq!(audited(&place, "server_key_created"), 2);
    assert_eq!(audited(&place, "server_key_revoked"), 1);
    let text = std::fs::read_to_string(place.path("data/audit/audit.jsonl")).unwrap();
    let revoked = text
        .lines()
        .find(|line| line.contains("server_key_revoked"))
        .unwrap();
    assert!(revoked.contains(&first[4..16]), "{revoked}");
}

#[test]
fn keys_are_made_and_revoked_by_the_running_vault_as_well() {
    let place = place();
    place.run(&["init"]);
    let program = place.serve();
    let made = place.run(&["server", "new-key", "s1"]);
    let id = &word(&made, "srk_")[4..16];
    place.run(&["server", "revoke-key", id]);
    assert!(place.run(&["server", "list"]).contains("revoked"));
    place.run(&["admin-key", "new"]);
    assert!(place.run(&["grants", "list"]).is_empty());
    program.stop();
}

#[test]
fn a_command_never_acts_on_another_vault_that_has_the_same_admin_socket() {
    let (one, other) = (place(), place());
    one.run(&["init"]);
    let program = one.serve();
    let file = other.path("strongroom.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let socket = |place: &Place| format!("{}/admin.sock", place.path("").display());
    other.configure(&text.replace(&socket(&other), &socket(&one)));
    for arguments in [&["server", "list"][..], &["server", "new-key", "s1"]] {
        let (done, said) = other.attempt(arguments);
        assert!(!done && said.contains("listen.admin_socket"), "{said}");
    }
    assert!(!one.run(&["server", "list"]).contains("live"));
    program.stop();
}

#[test]
fn a_running_vault_leaves_no_core_dump() {
    let place = place();
    place.run(&["init"]);
    let program = place.serve();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", program.id())).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let bounds: Vec<&str> = core.unwrap().split_whitespace().collect();
    assert_eq!(bounds[4..6], ["0", "0"], "{limits}");
    program.stop();
}

#[test]
fn a_store_that_went_back_is_opened_only_when_an_operator_accepts_it() {
    let place = place();
    place.run(&["init"]);
    let nothing = place.run(&["accept-rollback", "--yes"]);
    assert!(nothing.contains("Nothing was changed"), "{nothing}");
    assert_eq!(audited(&place, "rollback_accepted"), 0);

    // An older copy of the store is put back; the sidecar knows better.
    let (store, copy) = (place.path("data/store"), place.path("copy"));
    copy_folder(&store, &copy);
    place.run(&["server", "new-key", "s1"]);
    std::fs::remove_dir_all(&store).unwrap();
    std::fs::rename(&copy, &store).unwrap();
    let (done, said) = place.attempt(&["server", "list"]);
    assert!(
        !done && said.contains("strongroom accept-rollback"),
        "{said}"
    );
    let (done, said) = place.attempt(&["accept-rollback"]);
    assert!(
        !done && said.contains("--yes") && said.contains("end again"),
        "{said}"
    );
    let (done, _) = place.attempt(&["server", "list"]);
    assert!(!done, "asking changes nothing");
    assert_eq!(audited(&place, "rollback_accepted"), 0);
    place.run(&["accept-rollback", "--yes"]);
    assert_eq!(audited(&place, "rollback_accepted"), 1);
    let listed = place.run(&["server", "list"]);
    assert!(
        listed.contains("s1") && !listed.contains("live"),
        "{listed}"
    );
}

#[test]
fn a_clock_that_was_set_far_back_is_taken_only_when_an_operator_accepts_it() {
    let place = place();
    std::fs::write(place.path("clock"), "7200000").unwrap();
    place.run(&["init"]);
    std::fs::write(place.path("clock"), "0").unwrap();
    let (done, said) = place.attempt(&["serve"]);
    assert!(!done && said.contains("Set the clock"), "{said}");
    place.run(&["accept-rollback", "--yes"]);
    place.run(&["server", "list"]);
    assert_eq!(audited(&place, "rollback_accepted"), 1);
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
