//! A vault in a temporary folder, filled, and then served by the program as it is released.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use actors::doors::AdminDoor as _;
use domain::Subject;
use lab::{JwtEdits, Lab, LabConfig, Person};
use secret::{AccessToken, OsEntropy};
use serde_json::json;
use strongroom::app::{IoRuntime, build_vault};
use strongroom::clock::SystemClock;
use strongroom::config::{Config, Mode, OsFiles, Outside};
use strongroom::foundation::{Foundation, Hands};

use crate::client::Request;
use crate::process::Server;
use crate::{ASKING, Fault, Plan};

const RESOURCE: &str = "https://notes.bench.test/mcp";
const SECRET: &str = "secret-of-a-measurement";
/// Grants that are stored at once.
const BATCH: usize = 512;

/// A served vault and what it stands on.
pub(crate) struct Filled {
    /// The process.
    pub(crate) server: Server,
    /// From its start until it answers.
    pub(crate) ready: Duration,
    _issuer: Lab,
    _folder: tempfile::TempDir,
}

/// Fills a vault, serves it, and makes a request for each person who asks.
pub(crate) async fn filled(plan: &Plan) -> Result<(Filled, Vec<Arc<Request>>), Fault> {
    let folder = tempfile::tempdir()?;
    let asking = ASKING.min(plan.grants);
    let issuer = LabConfig {
        people: (0..asking)
            .map(|number| Person::new(&name(number), "Somebody", &[]))
            .collect(),
        access_token_life: 24 * 3600,
        ..LabConfig::issuer()
    };
    let issuer = Lab::start(issuer, Arc::new(now_s))?;
    let secret = folder.path().join("client.secret");
    std::fs::write(&secret, SECRET)?;
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600))?;
    let ports = [free_port()?, free_port()?];
    let file = folder.path().join("strongroom.toml");
    let text = configuration(folder.path(), ports, issuer.base_url());
    std::fs::write(&file, &text)?;
    let key = fill(&text, plan.grants).await?;
    let begun = Instant::now();
    let child = Command::new(&plan.program)
        .arg("--config")
        .arg(&file)
        .arg("serve")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.path().join("log"))?)
        .spawn()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports[1]));
    let server = Server::of(child, address);
    let requests = (0..asking).map(|number| request(&issuer, &key, &name(number)));
    let requests = requests.collect::<Result<Vec<_>, _>>();
    let ready = until_ready(&file, &folder.path().join("log"), begun).await?;
    let filled = Filled {
        server,
        ready,
        _issuer: issuer,
        _folder: folder,
    };
    Ok((filled, requests?))
}

fn name(number: usize) -> String {
    format!("person-{number}")
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn free_port() -> Result<u16, Fault> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(bound.local_addr()?.port())
}

/// An installation, filled and closed again; gives a key of its MCP server.
async fn fill(text: &str, grants: usize) -> Result<String, Fault> {
    let outside = Outside {
        env: &|_| None,
        files: &OsFiles,
    };
    let config = Config::parse(text, "strongroom.toml", Mode::Serve, outside)?;
    let hands = Hands {
        clock: Arc::new(SystemClock::new()),
        entropy: Arc::new(OsEntropy),
    };
    let (foundation, _) = Foundation::create(&config, &hands).await?;
    let io = IoRuntime::start()?;
    let (vault, arbiters) = build_vault(&config, foundation, &hands, &io)?;
    let (server, provider) = ("notes".parse()?, "code".parse()?);
    let begun = Instant::now();
    for first in (0..grants).step_by(BATCH) {
        let people = (first..grants.min(first + BATCH)).map(|number| {
            let token = AccessToken::new(format!("gho_{number:036}"));
            Ok((Subject::new([name(number)])?, token))
        });
        let people = people.collect::<Result<Vec<_>, Fault>>()?;
        vault
            .fill((&server, &provider), people)
            .await
            .map_err(|refusal| refusal.to_string())?;
    }
    println!("filled in {:.0} s", begun.elapsed().as_secs_f64());
    let key = vault.new_key(vault.begin(), &server).await;
    let key = key.map_err(|refusal| refusal.to_string())?;
    vault.close().await?;
    for arbiter in &arbiters {
        arbiter.stop();
    }
    Ok(key.text.as_str().to_owned())
}

/// What this person's MCP server sends.
fn request(issuer: &Lab, key: &str, person: &str) -> Result<Arc<Request>, Fault> {
    let token = issuer.mint_access_token(person, RESOURCE, &JwtEdits::default())?;
    let body = json!({ "provider": "code", "scopes": ["repo"], "subject_token": token });
    let body = body.to_string();
    let bytes = format!(
        "POST /v1/ensure HTTP/1.1\r\nhost: vault\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Ok(Arc::new(Request {
        bytes: bytes.into_bytes(),
        expects: "\"status\":\"connected\"",
    }))
}

/// Waits until the log says it; a minute at most.
async fn until_ready(file: &Path, log: &Path, begun: Instant) -> Result<Duration, Fault> {
    loop {
        let text = std::fs::read_to_string(log)?;
        if text.contains("\"message\":\"ready\"") {
            return Ok(begun.elapsed());
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(format!("the vault of {} is not ready: {text}", file.display()).into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn configuration(folder: &Path, [connect, api]: [u16; 2], issuer: &str) -> String {
    let folder = folder.display();
    format!(
        r#"public_url = "https://connect.bench.test"
listen = {{ connect = "127.0.0.1:{connect}", api = "127.0.0.1:{api}", admin_socket = "{folder}/admin.sock" }}
data.dir = "{folder}/data"
seal.key_file = "{folder}/root.key"
danger.loopback = "only-for-tests"

[[issuer]]
slug = "corp"
url = "{issuer}"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"
require_at_jwt = true

[[provider]]
slug = "code"
name = "Code"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"
authorization_url = "https://code.bench.test/authorize"
token_url = "https://code.bench.test/token"
allowed_hosts = ["code.bench.test"]
scope = [{{ name = "repo", effect = "change", words = "your repositories" }}]

[[server]]
slug = "notes"
name = "Notes"
resource = "{RESOURCE}"
issuer = "corp"
allow = [{{ provider = "code", scopes = ["repo"] }}]
"#
    )
}
