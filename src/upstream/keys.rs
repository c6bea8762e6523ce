//! An issuer's key set (RFC 7517), reduced to the public signature keys we can use, and the choice of the one key for a
//! token. Symmetric keys and private members never get past this file.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::SignatureAlgorithm;
use jsonwebtoken::DecodingKey;
use openidconnect::core::CoreJsonWebKeySet;
use serde_json::{Map, Value, json};

use crate::strict_json;

/// Most keys in a set; a larger set is refused whole.
const MAX_KEYS: usize = 50;
/// Longest `kid`, in bytes; a key with a longer one is passed over.
const MAX_KID: usize = 256;

/// The usable keys of one issuer.
pub(crate) struct KeySet {
    keys: Vec<Key>,
    openid: CoreJsonWebKeySet,
}

/// One public key.
pub(crate) struct Key {
    kid: Option<Box<str>>,
    alg: Option<Box<str>>,
    family: Family,
    decoding: DecodingKey,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// Why there is no key for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// No key of that `kid`; a newer key set may have it.
    UnknownKid,
    /// None fits, or more than one.
    Unfit,
}

impl KeySet {
    /// Reads a key set document; nothing when it is no key set or too large. Single keys that cannot be used are passed over.
    pub(crate) fn parse(document: &[u8]) -> Option<Self> {
        let mut document = strict_json::object(document)?;
        let Value::Array(members) = document.remove("keys")? else {
            return None;
        };
        if members.len() > MAX_KEYS {
            return None;
        }
        let (keys, public): (Vec<Key>, Vec<Value>) = members
            .iter()
            .filter_map(|member| usable(member.as_object()?))
            .unzip();
        let openid = serde_json::from_value(json!({ "keys": public })).ok()?;
        Some(Self { keys, openid })
    }

    /// The one key for a token with this `kid` and algorithm. Without `kid` there must be exactly one key that fits.
    pub(crate) fn select(
        &self,
        kid: Option<&str>,
        algorithm: SignatureAlgorithm,
    ) -> Result<&Key, NoKey> {
        let known = |key: &&Key| kid.is_none() || key.kid.as_deref() == kid;
        if kid.is_some() && !self.keys.iter().any(|key| known(&key)) {
            return Err(NoKey::UnknownKid);
        }
        let mut fitting = self
            .keys
            .iter()
            .filter(known)
            .filter(|key| key.fits(algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            _ => Err(NoKey::Unfit),
        }
    }

    /// The same keys for the library that verifies ID tokens.
    pub(crate) fn openid(&self) -> &CoreJsonWebKeySet {
        &self.openid
    }
}

impl Key {
    /// Whether a signature by `algorithm` can be by this key (RFC 8725 section 3.1).
    fn fits(&self, algorithm: SignatureAlgorithm) -> bool {
        let family = match algorithm {
            SignatureAlgorithm::Rs256 | SignatureAlgorithm::Ps256 => Family::Rsa,
            SignatureAlgorithm::Es256 => Family::P256,
            SignatureAlgorithm::Es384 => Family::P384,
            SignatureAlgorithm::EdDsa => Family::Ed25519,
        };
        self.family == family
            && self
                .alg
                .as_deref()
                .is_none_or(|alg| alg == algorithm.name())
    }

    /// The key as the signature library wants it.
    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

/// A key we can use, and its public members as a new JWK.
fn usable(member: &Map<String, Value>) -> Option<(Key, Value)> {
    let text = |name: &str| member.get(name).and_then(Value::as_str);
    let for_signatures = text("use").is_none_or(|purpose| purpose == "sig")
        && member
            .get("key_ops")
            .and_then(Value::as_array)
            .is_none_or(|ops| ops.iter().any(|op| op == "verify"));
    let kid = text("kid");
    if !for_signatures || kid.is_some_and(|kid| kid.len() > MAX_KID) {
        return None;
    }
    let (family, decoding, mut public) = match (text("kty")?, text("crv")) {
        ("RSA", _) => {
            let (n, e) = (text("n")?, text("e")?);
            let key = acceptable_rsa(n, e).then(|| DecodingKey::from_rsa_components(n, e))?;
            (Family::Rsa, key, json!({ "kty": "RSA", "n": n, "e": e }))
        }
        ("EC", Some(crv @ ("P-256" | "P-384"))) => {
            let (x, y) = (text("x")?, text("y")?);
            let family = if crv == "P-256" {
                Family::P256
            } else {
                Family::P384
            };
            let public = json!({ "kty": "EC", "crv": crv, "x": x, "y": y });
            (family, DecodingKey::from_ec_components(x, y), public)
        }
        ("OKP", Some("Ed25519")) => {
            let x = text("x")?;
            let public = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
            (Family::Ed25519, DecodingKey::from_ed_components(x), public)
        }
        _ => return None,
    };
    for name in ["kid", "alg", "use"] {
        if let (Some(value), Some(public)) = (text(name), public.as_object_mut()) {
            public.insert(name.into(), value.into());
        }
    }
    let key = Key {
        kid: kid.map(Into::into),
        alg: text("alg").map(Into::into),
        family,
        decoding: decoding.ok()?,
    };
    Some((key, public))
}

/// 2048 to 4096 bits, odd, and an odd exponent from 65537 up to 32 bits.
fn acceptable_rsa(n: &str, e: &str) -> bool {
    let read = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let (n, e) = (read(n), read(e));
    let modulus: Vec<u8> = n.into_iter().skip_while(|byte| *byte == 0).collect();
    let zeros = modulus.first().map_or(0, |byte| byte.leading_zeros());
    let bits = u32::try_from(modulus.len() * 8).unwrap_or(u32::MAX) - zeros;
    // An exponent that does not fit becomes 0, which is refused.
    let exponent = e.iter().try_fold(0_u32, |value, byte| {
        value.checked_mul(256)?.checked_add(u32::from(*byte))
    });
    let exponent = exponent.unwrap_or(0);
    (2048..=4096).contains(&bits)
        && modulus.last().is_some_and(|byte| byte % 2 == 1)
        && exponent >= 65_537
        && exponent % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"; // RFC 7515 appendix A.3
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn set(keys: &Value) -> Option<KeySet> {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
    }

    fn ec(kid: &str) -> Value {
        json!({ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": kid })
    }

    #[test]
    fn a_key_is_chosen_by_kid_and_must_fit_the_algorithm() {
        let mut bound = ec("c");
        bound["alg"] = "ES384".into();
        let set = set(&json!([ec("a"), ec("b"), bound])).unwrap();
        let select = |kid, alg| set.select(kid, alg).map(|key| key.kid.as_deref().unwrap());
        assert_eq!(select(Some("b"), SignatureAlgorithm::Es256), Ok("b"));
        assert_eq!(
            select(Some("x"), SignatureAlgorithm::Es256),
            Err(NoKey::UnknownKid)
        );
        assert_eq!(
            select(Some("a"), SignatureAlgorithm::Rs256),
            Err(NoKey::Unfit)
        );
        assert_eq!(
            select(Some("c"), SignatureAlgorithm::Es256),
            Err(NoKey::Unfit)
        );
        assert_eq!(select(None, SignatureAlgorithm::Es256), Err(NoKey::Unfit));
    }

    #[test]
    fn without_kid_the_only_key_that_fits_is_taken() {
        let okp = json!({ "kty": "OKP", "crv": "Ed25519", "x": X });
        let set = set(&json!([ec("a"), okp])).unwrap();
        assert!(set.select(None, SignatureAlgorithm::Es256).is_ok());
        assert!(set.select(None, SignatureAlgorithm::EdDsa).is_ok());
        assert!(set.select(None, SignatureAlgorithm::Rs256).is_err());
    }

    #[test]
    fn one_kid_for_two_fitting_keys_is_ambiguous() {
        let set = set(&json!([ec("a"), ec("a")])).unwrap();
        let chosen = set.select(Some("a"), SignatureAlgorithm::Es256);
        assert_eq!(chosen.err(), Some(NoKey::Unfit));
    }

    #[test]
    fn hostile_members_are_passed_over() {
        let modulus = |bits: usize, last: u8| {
            let mut n = vec![0xff; bits / 8];
            n.push(last);
            n.remove(0);
            URL_SAFE_NO_PAD.encode(n)
        };
        let rsa =
            |n: String, e: &[u8]| json!({ "kty": "RSA", "n": n, "e": URL_SAFE_NO_PAD.encode(e) });
        let usable = |key: Value| set(&json!([key])).unwrap().keys.len() == 1;
        assert!(usable(rsa(modulus(2048, 0xff), &[1, 0, 1])));
        for wrong in [
            rsa(modulus(1024, 0xff), &[1, 0, 1]),
            rsa(modulus(16_384, 0xff), &[1, 0, 1]),
            rsa(modulus(2048, 0xfe), &[1, 0, 1]),
            rsa(modulus(2048, 0xff), &[1]),
            rsa(modulus(2048, 0xff), &[3]),
            rsa(modulus(2048, 0xff), &[1, 0, 0]),
            json!({ "kty": "oct", "k": "c2VjcmV0" }),
            json!({ "kty": "EC", "crv": "secp256k1", "x": X, "y": Y }),
            json!({ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "use": "enc" }),
            json!({ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "key_ops": ["encrypt"] }),
            json!({ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "k".repeat(257) }),
            json!("text"),
        ] {
            assert!(!usable(wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn private_members_do_not_get_in_and_too_many_keys_refuse_the_set() {
        let mut private = ec("a");
        private["d"] = X.into();
        let kept = set(&json!([private])).unwrap();
        assert!(
            !serde_json::to_string(kept.openid())
                .unwrap()
                .contains("\"d\"")
        );
        assert!(set(&json!(vec![ec("a"); 50])).is_some());
        assert!(set(&json!(vec![ec("a"); 51])).is_none());
        assert!(set(&json!({})).is_none());
        assert!(KeySet::parse(br#"{"keys":[],"keys":[]}"#).is_none());
    }
}
