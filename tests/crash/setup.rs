//! `init` is killed at seeded moments; it can be run again, and then there is one installation that opens.

use std::time::Duration;

use crate::configuration::Parts;
use crate::point::Dice;
use crate::program::{Place, free_port};

const KILLS: u64 = 12;
/// No `init` takes longer than this on a quiet machine.
const LONGEST_US: u64 = 300_000;

#[test]
fn an_init_that_was_killed_can_be_run_again() {
    let mut dice = Dice::new(1);
    let mut interrupted = 0;
    for kill in 0..KILLS {
        let place = Place::new("client-secret-of-the-set-up-test");
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
        let mut init = place.begin(&["init"]);
        // The moment itself is what is tried; spread over the whole run, and a little chance.
        let at = LONGEST_US * kill / KILLS + dice.below(LONGEST_US / KILLS);
        std::thread::sleep(Duration::from_micros(at));
        init.kill().ok(); // an error means that it has ended already
        init.wait().unwrap();
        let unfinished = place.path("data/init.unfinished").exists();
        interrupted += u64::from(unfinished);
        let (done, said) = place.attempt(&["init"]);
        // Once the keys are in the store it is an installation, whether or not `init` came to its end.
        assert!(
            done || said.contains("exists already"),
            "kill {kill} after {at} us: {said}"
        );
        let listed = place.run(&["server", "list"]);
        assert!(listed.contains("s1"), "{listed}");
    }
    println!("{KILLS} kills, {interrupted} of them in the middle");
}
