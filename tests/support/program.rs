//! The program itself, as operators run it: a folder with a configuration, commands, and a process that can be killed.
//!
//! It is built with the feature `test-hooks`, which lets it serve plain http on loopback and takes its clock's shift from a
//! file; all else is what a release does.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tempfile::TempDir;

use crate::remains;

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An installation on disk.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// An empty folder with the client secret in it; the configuration is written by `configure`.
    pub(crate) fn new(secret: &str) -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        place.secret_file("client.secret", ("client secret", secret));
        place
    }

    /// Something in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path("strongroom.toml"), text).unwrap();
    }

    /// Runs a command to its end and gives what it says.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        // A new key is said once, by the command that makes it.
        let makes_a_key = ["new-key", "admin-key", "init"];
        let allowed: &[&str] = if arguments.iter().any(|one| makes_a_key.contains(one)) {
            &["server key"]
        } else {
            &[]
        };
        remains::said(
            "output of a command",
            allowed,
            &format!("{said}\n{complaint}"),
        );
        assert!(
            output.status.success(),
            "strongroom {arguments:?} failed: {said}{complaint}"
        );
        said
    }

    /// `init`, and a key for each server.
    pub(crate) fn set_up(&self, servers: &[&str]) -> Vec<String> {
        self.run(&["init"]);
        let key = |server: &&str| {
            let said = self.run(&["server", "new-key", server]);
            said.split_whitespace()
                .find(|word| word.starts_with("srk_"))
                .unwrap_or_else(|| panic!("no key in {said}"))
                .to_owned()
        };
        servers.iter().map(key).collect()
    }

    /// Begins a command and leaves it at once to whoever kills it.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Child {
        let quiet = Stdio::null;
        self.command(arguments)
            .stdin(quiet())
            .stdout(quiet())
            .stderr(quiet())
            .spawn()
            .unwrap()
    }

    /// Runs a command that may fail; whether it succeeded, and what it said.
    pub(crate) fn attempt(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.command(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        remains::said("output of a command", &[], &said);
        (output.status.success(), said)
    }

    /// The same with something on standard input.
    pub(crate) fn attempt_with(&self, arguments: &[&str], input: &str) -> (bool, String) {
        use std::io::Write as _;
        let mut command = self.command(arguments);
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = streams.stderr(Stdio::piped()).spawn().unwrap();
        // A command that does not want it closes the pipe.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        remains::said("output of a command", &[], &said);
        (output.status.success(), said)
    }

    /// A command under another program, which sets limits and then becomes it.
    pub(crate) fn attempt_under(&self, mut under: Command, arguments: &[&str]) -> (bool, String) {
        let command = self.command(arguments);
        under.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            under.env(name, value.unwrap_or_default());
        }
        let output = under.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        remains::said("output of a command", &[], &said);
        (output.status.success(), said)
    }

    /// A file for its owner alone, with a secret in it.
    pub(crate) fn secret_file(&self, name: &str, (what, text): (&str, &str)) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name);
        remains::secret(what, text);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Starts `serve` and waits until it says that it is ready.
    pub(crate) fn serve(&self) -> Program {
        let mut child = self
            .command(&["serve"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let (ready, told) = mpsc::channel();
        let writing = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let is_ready = line.contains("\"message\":\"ready\"");
                writing.lock().unwrap().push_str(&(line + "\n"));
                if is_ready {
                    ready.send(()).ok();
                }
            }
        });
        let program = Program {
            child: Mutex::new(child),
            log,
        };
        assert!(
            told.recv_timeout(PATIENCE).is_ok(),
            "strongroom serve did not become ready:\n{}",
            program.log()
        );
        program
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
        command
            .arg("--config")
            .arg(self.path("strongroom.toml"))
            .args(arguments);
        command
            .env("STRONGROOM_TEST_MODE", "dev")
            .env("STRONGROOM_TEST_CLOCK", self.path("clock"));
        // Whoever looks for secrets in the log looks at all of it.
        let rooms = [
            "",
            "_domain",
            "_crypto",
            "_storage",
            "_upstream",
            "_actors",
            "_api",
            "_pages",
        ];
        let finest = rooms
            .map(|room| format!("strongroom{room}=trace"))
            .join(",");
        let level = match remains::folder() {
            Some(_) => format!("warn,{finest}"),
            None => "warn,strongroom::cli=info".to_owned(),
        };
        command.env("STRONGROOM_LOG", level);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remains::disk(self.folder.path());
    }
}

/// A running `strongroom serve`; killed when dropped.
pub(crate) struct Program {
    child: Mutex<Child>,
    log: Arc<Mutex<String>>,
}

impl Program {
    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// kill -9, and waits until it is dead.
    pub(crate) fn kill(&self) {
        let mut child = self
            .child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        child.kill().ok(); // an error means that it is dead already
        child.wait().ok();
    }

    /// SIGTERM; it has to end well.
    pub(crate) fn stop(&self) {
        let mut child = self.child.lock().unwrap();
        let sent = Command::new("kill")
            .arg("-TERM")
            .arg(child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
        let status = child.wait().unwrap();
        assert!(
            status.success(),
            "strongroom serve ended with {status}:\n{}",
            self.log()
        );
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        remains::said("the log of the program", &[], &self.log());
    }
}

/// A port that is free at the moment.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
