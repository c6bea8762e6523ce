//! The response headers of every answer of the connect listener (security.md 5.2), set in one place for pages, files, errors
//! and empty answers alike.

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Nothing runs, nothing is fetched from elsewhere, nothing may frame us. `form-action` is why a form post is answered by a
/// redirect to a page of ours and never by one to a provider.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const PERMISSIONS: &str = "accelerometer=(), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(), \
     display-capture=(), geolocation=(), gyroscope=(), identity-credentials-get=(), microphone=(), midi=(), payment=(), \
     publickey-credentials-get=(), serial=(), usb=(), xr-spatial-tracking=()";

const FIXED: [(HeaderName, &str); 10] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (HeaderName::from_static("origin-agent-cluster"), "?1"),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    (
        HeaderName::from_static("x-robots-tag"),
        "noindex, nofollow, noarchive",
    ),
    (header::X_DNS_PREFETCH_CONTROL, "off"),
];

/// Sets the headers of an answer to a request for `path`. Whatever the answer says about its own caching stays.
pub(crate) fn harden(headers: &mut HeaderMap, path: &str, https: bool) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static(referrer(path)),
    );
    if https {
        let two_years = HeaderValue::from_static("max-age=63072000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, two_years);
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// Addresses that carry a secret, and pages that lead away, tell nobody where one came from. Pages with forms cannot do so:
/// under `no-referrer` a browser sends `Origin: null` with our own forms.
fn referrer(path: &str) -> &'static str {
    let secret = ["/c/", "/cb/", "/login/callback/"]
        .iter()
        .any(|start| path.starts_with(start));
    if secret || path == "/login/go" || path.ends_with("/leaving") {
        "no-referrer"
    } else {
        "same-origin"
    }
}
