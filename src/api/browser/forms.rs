//! Forms of ours, read strictly (WHATWG URL section 5.1): one content type, known fields, each once, at most 16 KiB in 10 s.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::Payload;
use domain::{BrowserFlowId, MAX_KEY, form_decoded};
use futures_util::StreamExt as _;
use secret::KeyInput;
use zeroize::Zeroizing;

use crate::limits::BODY_TIME;

/// Largest form, bytes.
const MAX_FORM: usize = 16 * 1024;
/// Longest value of a field, bytes; a CSRF token has 43.
const MAX_FIELD: usize = 256;
/// Longest value of what a person types in, with the white space that was pasted along.
const MAX_INPUT: usize = MAX_KEY as usize + 64;

/// A form that is not one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormFault {
    /// Not `application/x-www-form-urlencoded`.
    Type,
    /// More than 16 KiB.
    TooLarge,
    /// It took more than 10 s.
    Slow,
    /// Anything else: doubled, unknown or missing parts, bad encoding.
    Broken,
}

impl FormFault {
    /// Status and code of the answer.
    pub(crate) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::Type => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-a-form"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "form-too-large"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "form-too-slow"),
            Self::Broken => (StatusCode::BAD_REQUEST, "form-unreadable"),
        }
    }
}

/// The field that a form may have besides `csrf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    /// None.
    Nothing,
    /// The tick of the consent page.
    Agree,
    /// The tick of the confirm page.
    Mine,
    /// The flow that goes on after signing out.
    Flow,
    /// The tick of the page that asks for a key, and the fields of the key.
    Key,
}

impl Extra {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Agree | Self::Key => Some("agree"),
            Self::Mine => Some("mine"),
            Self::Flow => Some("flow"),
        }
    }
}

/// What a form said.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// The CSRF token; empty when it was missing, which is as good as a wrong one.
    pub(crate) csrf: Box<str>,
    /// Whether the box was ticked.
    pub(crate) ticked: bool,
    /// The flow to go on with.
    pub(crate) flow: Option<BrowserFlowId>,
    /// The login name that was typed in.
    pub(crate) login: Option<KeyInput>,
    /// The key that was typed in.
    pub(crate) key: Option<KeyInput>,
}

/// Whether the content type is that of a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE);
    let (Some(kind), None) = (types.next(), types.next()) else {
        return false;
    };
    let Ok(kind) = kind.to_str() else {
        return false;
    };
    let (essence, parameter) = kind.split_once(';').unwrap_or((kind, ""));
    essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
        && (parameter.is_empty() || parameter.trim().eq_ignore_ascii_case("charset=utf-8"))
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Reads the body of a post.
///
/// # Errors
/// [`FormFault`].
pub(crate) async fn read(
    request: &HttpRequest,
    payload: Payload,
    extra: Extra,
) -> Result<Fields, FormFault> {
    if !is_form(request.headers()) {
        return Err(FormFault::Type);
    }
    let body = tokio::time::timeout(BODY_TIME, collect(payload)).await;
    parse(&body.map_err(|_| FormFault::Slow)??, extra)
}

/// The body, wiped after it was read: it may hold a key.
async fn collect(mut payload: Payload) -> Result<Zeroizing<Vec<u8>>, FormFault> {
    let mut body = Zeroizing::new(Vec::with_capacity(MAX_FORM));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| FormFault::Broken)?;
        if body.len() + chunk.len() > MAX_FORM {
            return Err(FormFault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn parse(body: &[u8], extra: Extra) -> Result<Fields, FormFault> {
    let text = std::str::from_utf8(body).map_err(|_| FormFault::Broken)?;
    let mut fields = Fields::default();
    let mut seen: Vec<String> = Vec::new();
    for pair in text.split('&').filter(|_| !text.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(FormFault::Broken)?;
        let (name, value) = form_decoded(name)
            .zip(form_decoded(value))
            .ok_or(FormFault::Broken)?;
        let typed = extra == Extra::Key && matches!(name.as_str(), "key" | "login");
        if seen.contains(&name) || value.len() > if typed { MAX_INPUT } else { MAX_FIELD } {
            return Err(FormFault::Broken);
        }
        match (name.as_str(), extra) {
            ("csrf", _) => fields.csrf = value.into(),
            ("key", Extra::Key) => fields.key = Some(KeyInput::new(value)),
            ("login", Extra::Key) => fields.login = Some(KeyInput::new(value)),
            (field, Extra::Agree | Extra::Mine | Extra::Key)
                if Some(field) == extra.name() && value == "yes" =>
            {
                fields.ticked = true;
            }
            (field, Extra::Flow) if Some(field) == extra.name() => {
                fields.flow = Some(value.parse().map_err(|_| FormFault::Broken)?);
            }
            _ => return Err(FormFault::Broken),
        }
        seen.push(name);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use secret::KeyInput;

    use super::{Extra, Fields, FormFault, parse};

    impl PartialEq for Fields {
        fn eq(&self, other: &Self) -> bool {
            let same = |one: &Option<KeyInput>, other: &Option<KeyInput>| match (one, other) {
                (Some(one), Some(other)) => one.ct_eq(other),
                (None, None) => true,
                _ => false,
            };
            self.csrf == other.csrf
                && self.ticked == other.ticked
                && self.flow == other.flow
                && same(&self.login, &other.login)
                && same(&self.key, &other.key)
        }
    }

    fn input(text: &str) -> KeyInput {
        KeyInput::new(text.to_owned())
    }

    #[test]
    fn forms_are_read_by_the_table() {
        let csrf = |ticked| Fields {
            csrf: "a b/+".into(),
            ticked,
            ..Fields::default()
        };
        let flow = format!("bf_{}", "0a".repeat(16));
        let good: [(&str, Extra, Fields); 9] = [
            ("csrf=a+b%2F%2b", Extra::Nothing, csrf(false)),
            ("csrf=a+b%2F%2B&agree=yes", Extra::Agree, csrf(true)),
            ("mine=yes&%63srf=a%20b/%2B", Extra::Mine, csrf(true)),
            ("csrf=a+b%2F%2B", Extra::Agree, csrf(false)),
            ("", Extra::Nothing, Fields::default()),
            (
                "csrf=a+b%2F%2B&key=+sk_%0A&agree=yes",
                Extra::Key,
                Fields {
                    key: Some(input(" sk_\n")),
                    ..csrf(true)
                },
            ),
            (
                "login=a%40b.test&key=",
                Extra::Key,
                Fields {
                    login: Some(input("a@b.test")),
                    key: Some(input("")),
                    ..Fields::default()
                },
            ),
            (
                &format!("key={}", "k".repeat(4160)),
                Extra::Key,
                Fields {
                    key: Some(input(&"k".repeat(4160))),
                    ..Fields::default()
                },
            ),
            (
                &format!("flow={flow}"),
                Extra::Flow,
                Fields {
                    flow: flow.parse().ok(),
                    ..Fields::default()
                },
            ),
        ];
        for (body, extra, fields) in good {
            assert_eq!(parse(body.as_bytes(), extra), Ok(fields), "{body}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("csrf={}", "a".repeat(257));
        let long_key = format!("key={}", "a".repeat(4161));
        let bad: [(&[u8], Extra); 25] = [
            (b"key=a&key=a", Extra::Key),
            (b"key=a", Extra::Agree),
            (b"key=%00", Extra::Key),
            (b"mine=yes&key=a", Extra::Key),
            (long_key.as_bytes(), Extra::Key),
            (b"csrf=a&csrf=a", Extra::Nothing),
            (b"csrf=a&%63srf=b", Extra::Nothing),
            (b"agree=yes&agree=yes", Extra::Agree),
            (b"agree=no", Extra::Agree),
            (b"agree=YES", Extra::Agree),
            (b"agree=", Extra::Agree),
            (b"mine=yes", Extra::Agree),
            (b"agree=yes", Extra::Nothing),
            (b"flow=bf_x", Extra::Flow),
            (b"flow=", Extra::Flow),
            (b"csrf=a&_method=delete", Extra::Nothing),
            (b"csrf", Extra::Nothing),
            (b"csrf=a&", Extra::Nothing),
            (b"&csrf=a", Extra::Nothing),
            (b"csrf=%", Extra::Nothing),
            (b"csrf=%4", Extra::Nothing),
            (b"csrf=%zz", Extra::Nothing),
            (b"csrf=%ff", Extra::Nothing),
            (b"csrf=%00", Extra::Nothing),
            (long.as_bytes(), Extra::Nothing),
        ];
        for (body, extra) in bad {
            assert_eq!(
                parse(body, extra),
                Err(FormFault::Broken),
                "{}",
                String::from_utf8_lossy(body)
            );
        }
    }
}
