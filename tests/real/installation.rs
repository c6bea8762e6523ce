//! The program between two `oidc-provider`s, one as issuer on 127.0.0.1, one as third-party provider on 127.0.0.2.

use reqwest::Url;
use serde_json::{Value, json};

use crate::configuration::Parts;
use crate::peer::{Peer, Said, node, run};
use crate::program::{Place, Program, free_port};
use crate::remains;
use crate::server::{Answered, McpServer};

/// Resource identifier of the MCP server.
pub(crate) const RESOURCE: &str = "https://notes.test/mcp";
const SECRET: &str = "client-secret-of-the-real-parts";
/// The API key that Alice has at the provider.
pub(crate) const KEY: &str = "arc_a7Zk2mQ9xW4tB6nR8sV1";

/// A running installation with real neighbours.
pub(crate) struct Installation {
    program: Program,
    issuer: Peer,
    provider: Peer,
    /// The MCP server's side.
    pub(crate) server: McpServer,
    /// Address of the api listener.
    pub(crate) api: String,
    http: reqwest::Client,
    place: Place,
}

impl Installation {
    /// One whose connect origin is on `localhost`.
    pub(crate) fn start() -> Self {
        Self::start_at("localhost")
    }

    /// One whose connect origin is on another name for this machine.
    pub(crate) fn start_at(host: &str) -> Self {
        let place = Place::new(SECRET);
        let ports = (free_port(), free_port());
        let connect = format!("http://{host}:{}", ports.0);
        let issuer = oidc_provider(
            "issuer",
            "127.0.0.1",
            &format!("{connect}/login/callback/corp"),
        );
        remains::secret("typed key", KEY);
        let provider = oidc_provider("provider", "127.0.0.2", &format!("{connect}/cb/practice"));
        let parts = Parts {
            host,
            ports,
            folder: &place.path("").display().to_string(),
            issuer: &issuer.address,
            provider: &provider.address,
            endpoints: ["/auth", "/token", "/token/revocation"],
            servers: &[("notes", RESOURCE)],
        };
        place.configure(&parts.text());
        let keys = place.set_up(&["notes"]);
        let program = place.serve();
        let api = format!("http://127.0.0.1:{}", ports.1);
        let server = McpServer::new(&api, &keys[0]);
        // A connection that lay idle is closed by Node just when it is used again.
        let http = reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0);
        let http = http.build().unwrap();
        Self {
            program,
            issuer,
            provider,
            server,
            api,
            http,
            place,
        }
    }

    /// The issuer's address.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer.address
    }

    /// The provider's address.
    pub(crate) fn provider(&self) -> &str {
        &self.provider.address
    }

    /// A subject token: what the MCP client of this person would send.
    pub(crate) async fn token(&self, person: &str) -> String {
        let mut url = Url::parse(&format!("{}/test/subject-token", self.issuer())).unwrap();
        url.query_pairs_mut()
            .append_pair("sub", person)
            .append_pair("resource", RESOURCE);
        let answer = self.http.get(url).send().await.unwrap();
        let token = answer.error_for_status().unwrap().text().await.unwrap();
        remains::secret("subject token", &token);
        token
    }

    /// The link of a new elicitation, and its id.
    pub(crate) async fn elicit(&self, person: &str) -> (String, String) {
        let answer = self.server.ensure(&self.token(person).await).await;
        assert_eq!(
            answer.body["status"],
            "elicit",
            "{}\n{}",
            answer.body,
            self.program.log()
        );
        (
            answer.text("/elicitation/connect_url").to_owned(),
            answer.text("/elicitation/id").to_owned(),
        )
    }

    /// What `ensure` says now.
    pub(crate) async fn status(&self, person: &str) -> String {
        self.server
            .ensure(&self.token(person).await)
            .await
            .text("/status")
            .to_owned()
    }

    /// What `ensure` says for Alice at the provider that gives out keys.
    pub(crate) async fn ensure_key(&self) -> Answered {
        let over = json!({ "provider": "archive", "scopes": [] });
        self.server
            .ensure_with(&self.token("alice").await, over)
            .await
    }

    /// The state of an elicitation.
    pub(crate) async fn state(&self, person: &str, elicitation: &str) -> String {
        let token = self.token(person).await;
        let path = format!("/v1/elicitations/{elicitation}");
        self.server
            .call(
                reqwest::Method::GET,
                &path,
                &[("subject-token", &token)],
                None,
            )
            .await
            .text("/state")
            .to_owned()
    }

    /// What the provider's API gives for the credential of this person.
    pub(crate) async fn notes(&self, person: &str) -> Value {
        let answer = self.server.ensure(&self.token(person).await).await;
        assert_eq!(
            answer.body["status"],
            "connected",
            "{}\n{}",
            answer.body,
            self.program.log()
        );
        let value = answer.text("/credential/header/value");
        let notes = self
            .http
            .get(format!("{}/api/notes", self.provider()))
            .header("authorization", value)
            .send()
            .await
            .unwrap();
        serde_json::from_str(&notes.error_for_status().unwrap().text().await.unwrap()).unwrap()
    }

    /// How often something happened at the provider.
    pub(crate) async fn provider_count(&self, what: &str) -> u64 {
        let counts = self
            .http
            .get(format!("{}/test/counts", self.provider()))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        serde_json::from_str::<Value>(&counts).unwrap()[what]
            .as_u64()
            .unwrap_or(0)
    }

    /// A walk in Chromium; it must end as expected, without anything wrong on any page.
    pub(crate) async fn walk(&self, url: &str, arguments: &[&str]) -> Value {
        let mut command = node("walk.mjs");
        command.arg(url).args(arguments);
        let Said { code, json, all } = run(command).await;
        assert_eq!(code, 0, "{all}\n{}", self.program.log());
        json
    }

    /// An attack in Chromium; gives the facts that came of it.
    pub(crate) async fn attack(&self, name: &str, argument: &Value) -> Value {
        let mut command = node("attacks.mjs");
        command.arg(name).arg(argument.to_string());
        let Said { code, json, all } = run(command).await;
        assert_eq!(code, 0, "{all}\n{}", self.program.log());
        assert_eq!(json["problems"], json!([]), "{all}");
        json["facts"].clone()
    }

    /// How many audit entries have this action.
    pub(crate) fn audited(&self, action: &str) -> usize {
        let text = std::fs::read_to_string(self.place.path("data/audit/audit.jsonl")).unwrap();
        let entries = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["action"] == action).count()
    }

    /// What was logged, for messages.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    /// Ends it; the program must end well.
    pub(crate) fn stop(self) {
        self.program.stop();
    }
}

fn oidc_provider(role: &str, host: &str, callback: &str) -> Peer {
    let clients = json!([{ "client_id": "strongroom", "client_secret": SECRET, "redirect_uris": [callback] }]);
    let mut command = node("op.mjs");
    command.args([
        "--role",
        role,
        "--host",
        host,
        "--clients",
        &clients.to_string(),
        "--keys",
        &json!({ KEY: "alice" }).to_string(),
    ]);
    Peer::start(command)
}
