//! A link target that cannot run anything: the one place where addresses from elsewhere become `href`s.

use std::fmt;

use thiserror::Error;

/// An address fit for an `href`: `https:`, `http:`, `mailto:`, or a path on this origin.
#[derive(Clone, PartialEq, Eq)]
pub struct Href(String);

/// Why an address may not become a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HrefError {
    /// Its scheme could run something or is unknown to us (`javascript:`, `data:`, …).
    #[error(
        "the address is neither https, http, mailto nor a path on this site; correct it where it was declared"
    )]
    Scheme,
    /// Control characters and spaces are dropped or re-read by browsers, so that a scheme can hide behind them.
    #[error(
        "the address contains a space or control character; percent-encode it where it was declared"
    )]
    Character,
}

impl Href {
    /// Takes an address as a link target.
    ///
    /// # Errors
    /// [`HrefError::Character`] for white space, control characters and backslashes, [`HrefError::Scheme`] for anything
    /// that is not `https://`, `http://`, `mailto:` or a path beginning with a single `/`.
    pub fn new(address: impl Into<String>) -> Result<Self, HrefError> {
        let address = address.into();
        if address
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err(HrefError::Character);
        }
        let local = address.starts_with('/') && !address.starts_with("//");
        let known = ["https://", "http://", "mailto:"]
            .iter()
            .any(|scheme| address.starts_with(scheme));
        if local || known {
            Ok(Self(address))
        } else {
            Err(HrefError::Scheme)
        }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Href {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Authorization requests carry `state`, which belongs in no log.
impl fmt::Debug for Href {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Href(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::{Href, HrefError};

    #[test]
    fn takes_web_mail_and_local_addresses() {
        for good in [
            "https://github.com/login?a=b&c=d",
            "http://127.0.0.2:9/x",
            "/f/abc",
            "mailto:help@northwind.example",
        ] {
            assert_eq!(Href::new(good).map(|h| h.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn refuses_what_could_run_or_leave() {
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.example/",
            "vbscript:x",
            "",
            "relative",
            "HTTPS",
        ] {
            assert_eq!(Href::new(bad), Err(HrefError::Scheme), "{bad}");
        }
        for bad in [
            "java\nscript:alert(1)",
            " https://x",
            "https://x/\u{0}",
            "/\\evil.example",
        ] {
            assert_eq!(Href::new(bad), Err(HrefError::Character), "{bad:?}");
        }
    }

    #[test]
    fn debug_keeps_the_address_to_itself() {
        let href = Href::new("https://github.com/authorize?state=abc");
        assert_eq!(format!("{href:?}"), "Ok(Href(..))");
    }
}
