//! `strongroom dev`: a practice vault on this machine, with a practice issuer and a practice provider, in one command.
//!
//! It is the real vault, on a real store in a temporary folder, between two labs. Everything listens on loopback, and on
//! different hosts, because ports do not separate cookies: the vault on `localhost`, the issuer on 127.0.0.1, the provider
//! on 127.0.0.2. Everything is gone when it stops.

mod desk;
mod practice;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::System;

use crate::app::{App, Sockets};
use crate::cli::{CommandError, say};
use crate::config::{Config, Mode, OsFiles, Outside};
use crate::foundation::{Foundation, Hands};
use crate::telemetry::{self, Format};

pub(crate) use practice::{Ports, Practice};

/// What was asked of `strongroom dev`.
pub enum Wish {
    /// Run a practice vault.
    Run {
        /// Port of the connect listener; 0 picks free ones.
        port: u16,
        /// Life of the practice provider's access tokens, in seconds.
        token_life_s: u64,
        /// File that gets the addresses and the server key as JSON.
        write: Option<PathBuf>,
    },
    /// Print a subject token from the practice vault that is running.
    Token {
        /// Its connect port.
        port: u16,
        /// `alice` or `bob`.
        person: String,
    },
}

/// The connect port with the practice ports behind it, which go up to eleven further.
const LAST_PORT: u16 = u16::MAX - 11;

/// Runs `strongroom dev`.
///
/// # Errors
/// [`CommandError`].
pub fn run(wish: Wish, hands: Hands) -> Result<(), CommandError> {
    match wish {
        Wish::Token { port, person } => System::new().block_on(desk::print_token(port, &person)),
        Wish::Run { port, .. } if port > LAST_PORT => Err(CommandError::Usage(format!(
            "port {port} leaves no room for the practice ports behind it; choose one up to {LAST_PORT}"
        ))),
        Wish::Run {
            port,
            token_life_s,
            write,
        } => {
            telemetry::install(
                Format::Text,
                crate::cli::environment("STRONGROOM_LOG")
                    .as_deref()
                    .or(Some("warn,strongroom=info")),
            );
            crate::cli::on_a_system(practise(Ports::from(port), token_life_s, write, hands))
        }
    }
}

async fn practise(
    ports: Ports,
    token_life_s: u64,
    write: Option<PathBuf>,
    hands: Hands,
) -> Result<(), CommandError> {
    // First, so that a path that cannot be written is told before anything was started.
    let write = write.map(|path| private_file(&path)).transpose()?;
    let folder = Folder::make(&hands)?;
    let clock = Arc::clone(&hands.clock);
    let seconds = move || u64::try_from(clock.now().as_seconds()).unwrap_or(0);
    let practice = Practice::start(ports, token_life_s, Arc::new(seconds), practice_key(&hands))
        .map_err(other)?;
    folder.write_secret(practice::SECRET)?;
    let text = practice.configuration(&folder.0);
    let config = Config::parse(
        &text,
        "the practice configuration",
        Mode::Dev,
        Outside {
            env: &|_| None,
            files: &OsFiles,
        },
    )?;
    let told = crate::cli::until_told().map_err(other)?;
    let sockets = Sockets::bind(&config)?;
    let (foundation, _) = Foundation::create(&config, &hands).await?;
    let mut app = App::start(&config, sockets, foundation, &hands).await?;
    let key = server_key(&app).await?;
    let desk = desk::Desk::start(ports.desk, practice.issuer.clone()).map_err(other)?;
    let token = practice.token("alice").map_err(other)?;
    let link = first_link(app.addresses().api, &key, &token).await?;
    let notes = words::Notes {
        practice: &practice,
        addresses: app.addresses(),
        key: &key,
        desk: desk.address(),
        link: &link,
    };
    if let Some((mut file, path)) = write {
        use std::io::Write as _;
        file.write_all(notes.json().as_bytes())
            .map_err(|error| unwritable(&path, &error))?;
    }
    notes.print();
    let ended = tokio::select! {
        () = told => None,
        ended = app.ended() => Some(ended),
    };
    say("Stopping. Everything of this practice run is removed.");
    desk.stop().await;
    app.stop().await;
    practice.stop().await;
    drop(folder);
    ended.map_or(Ok(()), |why| Err(why.into()))
}

/// The key that Alice has at the practice provider, another in each run.
fn practice_key(hands: &Hands) -> String {
    unguessable::<16>(practice::KEY_BEGINS, hands)
}

/// Text that begins so and goes on with random bytes in hexadecimal.
fn unguessable<const BYTES: usize>(begins: &str, hands: &Hands) -> String {
    let mut random = [0; BYTES];
    hands.entropy.fill(&mut random);
    random.iter().fold(begins.to_owned(), |text, byte| {
        text + &format!("{byte:02x}")
    })
}

async fn server_key(app: &App) -> Result<zeroize::Zeroizing<String>, CommandError> {
    use actors::doors::AdminDoor as _;
    let vault = app.vault();
    let slug = practice::SERVER
        .parse()
        .map_err(|_| CommandError::Other(String::from("the practice server has no slug")))?;
    let key = vault
        .new_key(vault.begin(), &slug)
        .await
        .map_err(|refusal| CommandError::Other(refusal.to_string()))?;
    Ok(key.text)
}

/// Makes a file for its owner alone: it will hold a server key.
fn private_file(path: &Path) -> Result<(std::fs::File, PathBuf), CommandError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| unwritable(path, &error))?;
    Ok((file, path.to_path_buf()))
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Other(format!(
        "{} cannot be written: {error}; choose another file for --write",
        path.display()
    ))
}

/// Plays the MCP server once, over the wire: asks for Alice's credential and gets a link.
async fn first_link(
    api: std::net::SocketAddr,
    key: &str,
    token: &str,
) -> Result<String, CommandError> {
    let body = serde_json::json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .build()
        .map_err(other)?;
    let request = client
        .post(format!("http://{api}/v1/ensure"))
        .bearer_auth(key);
    let answer = request
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await
        .map_err(other)?;
    let answer: serde_json::Value =
        serde_json::from_slice(&answer.bytes().await.map_err(other)?).map_err(other)?;
    let link = answer
        .pointer("/elicitation/connect_url")
        .and_then(serde_json::Value::as_str);
    link.map(str::to_owned)
        .ok_or_else(|| CommandError::Other(String::from("the practice vault did not give a link")))
}

/// How long calls within this machine may take.
const PATIENCE: Duration = Duration::from_secs(30);

fn other(error: impl std::fmt::Display) -> CommandError {
    CommandError::Other(error.to_string())
}

/// A folder for one practice run; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn make(hands: &Hands) -> Result<Self, CommandError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let name = unguessable::<8>("strongroom-dev-", hands);
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(other)?;
        Ok(Self(path))
    }

    /// Secrets come from files here, too, as they do in real use.
    fn write_secret(&self, secret: &str) -> Result<(), CommandError> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = self.0.join("lab.secret");
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(other)?;
        file.write_all(secret.as_bytes()).map_err(other)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "the practice folder was not removed");
        }
    }
}
