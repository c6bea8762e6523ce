//! What the composition root tells the connect listener, checked and taken apart once.

use std::net::IpAddr;
use std::sync::Arc;

use pages::{Address, Chrome, Href};
use url::{Origin, Url};

/// Whether the leaving page goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeavingPage {
    /// It goes on at once; its links stay for whoever stops it.
    AtOnce,
    /// It waits for the click.
    Ask,
}

/// The settings cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadConnectSettings {
    /// The public address is no bare origin.
    #[error("public_url is not an http(s) origin; write scheme, host and port and nothing else")]
    PublicUrl,
    /// The support address cannot be a link.
    #[error("support_url cannot be a link; write an https or mailto address without spaces")]
    SupportUrl,
    /// The privacy address cannot be a link.
    #[error("privacy_url cannot be a link; write an https or mailto address without spaces")]
    PrivacyUrl,
}

/// Settings of the connect listener.
#[derive(Clone)]
pub struct ConnectSettings {
    origin: Box<str>,
    authority: Box<str>,
    secure: bool,
    leaving: LeavingPage,
    chrome: Chrome,
    proxies: Option<Arc<dyn Fn(IpAddr) -> bool + Send + Sync>>,
}

impl ConnectSettings {
    /// Settings for the listener that browsers reach under `public_url` (scheme, host and port). Without anything else said,
    /// the pages name no operator, the leaving page goes on at once and no proxy is believed.
    ///
    /// # Errors
    /// [`BadConnectSettings::PublicUrl`] when `public_url` is more or less than an http(s) origin.
    pub fn new(public_url: &Url) -> Result<Self, BadConnectSettings> {
        let origin = public_url.origin();
        let bare = public_url.path() == "/"
            && public_url.query().is_none()
            && public_url.fragment().is_none()
            && public_url.username().is_empty()
            && public_url.password().is_none();
        if !bare || !matches!(public_url.scheme(), "https" | "http") {
            return Err(BadConnectSettings::PublicUrl);
        }
        let authority = authority(&origin).ok_or(BadConnectSettings::PublicUrl)?;
        Ok(Self {
            origin: origin.ascii_serialization().into(),
            chrome: Chrome::new(Address::new(authority.clone())),
            authority: authority.into(),
            secure: public_url.scheme() == "https",
            leaving: LeavingPage::AtOnce,
            proxies: None,
        })
    }

    /// Who runs this vault, and the site that people recognise in its own address.
    #[must_use]
    pub fn operator(mut self, name: Option<&str>, site: Option<&str>) -> Self {
        self.chrome.operator = name.map(Into::into);
        self.chrome.host.site = site.map(Into::into);
        self
    }

    /// Where the operator answers questions.
    ///
    /// # Errors
    /// [`BadConnectSettings::SupportUrl`] when it cannot be a link.
    pub fn support(mut self, address: &str) -> Result<Self, BadConnectSettings> {
        let href = Href::new(address).map_err(|_| BadConnectSettings::SupportUrl)?;
        self.chrome.support_url = Some(href);
        Ok(self)
    }

    /// Where the operator says what is done with what is known about people.
    ///
    /// # Errors
    /// [`BadConnectSettings::PrivacyUrl`] when it cannot be a link.
    pub fn privacy(mut self, address: &str) -> Result<Self, BadConnectSettings> {
        let href = Href::new(address).map_err(|_| BadConnectSettings::PrivacyUrl)?;
        self.chrome.privacy_url = Some(href);
        Ok(self)
    }

    /// Whether the leaving page goes on by itself.
    #[must_use]
    pub fn leaving(mut self, leaving: LeavingPage) -> Self {
        self.leaving = leaving;
        self
    }

    /// Declares a proxy in front. `is_proxy` says whether a direct peer is one; from such a peer, and from nobody else, one
    /// `X-Forwarded-Host` stands in for `Host`. No other forwarded header is ever read.
    #[must_use]
    pub fn behind(mut self, is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        self.proxies = Some(Arc::new(is_proxy));
        self
    }

    /// Our origin as browsers write it in `Origin`.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Our authority as browsers write it in `Host`.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether browsers reach us by https.
    pub(crate) fn is_https(&self) -> bool {
        self.secure
    }

    pub(crate) fn leaving_page(&self) -> LeavingPage {
        self.leaving
    }

    pub(crate) fn chrome(&self) -> &Chrome {
        &self.chrome
    }

    /// Whether `peer` is a declared proxy.
    pub(crate) fn believes(&self, peer: Option<IpAddr>) -> bool {
        match (&self.proxies, peer) {
            (Some(is_proxy), Some(peer)) => is_proxy(peer),
            _ => false,
        }
    }
}

impl std::fmt::Debug for ConnectSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectSettings")
            .field("origin", &self.origin)
            .field("leaving", &self.leaving)
            .field("behind_proxy", &self.proxies.is_some())
            .finish_non_exhaustive()
    }
}

/// Host and, unless it is the scheme's own, port: `connect.vault.example`, `localhost:7601`. Hosts are ASCII (punycode).
pub(crate) fn authority(origin: &Origin) -> Option<String> {
    let Origin::Tuple(..) = origin else {
        return None; // an opaque origin has no address
    };
    let text = origin.ascii_serialization();
    text.split_once("://").map(|(_, rest)| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{BadConnectSettings, ConnectSettings};
    use url::Url;

    fn settings(url: &str) -> Result<ConnectSettings, BadConnectSettings> {
        ConnectSettings::new(&Url::parse(url).expect("a URL"))
    }

    #[test]
    fn takes_an_origin_apart_as_browsers_write_it() {
        for (url, origin, authority, https) in [
            (
                "https://Connect.Vault.example",
                "https://connect.vault.example",
                "connect.vault.example",
                true,
            ),
            (
                "https://vault.example:443/",
                "https://vault.example",
                "vault.example",
                true,
            ),
            (
                "http://localhost:7601",
                "http://localhost:7601",
                "localhost:7601",
                false,
            ),
            (
                "https://tresor.bücher.example:8443",
                "https://tresor.xn--bcher-kva.example:8443",
                "tresor.xn--bcher-kva.example:8443",
                true,
            ),
        ] {
            let settings = settings(url).expect(url);
            assert_eq!(settings.origin(), origin);
            assert_eq!(settings.authority(), authority);
            assert_eq!(settings.is_https(), https);
        }
    }

    #[test]
    fn refuses_more_or_less_than_an_origin() {
        for url in [
            "https://vault.example/connect",
            "https://vault.example/?a",
            "https://vault.example/#a",
            "https://me@vault.example/",
            "ftp://vault.example/",
            "data:text/plain,x",
        ] {
            assert_eq!(
                settings(url).err(),
                Some(BadConnectSettings::PublicUrl),
                "{url}"
            );
        }
    }
}
