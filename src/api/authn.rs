//! The caller's own credential: exactly one `Authorization` header with `Bearer` and one key (RFC 6750 section 2.1).
//!
//! Whatever is wrong with it, the answer is the same 401; which part it was stands in the audit log behind the door.

use actix_web::HttpRequest;
use actix_web::http::header;
use secret::{KeyClass, ServerKeyText};

use crate::problem::{Kind, Problem};

/// The key in the header, well-formed for its class. A key with a wrong checksum goes no further than this.
///
/// # Errors
/// `unauthenticated`.
pub(crate) fn bearer(request: &HttpRequest, class: KeyClass) -> Result<&str, Problem> {
    let refused = || Problem::from(Kind::Unauthenticated);
    let mut values = request.headers().get_all(header::AUTHORIZATION);
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(refused());
    };
    let text = value.to_str().map_err(|_| refused())?;
    let (scheme, key) = text.split_once(' ').ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("Bearer") || ServerKeyText::parse(class, key).is_err() {
        return Err(refused());
    }
    Ok(key)
}
