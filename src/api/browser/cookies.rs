//! Our cookies: read strictly, written in one place.
//!
//! Names with the prefix `__Host-` cannot be planted by a neighbouring host (RFC 6265bis section 4.1.3.2), so a double of
//! one of ours means that somebody is at work, and the request is refused. Cookies of others are none of our business.

use actix_web::HttpResponseBuilder;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actors::doors::{Cookies, cookie_digits};
use domain::{BrowserFlow, BrowserFlowId, BrowserSession};
use pages::Language;
use secret::{BrowserCookie, RevealOwn as _, SessionCookie};
use zeroize::Zeroizing;

use super::language;

/// Start of all our names.
const OURS: &str = "__Host-sr_";
const SESSION: &str = "__Host-sr_s";
const OWN_PAGE: &str = "__Host-sr_p";
const PRE_LOGIN: &str = "__Host-sr_l";
const FLOW: &str = "__Host-sr_f_";
const LANGUAGE: &str = "__Host-sr_t";
/// Longest value of ours, bytes: all cookies of a browser stay below 2 kB.
const MAX_VALUE: usize = 1024;
/// Life of a chosen language, seconds: who chose one wants it the next time, too.
const LANGUAGE_LIFE: u64 = 30 * 24 * 60 * 60;
/// Life of the pre-login cookie, seconds.
const PRE_LOGIN_LIFE: u64 = 10 * 60;

/// One of our cookies came twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoubleCookie;

/// Our cookies of one request.
pub(crate) struct Jar {
    /// Those whose values can be ours.
    pub(crate) cookies: Cookies,
    /// Digits in the names of flow cookies whose values cannot be ours.
    spoilt: Vec<Box<str>>,
}

impl Jar {
    /// Reads all `Cookie` headers. A value that cannot be ours counts as absent.
    ///
    /// # Errors
    /// [`DoubleCookie`].
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, DoubleCookie> {
        let mut jar = Self {
            cookies: Cookies::default(),
            spoilt: Vec::new(),
        };
        let mut seen: Vec<&str> = Vec::new();
        let lines = headers.get_all(header::COOKIE).map(HeaderValue::as_bytes);
        for pair in lines.flat_map(|line| line.split(|byte| *byte == b';')) {
            let Some((name, value)) = ours(pair) else {
                continue;
            };
            if seen.contains(&name) {
                return Err(DoubleCookie);
            }
            seen.push(name);
            jar.take(name, value);
        }
        Ok(jar)
    }

    fn take(&mut self, name: &str, value: &str) {
        if name == SESSION {
            self.cookies.session = SessionCookie::parse(value).ok();
        } else if name == OWN_PAGE {
            self.cookies.own_page = SessionCookie::parse(value).ok();
        } else if name == PRE_LOGIN {
            self.cookies.pre_login = is_plain(value).then(|| value.into());
        } else if let Some(digits) = name.strip_prefix(FLOW).filter(|digits| is_digits(digits)) {
            match BrowserCookie::parse(value) {
                Ok(cookie) => self.cookies.flows.push((digits.into(), cookie)),
                Err(_) => self.spoilt.push(digits.into()),
            }
        }
    }

    /// Sets the cookie of a new flow. Those that the door gave up make room for it, and what was never ours.
    pub(crate) fn set_flow(
        &self,
        answer: &mut HttpResponseBuilder,
        (flow, cookie): (BrowserFlowId, &BrowserCookie),
        forget: &[Box<str>],
    ) {
        let digits = cookie_digits(flow);
        let old = forget.iter().chain(&self.spoilt);
        for old in old.filter(|old| ***old != *digits) {
            set(answer, &format!("{FLOW}{old}"), "", 0);
        }
        let life = BrowserFlow::COOKIE_LIFE.as_secs();
        set(answer, &format!("{FLOW}{digits}"), &cookie.to_text(), life);
    }

    /// Gives a flow's cookie its full life again after a finished step, if this browser brought it.
    pub(crate) fn renew_flow(&self, answer: &mut HttpResponseBuilder, flow: BrowserFlowId) {
        let digits = cookie_digits(flow);
        let held = self.cookies.flows.iter();
        for (_, cookie) in held.filter(|(name, _)| **name == *digits) {
            let life = BrowserFlow::COOKIE_LIFE.as_secs();
            set(answer, &format!("{FLOW}{digits}"), &cookie.to_text(), life);
        }
    }
}

/// Removes the session cookie of the own page.
pub(crate) fn leave_own_page(answer: &mut HttpResponseBuilder) {
    set(answer, OWN_PAGE, "", 0);
}

/// Sets the session cookie of the own page after a login and removes the pre-login cookie.
pub(crate) fn enter_own_page(answer: &mut HttpResponseBuilder, cookie: &SessionCookie) {
    let life = BrowserSession::IDLE.as_secs();
    set(answer, OWN_PAGE, &cookie.to_text(), life);
    remove_pre_login(answer);
}

/// Removes the session cookie and that of a login under way; flows go on with somebody else.
pub(crate) fn sign_out(answer: &mut HttpResponseBuilder) {
    set(answer, SESSION, "", 0);
    remove_pre_login(answer);
}

/// Sets the session cookie after a login and removes the pre-login cookie.
pub(crate) fn sign_in(answer: &mut HttpResponseBuilder, cookie: &SessionCookie) {
    set(
        answer,
        SESSION,
        &cookie.to_text(),
        BrowserSession::LIFE.as_secs(),
    );
    remove_pre_login(answer);
}

/// The language that the person chose on a page.
pub(crate) fn chosen_language(headers: &HeaderMap) -> Option<Language> {
    let lines = headers.get_all(header::COOKIE).map(HeaderValue::as_bytes);
    lines
        .flat_map(|line| line.split(|byte| *byte == b';'))
        .filter_map(ours)
        .find(|(name, _)| *name == LANGUAGE)
        .and_then(|(_, tag)| language::of_tag(tag))
}

/// Remembers the language that the person chose.
pub(crate) fn set_language(answer: &mut HttpResponseBuilder, language: Language) {
    set(answer, LANGUAGE, language.tag(), LANGUAGE_LIFE);
}

/// Sets the pre-login cookie. `false`: its text cannot be a cookie value, and nothing was set.
#[must_use]
pub(crate) fn set_pre_login(answer: &mut HttpResponseBuilder, sealed: &str) -> bool {
    if is_plain(sealed) {
        set(answer, PRE_LOGIN, sealed, PRE_LOGIN_LIFE);
    }
    is_plain(sealed)
}

/// Removes the pre-login cookie: a login is answered once.
pub(crate) fn remove_pre_login(answer: &mut HttpResponseBuilder) {
    set(answer, PRE_LOGIN, "", 0);
}

/// The one writer. `Lax`, because a `Strict` cookie is not sent on the way back from a provider. `Secure` holds on loopback
/// http too: browsers take it there.
fn set(answer: &mut HttpResponseBuilder, name: &str, value: &str, life_s: u64) {
    let line = Zeroizing::new(format!(
        "{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={life_s}"
    ));
    if let Ok(mut line) = HeaderValue::from_str(&line) {
        line.set_sensitive(true); // keeps it out of debug output
        answer.append_header((header::SET_COOKIE, line));
    }
}

/// Name and value of a cookie of ours.
fn ours(pair: &[u8]) -> Option<(&str, &str)> {
    let pair = pair.trim_ascii();
    if !pair.starts_with(OURS.as_bytes()) {
        return None;
    }
    // What is not text is still a double of its name, so only the value is dropped.
    let end = pair
        .iter()
        .position(|byte| *byte == b'=')
        .unwrap_or(pair.len());
    let (name, value) = pair.split_at_checked(end)?;
    let name = std::str::from_utf8(name).ok()?.trim_end();
    let value = std::str::from_utf8(value)
        .unwrap_or("")
        .strip_prefix('=')
        .unwrap_or("");
    Some((name, value))
}

/// Sealed text: base64url, maybe in parts joined by dots.
fn is_plain(value: &str) -> bool {
    (1..=MAX_VALUE).contains(&value.len())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_digits(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
