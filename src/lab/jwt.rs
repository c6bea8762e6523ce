//! Keys and signatures of a lab: honest tokens, and every dishonest one an attack test asks for.
//!
//! Signatures are made directly with aws-lc-rs, because a library that refuses to write bad tokens
//! is of no use here.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use crate::LabError;
use crate::misbehave::{JwtEdits, Signing, lay_over};

/// The signing keys of a lab.
pub(crate) struct Keys {
    current: EcKey,
    /// A key that is never published.
    foreign: EcKey,
    /// Public parts that stay in the key set after a rotation.
    retired: Vec<Value>,
    rsa: Option<rsa::KeyPair>,
    made: u32,
}

struct EcKey {
    kid: String,
    pair: EcdsaKeyPair,
}

const RSA_KID: &str = "lab-rsa";

impl Keys {
    pub(crate) fn generate(with_rsa: bool) -> Result<Self, LabError> {
        let rsa = if with_rsa {
            let made = rsa::KeyPair::generate(rsa::KeySize::Rsa2048);
            Some(made.map_err(|_| LabError::Key("the RSA key could not be made"))?)
        } else {
            None
        };
        Ok(Self {
            current: EcKey::generate(1)?,
            foreign: EcKey::generate(0)?,
            retired: Vec::new(),
            rsa,
            made: 1,
        })
    }

    /// Makes a new current key; the old public key stays published if `keep_old`.
    pub(crate) fn rotate(&mut self, keep_old: bool) -> Result<(), LabError> {
        let next = EcKey::generate(self.made + 1)?;
        if keep_old {
            self.retired.push(self.current.jwk()?);
        } else {
            self.retired.clear();
        }
        self.made += 1;
        self.current = next;
        Ok(())
    }

    /// The key set document (RFC 7517 section 5).
    pub(crate) fn jwks(&self) -> Result<Value, LabError> {
        let mut keys = vec![self.current.jwk()?];
        keys.extend(self.retired.iter().cloned());
        if let Some(pair) = &self.rsa {
            let public = pair.public_key();
            keys.push(json!({
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": RSA_KID,
                "n": encode(public.modulus().big_endian_without_leading_zero()),
                "e": encode(public.exponent().big_endian_without_leading_zero()),
            }));
        }
        Ok(json!({ "keys": keys }))
    }

    pub(crate) fn public_pem(&self) -> Result<String, LabError> {
        self.current.pem()
    }

    pub(crate) fn rsa_public_pem(&self) -> Result<String, LabError> {
        let der = self.rsa()?.public_key().as_der();
        Ok(pem(der
            .map_err(|_| LabError::Key("the RSA key could not be written"))?
            .as_ref()))
    }

    /// Makes a token of type `typ` from honest claims and the edits.
    pub(crate) fn token(
        &self,
        typ: &str,
        mut claims: Map<String, Value>,
        edits: &JwtEdits,
    ) -> Result<String, LabError> {
        let (alg, kid) = match edits.signing {
            Signing::Own | Signing::Foreign | Signing::ForeignInHeader | Signing::Broken => {
                ("ES256", self.current.kid.as_str())
            }
            Signing::Rsa => ("RS256", RSA_KID),
            Signing::Unsigned => ("none", self.current.kid.as_str()),
            Signing::HmacOfPublicKey => ("HS256", self.current.kid.as_str()),
            Signing::HmacOfRsaPublicKey => ("HS256", RSA_KID),
        };
        let mut header = Map::new();
        for (name, value) in [("alg", alg), ("typ", typ), ("kid", kid)] {
            header.insert(name.to_owned(), Value::from(value));
        }
        if edits.signing == Signing::ForeignInHeader {
            header.insert("jwk".to_owned(), self.foreign.jwk()?);
        }
        lay_over(&mut header, &edits.header);
        lay_over(&mut claims, &edits.claims);
        let (header, claims) = (Value::Object(header), Value::Object(claims));
        let message = message(&header.to_string(), &claims.to_string());
        let signature = match edits.signing {
            Signing::Own => self.current.sign(&message)?,
            Signing::Foreign | Signing::ForeignInHeader => self.foreign.sign(&message)?,
            Signing::Broken => flip_last_bit(self.current.sign(&message)?),
            Signing::Rsa => self.sign_rsa(&message)?,
            Signing::Unsigned => Vec::new(),
            Signing::HmacOfPublicKey => hs256(self.public_pem()?.as_bytes(), &message),
            Signing::HmacOfRsaPublicKey => hs256(self.rsa_public_pem()?.as_bytes(), &message),
        };
        Ok(format!("{message}.{}", encode(&signature)))
    }

    /// Signs exactly these texts, choosing the key by the header's `alg`:
    /// `ES256`, `RS256`, `HS256` (secret: the PEM text of the EC public key), anything else unsigned.
    pub(crate) fn sign(&self, header: &str, claims: &str) -> Result<String, LabError> {
        let message = message(header, claims);
        let read: Value = serde_json::from_str(header).unwrap_or_default();
        let signature = match read.get("alg").and_then(Value::as_str) {
            Some("ES256") => self.current.sign(&message)?,
            Some("RS256") => self.sign_rsa(&message)?,
            Some("HS256") => hs256(self.public_pem()?.as_bytes(), &message),
            _ => Vec::new(),
        };
        Ok(format!("{message}.{}", encode(&signature)))
    }

    fn rsa(&self) -> Result<&rsa::KeyPair, LabError> {
        self.rsa.as_ref().ok_or(LabError::Key(
            "there is no RSA key; set `rsa` in the LabConfig",
        ))
    }

    fn sign_rsa(&self, message: &str) -> Result<Vec<u8>, LabError> {
        let pair = self.rsa()?;
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            message.as_bytes(),
            &mut signature,
        )
        .map_err(|_| LabError::Key("RSA signing failed"))?;
        Ok(signature)
    }
}

impl EcKey {
    fn generate(number: u32) -> Result<Self, LabError> {
        let failed = |_| LabError::Key("the EC key could not be made");
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).map_err(failed)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref())
            .map_err(|_| LabError::Key("the EC key could not be read back"))?;
        Ok(Self {
            kid: format!("lab-ec-{number}"),
            pair,
        })
    }

    fn sign(&self, message: &str) -> Result<Vec<u8>, LabError> {
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        Ok(signature
            .map_err(|_| LabError::Key("EC signing failed"))?
            .as_ref()
            .to_vec())
    }

    /// The public key as JWK; the raw form is `04 || x || y` (RFC 7518 section 6.2.1).
    fn jwk(&self) -> Result<Value, LabError> {
        let raw = self.pair.public_key().as_ref();
        let (Some(x), Some(y)) = (raw.get(1..33), raw.get(33..65)) else {
            return Err(LabError::Key("the EC public key has an odd length"));
        };
        Ok(json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid,
            "x": encode(x), "y": encode(y),
        }))
    }

    fn pem(&self) -> Result<String, LabError> {
        let der = self.pair.public_key().as_der();
        Ok(pem(der
            .map_err(|_| LabError::Key("the EC key could not be written"))?
            .as_ref()))
    }
}

/// URL-safe base64 without padding, as everywhere in JOSE.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn message(header: &str, claims: &str) -> String {
    format!(
        "{}.{}",
        encode(header.as_bytes()),
        encode(claims.as_bytes())
    )
}

fn hs256(secret: &[u8], message: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
}

fn flip_last_bit(mut signature: Vec<u8>) -> Vec<u8> {
    if let Some(last) = signature.last_mut() {
        *last ^= 1;
    }
    signature
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut out = String::from("-----BEGIN PUBLIC KEY-----\n");
    for (index, letter) in text.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            out.push('\n');
        }
        out.push(letter);
    }
    out.push_str("\n-----END PUBLIC KEY-----\n");
    out
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::jwk::JwkSet;
    use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};

    use super::*;

    fn claims() -> Map<String, Value> {
        let value = json!({ "sub": "alice", "aud": "a", "exp": 4_000_000_000_u64 });
        value.as_object().cloned().unwrap_or_default()
    }

    fn verifies(keys: &Keys, token: &str) -> bool {
        let set: JwkSet = serde_json::from_value(keys.jwks().expect("key set")).expect("JWK set");
        let header = decode_header(token).expect("header");
        let Some(jwk) = header.kid.and_then(|kid| set.find(&kid).cloned()) else {
            return false;
        };
        let mut rules = Validation::new(header.alg);
        rules.set_audience(&["a"]);
        let key = DecodingKey::from_jwk(&jwk).expect("key");
        decode::<Value>(token, &key, &rules).is_ok()
    }

    #[test]
    fn own_and_rsa_signatures_verify_and_bad_ones_do_not() {
        let keys = Keys::generate(true).expect("keys");
        for (signing, good) in [
            (Signing::Own, true),
            (Signing::Rsa, true),
            (Signing::Foreign, false),
            (Signing::ForeignInHeader, false),
            (Signing::Broken, false),
        ] {
            let edits = JwtEdits::default().signed(signing);
            let token = keys.token("JWT", claims(), &edits).expect("token");
            assert_eq!(verifies(&keys, &token), good, "{signing:?}");
        }
    }

    #[test]
    fn hmac_confusion_uses_the_published_pem() {
        let keys = Keys::generate(true).expect("keys");
        for (signing, pem) in [
            (Signing::HmacOfPublicKey, keys.public_pem()),
            (Signing::HmacOfRsaPublicKey, keys.rsa_public_pem()),
        ] {
            let edits = JwtEdits::default().signed(signing);
            let token = keys.token("JWT", claims(), &edits).expect("token");
            let secret = DecodingKey::from_secret(pem.expect("pem").as_bytes()).expect("secret");
            let mut rules = Validation::new(Algorithm::HS256);
            rules.set_audience(&["a"]);
            assert!(
                decode::<Value>(&token, &secret, &rules).is_ok(),
                "{signing:?}"
            );
        }
    }

    #[test]
    fn rotation_keeps_or_drops_the_old_key() {
        let mut keys = Keys::generate(false).expect("keys");
        let old = keys
            .token("JWT", claims(), &JwtEdits::default())
            .expect("token");
        keys.rotate(true).expect("rotation");
        assert!(verifies(&keys, &old));
        keys.rotate(false).expect("rotation");
        assert!(!verifies(&keys, &old));
    }

    #[test]
    fn unsigned_token_has_an_empty_signature() {
        let keys = Keys::generate(false).expect("keys");
        let edits = JwtEdits::default().signed(Signing::Unsigned);
        assert!(
            keys.token("JWT", claims(), &edits)
                .expect("token")
                .ends_with('.')
        );
        assert!(matches!(keys.rsa_public_pem(), Err(LabError::Key(_))));
    }
}
