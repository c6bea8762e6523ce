//! The few encodings and the one MAC that attackers need: base64, hex, HMAC-SHA-256, by the libraries.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// base64url without padding.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads base64url without padding, or the lines of a PEM body.
pub(crate) fn from_base64url(text: &str) -> Vec<u8> {
    let text = text.replace('+', "-").replace('/', "_");
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).unwrap()
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// A JWT of these JSON texts with HS256 under a key of the attacker's choice.
pub(crate) fn hs256(key: &[u8], header: &str, claims: &str) -> String {
    let message = format!(
        "{}.{}",
        base64url(header.as_bytes()),
        base64url(claims.as_bytes())
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message.as_bytes());
    format!("{message}.{}", base64url(&mac.finalize().into_bytes()))
}

/// The claims of a JWT.
pub(crate) fn claims_of(token: &str) -> serde_json::Value {
    serde_json::from_slice(&from_base64url(token.split('.').nth(1).unwrap())).unwrap()
}
