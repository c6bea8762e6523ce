//! Opaque bytes in stored rows: sealed records and digests, written as base64url text.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserializer, Serialize, Serializer, de::Error as _};

/// Opaque bytes, usually a sealed record; this room cannot look inside.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(&self.0))
    }
}

impl<'de> serde::Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        URL_SAFE_NO_PAD
            .decode(text.as_bytes())
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// A 32-byte digest or keyed hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Digest(#[serde(with = "array")] pub [u8; 32]);

impl Digest {
    /// Reads base64url text of exactly 32 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// Serde form of a 32-byte array: base64url text.
pub(crate) mod array {
    use super::{D, URL_SAFE_NO_PAD};
    use base64::Engine as _;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    /// Writes base64url text.
    pub(crate) fn serialize<S: Serializer>(bytes: &D, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads base64url text of exactly 32 bytes.
    pub(crate) fn deserialize<'de, De: Deserializer<'de>>(
        deserializer: De,
    ) -> Result<D, De::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD
            .decode(text.as_bytes())
            .map_err(De::Error::custom)?;
        bytes
            .try_into()
            .map_err(|_| De::Error::custom("not 32 bytes"))
    }
}

type D = [u8; 32];
