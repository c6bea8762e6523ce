//! Other people's programs as processes: Node and Python, started, waited for, ended.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running program that says `ready <address>` once it serves. It ends when its standard input closes.
pub(crate) struct Peer {
    child: Child,
    /// Where it serves.
    pub(crate) address: String,
}

impl Peer {
    /// Starts it.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let address = first
            .trim()
            .strip_prefix("ready ")
            .unwrap_or_else(|| panic!("{command:?} said {first:?} and not that it is ready"));
        Self {
            child,
            address: address.to_owned(),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a command that runs to its end said.
pub(crate) struct Said {
    /// Exit code.
    pub(crate) code: i32,
    /// The line of JSON on standard output; null when there is none.
    pub(crate) json: Value,
    /// Everything, for messages.
    pub(crate) all: String,
}

/// Runs a command to its end, on a thread of its own: the test's connections stay attended to meanwhile.
pub(crate) async fn run(mut command: Command) -> Said {
    let described = format!(
        "{:?} {:?}",
        command.get_program(),
        command.get_args().collect::<Vec<_>>()
    );
    let running = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output());
    let output = running
        .await
        .unwrap()
        .unwrap_or_else(|error| panic!("{described}: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    Said {
        code: output.status.code().unwrap_or(-1),
        json: stdout
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or(Value::Null),
        all: format!("{described}\n{stdout}{stderr}"),
    }
}

/// `node <script of tests/node>`.
pub(crate) fn node(script: &str) -> Command {
    let folder = tests().join("node");
    let mut command = Command::new(installed(folder.join("node_modules/.bin/node")));
    command.arg(folder.join(script));
    command
}

/// `python <script of tests/interop>`.
pub(crate) fn python(script: &str) -> Command {
    let folder = tests().join("interop");
    let mut command = Command::new(installed(folder.join(".venv/bin/python")));
    command.arg(folder.join(script));
    command
}

/// `node <TypeScript file of tests/interop>`; Node takes the types off by itself.
pub(crate) fn typescript(file: &str) -> Command {
    let folder = tests().join("interop/typescript");
    installed(folder.join("node_modules"));
    let mut command = Command::new(installed(tests().join("node/node_modules/.bin/node")));
    command.arg(folder.join(file));
    command
}

/// The folder of all tests.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn installed(program: PathBuf) -> PathBuf {
    assert!(
        program.exists(),
        "{} is not there; run scripts/setup-tests",
        program.display()
    );
    program
}
