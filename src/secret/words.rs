//! Words that outsiders gave us or that only outsiders may hear: provider tokens, codes, verifiers, client secrets.

use std::fmt;

use base64::Engine as _;
use secrecy::{ExposeSecret, SecretBox};
use subtle::ConstantTimeEq;
use zeroize::ZeroizeOnDrop;

/// Says a word aloud. Importing this trait is the act an auditor looks for: it is imported where words are sealed, where
/// an issuer or provider is spoken to or its token verified, where a token is answered, and where a key is hashed or shown. The integration test
/// `secrets_are_said_aloud_in_a_short_list_of_files` names each such file with its reason and fails for any other.
pub trait Reveal {
    /// The word itself. Keep the borrow short and never put it in a log, an error or a longer-lived string.
    fn reveal(&self) -> &str;
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $name(SecretBox<String>);

        impl $name {
            /// Takes the word over; the whole buffer is wiped when this value is dropped.
            pub fn new(word: String) -> Self {
                Self(SecretBox::new(Box::new(word)))
            }

            /// Whether the word can stand in a header: 1 to `longest` visible ASCII characters.
            #[must_use]
            pub fn fits_header(&self, longest: usize) -> bool {
                let word = self.reveal();
                (1..=longest).contains(&word.len()) && word.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
            }

            /// Number of bytes, which is no secret: whoever watches the line sees it.
            #[must_use]
            pub fn length(&self) -> usize {
                self.reveal().len()
            }

            /// Whether both are the same word, in time that depends only on the lengths.
            #[must_use]
            pub fn ct_eq(&self, other: &Self) -> bool {
                self.reveal().as_bytes().ct_eq(other.reveal().as_bytes()).into()
            }
        }

        impl Reveal for $name {
            fn reveal(&self) -> &str {
                self.0.expose_secret()
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

impl AccessToken {
    /// A login name and its key as one credential (RFC 7617 section 2), Base64 already; the caller has seen to it that there is
    /// no colon in the login name.
    #[must_use]
    pub fn basic(login: &str, key: &str) -> Self {
        let mut pair = zeroize::Zeroizing::new(String::with_capacity(login.len() + key.len() + 1));
        pair.push_str(login);
        pair.push(':');
        pair.push_str(key);
        Self::new(base64::engine::general_purpose::STANDARD.encode(pair.as_bytes()))
    }
}

words! {
    /// A provider's access token (RFC 6749 section 1.4).
    ///
    /// ```
    /// use strongroom_secret::{AccessToken, Reveal};
    /// let token = AccessToken::new("ya29.a0".into());
    /// assert_eq!(token.reveal(), "ya29.a0");
    /// assert_eq!(format!("{token:?}"), "AccessToken(..)");
    /// ```
    ///
    /// It cannot be cloned:
    /// ```compile_fail
    /// let token = strongroom_secret::AccessToken::new("x".into());
    /// let copy: strongroom_secret::AccessToken = token.clone();
    /// ```
    /// nor displayed:
    /// ```compile_fail
    /// let token = strongroom_secret::AccessToken::new("x".into());
    /// let text = format!("{token}");
    /// ```
    /// nor serialized:
    /// ```compile_fail
    /// fn serialize<T: serde::Serialize>(_: &T) {}
    /// serialize(&strongroom_secret::AccessToken::new("x".into()));
    /// ```
    /// nor compared with `==`:
    /// ```compile_fail
    /// let token = strongroom_secret::AccessToken::new("x".into());
    /// let same = token == strongroom_secret::AccessToken::new("x".into());
    /// ```
    AccessToken,
    /// A provider's refresh token (RFC 6749 section 1.5).
    RefreshToken,
    /// An ID token as it came from an issuer or provider (OpenID Connect Core section 2).
    IdToken,
    /// An authorization code (RFC 6749 section 1.3.1): single use, one minute.
    AuthorizationCode,
    /// The PKCE code verifier (RFC 7636 section 4.1).
    PkceVerifier,
    /// Our own secret at a provider or issuer (RFC 6749 section 2.3.1).
    ClientSecret,
    /// The access token by which a server says for which user it asks (RFC 8693 section 2.1).
    SubjectToken,
    /// What a person typed into a field of a key form, as it came.
    KeyInput,
    /// The nonce of a browser login (OpenID Connect Core section 3.1.2.1).
    Nonce,
    /// The passphrase of a seal.
    Passphrase,
}
