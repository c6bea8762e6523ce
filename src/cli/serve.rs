//! `init` and `serve`.

use actors::doors::AdminDoor as _;
use domain::AuditAction;
use tokio::signal::unix::{SignalKind, signal};

use super::output::say_surely;
use super::{CommandError, hands, say};
use crate::app::{App, IoRuntime, Sockets, build_vault};
use crate::config::Config;
use crate::foundation::{Foundation, Hands, KeyFile};
use crate::telemetry::{self, Format};

/// Sets up a new installation.
pub(super) fn init(config: &Config) -> Result<(), CommandError> {
    let hands = hands()?;
    super::on_a_system(async {
        let (foundation, key_file) = Foundation::create(config, &hands).await?;
        let io = IoRuntime::start()?;
        let (vault, arbiters) = build_vault(config, foundation, &hands, &io)?;
        let audit = |error: actors::AuditError| CommandError::Start(error.into());
        vault
            .announce(AuditAction::VaultCreated)
            .await
            .map_err(audit)?;
        let key = vault
            .new_admin_key(vault.begin(), None)
            .await
            .map_err(|refusal| CommandError::Other(refusal.to_string()))?;
        vault
            .close()
            .await
            .map_err(|error| CommandError::Other(error.to_string()))?;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        drop(io);
        say(&format!("Set up in {}.", config.data_dir.display()));
        say_what_opens(config, key_file);
        say("The first admin key, shown this once (needed only for the admin listener on TCP):");
        say_surely(&format!("  {}", key.text.as_str())).map_err(|error| {
            CommandError::Other(format!(
                "the installation is set up, but its admin key could not be printed ({error}); \
                 `strongroom admin-key new` replaces it"
            ))
        })?;
        say("Next: `strongroom server new-key NAME` for each MCP server, then `strongroom serve`.");
        Ok(())
    })
}

fn say_what_opens(config: &Config, made: KeyFile) {
    if let Some(path) = &config.seal.key_file {
        let path = path.display();
        let before = match made {
            KeyFile::Found => "was there already; it opens this installation, too",
            KeyFile::Made | KeyFile::None => "opens it",
        };
        say(&format!(
            "The key file {path} {before}. Keep a copy of the file apart from backups of the data."
        ));
    }
    if config.seal.passphrase.is_some() {
        say(
            "The passphrase that seal.passphrase refers to opens it. Keep it apart from backups of the data: without it nobody \
             can ever open them.",
        );
    }
}

/// Runs the vault until SIGTERM or SIGINT.
pub(super) fn serve(config: &Config, hands: &Hands) -> Result<(), CommandError> {
    telemetry::install(
        Format::Json,
        super::environment("STRONGROOM_LOG").as_deref(),
    );
    refuse_hooks_outside_loopback(config)?;
    super::on_a_system(async {
        let sockets = Sockets::bind(config)?;
        let foundation = Foundation::open(config, hands).await?;
        let mut app = App::start(config, sockets, foundation, hands).await?;
        // Before anybody is told that it is ready: whoever waits for that may stop it in the same moment.
        let told = until_told().map_err(|error| no_signals(&error))?;
        announce(config, &app);
        let telling = actix_rt::spawn(async {
            let mut minutes = tokio::time::interval(std::time::Duration::from_secs(60));
            loop {
                minutes.tick().await;
                telemetry::tell_counted();
            }
        });
        let ended = tokio::select! {
            () = told => None,
            ended = app.ended() => Some(ended),
        };
        if let Some(why) = &ended {
            tracing::error!(%why, "a listener ended by itself");
        }
        tracing::info!("stopping");
        app.stop().await;
        telling.abort();
        telemetry::tell_counted();
        tracing::info!("stopped");
        ended.map_or(Ok(()), |why| Err(why.into()))
    })
}

pub(super) fn no_signals(error: &std::io::Error) -> CommandError {
    CommandError::Other(format!("signals cannot be received: {error}"))
}

fn announce(config: &Config, app: &App) {
    let at = app.addresses();
    for note in &config.presets {
        if note.verified == crate::config::Verified::Unverified {
            tracing::warn!(
                provider.id = %note.provider,
                preset = %note.preset,
                as_of = %note.as_of,
                "this preset's facts were not checked against the vendor"
            );
        }
    }
    tracing::info!(
        version = crate::VERSION,
        connect = %at.connect,
        api = %at.api,
        admin = %at.admin_socket.display(),
        public = %config.public_origin(),
        "ready"
    );
}

/// Listens for SIGTERM, SIGINT and SIGHUP from now on; the future ends with the first of them.
pub(crate) fn until_told() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?; // the terminal was closed
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// A build with test hooks or switched-off checks never listens where others could reach it.
fn refuse_hooks_outside_loopback(config: &Config) -> Result<(), CommandError> {
    let hooked = cfg!(feature = "test-hooks") || cfg!(feature = "kill-switch");
    let open = |address: std::net::SocketAddr| !address.ip().is_loopback();
    if hooked && (open(config.listen.connect) || open(config.listen.api)) {
        return Err(CommandError::Other(String::from(
            "this is a build for tests; it listens on loopback only",
        )));
    }
    Ok(())
}
