//! What is checked on a request head, and which headers every answer of a listener without pages carries.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use secret::{KeyClass, ServerKeyText};

use crate::limits::{MAX_HEAD, MAX_HEADERS, MAX_PARAMETERS, MAX_URL};
use crate::problem::{Kind, Problem};

/// The subject on GET and DELETE: the user's access token.
pub(crate) const SUBJECT_TOKEN: &str = "Subject-Token";
/// The subject on GET and DELETE on the server's word: base64url JSON.
pub(crate) const SUBJECT_ASSERTION: &str = "Subject-Assertion";
/// Makes a create safe to repeat.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Length of every key of ours, characters.
const KEY_LENGTH: usize = 66;

/// Response headers of every answer (security.md 5.6). There is nothing here for a browser to show, run, keep or frame.
const RESPONSE: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        header::STRICT_TRANSPORT_SECURITY,
        "max-age=63072000; includeSubDomains",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Sets the response headers of every answer.
pub(crate) fn harden(headers: &mut HeaderMap) {
    for (name, value) in RESPONSE {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Checks of the head that need to know nothing about the route.
///
/// # Errors
/// The problem to answer.
pub(crate) fn check_head(request: &HttpRequest) -> Result<(), Problem> {
    check_size(request)?;
    check_keys(request)?;
    // Node's `fetch` sends Sec-Fetch-Mode, so only the three that no server-side client sends are refused.
    if ["cookie", "origin", "sec-fetch-site"]
        .iter()
        .any(|name| request.headers().contains_key(*name))
    {
        return Err(Kind::BrowserRequest.into());
    }
    if asks_for_websocket(request.headers()) {
        return Err(Problem::header(
            "Upgrade",
            "leave this header out: no address here speaks WebSocket",
        ));
    }
    for name in [SUBJECT_TOKEN, SUBJECT_ASSERTION, IDEMPOTENCY_KEY] {
        if request.headers().get_all(name).count() > 1 {
            return Err(Problem::header(name, "send this header once"));
        }
    }
    Ok(())
}

/// Checks that no key of ours stands in the address or in any header but the one for it.
fn check_keys(request: &HttpRequest) -> Result<(), Problem> {
    misplaced_key(request).map_or(Ok(()), |key| Err(Problem::misplaced(key)))
}

/// The public id of a key of ours that stands in the address or in any header but the one for it.
pub(crate) fn misplaced_key(request: &HttpRequest) -> Option<Box<str>> {
    let query = url::form_urlencoded::parse(request.query_string().as_bytes());
    let in_query = || query.flat_map(|(name, value)| [name, value]);
    let in_headers = || {
        let headers = request.headers().iter();
        headers
            .filter(|(name, _)| *name != header::AUTHORIZATION)
            .filter_map(|(_, value)| value.to_str().ok())
    };
    find_key(request.path())
        .or_else(|| in_query().find_map(|text| find_key(&text)))
        .or_else(|| in_headers().find_map(find_key))
}

/// Whether the request asks for another protocol in a way that makes the framework read its body without an end, whatever
/// its `Content-Length` says. Other protocols (`h2c`, which some clients always offer) are not taken up and do no harm.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let mut asked = headers.get_all(header::UPGRADE);
    asked.any(|value| {
        value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"websocket")
    })
}

fn check_size(request: &HttpRequest) -> Result<(), Problem> {
    let url = request.path().len() + request.query_string().len();
    if url > MAX_URL || request.query_string().split('&').count() > MAX_PARAMETERS {
        return Err(Kind::UrlTooLong.into());
    }
    let headers = request.headers();
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if headers.len() > MAX_HEADERS || size > MAX_HEAD {
        return Err(Kind::HeadTooLarge.into());
    }
    Ok(())
}

/// The text of a header that may come once; `None` when it is absent.
///
/// # Errors
/// `invalid-request` when it is not visible ASCII.
pub(crate) fn text_of<'r>(
    request: &'r HttpRequest,
    name: &'static str,
) -> Result<Option<&'r str>, Problem> {
    let Some(value) = request.headers().get(name) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) if text.bytes().all(|b| (0x21..=0x7e).contains(&b)) && !text.is_empty() => {
            Ok(Some(text))
        }
        _ => Err(Problem::header(
            name,
            "write this header in visible ASCII characters, without spaces",
        )),
    }
}

/// Checks that a request with a body does not name its subject a second time in its head.
///
/// # Errors
/// `invalid-request`.
pub(crate) fn check_subject_is_in_body(request: &HttpRequest) -> Result<(), Problem> {
    let here = [SUBJECT_TOKEN, SUBJECT_ASSERTION]
        .into_iter()
        .find(|name| request.headers().contains_key(*name));
    match here {
        Some(name) => Err(Problem::header(
            name,
            "only on GET and DELETE: here the subject stands in the body",
        )),
        None => Ok(()),
    }
}

/// Checks that a body comes as JSON in UTF-8: `application/json`, at most with `charset=utf-8`, not encoded.
///
/// # Errors
/// `unsupported-media-type`.
pub(crate) fn check_content_type(request: &HttpRequest) -> Result<(), Problem> {
    let mut types = request.headers().get_all(header::CONTENT_TYPE);
    let json = match (types.next().map(HeaderValue::to_str), types.next()) {
        (Some(Ok(text)), None) => is_json(text),
        _ => false,
    };
    let encoded = request
        .headers()
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
    if json && !encoded {
        Ok(())
    } else {
        Err(Kind::UnsupportedMediaType.into())
    }
}

fn is_json(text: &str) -> bool {
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let charset = |part: &str| {
        part.eq_ignore_ascii_case("charset=utf-8") || part.eq_ignore_ascii_case("charset=\"utf-8\"")
    };
    essence.eq_ignore_ascii_case("application/json")
        && parts.next().is_none_or(charset)
        && parts.next().is_none()
}

/// The public id of a whole key of ours, of whichever class, that stands in the text. The checksum tells a key from an
/// accident: tokens and sealed states are random text too.
pub(crate) fn find_key(text: &str) -> Option<Box<str>> {
    [KeyClass::Server, KeyClass::Admin]
        .iter()
        .find_map(|class| {
            text.match_indices(class.prefix()).find_map(|(at, _)| {
                let key = text.get(at..at + KEY_LENGTH)?;
                let key = ServerKeyText::parse(*class, key).ok()?;
                Some(key.id().into())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secret::Reveal as _;

    #[test]
    fn only_json_in_utf_8_is_json() {
        for good in [
            "application/json",
            "APPLICATION/JSON",
            "application/json;charset=UTF-8",
            "application/json; charset=\"utf-8\"",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "text/json",
            "application/json; charset=utf-16",
            "application/json; charset=utf-8; charset=utf-16",
            "application/json;",
            "application/json, text/plain",
            "application/problem+json",
            "application/x-www-form-urlencoded",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }

    #[test]
    fn keys_are_told_from_other_text() {
        for class in [KeyClass::Server, KeyClass::Admin] {
            let key = ServerKeyText::generate(class, &secret::OsEntropy);
            assert_eq!(key.reveal().len(), KEY_LENGTH);
            assert_eq!(find_key(key.reveal()).as_deref(), Some(key.id()));
            let within = format!("srk_ Bearer {}ü", key.reveal());
            assert_eq!(find_key(&within).as_deref(), Some(key.id()));
            assert_eq!(find_key(&key.reveal()[1..]), None);
            assert_eq!(find_key(&key.reveal()[..KEY_LENGTH - 1]), None);
        }
    }
}
