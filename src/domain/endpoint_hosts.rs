//! Where a server's own metadata may point us with a credential in hand.
//!
//! Metadata is fetched again and again, and whoever writes it may change it between two fetches. An endpoint that gets our
//! client secret, a code or a refresh token therefore shares the issuer's origin, or stands on a host that the operator
//! declared beforehand.

use url::Url;

use crate::IssuerUrl;

/// Hosts that the operator declared besides an issuer's own: `host`, or `host:port` for an unusual port (the
/// configuration refuses the usual one, which no address shows).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct EndpointHosts(Vec<Box<str>>);

impl EndpointHosts {
    /// The hosts as they were declared, in lower case.
    pub fn new(hosts: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Self(hosts.into_iter().map(Into::into).collect())
    }

    /// Whether a credential may go to `endpoint`, which the metadata of `issuer` names. A declared host never lowers the
    /// scheme: what the issuer has behind https is not sent over http.
    pub fn admit(&self, issuer: &IssuerUrl, endpoint: &Url) -> bool {
        let Ok(own) = Url::parse(issuer.as_str()) else {
            return false;
        };
        own.origin() == endpoint.origin()
            || own.scheme() == endpoint.scheme()
                && named(endpoint).is_some_and(|name| self.0.iter().any(|host| **host == *name))
    }

    /// The hosts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }
}

/// The host of an address as an operator would declare it.
fn named(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_goes_to_the_issuers_origin_or_a_declared_host_and_nowhere_else() {
        let issuer = IssuerUrl::parse("https://accounts.google.com").unwrap();
        let hosts = EndpointHosts::new(["oauth2.googleapis.com", "keys.test:8443"]);
        for (endpoint, admitted) in [
            ("https://accounts.google.com/token", true),
            ("https://oauth2.googleapis.com/token", true),
            ("https://oauth2.googleapis.com:443/token", true),
            ("https://OAUTH2.googleapis.com/token", true),
            ("https://keys.test:8443/x", true),
            ("https://keys.test/x", false),
            ("https://accounts.google.com:8443/token", false),
            ("http://accounts.google.com/token", false),
            ("http://oauth2.googleapis.com/token", false),
            ("https://oauth2.googleapis.com.evil.test/token", false),
            ("https://evil.test/oauth2.googleapis.com", false),
            ("https://x.oauth2.googleapis.com/token", false),
            ("https://oauth2.googleapis.com./token", false),
        ] {
            let url = Url::parse(endpoint).unwrap();
            assert_eq!(hosts.admit(&issuer, &url), admitted, "{endpoint}");
        }
    }
}
