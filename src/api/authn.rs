//! The caller's own credential: exactly one `Authorization` header with `Bearer` and one key (RFC 6750 section 2.1).
//!
//! Whatever is wrong with it, the answer is the same 401; which part it was stands in the audit log behind the door. So
//! what is no key goes to the door as well: every refused identity check has its entry.

use actix_web::HttpRequest;
use actix_web::http::header;

/// What stands for a header that holds no key: it is none either.
pub(crate) const NO_KEY: &str = "";

/// The text in the place of the key. Whether it is one, and whose, is for the door to say.
pub(crate) fn bearer(request: &HttpRequest) -> &str {
    let mut values = request.headers().get_all(header::AUTHORIZATION);
    let (Some(value), None) = (values.next(), values.next()) else {
        return NO_KEY;
    };
    let parts = value.to_str().ok().and_then(|text| text.split_once(' '));
    match parts {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("Bearer") => key,
        _ => NO_KEY,
    }
}
