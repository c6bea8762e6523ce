//! Records no honest program writes: sealed correctly, but in another format, or with padding that is not ours.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};

use crate::Made;

/// The labels of the format, for encryption and commitment.
pub(crate) const OURS: [&str; 2] = ["strongroom/1/enc", "strongroom/1/commit"];
const ENCRYPT: &str = OURS[0];
const COMMIT: &str = OURS[1];
const OLD: [&str; 2] = ["mcp-vault/1/enc", "mcp-vault/1/commit"];

/// A name, how the forgery differs from an honest record, and why it is refused.
type Rule = (&'static str, fn(&mut Forgery), &'static str);

/// Rules of the format, each broken by itself.
pub(crate) const BROKEN_RULES: [Rule; 10] = [
    (
        "format version 0",
        |it| it.start = *b"SR\0\x01",
        "unknown_format",
    ),
    (
        "format version 2",
        |it| it.start = *b"SR\x02\x01",
        "unknown_format",
    ),
    ("suite 2", |it| it.start = *b"SR\x01\x02", "unknown_format"),
    (
        "old magic",
        |it| it.start = *b"MV\x01\x01",
        "unknown_format",
    ),
    ("old labels", |it| it.labels = OLD, "wrong_key_or_context"),
    (
        "old encryption label",
        |it| it.labels = [OLD[0], COMMIT],
        "corrupt",
    ),
    (
        "one label for both",
        |it| it.labels = [ENCRYPT; 2],
        "wrong_key_or_context",
    ),
    (
        "old context prefix",
        |it| it.aad = old_prefix(&it.aad),
        "wrong_key_or_context",
    ),
    ("no context", |it| it.aad.clear(), "wrong_key_or_context"),
    (
        "header not authenticated",
        |it| it.header_in_aad = false,
        "corrupt",
    ),
];

fn old_prefix(aad: &[u8]) -> Vec<u8> {
    b"MVAAD\x01"
        .iter()
        .chain(aad.iter().skip(6))
        .copied()
        .collect()
}

/// A name, a body that is sealed as it is, and why it is refused.
type Body = (&'static str, Vec<u8>, &'static str);

/// What no key record holds.
pub(crate) fn key_bodies(key: &[u8]) -> Vec<Body> {
    vec![
        ("a key with padding", padded(key, 256), "malformed"),
        ("a key of 31 bytes", vec![1; 31], "malformed"),
        ("a key of 33 bytes", vec![1; 33], "malformed"),
    ]
}

/// What no other record holds.
pub(crate) fn padded_bodies() -> Vec<Body> {
    let other_mark = [&[1; 200][..], &[0x81], &[0; 55]].concat();
    vec![
        ("no padding", vec![1; 256], "corrupt"),
        ("only zeros", vec![0; 256], "corrupt"),
        ("other padding mark", other_mark, "corrupt"),
        ("a block of padding too many", padded(b"x", 512), "corrupt"),
        ("padded to 128", padded(b"x", 128), "malformed"),
        ("a bare key", vec![1; 32], "malformed"),
        ("no ciphertext", Vec::new(), "malformed"),
    ]
}

/// What to seal and which rules to break.
#[derive(Clone)]
pub(crate) struct Forgery {
    pub(crate) start: [u8; 4],
    pub(crate) key_id: [u8; 16],
    pub(crate) key: [u8; 32],
    pub(crate) version: u64,
    pub(crate) aad: Vec<u8>,
    /// Sealed as it is, padding included.
    pub(crate) body: Vec<u8>,
    pub(crate) labels: [&'static str; 2],
    /// Whether the header is authenticated too.
    pub(crate) header_in_aad: bool,
}

impl Forgery {
    /// A record by the rules of the format but for what the fields say.
    pub(crate) fn seal(&self) -> Made<Vec<u8>> {
        let (salt, nonce) = ([0x51; 32], [0x4e; 12]);
        let hkdf = Hkdf::<Sha256>::new(Some(&salt), &self.key);
        let context = Sha256::digest(&self.aad);
        let [_, _, _, suite] = self.start;
        let [encrypt, commit] = self.labels;
        let expand = |label: &str| -> Made<[u8; 32]> {
            let mut out = [0; 32];
            let info: [&[u8]; 4] = [label.as_bytes(), &[suite], &self.key_id, &context];
            hkdf.expand_multi_info(&info, &mut out)
                .map_err(|_| "too long")?;
            Ok(out)
        };
        let (key, commitment) = (expand(encrypt)?, expand(commit)?);
        let version = self.version.to_be_bytes();
        let fields: [&[u8]; 6] = [
            &self.start,
            &self.key_id,
            &version,
            &salt,
            &commitment,
            &nonce,
        ];
        let header = fields.concat();
        let aad = if self.header_in_aad {
            [header.as_slice(), &self.aad].concat()
        } else {
            self.aad.clone()
        };
        let body = Aes256Gcm::new(&key.into())
            .encrypt(
                &Nonce::from(nonce),
                Payload {
                    msg: &self.body,
                    aad: &aad,
                },
            )
            .map_err(|_| "too long")?;
        Ok([header, body].concat())
    }
}

/// Plaintext, 0x80, zeros up to a multiple of `block`.
pub(crate) fn padded(plaintext: &[u8], block: usize) -> Vec<u8> {
    let mut out = plaintext.to_vec();
    out.push(0x80);
    out.resize(out.len().next_multiple_of(block), 0);
    out
}
