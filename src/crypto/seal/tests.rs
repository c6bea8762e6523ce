//! Seals: files that are not what they should be, slots that were changed, costs outside the limits.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use secret::{OsEntropy, SecretBytes};

use super::*;

const VAULT: VaultId = VaultId::from_bytes([1; 16]);
const CHEAPEST: PassphraseParameters = PassphraseParameters {
    memory_kib: 19 * 1024,
    passes: 2,
    lanes: 1,
};

#[test]
fn a_key_file_opens_its_slot_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, other) = (folder.path().join("one.key"), folder.path().join("two.key"));
    let made = KeyFileSeal::create(&path, &OsEntropy).expect("new");
    let root = RootKey::generate(&OsEntropy);
    let slot = RootSlot::create(1, &made, VAULT, &root, &OsEntropy).expect("fits");
    let seal = KeyFileSeal::open(&path).expect("reads back");
    let again = slot.open(&seal, VAULT).expect("opens");
    assert_eq!(again.id(), root.id());
    let (left, right) = (again.as_parent().key_bytes(), root.as_parent().key_bytes());
    assert_eq!(left.reveal_key(), right.reveal_key());

    let wrong = KeyFileSeal::create(&other, &OsEntropy).expect("new");
    assert!(matches!(
        slot.open(&wrong, VAULT),
        Err(SlotError::Shut { number: 1, .. })
    ));
    assert!(slot.open(&seal, VaultId::from_bytes([2; 16])).is_err());
    for changed in [
        RootSlot {
            number: 2,
            ..slot.clone()
        },
        RootSlot {
            parameters: vec![0],
            ..slot.clone()
        },
        RootSlot {
            root: KeyId::from_bytes([0; 16]),
            ..slot.clone()
        },
    ] {
        assert!(matches!(
            changed.open(&seal, VAULT),
            Err(SlotError::Shut { .. })
        ));
    }
    let moved = RootSlot {
        kind: SealKind::Passphrase,
        ..slot
    };
    assert!(matches!(
        moved.open(&seal, VAULT),
        Err(SlotError::OtherSeal { .. })
    ));
}

#[test]
fn a_key_file_is_private_from_the_start_and_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("root.key");
    KeyFileSeal::create(&path, &OsEntropy).expect("new");
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.starts_with("strongroom-key-1 ") && text.ends_with('\n') && text.len() == 61);
    assert!(matches!(
        KeyFileSeal::create(&path, &OsEntropy),
        Err(KeyFileError::Exists(_))
    ));
    assert_eq!(fs::read_to_string(&path).expect("text"), text);
}

#[test]
fn what_is_not_a_private_regular_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("root.key");
    assert!(matches!(
        KeyFileSeal::open(&path),
        Err(KeyFileError::Absent(_))
    ));
    KeyFileSeal::create(&path, &OsEntropy).expect("new");
    let link = folder.path().join("link.key");
    symlink(&path, &link).expect("a link");
    assert!(matches!(
        KeyFileSeal::open(&link),
        Err(KeyFileError::NotAFile(_))
    ));
    assert!(matches!(
        KeyFileSeal::create(&link, &OsEntropy),
        Err(KeyFileError::Exists(_))
    ));
    assert!(matches!(
        KeyFileSeal::open(folder.path()),
        Err(KeyFileError::NotAFile(_))
    ));
    for mode in [0o640, 0o604, 0o660, 0o644, 0o601, 0o4600] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
        let error = KeyFileSeal::open(&path).expect_err("open to others");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("ours");
    assert!(KeyFileSeal::open(&path).is_ok());
}

#[test]
fn a_key_file_has_one_exact_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("root.key");
    KeyFileSeal::create(&path, &OsEntropy).expect("new");
    let good = fs::read_to_string(&path).expect("text");
    for wrong in [
        String::new(),
        good.trim_end().to_owned(),
        format!("{good}\n"),
        good.replace("key-1", "key-2"),
        good.replace("key-1 ", "key-1\t"),
        good.replace('\n', "="),
        good[..60].to_owned() + "\r\n",
        format!("strongroom-key-1 {}\n", "A".repeat(42) + "B"),
        "x".repeat(100_000),
    ] {
        fs::write(&path, &wrong).expect("ours");
        assert!(
            matches!(KeyFileSeal::open(&path), Err(KeyFileError::Format(_))),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_passphrase_opens_its_slot_and_no_other() {
    let seal = |text: &str| {
        PassphraseSeal::new(SecretBytes::new(text.into()), CHEAPEST).expect("within limits")
    };
    let root = RootKey::generate(&OsEntropy);
    let slot = RootSlot::create(2, &seal("correct horse"), VAULT, &root, &OsEntropy).expect("fits");
    assert_eq!(
        slot.open(&seal("correct horse"), VAULT)
            .expect("opens")
            .id(),
        root.id()
    );
    assert!(matches!(
        slot.open(&seal("correct horsf"), VAULT),
        Err(SlotError::Shut { .. })
    ));
    let mut salted = slot.clone();
    salted.parameters[27] ^= 1;
    assert!(matches!(
        salted.open(&seal("correct horse"), VAULT),
        Err(SlotError::Shut { .. })
    ));
}

#[test]
fn costs_outside_the_limits_take_no_memory() {
    let seal =
        PassphraseSeal::new(SecretBytes::new(b"x".to_vec()), CHEAPEST).expect("within limits");
    let parameters = |memory: u32, passes: u32, lanes: u32| -> Vec<u8> {
        [memory, passes, lanes]
            .into_iter()
            .flat_map(u32::to_be_bytes)
            .chain([0; 16])
            .collect()
    };
    for (memory, passes, lanes) in [
        (19 * 1024 - 1, 2, 1),
        (19 * 1024, 1, 1),
        (19 * 1024, 2, 0),
        (4 * 1024 * 1024 + 1, 2, 1),
        (u32::MAX, u32::MAX, u32::MAX),
        (19 * 1024, 65, 1),
        (19 * 1024, 2, 65),
    ] {
        let error = seal
            .key(&parameters(memory, passes, lanes))
            .expect_err("outside");
        assert!(matches!(
            error,
            SlotError::Passphrase(PassphraseError::OutOfRange(_))
        ));
        let cost = PassphraseParameters {
            memory_kib: memory,
            passes,
            lanes,
        };
        assert!(PassphraseSeal::new(SecretBytes::new(b"x".to_vec()), cost).is_err());
    }
    for damaged in [vec![], vec![0; 27], vec![0; 29]] {
        let error = seal.key(&damaged).expect_err("damaged");
        assert!(matches!(
            error,
            SlotError::Passphrase(PassphraseError::Damaged)
        ));
    }
    assert!(PassphraseSeal::new(SecretBytes::new(vec![]), CHEAPEST).is_err());
    assert_eq!(
        PassphraseParameters::default(),
        PassphraseParameters {
            memory_kib: 65_536,
            passes: 3,
            lanes: 4
        }
    );
}
