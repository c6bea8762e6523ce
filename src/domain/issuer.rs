//! An authorization server that identifies users: our registration there, the signatures we accept, how its tokens are judged.

use std::time::Duration;

use crate::{EndpointHosts, IssuerSlug, IssuerUrl, OauthClient, ScopeSet, TenantSlug};

/// A JOSE signature algorithm we accept. There is no HMAC and no `none` here, so none can be configured (RFC 8725 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl SignatureAlgorithm {
    /// The JOSE name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of that JOSE name, if we accept it.
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::Rs256,
            Self::Ps256,
            Self::Es256,
            Self::Es384,
            Self::EdDsa,
        ]
        .into_iter()
        .find(|a| a.name() == name)
    }
}

/// How an issuer's access tokens are recognised and judged.
#[derive(Debug, Clone)]
pub struct AccessTokenRules {
    /// Whether `typ` must be `at+jwt` (RFC 9068 section 4). Where an issuer sets no such type, `JWT` or none will do as well,
    /// and other tokens are told apart by their claims (`nonce`, `at_hash`, `events`, …) and by their audience.
    pub require_at_jwt: bool,
    /// Clock leeway for `exp`, `nbf` and `iat`; at most 60 s.
    pub leeway: Duration,
    /// Oldest accepted `iat`.
    pub max_age: Duration,
    /// Whether a token for several audiences is accepted.
    pub several_audiences: bool,
}

/// An authorization server that identifies users.
#[derive(Debug)]
pub struct Issuer {
    /// Its immutable name.
    pub slug: IssuerSlug,
    /// The tenant it belongs to.
    pub tenant: TenantSlug,
    /// Its identifier, compared byte for byte.
    pub url: IssuerUrl,
    /// Hosts besides its own on which its metadata may name the token endpoint and the keys.
    pub endpoint_hosts: EndpointHosts,
    /// Our registration for the browser login.
    pub client: OauthClient,
    /// Signature algorithms accepted on ID tokens and access tokens, whatever its metadata lists.
    pub algorithms: Vec<SignatureAlgorithm>,
    /// Claims that identify a person in access tokens, in order. Fixed when the issuer is created.
    pub subject_claims: Vec<Box<str>>,
    /// Their names in ID tokens, same number and order.
    pub id_token_claims: Vec<Box<str>>,
    /// Scopes of the browser login; always with `openid`.
    pub login_scopes: ScopeSet,
    /// How access tokens are judged.
    pub access_tokens: AccessTokenRules,
    /// The site people recognise, shown bold in addresses; the whole host when not declared.
    pub site: Option<Box<str>>,
}
