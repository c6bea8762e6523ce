//! The configuration of an installation whose issuer and provider stand on loopback.

/// Where everything is.
pub(crate) struct Parts<'a> {
    /// Host of the connect origin.
    pub(crate) host: &'a str,
    /// Ports of the connect and the api listener.
    pub(crate) ports: (u16, u16),
    /// Folder of data, key file, socket and client secret.
    pub(crate) folder: &'a str,
    /// The issuer.
    pub(crate) issuer: &'a str,
    /// The provider.
    pub(crate) provider: &'a str,
    /// Authorization, token and revocation endpoint below the provider's address.
    pub(crate) endpoints: [&'a str; 3],
    /// Slugs and resource identifiers of the servers.
    pub(crate) servers: &'a [(&'a str, &'a str)],
}

impl Parts<'_> {
    /// As TOML.
    pub(crate) fn text(&self) -> String {
        let Self {
            host,
            ports: (connect, api),
            folder,
            issuer,
            provider,
            endpoints: [authorize, token, revoke],
            ..
        } = self;
        let at = provider.trim_start_matches("http://");
        let servers: String = self
            .servers
            .iter()
            .map(|(slug, resource)| server(slug, resource))
            .collect();
        format!(
            r#"public_url = "http://{host}:{connect}"
listen = {{ connect = "127.0.0.1:{connect}", api = "127.0.0.1:{api}", admin_socket = "{folder}/admin.sock" }}
data.dir = "{folder}/data"
seal.key_file = "{folder}/root.key"

[[issuer]]
slug = "corp"
url = "{issuer}"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"
require_at_jwt = true
login_scopes = ["openid", "profile", "email"]

[[provider]]
slug = "practice"
name = "Practice Notes"
client_id = "strongroom"
client_secret = "file:{folder}/client.secret"
authorization_url = "{provider}{authorize}"
token_url = "{provider}{token}"
revocation_url = "{provider}{revoke}"
callback_issuer = "{provider}"
callback_issuer_required = true
allowed_hosts = ["{at}"]
account = {{ from = "endpoint", url = "{provider}/api/me", id = "/id", name = "/name" }}
scope = [
  {{ name = "notes.read", effect = "see", words = "your practice notes" }},
  {{ name = "notes.write", effect = "change", words = "your practice notes" }},
]

[[provider]]
slug = "archive"
kind = "api_key"
name = "Practice Archive"
allowed_hosts = ["{at}"]
account = {{ from = "endpoint", url = "{provider}/api/me", id = "/id", name = "/name" }}
key = {{ label = "API key", label_in = {{ zh-Hans = "API 密钥" }}, begins = "arc_" }}
{servers}"#
        )
    }
}

fn server(slug: &str, resource: &str) -> String {
    format!(
        r#"
[[server]]
slug = "{slug}"
name = "Server {slug}"
resource = "{resource}"
issuer = "corp"
allow = [
  {{ provider = "practice", scopes = ["notes.read", "notes.write"] }},
  {{ provider = "archive", scopes = [] }},
]
"#
    )
}
