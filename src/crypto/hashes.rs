//! Keyed hashes: what storage keeps instead of a ticket, a cookie, a server key or a person.

use std::fmt;

use domain::{IssuerSlug, ProviderSlug, TenantSlug};
use hmac::{Hmac, KeyInit, Mac};
use secret::{KeyBytes, Reveal as _, RevealKey, ServerKeyText};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::context::lp_length;

macro_rules! hashes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Wraps a hash that came from storage.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The hash, for storage.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// Whether both are the same, in constant time; for the comparison after a look-up.
            #[must_use]
            pub fn ct_eq(&self, other: &Self) -> bool {
                self.0.ct_eq(&other.0).into()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "("))?;
                self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("..)")
            }
        }
    )+};
}

hashes! {
    /// Stands for a ticket, a cookie or a state in storage.
    LookupHash,
    /// Stands for a server key or admin key in storage.
    ServerKeyHash,
    /// Stands for a person of an issuer in indexes and audit lines.
    Pseudonym,
    /// Stands for somebody's account at a provider.
    AccountPseudonym,
}

/// What is looked up. The label is part of the hash, so a value of one sort never finds a row of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupLabel {
    /// A connect ticket.
    Ticket,
    /// A browser-flow cookie.
    Browser,
    /// A session cookie.
    Session,
    /// The session cookie of a person's own page.
    OwnPage,
    /// The `state` of an authorization request.
    State,
    /// An `Idempotency-Key`, with whatever scopes it in the value.
    Idempotency,
}

impl LookupLabel {
    /// The text that is hashed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Browser => "browser",
            Self::Session => "session",
            Self::OwnPage => "own-page",
            Self::State => "state",
            Self::Idempotency => "idempotency",
        }
    }
}

/// A key for HMAC-SHA-256, set up once. The state is wiped when it is dropped.
pub struct MacKey(Box<Hmac<Sha256>>);

impl MacKey {
    /// Sets the key up.
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes keys of any length (RFC 2104 section 2)"
    )]
    pub fn new(key: &KeyBytes) -> Self {
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.reveal_key())
            .expect("HMAC takes 32 bytes");
        Self(Box::new(mac))
    }

    /// HMAC over LP(label) ‖ value.
    pub fn lookup_hash(&self, label: LookupLabel, value: &[u8]) -> LookupHash {
        LookupHash(self.tag(&[label.as_str().as_bytes()], value))
    }

    /// HMAC over LP("server key") ‖ LP(owner) ‖ the whole text of the key. `owner` is the slug of the server that the key
    /// belongs to, or empty for an admin key; so a row that is moved to another owner no longer matches its key.
    pub fn server_key_hash(&self, key: &ServerKeyText, owner: &str) -> ServerKeyHash {
        let fields: [&[u8]; 2] = [b"server key", owner.as_bytes()];
        ServerKeyHash(self.tag(&fields, key.reveal().as_bytes()))
    }

    /// HMAC over LP("user") ‖ LP(tenant) ‖ LP(issuer slug) ‖ LP(issuer URL) ‖ LP(subject bytes).
    pub fn pseudonym(
        &self,
        tenant: &TenantSlug,
        issuer: &IssuerSlug,
        issuer_url: &str,
        subject: &[u8],
    ) -> Pseudonym {
        let fields = [
            b"user",
            tenant.as_str().as_bytes(),
            issuer.as_str().as_bytes(),
            issuer_url.as_bytes(),
            subject,
        ];
        Pseudonym(self.tag(&fields, &[]))
    }

    /// HMAC over LP("account") ‖ LP(tenant) ‖ LP(provider slug) ‖ LP(provider's issuer or base URL) ‖ LP(account id).
    pub fn account_pseudonym(
        &self,
        tenant: &TenantSlug,
        provider: &ProviderSlug,
        provider_url: &str,
        account: &str,
    ) -> AccountPseudonym {
        let slugs = (tenant.as_str().as_bytes(), provider.as_str().as_bytes());
        let fields: [&[u8]; 5] = [
            b"account",
            slugs.0,
            slugs.1,
            provider_url.as_bytes(),
            account.as_bytes(),
        ];
        AccountPseudonym(self.tag(&fields, &[]))
    }

    fn tag(&self, fields: &[&[u8]], tail: &[u8]) -> [u8; 32] {
        let mut mac = (*self.0).clone();
        for field in fields {
            mac.update(&lp_length(field));
            mac.update(field);
        }
        mac.update(tail);
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

/// Plain SHA-256, for digests of public things.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_state_is_wiped_by_the_libraries() {
        fn wiped<T: zeroize::ZeroizeOnDrop>() {}
        // The state of HMAC is two states of SHA-256, which wipe themselves.
        wiped::<Sha256>();
        wiped::<aes_gcm::Aes256Gcm>();
    }
}
