//! A whole installation for one test: vault, sled store, two labs, a clock.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use actors::doors::AdminDoor as _;
use lab::{ConsentRule, JwtEdits, Lab, LabClient, LabConfig};
use secret::OsEntropy;
use strongroom::app::{App, Sockets};
use strongroom::config::{Config, Mode, OsFiles, Outside};
use strongroom::foundation::{Foundation, Hands};
use tempfile::TempDir;

use super::ports::free_port;
use crate::lab_remains::{self, Role};
use crate::remains;

use super::{Browser, ManualClock, McpServer, Page};

/// The resource identifier of the test's MCP server.
pub(crate) const RESOURCE: &str = "https://s1.test/mcp";

/// What a test wants different from the ordinary installation.
#[derive(Default)]
pub(crate) struct Setup {
    /// More configuration, appended to the file (further `[[server]]`, `[[provider]]`, `[[tenant]]`, … tables).
    /// `{issuer}`, `{provider}` and `{folder}` are replaced.
    pub(crate) more: String,
    /// Changes to the practice provider.
    pub(crate) provider: Change,
    /// Changes to the practice issuer.
    pub(crate) issuer: Change,
}

/// A running installation.
pub(crate) struct TestVault {
    /// The running program.
    pub(crate) app: App,
    /// Its configuration.
    pub(crate) config: Config,
    /// Its issuer.
    pub(crate) issuer: Lab,
    /// Its provider.
    pub(crate) provider: Lab,
    /// Everybody's clock.
    pub(crate) clock: ManualClock,
    /// `http://localhost:port`.
    pub(crate) connect: String,
    /// `http://127.0.0.1:port`.
    pub(crate) api: String,
    /// The first MCP server, `s1`.
    pub(crate) s1: McpServer,
    /// The store itself, as whoever holds the disk sees it.
    pub(crate) store: Arc<dyn storage::Store>,
    folder: Folder,
}

/// The folder of everything. When it goes, what a search for secrets needs is left behind.
struct Folder {
    place: TempDir,
    issuer: Lab,
    provider: Lab,
}

impl Folder {
    fn path(&self) -> &std::path::Path {
        self.place.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        lab_remains::keep(Role::Issuer, &self.issuer);
        lab_remains::keep(Role::Provider, &self.provider);
        remains::disk(self.path());
    }
}

impl TestVault {
    /// The ordinary installation.
    pub(crate) async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    /// An installation with differences.
    pub(crate) async fn start_with(setup: Setup) -> Self {
        super::kill::arm();
        if remains::folder().is_some() {
            super::log();
        }
        remains::secret("client secret", SECRET);
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let (connect_port, api_port) = (free_port(), free_port());
        let connect = format!("http://localhost:{connect_port}");
        let (issuer, provider) = labs(&connect, &clock, setup.issuer, setup.provider);
        write_secret(&folder);
        let place = folder.path().display().to_string();
        let text = configuration((connect_port, api_port), &issuer, &provider, &place)
            + &setup
                .more
                .replace("{issuer}", issuer.base_url())
                .replace("{provider}", provider.base_url())
                .replace("{folder}", &place);
        let config = Config::parse(
            &text,
            "test.toml",
            Mode::Dev,
            Outside {
                env: &|_| None,
                files: &OsFiles,
            },
        )
        .unwrap_or_else(|faults| panic!("{faults}"));
        let hands = hands(&clock);
        let (foundation, _) = Foundation::create(&config, &hands).await.unwrap();
        let store = Arc::clone(&foundation.store);
        let app = App::start(&config, Sockets::bind(&config).unwrap(), foundation, &hands)
            .await
            .unwrap();
        let api = format!("http://127.0.0.1:{api_port}");
        let key = new_key(&app, "s1").await;
        let s1 = McpServer::new(&api, &key);
        let folder = Folder {
            place: folder,
            issuer: issuer.clone(),
            provider: provider.clone(),
        };
        Self {
            app,
            config,
            issuer,
            provider,
            clock,
            connect,
            api,
            s1,
            store,
            folder,
        }
    }

    /// A server with a fresh key.
    pub(crate) async fn server(&self, slug: &str) -> McpServer {
        McpServer::new(&self.api, &new_key(&self.app, slug).await)
    }

    /// Stops the process and starts another one on the same folder: what a crash or upgrade in the middle is like.
    pub(crate) async fn restart(self) -> Self {
        self.restart_after(|_| {}).await
    }

    /// Stops the process and starts another one after so many seconds; negative when the clock was set back meanwhile.
    pub(crate) async fn restart_later(self, seconds: i64) -> Self {
        let clock = self.clock.clone();
        self.restart_after(move |_| clock.move_s(seconds)).await
    }

    /// Stops the process, puts an earlier image of its disk back and starts another process on it.
    pub(crate) async fn restart_from(self, image: &TempDir) -> Self {
        let put_back = |data: &std::path::Path| {
            std::fs::remove_dir_all(data).unwrap();
            copy_folder(image.path(), data);
        };
        self.restart_after(put_back).await
    }

    async fn restart_after(self, between: impl FnOnce(&std::path::Path)) -> Self {
        let Self {
            app,
            config,
            issuer,
            provider,
            clock,
            connect,
            api,
            s1,
            store,
            folder,
        } = self;
        app.stop().await;
        drop(store);
        between(&folder.path().join("data"));
        let hands = hands(&clock);
        let foundation = Foundation::open(&config, &hands).await.unwrap();
        let store = Arc::clone(&foundation.store);
        let app = App::start(&config, Sockets::bind(&config).unwrap(), foundation, &hands)
            .await
            .unwrap();
        Self {
            app,
            config,
            issuer,
            provider,
            clock,
            connect,
            api,
            s1,
            store,
            folder,
        }
    }

    /// Stops the process and tries to open its folder again; gives the complaint when that is refused.
    pub(crate) async fn reopen(self) -> Result<(), String> {
        let Self {
            app,
            config,
            clock,
            store,
            folder,
            ..
        } = self;
        app.stop().await;
        drop(store);
        let opened = Foundation::open(&config, &hands(&clock)).await;
        drop(folder);
        opened.map(|_| ()).map_err(|error| error.to_string())
    }

    /// A copy of what is on the disk at this moment: what a killed process leaves behind.
    pub(crate) fn image(&self) -> TempDir {
        let image = tempfile::tempdir().unwrap();
        copy_folder(&self.folder().join("data"), image.path());
        image
    }

    /// Ends everything.
    pub(crate) async fn stop(self) {
        self.app.stop().await;
        self.issuer.stop().await;
        self.provider.stop().await;
    }

    /// Ends everything but what is on the disk; gives the configuration, and the folder for as long as it is held.
    pub(crate) async fn stop_keeping(self) -> (Config, impl Drop) {
        self.app.stop().await;
        drop(self.store);
        self.issuer.stop().await;
        self.provider.stop().await;
        (self.config, self.folder)
    }

    /// The folder of everything.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A subject token of `person` for `s1`.
    pub(crate) fn token(&self, person: &str) -> String {
        self.token_for(person, RESOURCE, &JwtEdits::default())
    }

    /// A subject token for another audience or with other claims.
    pub(crate) fn token_for(&self, person: &str, audience: &str, edits: &JwtEdits) -> String {
        let token = self
            .issuer
            .mint_access_token(person, audience, edits)
            .unwrap();
        remains::secret("subject token", &token);
        token
    }

    /// Asks for a credential of `person` and gives the connect URL.
    pub(crate) async fn connect_url(&self, person: &str) -> String {
        let answer = self.s1.ensure(&self.token(person)).await;
        assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
        answer.text("/elicitation/connect_url").to_owned()
    }

    /// Opens a link and signs in at the issuer; gives the page of ours that follows.
    pub(crate) async fn sign_in(&self, browser: &mut Browser, url: &str, person: &str) -> Page {
        let page = browser.open(url).await;
        if page.form("/login").is_none() {
            return page;
        }
        let at_issuer = browser.press(&page, "/login", &[]).await;
        self.at_lab(browser, at_issuer, person).await
    }

    /// Picks an account and says yes on a lab's pages; follows back to us.
    pub(crate) async fn at_lab(
        &self,
        browser: &mut Browser,
        mut page: Page,
        account: &str,
    ) -> Page {
        for (deed, name, value) in [
            ("/authorize/account", "account", account),
            ("/authorize/consent", "consent", "yes"),
        ] {
            if page.form(deed).is_some() {
                page = browser.press(&page, deed, &[(name, value)]).await;
            }
        }
        page
    }

    /// From the consent page to the confirm page.
    pub(crate) async fn consent(&self, browser: &mut Browser, page: &Page, account: &str) -> Page {
        let at_provider = browser.press(page, "/consent", &[("agree", "yes")]).await;
        self.at_lab(browser, at_provider, account).await
    }

    /// The whole walk of one person: sign in, yes, provider, yes.
    pub(crate) async fn walk(&self, browser: &mut Browser, person: &str, account: &str) -> Page {
        let url = self.connect_url(person).await;
        let consent = self.sign_in(browser, &url, person).await;
        let confirm = self.consent(browser, &consent, account).await;
        browser
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
    }

    /// All audit entries so far.
    pub(crate) fn audit(&self) -> Vec<serde_json::Value> {
        let text =
            std::fs::read_to_string(self.folder.path().join("data/audit/audit.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How many audit entries have this action and outcome.
    pub(crate) fn audited(&self, action: &str, outcome: &str) -> usize {
        self.audit()
            .iter()
            .filter(|entry| entry["action"] == action && entry["outcome"] == outcome)
            .count()
    }
}

fn hands(clock: &ManualClock) -> Hands {
    Hands {
        clock: Arc::new(clock.clone()),
        entropy: Arc::new(OsEntropy),
    }
}

async fn new_key(app: &App, slug: &str) -> String {
    let vault = app.vault();
    vault
        .new_key(vault.begin(), &slug.parse().unwrap())
        .await
        .unwrap()
        .text
        .as_str()
        .to_owned()
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn write_secret(folder: &TempDir) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join("lab.secret");
    std::fs::write(&path, SECRET).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Our client secret at both labs; the leak test looks for it.
pub(crate) const SECRET: &str = "canary-client-secret-4f1d0c8a97";

/// A change to a lab's configuration.
pub(crate) type Change = Option<Box<dyn FnOnce(&mut LabConfig)>>;

fn labs(
    connect: &str,
    clock: &ManualClock,
    change_issuer: Change,
    change_provider: Change,
) -> (Lab, Lab) {
    let ticking = clock.clone();
    let clock = Arc::new(move || ticking.seconds());
    let mut issuer = LabConfig {
        clients: vec![LabClient::basic(
            "strongroom",
            SECRET,
            &format!("{connect}/login/callback/corp"),
        )],
        consent: ConsentRule::Once,
        ..LabConfig::issuer()
    };
    let mut provider = LabConfig {
        addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), 0),
        clients: vec![LabClient::basic(
            "strongroom",
            SECRET,
            &format!("{connect}/cb/practice"),
        )],
        ..LabConfig::provider()
    };
    if let Some(change) = change_issuer {
        change(&mut issuer);
    }
    if let Some(change) = change_provider {
        change(&mut provider);
    }
    (
        Lab::start(issuer, clock.clone()).unwrap(),
        Lab::start(provider, clock).unwrap(),
    )
}

fn configuration((connect, api): (u16, u16), issuer: &Lab, provider: &Lab, folder: &str) -> String {
    let (issuer, provider) = (issuer.base_url(), provider.base_url());
    let host = provider.trim_start_matches("http://");
    format!(
        r#"public_url = "http://localhost:{connect}"
listen = {{ connect = "127.0.0.1:{connect}", api = "127.0.0.1:{api}", admin_socket = "{folder}/admin.sock" }}
data.dir = "{folder}/data"
seal.key_file = "{folder}/root.key"

[[issuer]]
slug = "corp"
url = "{issuer}"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
require_at_jwt = true
login_scopes = ["openid", "profile", "email"]

[[server]]
slug = "s1"
name = "Server One"
resource = "{RESOURCE}"
issuer = "corp"
allow = [{{ provider = "practice", scopes = ["notes.read", "notes.write"] }}]

[[provider]]
slug = "practice"
name = "Practice Notes"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
authorization_url = "{provider}/authorize"
token_url = "{provider}/token"
revocation_url = "{provider}/revoke"
callback_issuer = "{provider}"
callback_issuer_required = true
authorize_extra = {{ prompt = "select_account" }}
allowed_hosts = ["{host}"]
account = {{ from = "endpoint", url = "{provider}/api/me", id = "/id", name = "/name" }}
scope = [
  {{ name = "notes.read", effect = "see", words = "your practice notes", words_in = {{ zh-Hans = "您的练习笔记" }} }},
  {{ name = "notes.write", effect = "change", words = "your practice notes" }},
]

"#
    )
}
