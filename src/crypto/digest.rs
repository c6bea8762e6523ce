//! The digest of a row's clear columns: whoever edits one of them makes the row's secrets unreadable.

use sha2::{Digest, Sha256};

use crate::AccountPseudonym;
use crate::context::lp_length;

/// SHA-256 over the clear columns that decisions depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataDigest([u8; 32]);

impl MetadataDigest {
    /// For kinds without clear columns.
    pub const ZERO: Self = Self([0; 32]);

    /// Wraps a digest that was computed elsewhere, as in vectors.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest of a record that is not part of a grant: SHA-256 over LP(part) for each part, in order.
    ///
    /// Binds what the fixed layout has no field for, such as the id of the elicitation or browser flow a record belongs
    /// to, or the name and origin of a sealed cookie.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(lp_length(part));
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// The clear columns of a grant. A change to one of them reseals all records of the grant in the same commit.
#[derive(Debug, Clone, Copy)]
pub struct GrantFacts<'a, S> {
    /// The grant's status, by its stored number.
    pub status: u8,
    /// Whether the person confirmed the connection.
    pub confirmed: bool,
    /// Whether the grant may be used while the person is away.
    pub offline: bool,
    /// The granted scopes, in any order.
    pub scopes: &'a [S],
    /// When the access token expires, in milliseconds since 1970.
    pub expires_at_ms: Option<i64>,
    /// Whose account at the provider it is.
    pub account: Option<&'a AccountPseudonym>,
    /// The version of the policy the grant was given under.
    pub policy_version: u32,
    /// When the grant was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Which of the person's accounts at the provider it is for. The context of a record names person, server and
    /// provider; with the alias here, a row that is moved to another account's place opens nothing.
    pub alias: &'a str,
}

impl<S: AsRef<str>> GrantFacts<'_, S> {
    /// SHA-256 over status, confirmed, offline (u8 each), the sorted scopes (count as u32, LP each), expiry (i64, −1 for
    /// none), LP(account pseudonym), policy version (u32), creation (i64) and LP(alias), all big-endian.
    pub fn digest(&self) -> MetadataDigest {
        let mut scopes: Vec<&str> = self.scopes.iter().map(AsRef::as_ref).collect();
        scopes.sort_unstable();
        let mut hash = Sha256::new();
        hash.update([
            self.status,
            u8::from(self.confirmed),
            u8::from(self.offline),
        ]);
        hash.update(
            u32::try_from(scopes.len())
                .unwrap_or(u32::MAX)
                .to_be_bytes(),
        );
        for scope in scopes {
            hash.update(lp_length(scope.as_bytes()));
            hash.update(scope);
        }
        hash.update(self.expires_at_ms.unwrap_or(-1).to_be_bytes());
        let account = self
            .account
            .map_or(&[][..], |account| account.as_bytes().as_slice());
        hash.update(lp_length(account));
        hash.update(account);
        hash.update(self.policy_version.to_be_bytes());
        hash.update(self.created_at_ms.to_be_bytes());
        hash.update(lp_length(self.alias.as_bytes()));
        hash.update(self.alias);
        MetadataDigest(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: AccountPseudonym = AccountPseudonym::from_bytes([4; 32]);
    const BASE: GrantFacts<'static, &'static str> = GrantFacts {
        status: 1,
        confirmed: true,
        offline: false,
        scopes: &["write", "read"],
        expires_at_ms: Some(5),
        account: Some(&ACCOUNT),
        policy_version: 1,
        created_at_ms: 2,
        alias: "default",
    };

    #[test]
    fn every_column_counts_and_the_order_of_scopes_does_not() {
        let sorted = GrantFacts {
            scopes: &["read", "write"],
            ..BASE
        };
        assert_eq!(sorted.digest(), BASE.digest());
        for changed in [
            GrantFacts { status: 2, ..BASE },
            GrantFacts {
                confirmed: false,
                ..BASE
            },
            GrantFacts {
                offline: true,
                ..BASE
            },
            GrantFacts {
                scopes: &["read"],
                ..BASE
            },
            GrantFacts {
                scopes: &["readw", "rite"],
                ..BASE
            },
            GrantFacts {
                expires_at_ms: None,
                ..BASE
            },
            GrantFacts {
                account: None,
                ..BASE
            },
            GrantFacts {
                policy_version: 2,
                ..BASE
            },
            GrantFacts {
                created_at_ms: 3,
                ..BASE
            },
            GrantFacts {
                alias: "work",
                ..BASE
            },
        ] {
            assert_ne!(changed.digest(), BASE.digest(), "{changed:?}");
        }
    }

    #[test]
    fn a_boundary_between_parts_cannot_move() {
        let (one, two) = ([&b"ab"[..], b"c"], [&b"a"[..], b"bc"]);
        assert_ne!(
            MetadataDigest::of_parts(&one),
            MetadataDigest::of_parts(&two)
        );
    }
}
