//! Each accepted algorithm with a real key, against every other.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::SignatureAlgorithm::{self, EdDsa, Es256, Es384, Ps256, Rs256};
use serde_json::{Value, json};

use crate::jws::Jws;
use crate::keys::KeySet;

struct Pair {
    rsa: rsa::KeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn curve(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    EcdsaKeyPair::generate(algorithm).unwrap()
}

impl Pair {
    fn generate() -> Self {
        Self {
            rsa: rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap(),
            p256: curve(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: curve(&ECDSA_P384_SHA384_FIXED_SIGNING),
            ed: Ed25519KeyPair::generate().unwrap(),
        }
    }

    fn set(&self) -> KeySet {
        let public = self.rsa.public_key();
        let point = |pair: &EcdsaKeyPair, crv: &str| {
            let bytes = &pair.public_key().as_ref()[1..];
            let (x, y) = bytes.split_at(bytes.len() / 2);
            json!({ "kty": "EC", "crv": crv, "x": encode(x), "y": encode(y), "kid": crv })
        };
        let keys = json!([
            {
                "kty": "RSA", "kid": "RSA", "use": "sig",
                "n": encode(public.modulus().big_endian_without_leading_zero()),
                "e": encode(public.exponent().big_endian_without_leading_zero()),
            },
            point(&self.p256, "P-256"),
            point(&self.p384, "P-384"),
            { "kty": "OKP", "crv": "Ed25519", "x": encode(self.ed.public_key()), "kid": "Ed25519" },
        ]);
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn sign(&self, algorithm: SignatureAlgorithm, message: &[u8]) -> Vec<u8> {
        let rng = SystemRandom::new();
        let by_rsa = |padding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; self.rsa.public_modulus_len()];
            self.rsa
                .sign(padding, &rng, message, &mut signature)
                .unwrap();
            signature
        };
        match algorithm {
            Rs256 => by_rsa(&RSA_PKCS1_SHA256),
            Ps256 => by_rsa(&RSA_PSS_SHA256),
            Es256 => self.p256.sign(&rng, message).unwrap().as_ref().to_vec(),
            Es384 => self.p384.sign(&rng, message).unwrap().as_ref().to_vec(),
            EdDsa => self.ed.sign(message).as_ref().to_vec(),
        }
    }
}

#[test]
fn a_signature_is_good_under_its_own_algorithm_and_key_alone() {
    let all = [Rs256, Ps256, Es256, Es384, EdDsa];
    let (pair, other) = (Pair::generate(), Pair::generate());
    let (set, foreign) = (pair.set(), other.set());
    for claimed in all {
        for made in all {
            let message = crate::testing::message(&json!({ "alg": claimed.name() }), &json!({}));
            let signature = pair.sign(made, message.as_bytes());
            let token = format!("{message}.{}", encode(signature));
            let jws = Jws::parse(&token, 4096).unwrap();
            let good = |set: &KeySet| jws.verifies(set.select(None, claimed).ok().unwrap());
            assert_eq!(good(&set), claimed == made, "{claimed:?} {made:?}");
            assert!(!good(&foreign), "{claimed:?} {made:?}");
        }
    }
}

#[test]
fn the_library_for_id_tokens_gets_the_same_keys() {
    let set = Pair::generate().set();
    let library: Value = serde_json::to_value(set.openid()).unwrap();
    assert_eq!(library["keys"].as_array().map(Vec::len), Some(4));
}
