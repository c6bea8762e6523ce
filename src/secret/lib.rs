//! Secret: words that must not leak.
//!
//! Every type here is wiped when dropped and prints only its own name. None of them can be cloned, displayed,
//! serialized or compared with `==`; the compile-fail tests on [`AccessToken`], [`ConnectTicket`], [`KeyBytes`] and
//! [`ServerKeyText`] prove the four "cannot", and `tests.rs` proves them for all types at once.
//!
//! Saying a provider's word or a server key aloud takes the trait [`Reveal`], one of our own words takes [`RevealOwn`], a
//! key takes [`RevealKey`]; [`SecretBytes::expose`] is looked for by its name. Each of them is the act an auditor looks for.

mod bearer;
mod entropy;
mod keys;
mod server_key;
mod words;

#[cfg(test)]
mod tests;

pub use bearer::{
    BadSecret, BrowserCookie, ConnectTicket, CsrfSecret, OauthState, RevealOwn, SessionCookie,
};
pub use entropy::{Entropy, OsEntropy};
pub use keys::{KeyBytes, RevealKey, SecretBytes};
pub use server_key::{BadServerKey, KeyClass, ServerKeyText};
pub use words::{
    AccessToken, AuthorizationCode, ClientSecret, IdToken, KeyInput, Nonce, Passphrase,
    PkceVerifier, RefreshToken, Reveal, SubjectToken,
};
