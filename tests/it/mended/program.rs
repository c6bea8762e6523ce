//! The program itself where the machine or the operator makes it hard: what it says and how it ends.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a configuration that needs no outside.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self::with_data("data")
    }

    fn with_data(data: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let secret = place.path("client.secret");
        std::fs::write(&secret, "not-a-secret-of-anybody").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        let folder = place.0.path().display();
        let text = format!(
            r#"public_url = "https://vault.example"
listen = {{ connect = "127.0.0.1:{}", api = "127.0.0.1:{}", admin_socket = "{folder}/admin.sock" }}
data.dir = "{folder}/{data}"
seal.key_file = "{folder}/root.key"

[[issuer]]
slug = "corp"
url = "https://id.example"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"
require_at_jwt = true

[[provider]]
slug = "github"
preset = "github"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"

[[server]]
slug = "notes"
name = "Notes"
resource = "https://mcp.example/notes"
issuer = "corp"
allow = [{{ provider = "github", scopes = ["read:user"] }}]
"#,
            free_port(),
            free_port()
        );
        std::fs::write(place.path("strongroom.toml"), text).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, before: &str, arguments: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_strongroom");
        let config = self.path("strongroom.toml");
        let line = format!(
            "{before}exec {program} --config {} {arguments}",
            config.display()
        );
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).env_remove("STRONGROOM_LOG");
        command
    }

    fn init(&self) {
        let (code, text) = self.run("", "init");
        assert_eq!(code, Some(0), "{text}");
    }

    fn run(&self, before: &str, arguments: &str) -> (Option<i32>, String) {
        said(&self.command(before, arguments).output().unwrap())
    }
}

fn free_port() -> u16 {
    let bound = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    bound.local_addr().unwrap().port()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn too_few_open_files_end_the_start_with_what_to_do() {
    let place = Place::new();
    place.init();
    let (code, text) = place.run("ulimit -n 36; ", "serve");
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("LimitNOFILE="), "{text}");
    assert!(!text.contains("ready"), "{text}");
}

#[test]
fn commands_at_the_same_time_wait_for_each_other() {
    let place = Place::new();
    place.init();
    let running: Vec<_> = (0..4)
        .map(|_| {
            let mut command = place.command("", "server list");
            command.stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for command in running {
        let (code, text) = said(&command.wait_with_output().unwrap());
        assert_eq!(code, Some(0), "{text}");
    }
}

#[test]
fn a_long_data_folder_has_commands_all_the_same() {
    let place = Place::with_data(&"d/".repeat(60));
    place.init();
    let (code, text) = place.run("", "server list");
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn an_error_is_told_with_its_cause() {
    let place = Place::new();
    place.init();
    let audit = place.path("data/audit");
    std::fs::remove_dir_all(&audit).unwrap();
    std::fs::write(&audit, "").unwrap();
    let (code, text) = place.run("", "serve");
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("(cause: File exists"), "{text}");
}

#[test]
fn binding_the_admin_socket_spares_its_neighbours() {
    let place = Place::new();
    place.init();
    std::fs::write(place.path("admin.new"), "mine").unwrap();
    // Ends at once: its audit log cannot be opened.
    std::fs::write(place.path("data/audit/audit.jsonl"), "not ours\n").unwrap();
    let (code, text) = place.run("", "serve");
    assert_eq!(code, Some(5), "{text}");
    assert!(place.path("admin.sock").exists(), "bound before");
    assert_eq!(
        std::fs::read_to_string(place.path("admin.new")).unwrap(),
        "mine"
    );
    assert!(no_hidden(place.0.path()), "nothing is left");
}

fn no_hidden(folder: &Path) -> bool {
    let mut names = std::fs::read_dir(folder).unwrap();
    names.all(|entry| {
        !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with('.')
    })
}

/// `check` once let these pass, and the start failed on them.
#[test]
fn check_finds_what_a_start_would_fail_on() {
    let place = Place::new();
    let config = place.path("strongroom.toml");
    let good = std::fs::read_to_string(&config).unwrap();
    let folder = place.0.path().display().to_string();
    std::os::unix::fs::symlink(".", place.path("here")).unwrap();
    for (from, to, fault) in [
        ("/admin.sock", "/strongroom.toml", "listen.admin_socket"),
        ("/root.key", "/here/data/root.key", "seal.key_file"),
        ("/root.key", "/x/../data/root.key", "seal.key_file"),
        ("/root.key", "/here", "seal.key_file"),
    ] {
        let text = good.replace(&format!("{folder}{from}"), &format!("{folder}{to}"));
        std::fs::write(&config, text).unwrap();
        let (code, said) = place.run("", "check");
        assert_eq!(code, Some(3), "{to}: {said}");
        assert!(said.contains(fault), "{to}: {said}");
    }
    std::fs::write(&config, &good).unwrap();
    assert_eq!(place.run("", "check").0, Some(0));
}

#[test]
fn dev_says_beforehand_what_cannot_be() {
    let place = Place::new();
    let (code, said) = place.run("", "dev --port 65530");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("65524"), "{said}");
    let (code, said) = place.run("", "dev --port 0 --write /nowhere/x");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("/nowhere/x cannot be written"), "{said}");
}

#[test]
fn a_file_name_does_not_recolour_the_terminal() {
    let place = Place::new();
    let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .arg("--config")
        .arg(place.path("a\u{1b}[31m"))
        .arg("check")
        .output()
        .unwrap();
    let (code, said) = said(&output);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("[31m"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

/// The signal of this limit once ended the process without a word.
#[test]
fn a_limit_on_file_sizes_is_an_error_like_any_other() {
    let place = Place::new();
    place.init();
    for command in ["serve", "server list"] {
        let (code, said) = place.run("ulimit -f 1; ", command);
        assert_eq!(code, Some(4), "{command}: {said}");
        assert!(said.contains("strongroom: "), "{command}: {said}");
    }
    assert_eq!(place.run("", "server list").0, Some(0));
}
