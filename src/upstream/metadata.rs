//! Metadata of issuers and providers (RFC 8414, OpenID Connect Discovery): where it lies, how it is fetched, and what of it
//! is believed. Nothing in it widens what the operator configured: its `issuer` must be the configured text, byte for byte,
//! and it may move what gets a credential of ours to another host only when the operator has declared that host.

use domain::{EndpointHosts, Issuer, IssuerUrl, Oauth};
use http::StatusCode;
use serde_json::{Map, Value};
use url::Url;

use crate::outbound::{CallFailure, CallKind, Outbound};
use crate::strict_json;

/// Whose metadata it is; decides the order in which addresses are tried and what must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// An issuer that identifies people.
    Issuer,
    /// A provider of tokens.
    Provider,
}

/// Whom we ask about itself, and where its answer may send a credential. Two declarations of one issuer that differ in
/// their hosts have nothing in common here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    pub(crate) role: Role,
    pub(crate) issuer: IssuerUrl,
    hosts: EndpointHosts,
}

impl Source {
    /// An issuer that identifies people.
    pub(crate) fn issuer(issuer: &Issuer) -> Self {
        Self {
            role: Role::Issuer,
            issuer: issuer.url.clone(),
            hosts: issuer.endpoint_hosts.clone(),
        }
    }

    /// A provider whose endpoints `issuer` publishes.
    pub(crate) fn provider(oauth: &Oauth, issuer: &IssuerUrl) -> Self {
        Self {
            role: Role::Provider,
            issuer: issuer.clone(),
            hosts: oauth.endpoint_hosts.clone(),
        }
    }
}

/// An endpoint that gets something secret of ours, or our trust.
#[derive(Debug)]
pub(crate) enum Endpoint {
    /// The document does not name one.
    Absent,
    /// It stands on a host that is neither the issuer's nor declared: nothing is sent there.
    Foreign,
    /// Here.
    At(Url),
}

impl Endpoint {
    /// Where it is, if it may be used.
    pub(crate) fn usable(&self) -> Option<&Url> {
        match self {
            Self::At(url) => Some(url),
            Self::Absent | Self::Foreign => None,
        }
    }
}

/// What we use of a metadata document.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// `authorization_endpoint`. A browser is sent there; nothing secret of ours is.
    pub(crate) authorization: Option<Url>,
    /// `token_endpoint`.
    pub(crate) token: Endpoint,
    /// `revocation_endpoint`.
    pub(crate) revocation: Endpoint,
    /// `jwks_uri`; read for issuers alone.
    pub(crate) keys: Endpoint,
    /// `authorization_response_iss_parameter_supported` (RFC 9207 section 3).
    pub(crate) names_issuer: bool,
}

/// Why a document cannot be had. In the order of what is believed of several: a failure that may be over in a moment says
/// that nothing is known yet, so it outweighs one that would end things for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FetchFailure {
    /// It contradicts the configuration, or does not exist.
    Misconfigured,
    /// It is not what it should be.
    Unreadable,
    /// Not in time.
    Timeout,
    /// Not reached, or the other side is broken, overloaded or behind something that lets nobody through.
    Unreachable,
}

impl FetchFailure {
    /// What a status other than 200 means for a document. A wall in front of a service (403), a page elsewhere (3xx; no
    /// redirect is followed) and a full queue (429) say nothing about what stands behind them.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            300..=399 | 403 | 408 | 425 | 429 | 500.. => Self::Unreachable,
            404 | 410 => Self::Misconfigured,
            _ => Self::Unreadable,
        }
    }
}

impl From<CallFailure> for FetchFailure {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Forbidden => Self::Misconfigured,
            CallFailure::NotSent | CallFailure::Interrupted => Self::Unreachable,
            CallFailure::Timeout => Self::Timeout,
            CallFailure::TooLarge => Self::Unreadable,
        }
    }
}

/// Tries the well-known addresses of an issuer one after the other. One that fails says nothing about the next, and of
/// several failures the gravest for our knowledge counts (see [`FetchFailure`]), whatever their order.
pub(crate) async fn fetch(outbound: &Outbound, of: &Source) -> Result<Metadata, FetchFailure> {
    let mut worst = FetchFailure::Misconfigured;
    for address in well_known(of.role, &of.issuer).ok_or(FetchFailure::Misconfigured)? {
        match fetch_one(outbound, of, &address).await {
            Ok(metadata) => return Ok(metadata),
            Err(failure) => worst = worst.max(failure),
        }
    }
    Err(worst)
}

async fn fetch_one(
    outbound: &Outbound,
    of: &Source,
    address: &Url,
) -> Result<Metadata, FetchFailure> {
    let answer = outbound.get(CallKind::Document, address).await?;
    if answer.status != StatusCode::OK {
        return Err(FetchFailure::of_status(answer.status));
    }
    let document = strict_json::object(answer.body.expose()).ok_or(FetchFailure::Unreadable)?;
    read(outbound, of, &document)
}

/// The addresses in order. RFC 8414 puts its name before the issuer's path, OpenID Connect puts its own behind it.
fn well_known(role: Role, issuer: &IssuerUrl) -> Option<Vec<Url>> {
    let base = Url::parse(issuer.as_str()).ok()?;
    let path = base.path().trim_end_matches('/');
    let oauth = format!("/.well-known/oauth-authorization-server{path}");
    let inserted = format!("/.well-known/openid-configuration{path}");
    let appended = format!("{path}/.well-known/openid-configuration");
    let mut paths = match role {
        Role::Issuer => vec![appended, inserted, oauth],
        Role::Provider => vec![oauth, inserted, appended],
    };
    paths.dedup();
    let at = |path: String| {
        let mut url = base.clone();
        url.set_path(&path);
        url
    };
    Some(paths.into_iter().map(at).collect())
}

fn read(
    outbound: &Outbound,
    of: &Source,
    document: &Map<String, Value>,
) -> Result<Metadata, FetchFailure> {
    if document.get("issuer").and_then(Value::as_str) != Some(of.issuer.as_str()) {
        return Err(FetchFailure::Misconfigured);
    }
    let address = |name: &str| match document.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let url = value.as_str().and_then(|text| Url::parse(text).ok());
            url.filter(|url| outbound.admits(url))
                .map(Some)
                .ok_or(FetchFailure::Misconfigured)
        }
    };
    let endpoint = |name| address(name).map(|url| settle(of, name, url));
    Ok(Metadata {
        authorization: address("authorization_endpoint")?,
        token: endpoint("token_endpoint")?,
        revocation: endpoint("revocation_endpoint")?,
        keys: match of.role {
            Role::Issuer => endpoint("jwks_uri")?,
            Role::Provider => Endpoint::Absent,
        },
        names_issuer: document.get("authorization_response_iss_parameter_supported")
            == Some(&Value::Bool(true)),
    })
}

/// Judges where an endpoint stands. A foreign host is the operator's to approve, so the log says what to write.
fn settle(of: &Source, name: &'static str, url: Option<Url>) -> Endpoint {
    let Some(url) = url else {
        return Endpoint::Absent;
    };
    if of.hosts.admit(&of.issuer, &url) {
        return Endpoint::At(url);
    }
    tracing::error!(
        issuer = of.issuer.as_str(),
        endpoint = name,
        host = url.host_str(),
        port = url.port(),
        "metadata names an endpoint on a host that is not the issuer's own; nothing is sent there. If the host is right, add it to `endpoint_hosts` of this issuer or provider"
    );
    Endpoint::Foreign
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(role: Role, issuer: &str) -> Vec<String> {
        let issuer = IssuerUrl::parse(issuer).unwrap();
        well_known(role, &issuer)
            .unwrap()
            .into_iter()
            .map(Into::into)
            .collect()
    }

    #[test]
    fn an_issuer_with_a_path_has_three_addresses_and_one_without_has_two() {
        assert_eq!(
            addresses(Role::Provider, "https://as.test/t1/"),
            [
                "https://as.test/.well-known/oauth-authorization-server/t1",
                "https://as.test/.well-known/openid-configuration/t1",
                "https://as.test/t1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            addresses(Role::Issuer, "https://as.test:8443"),
            [
                "https://as.test:8443/.well-known/openid-configuration",
                "https://as.test:8443/.well-known/oauth-authorization-server",
            ]
        );
    }
}
