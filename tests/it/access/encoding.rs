//! The few encodings and the one MAC that attackers need: base64, hex, percent, HMAC-SHA-256.

use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::tls13::OkmBlock;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| (word << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = usize::try_from((word >> (18 - 6 * at)) & 63).unwrap();
            out.push(if at <= chunk.len() {
                char::from(STANDARD[digit])
            } else {
                '='
            });
        }
    }
    out
}

/// base64url without padding.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    base64(bytes)
        .replace('+', "-")
        .replace('/', "_")
        .trim_end_matches('=')
        .to_owned()
}

/// Reads base64url without padding.
pub(crate) fn from_base64url(text: &str) -> Vec<u8> {
    let text = text.replace('-', "+").replace('_', "/");
    let digit =
        |c: u8| u32::try_from(STANDARD.iter().position(|known| *known == c).unwrap()).unwrap();
    let mut out = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let word =
            chunk.iter().fold(0_u32, |word, c| (word << 6) | digit(*c)) << (6 * (4 - chunk.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    out
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    suite.common.hash_provider.hash(bytes).as_ref().to_vec()
}

/// HMAC-SHA-256 (RFC 2104): a key longer than a block is hashed first.
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let hashed = sha256(key);
    let key = if key.len() > 64 { &hashed } else { key };
    let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    suite
        .hkdf_provider
        .hmac_sign(&OkmBlock::new(key), message)
        .as_ref()
        .to_vec()
}

/// A JWT of these JSON texts with HS256 under a key of the attacker's choice.
pub(crate) fn hs256(key: &[u8], header: &str, claims: &str) -> String {
    let message = format!(
        "{}.{}",
        base64url(header.as_bytes()),
        base64url(claims.as_bytes())
    );
    let mac = hmac_sha256(key, message.as_bytes());
    format!("{message}.{}", base64url(&mac))
}

/// The claims of a JWT.
pub(crate) fn claims_of(token: &str) -> serde_json::Value {
    serde_json::from_slice(&from_base64url(token.split('.').nth(1).unwrap())).unwrap()
}

#[test]
fn the_encodings_are_those_of_the_rfcs() {
    // RFC 4648 section 10 and RFC 4231 section 4.3.
    assert_eq!(
        [base64(b"f"), base64(b"fo"), base64(b"foo"), base64(b"foob")],
        ["Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
    );
    for text in ["", "f", "fo", "foo", "foob\u{ff}\u{fe}~~~"] {
        assert_eq!(from_base64url(&base64url(text.as_bytes())), text.as_bytes());
    }
    let mac = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
    assert_eq!(
        hex(&mac),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
}
