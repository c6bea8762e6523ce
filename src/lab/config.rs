//! What a lab is made of: its role, its people, its clients and its lifetimes.
//!
//! `LabConfig::issuer` and `LabConfig::provider` give ready-made practice servers; every field is
//! public, so that a test may bend one thing and leave the rest.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The clock of a lab, so that tests may move time.
pub trait LabClock: Send + Sync {
    /// Seconds since the Unix epoch.
    fn now(&self) -> u64;
}

impl<F: Fn() -> u64 + Send + Sync> LabClock for F {
    fn now(&self) -> u64 {
        self()
    }
}

/// How access tokens look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTokenForm {
    /// Signed `at+jwt` (RFC 9068), as an issuer for MCP servers gives out.
    Jwt,
    /// Random text starting with `prac_at_`, as most providers give out.
    Opaque,
}

/// When the lab asks the person to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentRule {
    /// On every authorization.
    Always,
    /// Once per browser session, client and scope; afterwards the lab answers silently.
    Once,
    /// Never.
    Never,
}

/// How a client proves itself at the token, revocation and introspection endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// A public client: only its `client_id`.
    None,
    /// `client_secret` in the form body (RFC 6749 section 2.3.1).
    SecretPost,
    /// HTTP Basic (RFC 6749 section 2.3.1).
    SecretBasic,
}

/// A client the lab knows.
#[derive(Clone)]
pub struct LabClient {
    /// The `client_id`.
    pub id: String,
    /// Its secret, unless `auth` is `ClientAuth::None`.
    pub secret: Option<String>,
    /// Redirect URIs, compared character by character.
    pub redirect_uris: Vec<String>,
    /// How it must prove itself.
    pub auth: ClientAuth,
}

impl LabClient {
    /// A public client with one redirect URI.
    pub fn public(id: &str, redirect_uri: &str) -> Self {
        Self {
            id: id.to_owned(),
            secret: None,
            redirect_uris: vec![redirect_uri.to_owned()],
            auth: ClientAuth::None,
        }
    }

    /// A client that sends its secret by HTTP Basic.
    pub fn basic(id: &str, secret: &str, redirect_uri: &str) -> Self {
        Self {
            secret: Some(secret.to_owned()),
            auth: ClientAuth::SecretBasic,
            ..Self::public(id, redirect_uri)
        }
    }

    /// A client that sends its secret in the form body.
    pub fn post(id: &str, secret: &str, redirect_uri: &str) -> Self {
        Self {
            secret: Some(secret.to_owned()),
            auth: ClientAuth::SecretPost,
            ..Self::public(id, redirect_uri)
        }
    }
}

impl fmt::Debug for LabClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabClient")
            .field("id", &self.id)
            .field("redirect_uris", &self.redirect_uris)
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

/// A person (at an issuer) or an account (at a provider). Anybody may pick any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Stable id: the `sub` claim, the `value` of the login button, the id in `/api/me`.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// Login name.
    pub username: String,
    /// What `/api/notes` lists for this account.
    pub notes: Vec<String>,
}

impl Person {
    /// A person with an `.example` address and the given notes.
    pub fn new(id: &str, name: &str, notes: &[&str]) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            email: format!("{id}@practice.example"),
            username: id.to_owned(),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        }
    }
}

/// Everything a lab needs to start.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, not one state"
)]
pub struct LabConfig {
    /// Where to listen; port 0 lets the system choose.
    pub addr: SocketAddr,
    /// The address browsers and clients use, without a path; `http://<addr>` when `None`.
    /// It is also the issuer.
    pub public_url: Option<String>,
    /// The name on the pages.
    pub name: String,
    /// Form of the access tokens.
    pub access_tokens: AccessTokenForm,
    /// OpenID Connect: discovery, key set, ID tokens (with scope `openid`) and `/userinfo`.
    pub openid: bool,
    /// The small API: `/api/me` and `/api/notes`.
    pub api: bool,
    /// Whether refresh tokens are given out.
    pub refresh_tokens: bool,
    /// When to ask for consent.
    pub consent: ConsentRule,
    /// Also publish an RSA key, so that RS256 tokens can be made (generation takes a moment).
    pub rsa: bool,
    /// People or accounts on the login page.
    pub people: Vec<Person>,
    /// Known clients; more can be added while running.
    pub clients: Vec<LabClient>,
    /// Scopes that may be asked for; all of them are granted when a request names none.
    pub scopes: Vec<String>,
    /// `aud` of access tokens when no `resource` was asked for (RFC 8707).
    pub audience: String,
    /// Life of access tokens, seconds.
    pub access_token_life: u64,
    /// Life of refresh tokens, seconds.
    pub refresh_token_life: u64,
    /// Life of authorization codes, seconds.
    pub code_life: u64,
    /// Life of ID tokens, seconds.
    pub id_token_life: u64,
    /// How many requests the recorder keeps.
    pub recorder_limit: usize,
}

impl LabConfig {
    /// The practice issuer: signed access tokens, ID tokens, Alice and Bob.
    pub fn issuer() -> Self {
        Self {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            public_url: None,
            name: "Practice issuer".to_owned(),
            access_tokens: AccessTokenForm::Jwt,
            openid: true,
            api: false,
            refresh_tokens: true,
            consent: ConsentRule::Always,
            rsa: false,
            people: vec![
                Person::new("alice", "Alice", &[]),
                Person::new("bob", "Bob", &[]),
            ],
            clients: Vec::new(),
            scopes: ["openid", "profile", "email", "offline_access", "mcp"]
                .map(str::to_owned)
                .to_vec(),
            audience: "https://mcp.practice.example".to_owned(),
            access_token_life: 300,
            refresh_token_life: 30 * 86_400,
            code_life: 60,
            id_token_life: 300,
            recorder_limit: 10_000,
        }
    }

    /// The practice provider: opaque tokens, its own accounts, a small API.
    pub fn provider() -> Self {
        Self {
            name: "Practice provider".to_owned(),
            access_tokens: AccessTokenForm::Opaque,
            openid: false,
            api: true,
            people: vec![
                Person::new(
                    "alice-at-practice",
                    "Alice at Practice",
                    &["Buy oat milk", "Call Bob about Thursday"],
                ),
                Person::new(
                    "bob-at-practice",
                    "Bob at Practice",
                    &["Water the plants", "Return library books"],
                ),
            ],
            scopes: ["profile.read", "notes.read", "notes.write"]
                .map(str::to_owned)
                .to_vec(),
            audience: "https://api.practice.example".to_owned(),
            access_token_life: 3_600,
            ..Self::issuer()
        }
    }
}
