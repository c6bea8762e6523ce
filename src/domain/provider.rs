//! A third-party service as data: how a person connects it, how to read what it answers, and how a credential is presented.

use url::Url;

use crate::{EndpointHosts, Holds, IssuerUrl, KeyForm, ProviderSlug, ScopeSet, TenantSlug};

/// Our registration at an authorization server.
pub struct OauthClient {
    /// The client id.
    pub id: Box<str>,
    /// How we prove it.
    pub auth: ClientAuth,
}

impl std::fmt::Debug for OauthClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OauthClient({})", self.id)
    }
}

/// Client authentication at a token endpoint (RFC 6749 section 2.3.1).
pub enum ClientAuth {
    /// A public client: the client id alone.
    Public,
    /// `client_id` and `client_secret` in the body.
    Post(secret::ClientSecret),
    /// HTTP Basic, id and secret form-encoded first.
    Basic(secret::ClientSecret),
}

/// Where the endpoints come from.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "a handful of these live as long as the process"
)]
pub enum Endpoints {
    /// Written in the provider file.
    Pinned {
        /// Authorization endpoint.
        authorization: Url,
        /// Token endpoint.
        token: Url,
        /// Revocation endpoint (RFC 7009), if the provider has one.
        revocation: Option<Url>,
        /// The issuer that its callbacks carry (RFC 9207); compared byte for byte when present.
        issuer: Option<IssuerUrl>,
        /// Whether a callback without `iss` is refused.
        iss_required: bool,
    },
    /// Read from the metadata of this issuer (RFC 8414, OpenID Connect Discovery); its `issuer` must equal this text.
    /// Endpoints that get credentials are used at its origin and at [`Oauth::endpoint_hosts`] alone.
    Discovered(IssuerUrl),
}

/// How we learn which account at the provider was used.
#[derive(Debug, Clone)]
pub enum AccountSource {
    /// A GET with the fresh access token.
    Endpoint {
        /// The address.
        url: Url,
        /// JSON pointer of the stable account id.
        id: Box<str>,
        /// JSON pointer of a name that people recognise.
        name: Option<Box<str>>,
    },
    /// Fields of the token answer itself.
    TokenAnswer {
        /// JSON pointer of the stable account id.
        id: Box<str>,
        /// JSON pointer of a name that people recognise.
        name: Option<Box<str>>,
    },
    /// The provider does not say.
    Unknown,
}

/// What a scope lets a server do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeEffect {
    /// It only reads.
    See,
    /// It writes.
    Change,
}

/// One scope and what it means in plain words.
#[derive(Debug, Clone)]
pub struct ScopeInfo {
    /// The scope as the provider names it.
    pub name: Box<str>,
    /// Reading or writing.
    pub effect: ScopeEffect,
    /// What people read after the tag, in English; `None`: we cannot say.
    pub words: Option<Box<str>>,
    /// The same in other languages of the pages, each with its tag (`zh-Hans`).
    pub words_in: Vec<(Box<str>, Box<str>)>,
}

/// Whether an authorization code is bound to the one who asked for it by a proof key (PKCE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pkce {
    /// S256 on every request, which is the rule (RFC 7636, RFC 9700 section 2.1.1).
    S256,
    /// Not sent, for the few providers that fail on it; said so in the provider file.
    Off,
}

/// Parameters of the authorization request that are ours to set (RFC 6749, 7636, 9101, OpenID Connect Core); a provider file
/// names none of them.
pub const AUTHORIZE_OWN: [&str; 12] = [
    "client_id",
    "client_secret",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
];

/// How OAuth is done at a provider.
#[derive(Debug)]
pub struct Oauth {
    /// Our registration.
    pub client: OauthClient,
    /// Where to go.
    pub endpoints: Endpoints,
    /// Hosts besides its own on which its metadata may name the endpoints that get credentials.
    pub endpoint_hosts: EndpointHosts,
    /// PKCE on or off.
    pub pkce: Pkce,
    /// What joins scopes in a request; a space unless the provider wants another.
    pub scope_joiner: Box<str>,
    /// Static parameters of the authorization request. Never one of the protocol's own.
    pub authorize_extra: Vec<(Box<str>, Box<str>)>,
    /// Static parameters of the code exchange.
    pub token_extra: Vec<(Box<str>, Box<str>)>,
    /// Life of an access token whose answer carries no `expires_in`, in seconds; `None`: it does not expire.
    pub default_life_s: Option<u32>,
}

/// How a person connects a provider.
#[derive(Debug)]
pub enum Means {
    /// The provider asks the person, and we exchange a code for tokens.
    Oauth(Oauth),
    /// The person types in what the provider gave them.
    Key(KeyForm),
}

/// A configured third party.
#[derive(Debug)]
pub struct Provider {
    /// Its immutable name; part of the redirect URI.
    pub slug: ProviderSlug,
    /// The tenant that owns our registration there.
    pub tenant: TenantSlug,
    /// What people read.
    pub name: Box<str>,
    /// How a person connects it.
    pub means: Means,
    /// Every scope that a server may be allowed; empty where a key is typed in, for a key allows what it allows.
    pub scopes: Vec<ScopeInfo>,
    /// Scopes requested besides those of the server (for example `offline_access`). Our pages do not list them as the
    /// server's wish; once granted they stand among a grant's scopes, where servers see them.
    pub extra_scopes: ScopeSet,
    /// How the account is learnt. A key whose account is asked for is tried by that.
    pub account: AccountSource,
    /// Hosts that a released credential may be sent to.
    pub allowed_hosts: Vec<Box<str>>,
    /// Header that carries the credential.
    pub header_name: Box<str>,
    /// Text before the token in it, for example `Bearer `.
    pub header_prefix: Box<str>,
    /// The site people recognise, shown bold in addresses.
    pub site: Option<Box<str>>,
}

impl Provider {
    /// What the file says about a scope.
    pub fn scope(&self, name: &str) -> Option<&ScopeInfo> {
        self.scopes.iter().find(|scope| &*scope.name == name)
    }

    /// How OAuth is done there; `None` where a key is typed in.
    pub fn oauth(&self) -> Option<&Oauth> {
        match &self.means {
            Means::Oauth(oauth) => Some(oauth),
            Means::Key(_) => None,
        }
    }

    /// What a person types in; `None` where OAuth is done.
    pub fn key_form(&self) -> Option<&KeyForm> {
        match &self.means {
            Means::Oauth(_) => None,
            Means::Key(form) => Some(form),
        }
    }

    /// What grants of it hold.
    pub fn holds(&self) -> Holds {
        match &self.means {
            Means::Oauth(_) => Holds::Tokens,
            Means::Key(_) => Holds::Key,
        }
    }

    /// What names the provider itself, where that has to be more than our word for it: an address that does not change
    /// with the operator's words.
    pub fn identity(&self) -> &str {
        match &self.means {
            Means::Oauth(oauth) => match &oauth.endpoints {
                Endpoints::Pinned { token, .. } => token.as_str(),
                Endpoints::Discovered(issuer) => issuer.as_str(),
            },
            Means::Key(_) => match &self.account {
                AccountSource::Endpoint { url, .. } => url.as_str(),
                AccountSource::TokenAnswer { .. } | AccountSource::Unknown => self.slug.as_str(),
            },
        }
    }
}
