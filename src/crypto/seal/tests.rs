//! Seals: files that are not what they should be, slots that were changed, costs outside the limits.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use secret::{OsEntropy, Passphrase};

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

/// Six words, as the refusal of a weak one advises.
const GOOD: &str = "correct horse battery staple";

fn slot_of(passphrase: &str, cost: PassphraseParameters) -> Result<(RootSlot, RootKey), SlotError> {
    let root = RootKey::generate(&OsEntropy);
    let passphrase = Passphrase::new(passphrase.into());
    let seal = PassphraseSeal::new(&passphrase, cost)?;
    let slot = RootSlot::create(2, &seal, VAULT, &root, &OsEntropy)?;
    Ok((slot, root))
}

fn open(slot: &RootSlot, passphrase: &str) -> Result<RootKey, SlotError> {
    let passphrase = Passphrase::new(passphrase.into());
    slot.open(&PassphraseSeal::new(&passphrase, CHEAPEST)?, VAULT)
}

#[test]
fn a_passphrase_opens_its_slot_and_no_other() {
    let (slot, root) = slot_of(GOOD, CHEAPEST).expect("fits");
    assert_eq!(open(&slot, GOOD).expect("opens").id(), root.id());
    for other in [
        "correct horse battery staplf",
        "Correct horse battery staple",
        "correct horse battery staple ",
    ] {
        assert!(matches!(open(&slot, other), Err(SlotError::Shut { .. })));
    }
    let mut salted = slot.clone();
    salted.parameters[27] ^= 1;
    assert!(matches!(open(&salted, GOOD), Err(SlotError::Shut { .. })));
}

#[test]
fn the_right_passphrase_of_a_damaged_slot_is_told_so() {
    let (slot, _) = slot_of(GOOD, CHEAPEST).expect("fits");
    let mut bytes = slot.sealed.as_bytes().to_vec();
    *bytes.last_mut().expect("long") ^= 1;
    let sealed = Sealed::parse(bytes).expect("well formed");
    let damaged = RootSlot { sealed, ..slot };
    let told = open(&damaged, GOOD).expect_err("damaged");
    assert!(matches!(told, SlotError::Damaged { number: 2, .. }));
    assert!(told.to_string().contains("is the right one"), "{told}");
    let told = open(&damaged, "incorrect horse battery").expect_err("another");
    assert!(matches!(told, SlotError::Shut { .. }), "{told}");
}

#[test]
fn one_letter_is_one_letter_however_it_was_typed() {
    let (composed, decomposed) = (
        "Z\u{fc}rich \u{1e9b}\u{323} caf\u{e9} 3000",
        "Zu\u{308}rich \u{17f}\u{323}\u{307} cafe\u{301} 3000",
    );
    let (slot, root) = slot_of(decomposed, CHEAPEST).expect("fits");
    assert_eq!(open(&slot, composed).expect("opens").id(), root.id());
    // Compatibility is not identity: these look alike and are other letters.
    let other = composed.replace('3', "\u{ff13}");
    assert!(matches!(open(&slot, &other), Err(SlotError::Shut { .. })));
}

#[test]
fn a_weak_passphrase_makes_no_slot() {
    for weak in [
        "fourteen chars",                                   // 14
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",                    // one letter
        "abcabcabcabcabcabcabcabc",                         // three
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}abcdefgh", // 13 letters, however many code points
    ] {
        assert!(
            matches!(
                slot_of(weak, CHEAPEST),
                Err(SlotError::Passphrase(PassphraseError::Weak))
            ),
            "{weak}"
        );
    }
    assert!(slot_of("fifteen letters", CHEAPEST).is_ok());
    let empty = Passphrase::new(String::new());
    assert_eq!(
        PassphraseSeal::new(&empty, CHEAPEST).expect_err("empty"),
        PassphraseError::Empty
    );
}

#[test]
fn costs_outside_the_limits_take_no_memory() {
    let passphrase = Passphrase::new(GOOD.into());
    let seal = PassphraseSeal::new(&passphrase, CHEAPEST).expect("within limits");
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
        (64 * 1024 * 1024, 2, 1), // 64 GiB
        (u32::MAX, u32::MAX, u32::MAX),
        (19 * 1024, 65, 1),
        (19 * 1024, u32::MAX, 1),
        (19 * 1024, 2, 65),
        (4 * 1024 * 1024, 3, 1), // each within its own bounds
        (1024 * 1024, 9, 4),
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
        assert!(PassphraseSeal::new(&passphrase, cost).is_err());
    }
    for damaged in [vec![], vec![0; 27], vec![0; 29]] {
        let error = seal.key(&damaged).expect_err("damaged");
        assert!(matches!(
            error,
            SlotError::Passphrase(PassphraseError::Damaged)
        ));
    }
    let dearest = PassphraseParameters {
        memory_kib: 4 * 1024 * 1024,
        passes: 2,
        lanes: 64,
    };
    assert!(PassphraseSeal::new(&passphrase, dearest).is_ok());
    assert_eq!(
        PassphraseParameters::default(),
        PassphraseParameters {
            memory_kib: 65_536,
            passes: 3,
            lanes: 4
        }
    );
}
