//! A signed JWT in compact form (RFC 7515 section 7.1), read strictly. Its header names an algorithm and a key id and has no
//! other say: keys that a token brings along are never looked at (RFC 8725 section 3.10).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::SignatureAlgorithm;
use jsonwebtoken::{Algorithm, crypto};
use serde_json::{Map, Value};

use crate::keys::Key;
use crate::strict_json;

/// The parts of a token; its signature is not yet judged.
pub(crate) struct Jws<'a> {
    message: &'a str,
    payload: &'a str,
    signature: &'a str,
    /// `typ`.
    pub(crate) typ: Option<String>,
    /// `kid`.
    pub(crate) kid: Option<String>,
    /// `alg`; an algorithm that we never accept does not get this far.
    pub(crate) algorithm: SignatureAlgorithm,
}

/// Why a token cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadJws {
    /// It is no signed JWT.
    Malformed,
    /// `alg` is none that we accept, from anybody.
    Algorithm,
}

impl<'a> Jws<'a> {
    /// Reads the form and the header of a token of at most `limit` bytes.
    pub(crate) fn parse(token: &'a str, limit: usize) -> Result<Self, BadJws> {
        if token.len() > limit {
            return Err(BadJws::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(BadJws::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(BadJws::Malformed)?;
        let clean = [header, payload].iter().all(|part| {
            !part.is_empty() && !part.contains('.') && URL_SAFE_NO_PAD.decode(part).is_ok()
        });
        if !clean || URL_SAFE_NO_PAD.decode(signature).is_err() {
            return Err(BadJws::Malformed);
        }
        let header = decode_object(header).ok_or(BadJws::Malformed)?;
        // `crit` means "refuse if you do not understand this" (RFC 7515 section 4.1.11), and we understand no extension.
        if ["crit", "b64", "zip", "enc"]
            .iter()
            .any(|name| header.contains_key(*name))
        {
            return Err(BadJws::Malformed);
        }
        let algorithm = text(&header, "alg")?.ok_or(BadJws::Malformed)?;
        Ok(Self {
            message,
            payload,
            signature,
            typ: text(&header, "typ")?,
            kid: text(&header, "kid")?,
            algorithm: SignatureAlgorithm::parse(&algorithm).ok_or(BadJws::Algorithm)?,
        })
    }

    /// Whether the signature is by `key`.
    pub(crate) fn verifies(&self, key: &Key) -> bool {
        let algorithm = match self.algorithm {
            SignatureAlgorithm::Rs256 => Algorithm::RS256,
            SignatureAlgorithm::Ps256 => Algorithm::PS256,
            SignatureAlgorithm::Es256 => Algorithm::ES256,
            SignatureAlgorithm::Es384 => Algorithm::ES384,
            SignatureAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        let message = self.message.as_bytes();
        crypto::verify(self.signature, message, key.decoding(), algorithm).unwrap_or(false)
    }

    /// The claims; call it after the signature was found good.
    pub(crate) fn claims(&self) -> Option<Map<String, Value>> {
        decode_object(self.payload)
    }
}

fn decode_object(part: &str) -> Option<Map<String, Value>> {
    strict_json::object(&URL_SAFE_NO_PAD.decode(part).ok()?)
}

fn text(header: &Map<String, Value>, name: &str) -> Result<Option<String>, BadJws> {
    match header.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(BadJws::Malformed),
    }
}

#[cfg(test)]
mod algorithms;

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", part(header), part("{}"), part("signature"))
    }

    fn refusal(token: &str) -> Option<BadJws> {
        Jws::parse(token, 16 * 1024).err()
    }

    #[test]
    fn the_form_is_strict() {
        let good = token(r#"{"alg":"ES256","kid":"a"}"#);
        assert_eq!(refusal(&good), None);
        let with_padding = good.replacen('.', "=.", 1);
        let (head, tail) = good.split_once('.').unwrap();
        for wrong in [
            with_padding,
            format!("{good}.x"),
            format!("{good}="),
            format!(" {good}"),
            format!(".{tail}"),
            format!("{head}.."),
            head.to_owned(),
            String::new(),
            format!("{good}{}", "A".repeat(16 * 1024)),
        ] {
            assert_eq!(refusal(&wrong), Some(BadJws::Malformed), "{wrong}");
        }
    }

    #[test]
    fn a_header_cannot_carry_extensions_doubles_or_wrong_types() {
        for wrong in [
            r#"{"alg":"ES256","crit":["exp"]}"#,
            r#"{"alg":"ES256","b64":false}"#,
            r#"{"alg":"ES256","enc":"A256GCM"}"#,
            r#"{"alg":"none","alg":"ES256"}"#,
            r#"{"alg":["ES256"]}"#,
            r#"{"alg":"ES256","kid":1}"#,
            r#"{"alg":"ES256","typ":null}"#,
            r#"{"kid":"a"}"#,
            r"[]",
        ] {
            assert_eq!(refusal(&token(wrong)), Some(BadJws::Malformed), "{wrong}");
        }
    }

    #[test]
    fn algorithms_outside_our_list_do_not_exist() {
        for alg in [
            "none", "None", "HS256", "HS512", "RS1", "es256", "ES256K", "",
        ] {
            let header = format!(r#"{{"alg":"{alg}"}}"#);
            assert_eq!(refusal(&token(&header)), Some(BadJws::Algorithm), "{alg}");
        }
    }
}
