//! C8, C9 and C10: what comes back from a provider, and whether it may be acted on.
//!
//! Order matters. C8 reads the parameters and finds at most one `state`. C9 asks whether this browser and person left with
//! that `state`; a valid `state` in the wrong browser kills the flow, which is what turns a swapped browser from an account
//! takeover into a failed attempt. C10 asks whether the answer belongs to this provider (RFC 9207) and is still in time.

use std::time::Duration;

use secret::AuthorizationCode;
use url::Url;

use crate::switch::{self, Check};
use crate::{IssuerUrl, ProviderSlug, SamePerson, Timestamp, form_decoded};

/// C8: parameters read strictly from the query of a callback.
pub struct CallbackParams {
    /// `state`, unchecked but bounded text.
    pub state: Box<str>,
    /// `iss`, if there is one.
    pub iss: Option<Box<str>>,
    /// Code or error.
    pub answer: CallbackAnswer,
}

/// What the provider said.
pub enum CallbackAnswer {
    /// A code to exchange.
    Code(AuthorizationCode),
    /// An error code; its description is never shown or logged.
    Error(Box<str>),
}

/// The callback cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the callback's parameters are malformed")]
pub struct CallbackRefused {
    /// The one unambiguous `state`, if there was one: its flow is poisoned.
    pub state: Option<Box<str>>,
}

impl CallbackParams {
    /// Longest `code`, `iss` and `error`.
    pub const MAX_VALUE: usize = 2048;
    /// Longest `state`: ours has 43 characters.
    pub const MAX_STATE: usize = 64;
    /// Most parameters; unknown ones are ignored.
    pub const MAX_PARAMETERS: usize = 32;

    /// Reads a raw query string.
    ///
    /// # Errors
    /// [`CallbackRefused`] for doubles, bad encoding, control characters, over-long values, both `code` and `error`, neither.
    pub fn parse(query: &str, top_level: bool) -> Result<Self, CallbackRefused> {
        if !top_level && !switch::off(Check::C8) {
            return Err(CallbackRefused { state: None });
        }
        let mut found = Found::default();
        for (count, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = form_decoded(name) else {
                continue;
            };
            if count >= Self::MAX_PARAMETERS {
                found.broken = true;
            }
            found.take(&name, value);
        }
        found.finish()
    }
}

#[derive(Default)]
struct Found {
    state: Option<Box<str>>,
    code: Option<Box<str>>,
    error: Option<Box<str>>,
    iss: Option<Box<str>>,
    state_ambiguous: bool,
    broken: bool,
}

impl Found {
    fn take(&mut self, name: &str, raw: &str) {
        let (slot, limit) = match name {
            "state" => (&mut self.state, CallbackParams::MAX_STATE),
            "code" => (&mut self.code, CallbackParams::MAX_VALUE),
            "error" => (&mut self.error, CallbackParams::MAX_VALUE),
            "iss" => (&mut self.iss, CallbackParams::MAX_VALUE),
            _ => return,
        };
        let value = form_decoded(raw)
            .filter(|v| !v.is_empty() && v.len() <= limit && !v.chars().any(char::is_control));
        match value {
            Some(value) if slot.is_none() => *slot = Some(value.into()),
            // With C8 off the first value wins, as a careless reader would have it.
            _ if switch::off(Check::C8) => {}
            _ => {
                self.broken = true;
                self.state_ambiguous |= name == "state";
            }
        }
    }

    fn finish(self) -> Result<CallbackParams, CallbackRefused> {
        let state = self.state.filter(|_| !self.state_ambiguous);
        let answer = match (self.code, self.error) {
            (Some(code), None) => Some(CallbackAnswer::Code(AuthorizationCode::new(code.into()))),
            (None, Some(error)) => Some(CallbackAnswer::Error(error)),
            (Some(code), Some(_)) if switch::off(Check::C8) => {
                Some(CallbackAnswer::Code(AuthorizationCode::new(code.into())))
            }
            _ => None,
        };
        match (state, answer) {
            (Some(state), Some(answer)) if !self.broken => Ok(CallbackParams {
                state,
                iss: self.iss,
                answer,
            }),
            (state, _) => Err(CallbackRefused { state }),
        }
    }
}

/// Proof of C9: the callback came back to the browser and the person that left with this `state`.
#[derive(Debug)]
pub struct SameBrowser {
    person: SamePerson,
}

/// The callback came to another browser or another person; the flow is poisoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlowEvidence {
    /// The flow cookie is missing or another.
    #[error("the callback came back in another browser")]
    OtherBrowser,
    /// Nobody, or someone else, is signed in.
    #[error("the callback came back to another person")]
    OtherPerson,
}

impl SameBrowser {
    /// C9.
    ///
    /// # Errors
    /// [`FlowEvidence`] says which side did not fit.
    pub fn check(cookie_matches: bool, person: Option<SamePerson>) -> Result<Self, FlowEvidence> {
        if !cookie_matches && !switch::off(Check::C9) {
            return Err(FlowEvidence::OtherBrowser);
        }
        person
            .map(|person| Self { person })
            .ok_or(FlowEvidence::OtherPerson)
    }

    /// The person.
    pub fn person(&self) -> &SamePerson {
        &self.person
    }
}

/// What we know of the issuer that a provider's callbacks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownIssuer {
    /// Its identifier.
    Named(IssuerUrl),
    /// Not its name; only where browsers are sent, its authorization endpoint.
    At(Url),
}

/// Which issuer a provider's callbacks name (RFC 9207 section 2.4).
#[derive(Debug, Clone)]
pub struct ExpectedIssuer {
    /// The provider's issuer.
    pub issuer: KnownIssuer,
    /// Whether a callback without `iss` is refused.
    pub required: bool,
}

impl ExpectedIssuer {
    /// Whether the `iss` of a callback is the right one, compared as text after one decoding and never normalised. Where the
    /// name is not known, it must at least be of the origin that the browser was sent to.
    pub fn fits(&self, iss: Option<&str>) -> bool {
        match (iss, &self.issuer) {
            (Some(iss), KnownIssuer::Named(expected)) => iss == expected.as_str(),
            (None, _) => !self.required,
            // Nobody told us the name, but an answer of another origin is not from whom we asked: it was mixed up.
            (Some(iss), KnownIssuer::At(endpoint)) => {
                Url::parse(iss).is_ok_and(|iss| iss.origin() == endpoint.origin())
            }
        }
    }
}

/// A callback and the flow it claims to belong to, side by side.
pub struct ProviderCallback<'a> {
    /// Provider named by the path.
    pub path: &'a ProviderSlug,
    /// Provider of the flow.
    pub flow: &'a ProviderSlug,
    /// `iss` of the callback.
    pub iss: Option<&'a str>,
    /// What it has to be.
    pub expected: &'a ExpectedIssuer,
    /// When `state` was made.
    pub since: Timestamp,
}

/// Proof of C10: the answer is from the provider that was asked, in time. Spending `state` is the commit that follows.
#[derive(Debug)]
pub struct Returned {
    browser: SameBrowser,
}

/// The answer is not one to the question that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReturnRefused {
    /// It came to another provider's redirect URI.
    #[error("the callback is for another provider")]
    OtherProvider,
    /// `iss` is wrong, or missing where it is required.
    #[error("the callback is from another issuer")]
    OtherIssuer,
    /// `state` is older than ten minutes.
    #[error("the callback is too late")]
    Late,
}

impl Returned {
    /// C10.
    ///
    /// # Errors
    /// [`ReturnRefused`].
    pub fn check(
        browser: SameBrowser,
        callback: &ProviderCallback<'_>,
        life: Duration,
        now: Timestamp,
    ) -> Result<Self, ReturnRefused> {
        if switch::off(Check::C10) {
            return Ok(Self { browser });
        }
        if callback.path != callback.flow {
            return Err(ReturnRefused::OtherProvider);
        }
        if !callback.expected.fits(callback.iss) {
            return Err(ReturnRefused::OtherIssuer);
        }
        if callback.since.plus(life).passed(now) {
            return Err(ReturnRefused::Late);
        }
        Ok(Self { browser })
    }

    /// The person.
    pub fn person(&self) -> &SamePerson {
        self.browser.person()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(query: &str) -> CallbackRefused {
        CallbackParams::parse(query, true).err().unwrap()
    }

    #[test]
    fn a_plain_callback_is_read_and_unknown_parameters_are_ignored() {
        let read = CallbackParams::parse(
            "code=a%2Bb&state=s&iss=https%3A%2F%2Fh.test&session_state=x",
            true,
        )
        .ok()
        .unwrap();
        assert_eq!(&*read.state, "s");
        assert_eq!(read.iss.as_deref(), Some("https://h.test"));
        assert!(matches!(read.answer, CallbackAnswer::Code(_)));
    }

    #[test]
    fn doubles_are_refused_and_an_ambiguous_state_names_no_flow() {
        assert_eq!(refused("code=a&state=s&state=t").state, None);
        assert_eq!(refused("code=a&state=s&state=s").state, None);
        assert_eq!(refused("code=a&code=b&state=s").state.as_deref(), Some("s"));
        assert_eq!(
            refused("code=a&state=s&iss=x&iss=y").state.as_deref(),
            Some("s")
        );
        assert_eq!(
            refused("code=a&error=e&state=s").state.as_deref(),
            Some("s")
        );
        assert_eq!(refused("state=s").state.as_deref(), Some("s"));
        assert_eq!(refused("code=a").state, None);
        assert_eq!(refused("code[]=a&state[]=s").state, None);
    }

    #[test]
    fn an_issuer_whose_name_is_not_known_is_still_not_another_one() {
        let named = KnownIssuer::Named(IssuerUrl::parse("https://h.test/t1").unwrap());
        let home = KnownIssuer::At(Url::parse("https://h.test/t1/authorize").unwrap());
        for (iss, by_name, by_home) in [
            (Some("https://h.test/t1"), true, true),
            (Some("https://h.test"), false, true),
            (Some("https://h.test:443/t1"), false, true),
            (Some("https://x.test"), false, false),
            (Some("http://h.test/t1"), false, false),
            (Some("https://h.test:8443"), false, false),
            (Some("https://h.test.x.test"), false, false),
            (Some("https://h.test@x.test"), false, false),
            (Some("h.test"), false, false),
            (Some("data:,h.test"), false, false),
            (Some("null"), false, false),
            (None, true, true),
        ] {
            for (issuer, expected) in [(&named, by_name), (&home, by_home)] {
                let rule = ExpectedIssuer {
                    issuer: issuer.clone(),
                    required: false,
                };
                assert_eq!(rule.fits(iss), expected, "{iss:?} {issuer:?}");
            }
        }
    }

    #[test]
    fn bad_encodings_and_long_values_are_refused() {
        for query in [
            "code=%ff&state=s",
            "code=%0&state=s",
            "code=a%00b&state=s",
            &format!("code={}&state=s", "x".repeat(2049)),
        ] {
            assert_eq!(refused(query).state.as_deref(), Some("s"), "{query}");
        }
        assert_eq!(
            refused(&format!("code=a&state={}", "x".repeat(65))).state,
            None
        );
    }
}
