//! The hierarchy as a whole: made, stored, opened again, extended, rotated, tampered with.

use secret::{KeyClass, OsEntropy};

use super::*;
use crate::Kind;

fn tenant(name: &str) -> TenantSlug {
    TenantSlug::parse(name).expect("a slug")
}

fn made() -> (RootKey, VaultId, Keyring, Vec<WrappedKey>) {
    let (root, vault) = (RootKey::generate(&OsEntropy), VaultId::from_bytes([7; 16]));
    let tenants = [tenant("acme"), tenant("globex")];
    let (keyring, rows) = Keyring::create(&root, vault, &tenants, 1, &OsEntropy).expect("creates");
    (root, vault, keyring, rows)
}

#[test]
fn a_stored_keyring_is_the_same_keyring() {
    let (root, vault, keyring, rows) = made();
    assert_eq!(rows.len(), 5 + 2 * 2);
    let again = Keyring::open(&root, vault, &rows).expect("opens");
    let acme = tenant("acme");
    let context = SealContext {
        tenant: Some(&acme),
        ..SealContext::new(Kind::Session, vault)
    };
    let sealed = keyring
        .flow_key(&acme)
        .expect("there")
        .seal(&context, b"session", &OsEntropy)
        .expect("fits");
    assert_eq!(
        again
            .open_record(&context, &sealed)
            .expect("opens")
            .expose(),
        b"session"
    );
    let value = [1; 32];
    assert_eq!(
        keyring.lookup_hash(LookupLabel::Ticket, &value),
        again.lookup_hash(LookupLabel::Ticket, &value)
    );
    let key = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
    assert_eq!(
        keyring.server_key_hash(&key, "s1"),
        again.server_key_hash(&key, "s1")
    );
    assert_ne!(
        keyring.server_key_hash(&key, "s1"),
        keyring.server_key_hash(&key, "s2"),
        "a key is bound to its owner"
    );
    assert!(Keyring::open(&RootKey::generate(&OsEntropy), vault, &rows).is_err());
    assert!(Keyring::open(&root, VaultId::from_bytes([8; 16]), &rows).is_err());
}

#[test]
fn a_record_never_opens_under_another_tenants_key() {
    let (_, vault, keyring, _) = made();
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    let context = SealContext {
        tenant: Some(&acme),
        ..SealContext::new(Kind::Session, vault)
    };
    let sealed = keyring
        .flow_key(&acme)
        .expect("there")
        .seal(&context, b"x", &OsEntropy)
        .expect("fits");
    let moved = SealContext {
        tenant: Some(&globex),
        ..context
    };
    assert_eq!(
        keyring.open_record(&moved, &sealed).expect_err("moved"),
        OpenError::WrongKeyOrContext
    );
    assert!(keyring.key(sealed.key_id(), Some(&globex)).is_none());
    assert!(keyring.key(sealed.key_id(), None).is_none());
}

#[test]
fn a_data_key_belongs_to_one_person() {
    let (_, _, keyring, _) = made();
    let user = UserId::from_bytes([1; 16]);
    let (key, row) = keyring
        .new_data_key(&tenant("acme"), user, 2, &OsEntropy)
        .expect("there");
    assert_eq!(keyring.open_data_key(&row).expect("opens").id(), key.id());
    for changed in [
        KeyFacts {
            user: Some(UserId::from_bytes([2; 16])),
            ..row.facts.clone()
        },
        KeyFacts {
            tenant: Some(tenant("globex")),
            ..row.facts.clone()
        },
        KeyFacts {
            purpose: KeyPurpose::Tenant,
            ..row.facts.clone()
        },
        KeyFacts {
            parent: KeyId::from_bytes([0; 16]),
            ..row.facts.clone()
        },
    ] {
        assert!(
            keyring
                .open_data_key(&WrappedKey {
                    facts: changed,
                    ..row.clone()
                })
                .is_err()
        );
    }
    let error = keyring
        .new_data_key(&tenant("initech"), user, 2, &OsEntropy)
        .expect_err("no keys");
    assert_eq!(error, KeyringError::NoTenant(tenant("initech")));
}

#[test]
fn a_tenant_is_added_without_touching_the_old_snapshot() {
    let (root, vault, keyring, mut rows) = made();
    let initech = tenant("initech");
    let (larger, more) = keyring
        .add_tenant(&root, &initech, 3, &OsEntropy)
        .expect("adds");
    assert!(keyring.tenant_key(&initech).is_none());
    let added = larger.tenant_key(&initech).expect("there").id();
    rows.extend(more);
    let again = Keyring::open(&root, vault, &rows).expect("opens");
    assert_eq!(again.tenant_key(&initech).expect("there").id(), added);
    assert!(larger.add_tenant(&root, &initech, 4, &OsEntropy).is_err());
    assert!(Keyring::create(&root, vault, &[initech.clone(), initech], 1, &OsEntropy).is_err());
}

#[test]
fn missing_and_doubled_rows_are_named() {
    let (root, vault, _, rows) = made();
    for (place, row) in rows.iter().enumerate() {
        let mut fewer = rows.clone();
        fewer.remove(place);
        let error = Keyring::open(&root, vault, &fewer).expect_err("one is missing");
        let expected = KeyringError::Missing {
            purpose: row.facts.purpose,
            tenant: row.facts.tenant.clone(),
        };
        assert_eq!(error, expected);
        let mut twice = rows.clone();
        twice.push(row.clone());
        let error = Keyring::open(&root, vault, &twice).expect_err("one stands twice");
        assert_eq!(error, KeyringError::Twice(row.facts.id));
    }
}

#[test]
fn a_retired_key_verifies_and_opens_but_a_destroyed_one_does_not() {
    let (root, vault, keyring, mut rows) = made();
    let acme = tenant("acme");
    let value = [1; 32];
    let old_hash = keyring.lookup_hash(LookupLabel::Session, &value);
    let context = SealContext {
        tenant: Some(&acme),
        ..SealContext::new(Kind::Session, vault)
    };
    let sealed = keyring
        .flow_key(&acme)
        .expect("there")
        .seal(&context, b"x", &OsEntropy)
        .expect("fits");

    let replaced = |facts: &KeyFacts| {
        facts.purpose == KeyPurpose::Lookup
            || (facts.purpose == KeyPurpose::Flow && facts.tenant.as_ref() == Some(&acme))
    };
    let mut next = Vec::new();
    for row in rows.iter_mut().filter(|row| replaced(&row.facts)) {
        let facts = facts(row.facts.purpose, row.facts.tenant.clone(), 9);
        next.push(fresh(root.as_parent(), vault, facts, &OsEntropy).expect("wraps"));
        *row = row
            .rewrap(root.as_parent(), vault, KeyState::Deactivated, &OsEntropy)
            .expect("wraps");
    }
    rows.extend(next);
    let rotated = Keyring::open(&root, vault, &rows).expect("opens");
    let candidates: Vec<_> = rotated
        .lookup_candidates(LookupLabel::Session, &value)
        .collect();
    assert_eq!(candidates.len(), 2);
    assert_eq!(
        candidates[0],
        rotated.lookup_hash(LookupLabel::Session, &value)
    );
    assert_ne!(candidates[0], old_hash);
    assert_eq!(candidates[1], old_hash);
    assert_ne!(
        rotated.flow_key(&acme).expect("there").id(),
        sealed.key_id()
    );
    assert!(rotated.open_record(&context, &sealed).is_ok());

    for row in rows
        .iter_mut()
        .filter(|row| row.facts.state == KeyState::Deactivated)
    {
        *row = row
            .rewrap(root.as_parent(), vault, KeyState::Destroyed, &OsEntropy)
            .expect("wraps");
    }
    let later = Keyring::open(&root, vault, &rows).expect("opens");
    assert_eq!(
        later
            .lookup_candidates(LookupLabel::Session, &value)
            .count(),
        1
    );
    assert!(later.open_record(&context, &sealed).is_err());
}

#[test]
fn hashes_of_different_things_never_meet() {
    let (_, _, keyring, _) = made();
    let value = [1; 32];
    let labels = [
        LookupLabel::Ticket,
        LookupLabel::Browser,
        LookupLabel::Session,
        LookupLabel::OwnPage,
        LookupLabel::State,
        LookupLabel::Idempotency,
    ];
    let mut hashes: Vec<_> = labels
        .iter()
        .map(|label| keyring.lookup_hash(*label, &value))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), labels.len());

    let (acme, globex) = (tenant("acme"), tenant("globex"));
    let (a, ab) = (
        IssuerSlug::parse("a").expect("a slug"),
        IssuerSlug::parse("ab").expect("a slug"),
    );
    let base = keyring.pseudonym(&acme, &a, "bc", b"s");
    for other in [
        keyring.pseudonym(&globex, &a, "bc", b"s"),
        keyring.pseudonym(&acme, &ab, "c", b"s"),
        keyring.pseudonym(&acme, &a, "b", b"cs"),
        keyring.pseudonym(&acme, &a, "bc", b"S"),
    ] {
        assert!(!base.ct_eq(&other));
    }
    let provider = ProviderSlug::parse("a").expect("a slug");
    let account = keyring.account_pseudonym(&acme, &provider, "bc", "s");
    assert_ne!(account.as_bytes(), base.as_bytes());
}

#[test]
fn nothing_secret_shows_in_the_debug_form() {
    let (_, _, keyring, _) = made();
    let text = format!("{keyring:?}");
    assert!(text.contains("KeyBytes(..)") && text.contains("MacKey(..)"));
    let seed = format!("{:?}", secret::RevealKey::reveal_key(keyring.audit_seed()));
    assert!(!text.contains(seed.trim_matches(['[', ']'])));
}
