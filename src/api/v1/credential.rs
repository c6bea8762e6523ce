//! The one place where an access token is said aloud: the body of a `connected` answer.
//!
//! The body is written into one buffer of sufficient size and that buffer is wiped when the answer has been sent. The copy
//! that actix-web makes in its write buffer, and those of the kernel, are out of reach.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actors::doors::{Credential, GrantView};
use secret::Reveal as _;
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::views;
use crate::listener::answer_bytes;
use crate::problem::{Kind, Problem};

#[derive(Serialize)]
struct Connected<'a> {
    status: &'static str,
    credential: Usable<'a>,
    grant: views::Grant<'a>,
}

/// A credential and how to use it.
#[derive(Serialize)]
struct Usable<'a> {
    header: Header<'a>,
    expires_at: Option<String>,
    scopes: Vec<&'a str>,
    allowed_hosts: &'a [Box<str>],
}

#[derive(Serialize)]
struct Header<'a> {
    name: &'a str,
    value: Value<'a>,
}

/// Prefix and token, joined only in the output.
struct Value<'a>(&'a Credential);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(credential) = self;
        serializer.collect_str(&format_args!(
            "{}{}",
            credential.header_prefix,
            credential.token.reveal()
        ))
    }
}

/// The `connected` answer.
///
/// # Errors
/// `internal`, if the answer cannot be written.
pub(crate) fn connected(
    credential: &Credential,
    grant: &GrantView,
) -> Result<HttpResponse, Problem> {
    let answer = Connected {
        status: "connected",
        credential: Usable {
            header: Header {
                name: &credential.header_name,
                value: Value(credential),
            },
            expires_at: credential.expires.map(domain::Timestamp::rfc3339),
            scopes: credential.scopes.iter().collect(),
            allowed_hosts: &credential.allowed_hosts,
        },
        grant: grant.into(),
    };
    let mut body = Zeroizing::new(Vec::with_capacity(room_for(credential, grant)));
    serde_json::to_writer(&mut *body, &answer).map_err(|_| Problem::from(Kind::Internal))?;
    Ok(answer_bytes(StatusCode::OK, Bytes::from_owner(body)))
}

/// Enough room that the buffer never grows, which would leave an unwiped copy. All these texts are printable, so JSON at
/// most doubles them; everything else in the answer has a fixed size.
fn room_for(credential: &Credential, grant: &GrantView) -> usize {
    let scopes = credential.scopes.iter().chain(grant.scopes.iter());
    let hosts = credential.allowed_hosts.iter().map(AsRef::as_ref);
    let lists: usize = scopes.chain(hosts).map(|text: &str| text.len() + 2).sum();
    let header = credential.header_name.len() + credential.header_prefix.len();
    2 * (credential.token.reveal().len() + header + lists) + 2048
}

#[cfg(test)]
mod tests {
    use actix_web::body::{BodySize, MessageBody as _};
    use domain::ScopeSet;
    use secret::AccessToken;

    use super::*;
    use crate::suite::door;

    #[test]
    fn the_buffer_never_has_to_grow() {
        let awkward = "\"".repeat(64 * 1024);
        let scopes = (0..64).map(|n| format!("{n:0>256}"));
        let scopes = ScopeSet::new(scopes).unwrap();
        let credential = Credential {
            token: AccessToken::new(awkward),
            scopes: scopes.clone(),
            allowed_hosts: vec!["h".repeat(253).into(); 50],
            ..door::credential()
        };
        let grant = GrantView {
            scopes,
            ..door::grant()
        };
        let answer = connected(&credential, &grant).unwrap();
        let BodySize::Sized(size) = answer.body().size() else {
            panic!("no size");
        };
        assert!(size > 128 * 1024);
        assert!(size <= room_for(&credential, &grant) as u64);
    }
}
