//! Key material and plaintext of records: bytes that only the crypto room looks at.

use std::fmt;

use secrecy::{ExposeSecret, SecretBox};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::Entropy;

/// Shows the bytes of a key. Only the crypto room imports this trait.
pub trait RevealKey {
    /// The key itself.
    fn reveal_key(&self) -> &[u8; 32];
}

/// A 256-bit symmetric key, kept on the heap so that moving it leaves no copies behind.
///
/// ```compile_fail
/// let key = strongroom_secret::KeyBytes::generate(&strongroom_secret::OsEntropy);
/// let copy: strongroom_secret::KeyBytes = key.clone();
/// ```
/// ```compile_fail
/// let key = strongroom_secret::KeyBytes::generate(&strongroom_secret::OsEntropy);
/// let text = format!("{key}");
/// ```
/// ```compile_fail
/// fn serialize<T: serde::Serialize>(_: &T) {}
/// serialize(&strongroom_secret::KeyBytes::generate(&strongroom_secret::OsEntropy));
/// ```
/// ```compile_fail
/// let key = strongroom_secret::KeyBytes::generate(&strongroom_secret::OsEntropy);
/// let same = key == key;
/// ```
pub struct KeyBytes(SecretBox<[u8; 32]>);

impl KeyBytes {
    /// A fresh random key.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self(SecretBox::init_with_mut(|bytes: &mut [u8; 32]| {
            entropy.fill(bytes);
        }))
    }

    /// Takes over bytes that were unwrapped or derived.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the caller's copy must be wiped, so this takes it over and drops it"
    )]
    pub fn from_bytes(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(SecretBox::init_with_mut(|own: &mut [u8; 32]| {
            own.copy_from_slice(bytes.as_slice());
        }))
    }
}

impl RevealKey for KeyBytes {
    fn reveal_key(&self) -> &[u8; 32] {
        self.0.expose_secret()
    }
}

impl fmt::Debug for KeyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBytes(..)")
    }
}

impl ZeroizeOnDrop for KeyBytes {}

/// The plaintext of a record.
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Takes the bytes over; the whole buffer is wiped when this value is dropped.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes. Keep the borrow short.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<Zeroizing<Vec<u8>>> for SecretBytes {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes(..)")
    }
}

impl ZeroizeOnDrop for SecretBytes {}
