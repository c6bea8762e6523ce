//! C5: the browser login. What an ID token must say before its person is believed (OpenID Connect Core section 3.1.3.7).
//!
//! Signature, algorithm and the library's own checks are done by the room that talks to issuers; everything that the library
//! leaves open (`azp`, `nbf`, the age of `iat`, our subject claims) is judged here, and `state` is compared here.

use std::time::Duration;

use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;

use super::times::numeric_date;
use crate::switch::{self, Check};
use crate::{Identity, Issuer, Subject, Timestamp};

/// Claims of an ID token whose signature, issuer, audience, expiry and nonce were found good.
pub struct IdTokenClaims {
    /// All claims.
    pub claims: Map<String, Value>,
}

/// What the pre-login cookie remembers of the login that was started in this browser.
pub struct LoginExpectation<'a> {
    /// `state` sent to the issuer.
    pub state: &'a [u8],
    /// When the cookie ends.
    pub expires: Timestamp,
    /// The issuer that the login was started at.
    pub issuer: &'a str,
    /// When the issuer was asked to let the person sign in anew: the start of this login, before which nobody may have
    /// signed in. `None`: whoever was signed in at the issuer already is as good.
    pub anew_since: Option<Timestamp>,
}

/// Proof of C5: this person has just signed in, in this browser, at this issuer.
#[derive(Debug)]
pub struct VerifiedLogin {
    identity: Identity,
    name: Option<Box<str>>,
    login: Option<Box<str>>,
    at: Timestamp,
}

/// Why a login is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginRefused {
    /// No pre-login cookie, or not ours, or too old.
    #[error("this login was not started in this browser, or too long ago")]
    NotStartedHere,
    /// `state` or the issuer of the path differ from what was sent.
    #[error("the answer does not belong to the login that was started")]
    WrongAnswer,
    /// The issuer said no.
    #[error("the issuer refused the login")]
    Refused,
    /// The ID token is not acceptable.
    #[error("the ID token is not acceptable")]
    IdToken,
    /// The issuer cannot be reached or answered something unreadable.
    #[error("the issuer cannot be reached")]
    Unreachable,
    /// Our registration at the issuer is wrong.
    #[error("the registration at the issuer is wrong")]
    Misconfigured,
}

/// The answer of an issuer was matched to the login started in this browser; the code may be exchanged.
#[derive(Debug)]
pub struct LoginAnswer {
    anew_since: Option<Timestamp>,
}

impl LoginExpectation<'_> {
    /// First half of C5: `state`, issuer and age, before anything is sent anywhere.
    ///
    /// # Errors
    /// [`LoginRefused`].
    pub fn matches(
        &self,
        state: &[u8],
        path_issuer: &str,
        now: Timestamp,
    ) -> Result<LoginAnswer, LoginRefused> {
        if switch::off(Check::C5) {
            return Ok(LoginAnswer { anew_since: None });
        }
        if self.expires.passed(now) {
            return Err(LoginRefused::NotStartedHere);
        }
        if self.issuer != path_issuer || !bool::from(self.state.ct_eq(state)) {
            return Err(LoginRefused::WrongAnswer);
        }
        Ok(LoginAnswer {
            anew_since: self.anew_since,
        })
    }
}

impl VerifiedLogin {
    /// Leeway for `iat`, `nbf` and `auth_time`.
    pub const LEEWAY: Duration = Duration::from_secs(60);
    /// Oldest accepted ID token: it was made for the code we have just exchanged.
    pub const MAX_AGE: Duration = Duration::from_secs(300);

    /// Second half of C5: what the ID token says; after `prompt=login` also that the person really signed in anew, because
    /// an issuer may ignore that word (OpenID Connect Core section 3.1.2.1, `max_age` and `auth_time`).
    ///
    /// # Errors
    /// [`LoginRefused::IdToken`].
    pub fn check(
        answer: &LoginAnswer,
        token: &IdTokenClaims,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Self, LoginRefused> {
        let text = |name: &str| token.claims.get(name).and_then(Value::as_str);
        let fits = acceptable(&token.claims, issuer, now) && anew(&token.claims, answer, now);
        if !fits && !switch::off(Check::C5) {
            return Err(LoginRefused::IdToken);
        }
        let values: Option<Vec<&str>> = issuer
            .id_token_claims
            .iter()
            .map(|name| text(name))
            .collect();
        let subject = Subject::new(values.ok_or(LoginRefused::IdToken)?)
            .map_err(|_| LoginRefused::IdToken)?;
        let identity = Identity {
            tenant: issuer.tenant.clone(),
            issuer: issuer.slug.clone(),
            issuer_url: issuer.url.clone(),
            subject,
        };
        let login = text("preferred_username").or_else(|| text("email"));
        Ok(Self {
            identity,
            name: text("name").map(bounded),
            login: login.map(bounded),
            at: now,
        })
    }

    /// The person.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Name to show to this person alone.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Login name to show to this person alone. Never compared with anything.
    pub fn login(&self) -> Option<&str> {
        self.login.as_deref()
    }

    /// When.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

fn acceptable(claims: &Map<String, Value>, issuer: &Issuer, now: Timestamp) -> bool {
    let future = |moment: Timestamp| moment > now.plus(VerifiedLogin::LEEWAY);
    let iat_fits = matches!(numeric_date(claims, "iat"), Ok(Some(iat))
        if !future(iat) && !iat.plus(VerifiedLogin::MAX_AGE).plus(VerifiedLogin::LEEWAY).passed(now));
    let nbf_fits = match numeric_date(claims, "nbf") {
        Ok(nbf) => nbf.is_none_or(|nbf| !future(nbf)),
        Err(_) => false,
    };
    // With one audience `azp` may be absent; with more it must be there; when there it is ours.
    let audiences = match claims.get("aud") {
        Some(Value::String(_)) => 1,
        Some(Value::Array(many)) => many.len(),
        _ => 0,
    };
    let azp_fits = match claims.get("azp") {
        None => audiences == 1,
        Some(azp) => azp.as_str() == Some(&*issuer.client.id),
    };
    iat_fits && nbf_fits && azp_fits
}

/// Whether the person signed in after this login began, where that was asked for.
fn anew(claims: &Map<String, Value>, answer: &LoginAnswer, now: Timestamp) -> bool {
    let Some(since) = answer.anew_since else {
        return true;
    };
    let earliest = since.minus(VerifiedLogin::LEEWAY);
    let latest = now.plus(VerifiedLogin::LEEWAY);
    matches!(numeric_date(claims, "auth_time"), Ok(Some(at)) if (earliest..=latest).contains(&at))
}

fn bounded(text: &str) -> Box<str> {
    text.chars()
        .filter(|c| !crate::text::is_misleading(*c))
        .take(128)
        .collect::<String>()
        .into()
}
