//! A larger installation: two tenants, three issuers, four servers, so that there is somebody to attack from next door.

use lab::{JwtEdits, Lab, LabClient, LabConfig};
use serde_json::json;

use crate::support::{Browser, ManualClock, McpServer, Setup, TestVault};

/// `s1` and `s2` in tenant `default`, `s3` and `s4` in tenant `t2`.
pub(crate) struct World {
    pub(crate) vault: TestVault,
    /// Another issuer; only `s4` of `t2` knows it.
    pub(crate) j: Lab,
    /// Same tenant and issuer as `s1`; may assert subjects.
    pub(crate) s2: McpServer,
    /// Another tenant, the same people at the same issuer; takes tokens for several audiences and of any type.
    pub(crate) s3: McpServer,
    /// Another tenant and another issuer.
    pub(crate) s4: McpServer,
}

/// Resource identifiers of the other servers.
pub(crate) const R2: &str = "https://s2.test/mcp";
pub(crate) const R3: &str = "https://s3.test/mcp";
pub(crate) const R4: &str = "https://s4.test/mcp";

const MORE: &str = r#"
[[tenant]]
slug = "default"
name = "First"

[[tenant]]
slug = "t2"
name = "Second"

[[issuer]]
slug = "corp-t2"
tenant = "t2"
url = "{issuer}"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
several_audiences = true
login_scopes = ["openid", "profile", "email"]

[[issuer]]
slug = "other"
tenant = "t2"
url = "{j}"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"

[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
subject = "asserted"
allow = [{ provider = "practice", scopes = ["notes.read"] }]

[[server]]
slug = "s3"
tenant = "t2"
name = "Server Three"
resource = "https://s3.test/mcp"
issuer = "corp-t2"
allow = [{ provider = "practice2", scopes = ["notes.read"] }]

[[server]]
slug = "s4"
tenant = "t2"
name = "Server Four"
resource = "https://s4.test/mcp"
issuer = "other"
allow = [{ provider = "practice2", scopes = ["notes.read"] }]

[[provider]]
slug = "practice2"
tenant = "t2"
name = "Practice Notes"
client_id = "strongroom"
client_secret = "file:{folder}/lab.secret"
authorization_url = "{provider}/authorize"
token_url = "{provider}/token"
revocation_url = "{provider}/revoke"
callback_issuer = "{provider}"
callback_issuer_required = true
allowed_hosts = ["practice.test"]
account = { from = "endpoint", url = "{provider}/api/me", id = "/id", name = "/name" }
scope = [{ name = "notes.read", effect = "see", words = "your practice notes" }]
"#;

impl World {
    /// Starts it.
    pub(crate) async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    /// Starts it with other labs.
    pub(crate) async fn start_with(setup: Setup) -> Self {
        let clock = ManualClock::new();
        let j = Lab::start(
            LabConfig::issuer(),
            std::sync::Arc::new(move || clock.seconds()),
        )
        .unwrap();
        let more = MORE.replace("{j}", j.base_url()) + &setup.more;
        let vault = TestVault::start_with(Setup { more, ..setup }).await;
        let paths = |paths: [&str; 2]| {
            paths
                .map(|path| format!("{}{path}", vault.connect))
                .to_vec()
        };
        let client = |redirect_uris| LabClient {
            redirect_uris,
            ..LabClient::basic("strongroom", crate::support::SECRET, "")
        };
        vault.issuer.add_client(client(paths([
            "/login/callback/corp",
            "/login/callback/corp-t2",
        ])));
        vault
            .provider
            .add_client(client(paths(["/cb/practice", "/cb/practice2"])));
        let (s2, s3, s4) = (
            vault.server("s2").await,
            vault.server("s3").await,
            vault.server("s4").await,
        );
        Self {
            vault,
            j,
            s2,
            s3,
            s4,
        }
    }

    /// An honest subject token for one of the servers.
    pub(crate) fn token(&self, person: &str, resource: &str) -> String {
        let lab = if resource == R4 {
            &self.j
        } else {
            &self.vault.issuer
        };
        lab.mint_access_token(person, resource, &JwtEdits::default())
            .unwrap()
    }

    /// The whole walk of one person for `s2` or `s3`; gives the grant's id.
    pub(crate) async fn connect(
        &self,
        server: &McpServer,
        (person, account): (&str, &str),
        resource: &str,
    ) -> String {
        let provider = if resource == R3 {
            "practice2"
        } else {
            "practice"
        };
        let token = self.token(person, resource);
        let asked = server
            .ensure_with(&token, json!({ "provider": provider }))
            .await;
        let mut browser = Browser::new();
        let consent = self
            .vault
            .sign_in(&mut browser, asked.text("/elicitation/connect_url"), person)
            .await;
        let confirm = self.vault.consent(&mut browser, &consent, account).await;
        assert_eq!(
            browser
                .press(&confirm, "/confirm", &[("mine", "yes")])
                .await
                .h1(),
            "Connected"
        );
        let got = server
            .ensure_with(&token, json!({ "provider": provider }))
            .await;
        got.text("/grant/id").to_owned()
    }

    /// Ends everything.
    pub(crate) async fn stop(self) {
        self.vault.stop().await;
        self.j.stop().await;
    }
}
