//! Metadata of issuers and providers (RFC 8414, OpenID Connect Discovery): where it lies, how it is fetched, and what of it
//! is believed. Nothing in it widens what the operator configured; its `issuer` must be the configured text, byte for byte.

use domain::IssuerUrl;
use serde_json::{Map, Value};
use url::Url;

use crate::outbound::{Answer, CallFailure, CallKind, Outbound};
use crate::strict_json;

/// Whose metadata it is; decides the order in which addresses are tried and what must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// An issuer that identifies people.
    Issuer,
    /// A provider of tokens.
    Provider,
}

/// What we use of a metadata document.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// `authorization_endpoint`.
    pub(crate) authorization: Option<Url>,
    /// `token_endpoint`.
    pub(crate) token: Option<Url>,
    /// `revocation_endpoint`.
    pub(crate) revocation: Option<Url>,
    /// `jwks_uri`; of the issuer's own origin.
    pub(crate) keys: Option<Url>,
    /// `authorization_response_iss_parameter_supported` (RFC 9207 section 3).
    pub(crate) names_issuer: bool,
}

/// Why a document cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchFailure {
    /// Not reached, or the other side is broken.
    Unreachable,
    /// Not in time.
    Timeout,
    /// It is not what it should be.
    Unreadable,
    /// It contradicts the configuration.
    Misconfigured,
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

/// Tries the well-known addresses of `issuer` one after the other.
pub(crate) async fn fetch(
    outbound: &Outbound,
    role: Role,
    issuer: &IssuerUrl,
) -> Result<Metadata, FetchFailure> {
    let mut worst = FetchFailure::Misconfigured; // nothing found at all
    for address in well_known(role, issuer).ok_or(FetchFailure::Misconfigured)? {
        let answer = outbound.get(CallKind::Document, &address).await?;
        match judge(&answer) {
            Some(document) => match read(outbound, role, issuer, &document) {
                Ok(metadata) => return Ok(metadata),
                Err(failure) => worst = failure,
            },
            None if answer.status.is_server_error() => worst = FetchFailure::Unreachable,
            None if answer.status.is_success() => worst = FetchFailure::Unreadable,
            None => {}
        }
    }
    Err(worst)
}

fn judge(answer: &Answer) -> Option<Map<String, Value>> {
    let good = answer.status == http::StatusCode::OK;
    good.then(|| strict_json::object(answer.body.expose()))
        .flatten()
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
    role: Role,
    issuer: &IssuerUrl,
    document: &Map<String, Value>,
) -> Result<Metadata, FetchFailure> {
    if document.get("issuer").and_then(Value::as_str) != Some(issuer.as_str()) {
        return Err(FetchFailure::Misconfigured);
    }
    let endpoint = |name: &str| match document.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let url = value.as_str().and_then(|text| Url::parse(text).ok());
            url.filter(|url| outbound.admits(url))
                .map(Some)
                .ok_or(FetchFailure::Misconfigured)
        }
    };
    let keys = match role {
        Role::Issuer => endpoint("jwks_uri")?,
        Role::Provider => None,
    };
    let own_origin = Url::parse(issuer.as_str()).ok().map(|url| url.origin());
    if keys
        .as_ref()
        .is_some_and(|keys| Some(keys.origin()) != own_origin)
    {
        return Err(FetchFailure::Misconfigured);
    }
    Ok(Metadata {
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?,
        revocation: endpoint("revocation_endpoint")?,
        keys,
        names_issuer: document.get("authorization_response_iss_parameter_supported")
            == Some(&Value::Bool(true)),
    })
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
