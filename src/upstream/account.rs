//! Which account at the provider the tokens are for, read from the place that the provider file names.

use domain::{Provider, ProviderAccount, text};
use http::{HeaderName, HeaderValue, Request};
use secret::{AccessToken, Reveal as _};
use serde_json::Value;
use url::Url;

use crate::failure::ProviderFailure;
use crate::metadata::FetchFailure;
use crate::outbound::{CallKind, Outbound};
use crate::strict_json;

/// Longest account id, in bytes.
const MAX_ID: usize = 255;
/// Longest name that is shown, in characters.
const MAX_NAME: usize = 128;

/// JSON pointers (RFC 6901) of the id and the name.
#[derive(Clone, Copy)]
pub(crate) struct Pointers<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: Option<&'a str>,
}

/// Reads the account out of an answer. A name that stands there twice makes it no answer: another reader may take the other
/// value, and so another person's account.
pub(crate) fn read(body: &[u8], at: Pointers<'_>) -> Option<ProviderAccount> {
    let answer = strict_json::value(body)?;
    let id = word(answer.pointer(at.id)?)?;
    if id.is_empty() || id.len() > MAX_ID {
        return None;
    }
    let name = at.name.and_then(|at| word(answer.pointer(at)?));
    Some(ProviderAccount {
        id: id.into(),
        name: name
            .map(|name| shown(&name))
            .filter(|name| !name.is_empty()),
    })
}

/// Asks the provider's account endpoint with the fresh token or key.
pub(crate) async fn ask(
    outbound: &Outbound,
    provider: &Provider,
    access: &AccessToken,
    (url, at): (&Url, Pointers<'_>),
) -> Result<ProviderAccount, ProviderFailure> {
    let name = HeaderName::from_bytes(provider.header_name.as_bytes());
    let value = format!("{}{}", provider.header_prefix, access.reveal());
    let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_maybe_shared(value.into_bytes()))
    else {
        return Err(ProviderFailure::Misconfigured);
    };
    value.set_sensitive(true);
    let mut request = Request::new(Vec::new());
    request.headers_mut().insert(name, value);
    let answer =
        (outbound.call(CallKind::Account, url, request).await).map_err(FetchFailure::from)?;
    match answer.status.as_u16() {
        200 => read(answer.body.expose(), at).ok_or(ProviderFailure::Unreadable),
        401 | 403 => Err(ProviderFailure::KeyRefused),
        408 | 425 | 429 | 500.. => Err(ProviderFailure::Unreachable),
        _ => Err(ProviderFailure::Unreadable),
    }
}

/// Text, or a whole number as text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

/// A name as people may see it: without characters that hide text or turn the direction of writing.
fn shown(name: &str) -> Box<str> {
    name.chars()
        .filter(|c| !text::is_misleading(*c))
        .take(MAX_NAME)
        .collect::<String>()
        .trim()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Pointers<'_> = Pointers {
        id: "/data/0/id",
        name: Some("/login"),
    };

    #[test]
    fn an_account_is_found_by_its_pointers() {
        let account = read(br#"{"data":[{"id":42}],"login":" a\u202e\nb "}"#, AT).unwrap();
        assert_eq!(&*account.id, "42");
        assert_eq!(account.name.as_deref(), Some("ab"));
        let account = read(br#"{"data":[{"id":"x"}]}"#, AT).unwrap();
        assert_eq!((&*account.id, account.name), ("x", None));
    }

    #[test]
    fn an_account_without_a_usable_id_is_none() {
        let long = format!(r#"{{"data":[{{"id":"{}"}}]}}"#, "x".repeat(256));
        for wrong in [
            "{}",
            r#"{"data":[{"id":""}]}"#,
            r#"{"data":[{"id":1.5}]}"#,
            r#"{"data":[{"id":{}}]}"#,
            "<html>",
            r#"{"data":[{"id":1,"id":2}]}"#,
            r#"{"data":[{"id":1}],"data":[{"id":2}]}"#,
            r#"{"data":[{"id":1}],"login":"a","login":"b"}"#,
            &long,
        ] {
            assert!(read(wrong.as_bytes(), AT).is_none(), "{wrong}");
        }
    }
}
