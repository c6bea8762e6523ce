//! Wrapped keys: bound to every clear column of their row.

use secret::OsEntropy;

use super::*;

const VAULT: VaultId = VaultId::from_bytes([1; 16]);

fn facts(root: &RootKey) -> KeyFacts {
    KeyFacts {
        id: KeyId::from_bytes([2; 16]),
        parent: root.id(),
        purpose: KeyPurpose::Flow,
        state: KeyState::Active,
        created_ms: 1,
        not_after_ms: Some(2),
        tenant: TenantSlug::parse("acme").ok(),
        user: None,
    }
}

#[test]
fn every_clear_column_of_a_wrapped_key_is_bound() {
    let root = RootKey::generate(&OsEntropy);
    let facts = facts(&root);
    let key = KeyBytes::generate(&OsEntropy);
    let wrapped =
        WrappedKey::wrap(root.as_parent(), VAULT, facts.clone(), &key, &OsEntropy).expect("wraps");
    let again = wrapped.unwrap(root.as_parent(), VAULT).expect("unwraps");
    assert_eq!(again.reveal_key(), key.reveal_key());
    let id = KeyId::from_bytes([3; 16]);
    let (user, tenant) = (
        Some(UserId::from_bytes([1; 16])),
        TenantSlug::parse("acme-2").ok(),
    );
    for changed in [
        KeyFacts {
            id,
            ..facts.clone()
        },
        KeyFacts {
            parent: id,
            ..facts.clone()
        },
        KeyFacts {
            purpose: KeyPurpose::Lookup,
            ..facts.clone()
        },
        KeyFacts {
            purpose: KeyPurpose::Tenant,
            ..facts.clone()
        },
        KeyFacts {
            state: KeyState::Deactivated,
            ..facts.clone()
        },
        KeyFacts {
            created_ms: 2,
            ..facts.clone()
        },
        KeyFacts {
            not_after_ms: None,
            ..facts.clone()
        },
        KeyFacts {
            tenant,
            ..facts.clone()
        },
        KeyFacts {
            user,
            ..facts.clone()
        },
    ] {
        let row = WrappedKey {
            facts: changed,
            ..wrapped.clone()
        };
        let error = row
            .unwrap(root.as_parent(), VAULT)
            .expect_err("a changed row stays shut");
        assert_eq!(error, OpenError::WrongKeyOrContext);
    }
}

#[test]
fn a_new_state_is_a_new_wrap() {
    let root = RootKey::generate(&OsEntropy);
    let key = KeyBytes::generate(&OsEntropy);
    let row =
        WrappedKey::wrap(root.as_parent(), VAULT, facts(&root), &key, &OsEntropy).expect("wraps");
    let retired = row
        .rewrap(root.as_parent(), VAULT, KeyState::Deactivated, &OsEntropy)
        .expect("wraps");
    assert_eq!(
        (retired.facts.state, retired.sealed.record_version()),
        (KeyState::Deactivated, 2)
    );
    assert!(retired.unwrap(root.as_parent(), VAULT).is_ok());
    let elsewhere = VaultId::from_bytes([2; 16]);
    assert!(retired.unwrap(root.as_parent(), elsewhere).is_err());
}

#[test]
fn codes_read_back() {
    for code in 0..=255 {
        assert!(
            KeyPurpose::from_code(code).map_or(code == 0 || code > 8, |known| known.code() == code)
        );
        assert!(
            KeyState::from_code(code).map_or(code == 0 || code > 5, |known| known.code() == code)
        );
    }
}
