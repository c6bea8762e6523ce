//! Every key there is, table by table, with the advice that a fault about it ends in.

mod providers;
#[cfg(test)]
pub(super) mod tables;

pub(super) use providers::{ACCOUNT, FIELD, PROVIDER, SCOPE};

/// A key and what to write there.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) write: &'static str,
}

/// The keys of one table.
pub(super) type Keys = &'static [Key];

const fn key(name: &'static str, write: &'static str) -> Key {
    Key { name, write }
}

/// The advice for a key.
pub(super) fn hint(keys: Keys, name: &str) -> &'static str {
    keys.iter()
        .find(|key| key.name == name)
        .map_or("Remove it.", |key| key.write)
}

const SLUG: Key = key(
    "slug",
    "Write a short name that never changes again, e.g. `slug = \"notes\"`: 1 to 32 characters from a-z, 0-9 and -.",
);
const TENANT_OF: Key = key(
    "tenant",
    "Write the slug of a `[[tenant]]`, or leave the line out for `default`.",
);
const SITE: Key = key(
    "site",
    "Write the last part of that host that people recognise, e.g. `site = \"example.com\"`, or leave the line out.",
);
const CLIENT_ID: Key = key(
    "client_id",
    "Write the client id that the other side gave you at registration.",
);
const CLIENT_AUTH: Key = key(
    "client_auth",
    "Write `client_auth = \"basic\"`, `\"post\"`, or `\"none\"` for a client without a secret.",
);
const CLIENT_SECRET: Key = key(
    "client_secret",
    "Write where the secret is: `client_secret = \"env:NAME\"` or `client_secret = \"file:/path/to/the/secret\"`.",
);

const ENDPOINT_HOSTS: Key = key(
    "endpoint_hosts",
    "Write hosts as an address has them, e.g. `endpoint_hosts = [\"oauth2.googleapis.com\"]`, or leave the line out.",
);

/// The file itself.
pub(super) const ROOT: Keys = &[
    key(
        "public_url",
        "Write the address that browsers see, without a path, e.g. `public_url = \"https://connect.example.com\"`.",
    ),
    key(
        "leaving_page",
        "Write `leaving_page = \"at_once\"` or `leaving_page = \"ask\"`.",
    ),
    key("listen", "Write a table `[listen]`."),
    key("data", "Write a table `[data]`."),
    key("seal", "Write a table `[seal]`."),
    key("operator", "Write a table `[operator]`."),
    key("limits", "Write a table `[limits]`."),
    key("danger", "Write a table `[danger]`."),
    key("internal", "Write `[[internal]]`, once for each host."),
    key("tenant", "Write `[[tenant]]`, once for each tenant."),
    key("issuer", "Write `[[issuer]]`, once for each issuer."),
    key("server", "Write `[[server]]`, once for each MCP server."),
    key("provider", "Write `[[provider]]`, once for each provider."),
];

pub(super) const LISTEN: Keys = &[
    key(
        "connect",
        "Write an IP address and a port, e.g. `connect = \"127.0.0.1:7601\"`.",
    ),
    key(
        "api",
        "Write an IP address and a port, e.g. `api = \"127.0.0.1:7602\"`.",
    ),
    key(
        "admin_socket",
        "Write a path of at most 100 bytes, e.g. `admin_socket = \"/run/strongroom/admin.sock\"`.",
    ),
    key(
        "admin",
        "Write a loopback address and a port, e.g. `admin = \"127.0.0.1:7603\"`, or leave the line out.",
    ),
    key(
        "trusted_proxy",
        "Write the ranges your proxy connects from, e.g. `trusted_proxy = [\"10.0.3.0/24\"]`.",
    ),
];

pub(super) const DATA: Keys = &[key(
    "dir",
    "Write the folder of the store, e.g. `dir = \"/var/lib/strongroom\"`.",
)];

pub(super) const SEAL: Keys = &[
    key(
        "key_file",
        "Write a path outside the data folder, e.g. `key_file = \"/etc/strongroom/root.key\"`.",
    ),
    key(
        "passphrase",
        "Write where the passphrase is: `passphrase = \"file:/run/credentials/passphrase\"` or `passphrase = \"env:NAME\"`.",
    ),
];

pub(super) const OPERATOR: Keys = &[
    key(
        "name",
        "Write the name your users know you by, at most 64 characters, e.g. `name = \"Example Corp\"`.",
    ),
    key(
        "support_url",
        "Write an https or mailto address where users get help, e.g. `support_url = \"https://help.example.com\"`.",
    ),
    key(
        "privacy_url",
        "Write an https or mailto address where users read about privacy, e.g. `privacy_url = \"https://example.com/privacy\"`.",
    ),
];

pub(super) const LIMITS: Keys = &[
    key(
        "connect_connections",
        "Write a whole number, e.g. `connect_connections = 4096`.",
    ),
    key(
        "connect_connections_per_address",
        "Write a whole number, e.g. `connect_connections_per_address = 64`.",
    ),
    key(
        "api_connections",
        "Write a whole number, e.g. `api_connections = 4096`.",
    ),
    key(
        "api_connections_per_address",
        "Write a whole number, e.g. `api_connections_per_address = 1024`.",
    ),
    key(
        "waits_per_server",
        "Write a whole number, e.g. `waits_per_server = 512`.",
    ),
];

pub(super) const DANGER: Keys = &[key(
    "loopback",
    "Remove it, or write `loopback = \"only-for-tests\"` if this really is a test.",
)];

pub(super) const INTERNAL: Keys = &[
    key(
        "host",
        "Write the exact host name in lower case, e.g. `host = \"git.corp.example\"`.",
    ),
    key(
        "ranges",
        "Write the address ranges that name may resolve to, e.g. `ranges = [\"10.4.0.0/24\"]`.",
    ),
];

pub(super) const TENANT: Keys = &[
    SLUG,
    key(
        "name",
        "Write what people read, at most 64 characters, e.g. `name = \"Example Corp\"`.",
    ),
];

pub(super) const ISSUER: Keys = &[
    SLUG,
    TENANT_OF,
    key(
        "url",
        "Write the issuer exactly as its metadata and tokens have it, e.g. `url = \"https://login.example.com\"`.",
    ),
    ENDPOINT_HOSTS,
    CLIENT_ID,
    CLIENT_AUTH,
    CLIENT_SECRET,
    key(
        "algorithms",
        "Write some of RS256, PS256, ES256, ES384 and EdDSA, e.g. `algorithms = [\"ES256\"]`.",
    ),
    key(
        "subject_claims",
        "Write 1 to 4 claims that never change for a person, e.g. `subject_claims = [\"sub\"]`.",
    ),
    key(
        "id_token_claims",
        "Write the names of the same claims in ID tokens, in the same order, or leave the line out.",
    ),
    key(
        "login_scopes",
        "Write a list with `openid` in it, e.g. `login_scopes = [\"openid\"]`.",
    ),
    key(
        "require_at_jwt",
        "Write `require_at_jwt = true` or `require_at_jwt = false`.",
    ),
    key(
        "leeway_s",
        "Write seconds, at most 60, e.g. `leeway_s = 30`.",
    ),
    key(
        "max_token_age_s",
        "Write seconds, at least 60, e.g. `max_token_age_s = 86400`.",
    ),
    key(
        "several_audiences",
        "Write `several_audiences = true` or `several_audiences = false`.",
    ),
    SITE,
];

pub(super) const SERVER: Keys = &[
    SLUG,
    TENANT_OF,
    key(
        "name",
        "Write what people read, at most 64 characters, e.g. `name = \"Release notes\"`.",
    ),
    key(
        "resource",
        "Write the resource identifier your MCP server puts in its protected-resource metadata, e.g. \"https://notes.example.com/mcp\".",
    ),
    key("issuer", "Write the slug of an `[[issuer]]`."),
    key(
        "subject",
        "Write `subject = \"token\"`, or `subject = \"asserted\"` to believe this server's word as well.",
    ),
    SITE,
    key(
        "allow",
        "Write `[[server.allow]]` below the server, once for each provider.",
    ),
];

pub(super) const ALLOW: Keys = &[
    key("provider", "Write the slug of a `[[provider]]`."),
    key(
        "scopes",
        "Write every scope the server may ask for, e.g. `scopes = [\"repo\"]`; `[]` allows access without scopes.",
    ),
];
