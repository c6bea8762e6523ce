//! Record format v1, suite 1: everything that is sealed at rest has this shape.
//!
//! ```text
//!   0   2  magic "SR"
//!   2   1  format version = 1
//!   3   1  suite = 1 (HKDF-SHA-256, AES-256-GCM)
//!   4  16  key id
//!  20   8  record version, unsigned big-endian
//!  28  32  salt
//!  60  32  commitment
//!  92  12  nonce
//! 104   n  ciphertext of the padded plaintext
//! 104+n 16 tag
//! ```
//!
//! Each record has its own encryption key, derived from the named key, the salt and the context; the commitment is
//! derived beside it, so a record opens under one key and one context only, and a wrong one is noticed before anything is
//! decrypted. Only the allocating interface of the AEAD library is used: no plaintext exists before the tag is checked.

mod layout;
#[cfg(test)]
mod tests;

use std::fmt;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use domain::KeyId;
use hkdf::Hkdf;
use secret::{Entropy, KeyBytes, RevealKey, SecretBytes};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use self::layout::{BLOCK, HEADER, Header, Parts, TAG};
use crate::{Kind, SealContext};

const SUITE: u8 = 1;
const ENCRYPT: &[u8] = b"strongroom/1/enc";
const COMMIT: &[u8] = b"strongroom/1/commit";

/// The longest record, in bytes.
pub const MAX_SEALED: usize = 96 * 1024;
/// The longest plaintext that fits into the longest record, in bytes: a token of 64 KiB and what is stored beside it.
pub const MAX_PLAINTEXT: usize = (MAX_SEALED - HEADER - TAG) / BLOCK * BLOCK - 1;

/// Why something could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The plaintext does not fit into a record.
    #[error("{length} bytes are too many to keep in one record (limit {limit}); ask for a shorter token or answer", limit = MAX_PLAINTEXT)]
    TooLong {
        /// How many bytes there were.
        length: usize,
    },
    /// A key record was asked to hold something that is not 32 bytes long.
    #[error(
        "a key record holds exactly 32 bytes, not {length}; this is a fault in the program, report it"
    )]
    NotAKey {
        /// How many bytes there were.
        length: usize,
    },
}

/// Why a record does not open. All reasons have one public text; the reason itself is for metrics and the operator log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenError {
    /// Too short, too long, or a length that no record of this kind has.
    Malformed,
    /// Not a record, or of a format or suite this program does not know.
    UnknownFormat,
    /// Sealed under another key, for another place, or in another version.
    WrongKeyOrContext,
    /// Right key and context, but the bytes were changed.
    Corrupt,
}

impl OpenError {
    /// The private reason as one word, for metrics and the operator log; never for a caller.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownFormat => "unknown_format",
            Self::WrongKeyOrContext => "wrong_key_or_context",
            Self::Corrupt => "corrupt",
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a sealed record could not be opened; restore it from a backup or connect again",
        )
    }
}

impl std::error::Error for OpenError {}

/// A sealed record: well formed on the outside, opaque inside. Safe to store and to copy.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    bytes: Vec<u8>,
    key: KeyId,
    version: u64,
}

impl Sealed {
    /// Takes over bytes from storage after looking at their outer shape.
    ///
    /// # Errors
    /// [`OpenError::Malformed`] or [`OpenError::UnknownFormat`]; everything else shows only when the record is opened.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, OpenError> {
        let Parts { header, .. } = Parts::read(&bytes)?;
        let (key, version) = (header.key, header.version);
        Ok(Self {
            bytes,
            key,
            version,
        })
    }

    /// The record, for storage.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Hands the bytes over, for storage.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The key it is sealed under. The name is authenticated when the record is opened.
    pub fn key_id(&self) -> KeyId {
        self.key
    }

    /// How many times this record has been sealed. Authenticated when the record is opened.
    pub fn record_version(&self) -> u64 {
        self.version
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes under {})", self.bytes.len(), self.key)
    }
}

/// A named key that seals and opens records.
#[derive(Debug)]
pub struct SealKey {
    id: KeyId,
    bytes: KeyBytes,
}

impl SealKey {
    /// Names key material. Ids are random and never reused.
    pub const fn new(id: KeyId, bytes: KeyBytes) -> Self {
        Self { id, bytes }
    }

    /// The key's name, as it stands in the records it sealed.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Seals `plaintext` so that it opens only under this key and in this context.
    ///
    /// # Errors
    /// [`SealError`] when the plaintext is too long for a record or not a key where a key belongs.
    pub fn seal(
        &self,
        context: &SealContext<'_>,
        plaintext: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<Sealed, SealError> {
        let padded = pad(context.kind, plaintext)?;
        let (mut salt, mut nonce) = ([0; 32], [0; 12]);
        entropy.fill(&mut salt);
        entropy.fill(&mut nonce);
        let mut bound = self.bind(context);
        let (header_space, aad) = bound.split_at_mut(HEADER);
        let secrets = Derivation::new(self, &salt, aad);
        let header = Header {
            key: self.id,
            version: context.version,
            salt,
            commitment: secrets.commitment(),
            nonce,
        };
        header.write(header_space);
        let body = secrets
            .cipher()
            .encrypt(
                &Nonce::from(nonce),
                Payload {
                    msg: &padded,
                    aad: &bound,
                },
            )
            .map_err(|_| SealError::TooLong {
                length: plaintext.len(),
            })?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(bound.iter().take(HEADER));
        bytes.extend_from_slice(&body);
        Ok(Sealed {
            bytes,
            key: self.id,
            version: context.version,
        })
    }

    /// Opens a record in the context it was sealed in.
    ///
    /// # Errors
    /// [`OpenError`]; callers answer all its reasons alike.
    pub fn open(
        &self,
        context: &SealContext<'_>,
        sealed: &Sealed,
    ) -> Result<SecretBytes, OpenError> {
        self.open_bytes(context, sealed.as_bytes())
    }

    /// Opens a record straight from borrowed bytes, such as a row in a cache.
    ///
    /// # Errors
    /// [`OpenError`]; callers answer all its reasons alike.
    pub fn open_bytes(
        &self,
        context: &SealContext<'_>,
        record: &[u8],
    ) -> Result<SecretBytes, OpenError> {
        let parts = Parts::read(record)?;
        if parts.holds_key() != context.kind.holds_key() {
            return Err(OpenError::Malformed);
        }
        if parts.header.key != self.id || parts.header.version != context.version {
            return Err(OpenError::WrongKeyOrContext);
        }
        let mut bound = self.bind(context);
        let (header_space, aad) = bound.split_at_mut(HEADER);
        let secrets = Derivation::new(self, &parts.header.salt, aad);
        if !bool::from(secrets.commitment().ct_eq(&parts.header.commitment)) {
            return Err(OpenError::WrongKeyOrContext);
        }
        parts.header.write(header_space);
        let plaintext = secrets
            .cipher()
            .decrypt(
                &Nonce::from(parts.header.nonce),
                Payload {
                    msg: parts.body,
                    aad: &bound,
                },
            )
            .map_err(|_| OpenError::Corrupt)?;
        unpad(context.kind, Zeroizing::new(plaintext)).map(SecretBytes::from)
    }

    /// The key itself, to be wrapped in a seal slot.
    pub(crate) const fn key_bytes(&self) -> &KeyBytes {
        &self.bytes
    }

    /// Room for the header, then the context: together they are what GCM authenticates.
    fn bind(&self, context: &SealContext<'_>) -> Vec<u8> {
        let mut bound = Vec::with_capacity(HEADER + context.aad_length());
        bound.resize(HEADER, 0);
        context.push_aad(&self.id, &mut bound);
        bound
    }
}

/// The two secrets of one record: HKDF over key, salt and context.
struct Derivation<'a> {
    hkdf: Hkdf<Sha256>,
    key: &'a KeyId,
    context: [u8; 32],
}

impl<'a> Derivation<'a> {
    fn new(key: &'a SealKey, salt: &[u8; 32], aad: &[u8]) -> Self {
        let (mut prk, hkdf) = Hkdf::extract(Some(salt), key.bytes.reveal_key());
        prk.as_mut_slice().zeroize();
        Self {
            hkdf,
            key: &key.id,
            context: Sha256::digest(aad).into(),
        }
    }

    fn commitment(&self) -> [u8; 32] {
        let mut out = [0; 32];
        self.expand(COMMIT, &mut out);
        out
    }

    fn cipher(&self) -> Aes256Gcm {
        let mut key = Zeroizing::new([0; 32]);
        self.expand(ENCRYPT, &mut key);
        Aes256Gcm::new((&*key).into())
    }

    #[expect(
        clippy::expect_used,
        reason = "HKDF-SHA-256 gives up to 8160 bytes (RFC 5869 section 2.3); 32 are asked for"
    )]
    fn expand(&self, label: &[u8], out: &mut [u8; 32]) {
        self.hkdf
            .expand_multi_info(&[label, &[SUITE], self.key.as_bytes(), &self.context], out)
            .expect("32 bytes are within the limit of HKDF");
    }
}

/// Appends 0x80 and zeros up to a multiple of 256 bytes; keys stay as they are.
fn pad(kind: Kind, plaintext: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let length = plaintext.len();
    if kind.holds_key() {
        return if length == 32 {
            Ok(Zeroizing::new(plaintext.to_vec()))
        } else {
            Err(SealError::NotAKey { length })
        };
    }
    if length > MAX_PLAINTEXT {
        return Err(SealError::TooLong { length });
    }
    let whole = (length + 1).next_multiple_of(BLOCK);
    let mut padded = Zeroizing::new(Vec::with_capacity(whole));
    padded.extend_from_slice(plaintext);
    padded.push(0x80);
    padded.resize(whole, 0);
    Ok(padded)
}

/// Takes the padding off again; runs only on bytes whose tag was right.
fn unpad(kind: Kind, mut padded: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    if kind.holds_key() {
        return Ok(padded);
    }
    let end = padded
        .iter()
        .rposition(|byte| *byte != 0)
        .ok_or(OpenError::Corrupt)?;
    if padded.get(end) != Some(&0x80) || padded.len() - end > BLOCK {
        return Err(OpenError::Corrupt);
    }
    padded.truncate(end);
    Ok(padded)
}
