//! Our own bearer words: 32 random bytes each, with one text form. Whoever holds the text may do the thing, so storage
//! only ever sees a keyed hash of the bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, ExposeSecretMut, SecretBox};
use subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::Entropy;

/// The text is not the one canonical form (43 characters of unpadded base64url) of 32 bytes.
///
/// Says nothing about the text itself, so it may be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadSecret;

impl fmt::Display for BadSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of our tickets, cookies or states")
    }
}

impl std::error::Error for BadSecret {}

/// Says one of our own words aloud. Importing this trait is the act an auditor looks for: it is imported where a word is
/// handed out, sealed or hashed, see [`Reveal`](crate::Reveal).
pub trait RevealOwn {
    /// The bytes, for the keyed look-up hash.
    fn as_bytes(&self) -> &[u8; 32];

    /// The text form, for the one answer that hands the word out.
    fn to_text(&self) -> Zeroizing<String>;
}

macro_rules! bearers {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $name(SecretBox<[u8; 32]>);

        impl $name {
            /// A fresh random word.
            pub fn generate(entropy: &dyn Entropy) -> Self {
                Self(SecretBox::init_with_mut(|bytes: &mut [u8; 32]| entropy.fill(bytes)))
            }

            /// Reads the text form: exactly 43 characters, no padding, no stray bits in the last character.
            ///
            /// # Errors
            /// [`BadSecret`] for any other text; nothing is allocated by the length of the text.
            pub fn parse(text: &str) -> Result<Self, BadSecret> {
                decode(text).map(Self)
            }

            /// Whether both are the same word, in constant time.
            #[must_use]
            pub fn ct_eq(&self, other: &Self) -> bool {
                self.as_bytes().ct_eq(other.as_bytes()).into()
            }
        }

        impl RevealOwn for $name {
            fn as_bytes(&self) -> &[u8; 32] {
                self.0.expose_secret()
            }

            fn to_text(&self) -> Zeroizing<String> {
                Zeroizing::new(URL_SAFE_NO_PAD.encode(self.as_bytes()))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }

        impl ZeroizeOnDrop for $name {}
    )+};
}

bearers! {
    /// Opens one elicitation in a browser; it travels in the connect link.
    ///
    /// ```
    /// use strongroom_secret::{ConnectTicket, OsEntropy, RevealOwn};
    /// let ticket = ConnectTicket::generate(&OsEntropy);
    /// let again = ConnectTicket::parse(&ticket.to_text()).expect("our own text");
    /// assert!(ticket.ct_eq(&again));
    /// ```
    /// ```compile_fail
    /// let ticket = strongroom_secret::ConnectTicket::generate(&strongroom_secret::OsEntropy);
    /// let copy: strongroom_secret::ConnectTicket = ticket.clone();
    /// ```
    /// ```compile_fail
    /// let ticket = strongroom_secret::ConnectTicket::generate(&strongroom_secret::OsEntropy);
    /// let text = format!("{ticket}");
    /// ```
    /// ```compile_fail
    /// fn serialize<T: serde::Serialize>(_: &T) {}
    /// serialize(&strongroom_secret::ConnectTicket::generate(&strongroom_secret::OsEntropy));
    /// ```
    /// ```compile_fail
    /// let ticket = strongroom_secret::ConnectTicket::generate(&strongroom_secret::OsEntropy);
    /// let same = ticket == ticket;
    /// ```
    ConnectTicket,
    /// The value of the browser-flow cookie `__Host-sr_f_…`.
    BrowserCookie,
    /// The value of a session cookie (`__Host-sr_s`, `__Host-sr_p`).
    SessionCookie,
    /// The `state` of an authorization request (RFC 6749 section 10.12): random and opaque.
    OauthState,
    /// The secret of a session from which its form tokens are computed; it never leaves the process unsealed.
    CsrfSecret,
}

/// Decodes exactly 43 characters into 32 bytes, straight into the wiped box.
fn decode(text: &str) -> Result<SecretBox<[u8; 32]>, BadSecret> {
    if text.len() != 43 {
        return Err(BadSecret);
    }
    let mut bytes = SecretBox::new(Box::new([0; 32]));
    let written = URL_SAFE_NO_PAD
        .decode_slice(text, bytes.expose_secret_mut())
        .map_err(|_| BadSecret)?;
    if written == 32 {
        Ok(bytes)
    } else {
        Err(BadSecret)
    }
}
