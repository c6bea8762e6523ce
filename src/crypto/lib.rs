//! Crypto: the barrier between what the product knows and what its storage may keep.
//!
//! - [`record`](SealKey::seal): one record format, one way to seal and one to open, bound to a [`SealContext`].
//! - [`Keyring`]: the key hierarchy of a running process (root key over tenant keys over data keys, and purpose keys).
//! - [`MacKey`]: keyed hashes under which tickets, cookies, server keys and people are looked up.
//! - [`RequestState`]: the opaque text that travels through a server and comes back.
//! - [`seal`]: what opens the root key when the process starts.
//!
//! Only approved primitives: AES-256-GCM, HKDF and HMAC with SHA-256, and Argon2id for the passphrase.

mod context;
mod csrf;
mod digest;
mod hashes;
mod hierarchy;
mod keyring;
mod kind;
mod record;
mod request_state;
pub mod seal;

pub use context::SealContext;
pub use csrf::{CsrfForm, csrf_token, csrf_verify};
pub use digest::{GrantFacts, MetadataDigest};
pub use hashes::{
    AccountPseudonym, LookupHash, LookupLabel, MacKey, Pseudonym, ServerKeyHash, sha256,
};
pub use hierarchy::{KeyFacts, KeyPurpose, KeyState, RootKey, UnknownCode, WrappedKey};
pub use keyring::{Keyring, KeyringError};
pub use kind::Kind;
pub use record::{MAX_PLAINTEXT, MAX_SEALED, OpenError, SealError, SealKey, Sealed};
pub use request_state::{BadRequestState, RequestState};
