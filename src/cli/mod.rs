//! The command line: what operators type, what they read, and what scripts learn from the exit code.

mod admin;
mod args;
mod door;
mod output;
mod prompt;
mod rollback;
mod seal;
mod serve;

use std::env::VarError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use secret::OsEntropy;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::{Config, ConfigFaults, Mode, OsFiles, Outside};
use crate::foundation::Hands;
use args::{Args, Command};
pub(crate) use output::say;
pub(crate) use serve::until_told;

/// Why a command ended badly. Each kind has an exit code of its own.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The configuration has faults (exit code 3).
    #[error("{0}")]
    Config(#[from] ConfigFaults),
    /// Store, seal or keys cannot be opened (exit code 4).
    #[error("{0}")]
    Foundation(#[from] crate::foundation::FoundationError),
    /// The process cannot be started (exit code 5).
    #[error("{0}")]
    Start(#[from] crate::app::StartError),
    /// The running vault refused, or cannot be reached (exit code 6).
    #[error("{0}")]
    Refused(String),
    /// An argument that cannot be meant (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// Something else (exit code 1).
    #[error("{0}")]
    Other(String),
}

impl CommandError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Other(_) => 1,
            Self::Usage(_) => 2,
            Self::Config(_) => 3,
            Self::Foundation(_) => 4,
            Self::Start(_) => 5,
            Self::Refused(_) => 6,
        }
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(wrong) => {
            // Help and version are no faults; clap knows which stream and code each has.
            wrong.print().ok();
            return ExitCode::from(u8::try_from(wrong.exit_code()).unwrap_or(2));
        }
    };
    if let Err(error) = crate::dumps::forbid() {
        let text = format!("core dumps cannot be switched off: {error}");
        output::complain(&CommandError::Other(text));
    }
    upstream::install_crypto();
    match act(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn act(args: Args) -> Result<(), CommandError> {
    let config = args.config;
    match args.command {
        Command::Version => {
            say(&format!("strongroom {}", crate::VERSION));
            Ok(())
        }
        Command::Check => {
            say(&load(&config, mode())?.report());
            Ok(())
        }
        Command::Init => serve::init(&load(&config, mode())?),
        Command::Serve => serve::serve(&load(&config, mode())?, &hands()?),
        Command::Dev(dev) => crate::dev::run(dev.into(), hands()?),
        Command::Server(what) => admin::server(&load(&config, mode())?, what),
        Command::Grants(what) => admin::grants(&load(&config, mode())?, what),
        Command::AdminKey(what) => admin::admin_key(&load(&config, mode())?, &what),
        Command::Seal(what) => seal::seal(&load(&config, mode())?, what),
        Command::AcceptRollback { yes } => rollback::accept(&load(&config, mode())?, yes),
    }
}

/// Runs a command's work on an actix system. The framework panics when the operating system lets it have no thread or file;
/// that is an end like any other. A limit on file sizes (`ulimit -f`) fails a write here instead of ending the process.
pub(crate) fn on_a_system<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let work = async {
        let size_limit = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        let _refused_writes = signal(size_limit).map_err(|error| serve::no_signals(&error))?;
        work.await
    };
    let run = AssertUnwindSafe(|| actix_rt::System::new().block_on(work));
    catch_unwind(run).unwrap_or_else(|_| Err(crate::app::StartError::Panicked.into()))
}

/// What a configuration is checked for.
#[cfg(not(feature = "test-hooks"))]
const fn mode() -> Mode {
    Mode::Serve
}

/// In a build for tests, a test may run the program as it is on plain http, loopback only, as `dev` does.
#[cfg(feature = "test-hooks")]
fn mode() -> Mode {
    match environment("STRONGROOM_TEST_MODE").as_deref() {
        Some("dev") => Mode::Dev,
        _ => Mode::Serve,
    }
}

fn load(path: &Path, mode: Mode) -> Result<Config, CommandError> {
    Ok(Config::load(
        path,
        mode,
        Outside {
            env: &environment,
            files: &OsFiles,
        },
    )?)
}

/// The one place that reads the environment. What is not UTF-8 in a value becomes U+FFFD.
pub(crate) fn environment(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    let value = std::env::var(name);
    match value {
        Ok(value) => Some(value),
        Err(VarError::NotUnicode(raw)) => Some(raw.to_string_lossy().into_owned()),
        Err(VarError::NotPresent) => None,
    }
}

/// The real time and randomness, or, in a build for tests, what the test asked for.
fn hands() -> Result<Hands, CommandError> {
    Ok(Hands {
        clock: clock(),
        entropy: Arc::new(OsEntropy),
    })
    .and_then(switched)
}

#[cfg(not(feature = "test-hooks"))]
fn clock() -> Arc<dyn domain::Clock> {
    Arc::new(crate::clock::SystemClock::new())
}

#[cfg(feature = "test-hooks")]
fn clock() -> Arc<dyn domain::Clock> {
    match environment("STRONGROOM_TEST_CLOCK") {
        Some(path) => Arc::new(crate::clock::SystemClock::shifted_by(path.into())),
        None => Arc::new(crate::clock::SystemClock::new()),
    }
}

#[cfg(not(feature = "kill-switch"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build can fail")]
fn switched(hands: Hands) -> Result<Hands, CommandError> {
    Ok(hands)
}

#[cfg(feature = "kill-switch")]
fn switched(hands: Hands) -> Result<Hands, CommandError> {
    match environment("STRONGROOM_KILL") {
        Some(name) if !domain::switch_off(&name) => {
            Err(CommandError::Other(format!("there is no check {name}")))
        }
        _ => Ok(hands),
    }
}
