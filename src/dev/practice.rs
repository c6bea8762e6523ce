//! The two labs around a practice vault, and the configuration that joins them to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use lab::{JwtEdits, Lab, LabClient, LabClock, LabConfig, LabError};

/// Slug of the practice MCP server.
pub(crate) const SERVER: &str = "practice-server";
/// Its resource identifier: the audience of subject tokens.
pub(crate) const RESOURCE: &str = "http://127.0.0.1:7620/mcp";

/// What the keys of the practice provider begin with.
pub(crate) const KEY_BEGINS: &str = "prac_key_";

/// Ports of a practice run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// The vault's connect listener.
    pub(crate) connect: u16,
    /// The vault's api listener.
    pub(crate) api: u16,
    /// The desk that gives out subject tokens.
    pub(crate) desk: u16,
    /// The practice issuer.
    pub(crate) issuer: u16,
    /// The practice provider.
    pub(crate) provider: u16,
}

impl From<u16> for Ports {
    /// The connect port and its neighbours. For 0, ports that are free at the moment: the vault's own have to be known
    /// before it starts, since they stand in redirect URIs.
    fn from(connect: u16) -> Self {
        if connect == 0 {
            let free = [(); 3].map(|()| free_port());
            let [connect, api, desk] = free;
            return Self {
                connect,
                api,
                desk,
                issuer: 0,
                provider: 0,
            };
        }
        let next = |step| connect.saturating_add(step);
        Self {
            connect,
            api: next(1),
            desk: next(3),
            issuer: next(10),
            provider: next(11),
        }
    }
}

fn free_port() -> u16 {
    let bound =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map_or(0, |address| address.port())
}

/// The labs of a practice run.
pub(crate) struct Practice {
    /// Where people sign in.
    pub(crate) issuer: Lab,
    /// What people connect.
    pub(crate) provider: Lab,
    /// The key that Alice has there.
    pub(crate) key: String,
    ports: Ports,
}

impl Practice {
    /// Starts both labs. `key` becomes Alice's API key at the practice provider.
    pub(crate) fn start(
        ports: Ports,
        token_life_s: u64,
        clock: Arc<dyn LabClock>,
        key: String,
    ) -> Result<Self, LabError> {
        let connect = format!("http://localhost:{}", ports.connect);
        let issuer = LabConfig {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), ports.issuer),
            audience: RESOURCE.to_owned(),
            access_token_life: 3600, // as long as somebody may take to read on
            clients: vec![LabClient::basic(
                "strongroom",
                SECRET,
                &format!("{connect}/login/callback/practice-issuer"),
            )],
            ..LabConfig::issuer()
        };
        let provider = LabConfig {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), ports.provider),
            clients: vec![LabClient::basic(
                "strongroom",
                SECRET,
                &format!("{connect}/cb/practice"),
            )],
            access_token_life: token_life_s,
            ..LabConfig::provider()
        };
        let provider = Lab::start(provider, Arc::clone(&clock))?;
        provider.give_key(&key, Some("alice-at-practice"))?;
        Ok(Self {
            issuer: Lab::start(issuer, clock)?,
            provider,
            key,
            ports,
        })
    }

    /// A subject token of a practice person.
    pub(crate) fn token(&self, person: &str) -> Result<String, LabError> {
        self.issuer
            .mint_access_token(person, RESOURCE, &JwtEdits::default())
    }

    /// The vault's configuration, with everything of it below `folder`.
    pub(crate) fn configuration(&self, folder: &Path) -> String {
        let (issuer, provider) = (self.issuer.base_url(), self.provider.base_url());
        let host = provider.trim_start_matches("http://");
        let Ports { connect, api, .. } = self.ports;
        let folder = folder.display();
        format!(
            r#"public_url = "http://localhost:{connect}"

[listen]
connect = "127.0.0.1:{connect}"
api = "127.0.0.1:{api}"
admin_socket = "{folder}/admin.sock"

[data]
dir = "{folder}/data"

[seal]
key_file = "{folder}/root.key"

[operator]
name = "Practice"

[[issuer]]
slug = "practice-issuer"
url = "{issuer}"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
require_at_jwt = true
login_scopes = ["openid", "profile", "email"]

[[server]]
slug = "{SERVER}"
name = "Practice notes server"
resource = "{RESOURCE}"
issuer = "practice-issuer"
subject = "token"

[[server.allow]]
provider = "practice"
scopes = ["notes.read", "notes.write"]

[[server.allow]]
provider = "practice-key"
scopes = []

[[provider]]
slug = "practice"
name = "Practice Notes"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
client_auth = "basic"
authorization_url = "{provider}/authorize"
token_url = "{provider}/token"
revocation_url = "{provider}/revoke"
callback_issuer = "{provider}"
callback_issuer_required = true
authorize_extra = {{ prompt = "select_account" }}
allowed_hosts = ["{host}"]

[provider.account]
from = "endpoint"
url = "{provider}/api/me"
id = "/id"
name = "/name"

[[provider.scope]]
name = "notes.read"
effect = "see"
words = "your practice notes"
words_in = {{ zh-Hans = "您的练习笔记" }}

[[provider.scope]]
name = "notes.write"
effect = "change"
words = "your practice notes: add, edit and delete them"
words_in = {{ zh-Hans = "您的练习笔记：添加、编辑和删除" }}
{}"#,
            key_provider(provider, host)
        )
    }

    /// Stops both labs.
    pub(crate) async fn stop(self) {
        self.issuer.stop().await;
        self.provider.stop().await;
    }
}

/// The provider file's part for those who type in a key.
fn key_provider(provider: &str, host: &str) -> String {
    format!(
        r#"
[[provider]]
slug = "practice-key"
kind = "api_key"
name = "Practice Archive"
allowed_hosts = ["{host}"]

[provider.key]
label = "API key"
label_in = {{ zh-Hans = "API 密钥" }}
hint = "The window in which you started the practice vault shows Alice's."
hint_in = {{ zh-Hans = "您启动练习保险库的窗口里显示了 Alice 的密钥。" }}
begins = "{KEY_BEGINS}"

[provider.account]
from = "endpoint"
url = "{provider}/api/me"
id = "/id"
name = "/name"
"#
    )
}

/// The secret of the practice registrations. It opens nothing but labs on this machine.
pub(crate) const SECRET: &str = "practice-secret-of-a-lab-on-loopback";
