//! The admin door, as a command finds it: through the socket of the running vault, or, when none runs, served for the time of
//! the command. The store belongs to one process, so there is no third way.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use storage::OpenError;

use super::{CommandError, hands};
use crate::app::{IoRuntime, build_vault, serve_admin_only};
use crate::config::Config;
use crate::foundation::{Foundation, FoundationError};

/// The open door.
pub(super) struct Door(reqwest::Client);

/// What the vault refused.
pub(super) struct Problem {
    /// Its code.
    pub(super) code: String,
    /// What to tell.
    text: String,
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem.text)
    }
}

/// An answer: what was asked for, or a problem, which the command may know better words for.
pub(super) type Told = Result<Result<Value, Problem>, CommandError>;

/// Opens the door once and lets the command ask as often as it needs.
///
/// # Errors
/// [`CommandError`]: the vault cannot be opened or reached, and what `work` says.
pub(super) fn at_door<T>(
    config: &Config,
    work: impl AsyncFnOnce(&Door) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let socket = &config.listen.admin_socket;
    super::on_a_system(async {
        let hands = hands()?;
        let mut tries = 0;
        let foundation = loop {
            if UnixStream::connect(socket).is_ok() {
                let door = Door::to(socket)?;
                door.must_serve(config).await?;
                return work(&door).await;
            }
            match Foundation::open(config, &hands).await {
                // Another command has the store for a moment, or a vault is just starting or stopping.
                Err(FoundationError::Store(OpenError::InUse)) if tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                opened => break opened?,
            }
        };
        let io = IoRuntime::start()?;
        let (vault, arbiters) = build_vault(config, foundation, &hands, &io)?;
        // By way of the open folder: the path of a socket has room for about a hundred bytes, that of the folder for more.
        let folder = File::open(&config.data_dir).map_err(|error| {
            CommandError::Other(format!("the data folder cannot be opened: {error}"))
        })?;
        let own = PathBuf::from(format!("/proc/self/fd/{}/command.sock", folder.as_raw_fd()));
        let served = serve_admin_only(&vault, &config.public_origin(), &own)?;
        let answer = match Door::to(&own) {
            Ok(door) => work(&door).await,
            Err(error) => Err(error),
        };
        served.stop(true).await;
        std::fs::remove_file(&own).ok();
        vault
            .close()
            .await
            .map_err(|error| CommandError::Other(error.to_string()))?;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        drop(io);
        answer
    })
}

impl Door {
    fn to(socket: &Path) -> Result<Self, CommandError> {
        let client = reqwest::Client::builder()
            .unix_socket(socket)
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .map_err(unreachable)?;
        Ok(Self(client))
    }

    /// Two vaults on one machine may have been given the same admin socket; a command never acts on the other one.
    async fn must_serve(&self, config: &Config) -> Result<(), CommandError> {
        let health = self.ask(Method::GET, "/healthz").await??;
        let theirs = text(&health, "/data_dir");
        let ours = &config.data_dir;
        if std::fs::canonicalize(ours).is_ok_and(|ours| ours == Path::new(theirs)) {
            return Ok(());
        }
        let socket = config.listen.admin_socket.display();
        Err(CommandError::Refused(format!(
            "the vault at {socket} keeps its data in {theirs}, and this configuration in {}; give each vault a listen.admin_socket \
             of its own",
            ours.display()
        )))
    }

    /// One call.
    ///
    /// # Errors
    /// [`CommandError::Refused`] when nobody answers.
    pub(super) async fn ask(&self, method: Method, path: &str) -> Told {
        let answer = self
            .0
            .request(method, format!("http://admin{path}"))
            .send()
            .await
            .map_err(unreachable)?;
        let good = answer.status().is_success();
        let body = answer.bytes().await.map_err(unreachable)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok(if good { Ok(body) } else { Err(problem(&body)) })
    }
}

/// How often a store that is open elsewhere is tried, and how far apart: five seconds.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Longer than the longest call to a provider (30 s) that an operator's command waits for.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(
    clippy::needless_pass_by_value,
    reason = "a function for `map_err`, which gives it"
)]
fn unreachable(error: reqwest::Error) -> CommandError {
    CommandError::Refused(String::from(if error.is_timeout() {
        "the admin socket did not answer within a minute, so whether it was done is not known; see the log of `strongroom serve`"
    } else {
        "the admin socket does not answer; see the log of `strongroom serve`"
    }))
}

fn problem(body: &Value) -> Problem {
    let (title, detail, code) = (
        text(body, "/title"),
        text(body, "/detail"),
        text(body, "/code"),
    );
    Problem {
        code: code.to_owned(),
        text: format!(
            "{title}: {detail} (code {code}, request {})",
            text(body, "/request_id")
        ),
    }
}

/// A text in an answer; `-` where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or("-")
}
