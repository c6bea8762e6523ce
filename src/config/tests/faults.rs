//! Every fault in its exact words (`faults.txt`), several at once in the order of the file, and what `dev` adds.

use super::super::Mode;
use super::{BASE, FakeFiles, check, serve};

const CASES: &str = include_str!("faults.txt");

/// The lines of a block behind one mark, each with its line break.
fn behind(block: &str, mark: char) -> String {
    let lines = block.lines().filter_map(|line| line.strip_prefix(mark));
    lines.fold(String::new(), |text, line| {
        text + line.strip_prefix(' ').unwrap_or(line) + "\n"
    })
}

/// A fault as the table has it: the file's name and the colon behind it are left out there.
fn without_file(fault: &str) -> &str {
    let rest = fault
        .strip_prefix("/etc/strongroom.toml:")
        .expect("the file comes first");
    rest.trim_start()
}

#[test]
fn every_fault_has_its_exact_words() {
    let blocks: Vec<_> = CASES
        .split("\n\n")
        .filter(|block| block.starts_with('-'))
        .collect();
    assert!(blocks.len() > 80, "{}", blocks.len());
    for block in blocks {
        let old = behind(block, '-');
        assert!(BASE.contains(&old), "not in the file: {old}");
        let text = BASE.replacen(&old, &behind(block, '+'), 1);
        let faults = serve(&text).expect_err(block).to_string();
        let said: String = faults
            .lines()
            .map(|fault| without_file(fault).to_owned() + "\n")
            .collect();
        assert_eq!(said, behind(block, '!'), "{block}");
    }
}

#[test]
fn all_faults_come_at_once_and_in_order() {
    let text = BASE
        .replace("https://connect", "http://connect")
        .replace("\"env:S\"", "\"hunter2\"")
        .replace("https://notes.example.com/mcp", "notes")
        .replace("preset = \"github\"", "preset = \"github\"\ncolour = 1");
    let faults = serve(&text).unwrap_err();
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.line.unwrap(), &*fault.path))
        .collect();
    assert_eq!(
        places,
        [
            (1, "public_url"),
            (7, "issuer.corp.client_secret"),
            (12, "server.notes.resource"),
            (19, "provider.github.colour"),
            (21, "provider.github.client_secret"),
        ]
    );
    assert_eq!(faults.count(), 5);
}

#[test]
fn dev_lives_on_loopback() {
    let practice = BASE
        .replace("https://connect.example.com", "http://localhost:7601")
        .replace("https://login.example.com", "http://127.0.0.1:9001");
    let config = check(&practice, Mode::Dev, &FakeFiles::default()).unwrap();
    assert!(config.addresses.loopback);
    assert_eq!(config.public_origin(), "http://localhost:7601");

    let open = format!("listen.connect = \"0.0.0.0:7601\"\n{practice}");
    let faults = check(&open, Mode::Dev, &FakeFiles::default()).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "/etc/strongroom.toml:1: listen.connect: is not a loopback address, and `strongroom dev` is for this machine \
         only. Bind it to a loopback address, e.g. 127.0.0.1."
    );

    let plain = BASE.replace("https://connect.example.com", "http://connect.example.com");
    assert!(check(&plain, Mode::Dev, &FakeFiles::default()).is_err());
}

#[test]
fn a_declared_proxy_opens_a_listener() {
    let listen = "listen = { connect = \"0.0.0.0:7601\", api = \"[::]:7602\", trusted_proxy = [\"10.0.3.0/24\"] }\n";
    let config = serve(&format!("{listen}{BASE}")).unwrap();
    assert!(config.listen.trusted_proxies[0].contains("10.0.3.9".parse().unwrap()));

    let same_port = listen.replace("7602", "7601");
    let faults = serve(&format!("{same_port}{BASE}"))
        .unwrap_err()
        .to_string();
    assert!(
        faults.contains("listen.api: is the address of listen.connect too"),
        "{faults}"
    );
}

#[test]
fn loopback_for_tests_is_said_aloud() {
    let text = format!("danger.loopback = \"only-for-tests\"\n{BASE}")
        .replace("https://login.example.com", "http://127.0.0.1:9001");
    let config = serve(&text).unwrap();
    assert!(config.addresses.loopback);
    assert!(config.report().contains("LOOPBACK"), "{}", config.report());
}
