//! Attacks on single records: moved, bent, cut and made up.

use domain::{
    GrantId, IssuerSlug, ProviderSlug, ServerSlug, SlotName, TenantSlug, UserId, VaultId,
};
use proptest::prelude::*;
use secret::OsEntropy;

use super::*;
use crate::MetadataDigest;

struct Names {
    tenants: [TenantSlug; 2],
    servers: [ServerSlug; 2],
    issuers: [IssuerSlug; 2],
    providers: [ProviderSlug; 2],
    slots: [SlotName; 2],
}

fn names() -> Names {
    Names {
        tenants: ["t1", "t2"].map(|name| TenantSlug::parse(name).expect("a slug")),
        servers: ["s1", "s2"].map(|name| ServerSlug::parse(name).expect("a slug")),
        issuers: ["i1", "i2"].map(|name| IssuerSlug::parse(name).expect("a slug")),
        providers: ["p1", "p2"].map(|name| ProviderSlug::parse(name).expect("a slug")),
        slots: ["main", "bot"].map(|name| SlotName::parse(name).expect("a slug")),
    }
}

fn home(names: &Names) -> SealContext<'_> {
    SealContext {
        tenant: Some(&names.tenants[0]),
        server: Some(&names.servers[0]),
        issuer: Some(&names.issuers[0]),
        issuer_url: "https://issuer.example",
        subject: b"\0\0\0\x05alice",
        provider: Some(&names.providers[0]),
        grant: Some(GrantId::from_bytes([1; 16])),
        slot: Some(&names.slots[0]),
        user: Some(UserId::from_bytes([2; 16])),
        version: 7,
        metadata: MetadataDigest::from_bytes([3; 32]),
        ..SealContext::new(Kind::AccessToken, VaultId::from_bytes([4; 16]))
    }
}

fn key(id: u8) -> SealKey {
    SealKey::new(
        KeyId::from_bytes([id; 16]),
        KeyBytes::from_bytes(Zeroizing::new([5; 32])),
    )
}

#[test]
fn a_record_opens_at_home() {
    let names = names();
    for kind in Kind::ALL {
        let context = SealContext {
            kind,
            ..home(&names)
        };
        let plaintext = [9; 32];
        let sealed = key(1).seal(&context, &plaintext, &OsEntropy).expect("fits");
        assert_eq!((sealed.key_id(), sealed.record_version()), (key(1).id(), 7));
        let opened = key(1).open(&context, &sealed).expect("opens");
        assert_eq!(opened.expose(), plaintext);
        let body = if kind.holds_key() { 32 } else { 256 };
        assert_eq!(sealed.as_bytes().len(), HEADER + body + TAG);
    }
}

/// A copy of the home context with one thing changed.
fn moved<'a>(home: SealContext<'a>, change: impl FnOnce(&mut SealContext<'a>)) -> SealContext<'a> {
    let mut context = home;
    change(&mut context);
    context
}

#[test]
fn at_139_a_record_moved_anywhere_stays_shut() {
    let names = names();
    let home = home(&names);
    let sealed = key(1).seal(&home, b"token", &OsEntropy).expect("fits");
    let elsewhere = [
        moved(home, |to| to.tenant = Some(&names.tenants[1])),
        moved(home, |to| to.tenant = None),
        moved(home, |to| to.server = Some(&names.servers[1])),
        moved(home, |to| to.issuer = Some(&names.issuers[1])),
        moved(home, |to| to.issuer_url = "https://issuer.example/"),
        moved(home, |to| to.subject = b"\0\0\0\x05alicf"),
        moved(home, |to| to.provider = Some(&names.providers[1])),
        moved(home, |to| to.grant = Some(GrantId::from_bytes([9; 16]))),
        moved(home, |to| to.grant = None),
        moved(home, |to| to.slot = Some(&names.slots[1])),
        moved(home, |to| to.user = Some(UserId::from_bytes([9; 16]))),
        moved(home, |to| to.version = 6),
        moved(home, |to| to.version = 8),
        moved(home, |to| to.metadata = MetadataDigest::ZERO),
        moved(home, |to| to.vault = VaultId::from_bytes([9; 16])),
    ];
    for context in elsewhere {
        let error = key(1).open(&context, &sealed).expect_err("moved");
        assert_eq!(error, OpenError::WrongKeyOrContext, "{context:?}");
    }
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != home.kind) {
        assert!(
            key(1).open(&SealContext { kind, ..home }, &sealed).is_err(),
            "{kind:?}"
        );
    }
    assert_eq!(
        key(2).open(&home, &sealed).expect_err("named"),
        OpenError::WrongKeyOrContext
    );
}

#[test]
fn a_renamed_key_in_the_header_is_noticed() {
    let names = names();
    let mut bytes = key(1)
        .seal(&home(&names), b"token", &OsEntropy)
        .expect("fits")
        .into_bytes();
    bytes[4..20].copy_from_slice(&[2; 16]);
    let error = key(2)
        .open_bytes(&home(&names), &bytes)
        .expect_err("same bytes, other name");
    assert_eq!(error, OpenError::WrongKeyOrContext);
}

#[test]
fn at_142_a_bent_record_stays_shut() {
    let names = names();
    let context = home(&names);
    let good = key(1)
        .seal(&context, b"token", &OsEntropy)
        .expect("fits")
        .into_bytes();
    let refused = |bytes: &[u8]| {
        let error = key(1).open_bytes(&context, bytes).expect_err("bent");
        assert_eq!(
            error.to_string(),
            OpenError::Corrupt.to_string(),
            "one public text"
        );
        error
    };
    for bit in 0..good.len() * 8 {
        let mut bent = good.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0..4 => OpenError::UnknownFormat,
            4..92 => OpenError::WrongKeyOrContext,
            _ => OpenError::Corrupt,
        };
        assert_eq!(refused(&bent), expected, "bit {bit}");
    }
    for length in 0..good.len() {
        assert_eq!(
            refused(&good[..length]),
            OpenError::Malformed,
            "cut to {length}"
        );
    }
    for more in [1, 16, 255, 512] {
        refused(&[good.as_slice(), &vec![0; more]].concat());
    }
    assert_eq!(refused(&vec![b'S'; MAX_SEALED + 1]), OpenError::Malformed);
    for (place, value) in [(2, 0), (2, 2), (3, 0), (3, 2)] {
        let mut other = good.clone();
        other[place] = value;
        assert_eq!(refused(&other), OpenError::UnknownFormat);
    }
}

#[test]
fn the_limits_are_clear() {
    let names = names();
    let context = home(&names);
    let longest = key(1)
        .seal(&context, &vec![1; MAX_PLAINTEXT], &OsEntropy)
        .expect("just fits");
    assert!(longest.as_bytes().len() <= MAX_SEALED);
    assert_eq!(
        key(1)
            .open(&context, &longest)
            .expect("opens")
            .expose()
            .len(),
        MAX_PLAINTEXT
    );
    const { assert!(MAX_PLAINTEXT > 64 * 1024) };
    let length = MAX_PLAINTEXT + 1;
    let error = key(1)
        .seal(&context, &vec![1; length], &OsEntropy)
        .expect_err("too long");
    assert_eq!(error, SealError::TooLong { length });
    let wrap = SealContext {
        kind: Kind::WrappedDataKey,
        ..context
    };
    assert_eq!(
        key(1)
            .seal(&wrap, &[0; 31], &OsEntropy)
            .expect_err("no key"),
        SealError::NotAKey { length: 31 }
    );
}

#[test]
fn padding_hides_the_length_and_reads_back() {
    let names = names();
    let context = home(&names);
    for length in [0, 1, 254, 255, 256, 257, 511, 512] {
        let mut plaintext = vec![0x80; length];
        plaintext
            .iter_mut()
            .skip(1)
            .step_by(2)
            .for_each(|byte| *byte = 0);
        let sealed = key(1).seal(&context, &plaintext, &OsEntropy).expect("fits");
        assert_eq!(
            sealed.as_bytes().len(),
            HEADER + (length / 256 + 1) * 256 + TAG
        );
        assert_eq!(
            key(1).open(&context, &sealed).expect("opens").expose(),
            plaintext
        );
    }
    for wrong in [
        vec![0; 256],
        vec![1; 256],
        [vec![0x80], vec![0; 511]].concat(),
    ] {
        let padded = Zeroizing::new(wrong);
        assert_eq!(
            unpad(Kind::AccessToken, padded).expect_err("no such padding"),
            OpenError::Corrupt
        );
    }
}

#[test]
fn the_stored_name_and_version_are_read_from_outside() {
    let names = names();
    let sealed = key(1).seal(&home(&names), b"x", &OsEntropy).expect("fits");
    let again = Sealed::parse(sealed.as_bytes().to_vec()).expect("well formed");
    assert_eq!(again, sealed);
    assert!(
        !format!("{again:?}").contains("120"),
        "no bytes in the debug form"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_opening_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..700),
        start in prop::option::of(Just([b'S', b'R', 1, 1])),
    ) {
        let names = names();
        if let Some(start) = start {
            bytes.splice(..bytes.len().min(4), start);
        }
        prop_assert!(key(1).open_bytes(&home(&names), &bytes).is_err());
    }

    #[test]
    fn what_is_sealed_opens_and_two_seals_differ(plaintext in prop::collection::vec(any::<u8>(), 0..3000)) {
        let names = names();
        let context = home(&names);
        let one = key(1).seal(&context, &plaintext, &OsEntropy).expect("fits");
        let two = key(1).seal(&context, &plaintext, &OsEntropy).expect("fits");
        prop_assert_ne!(&one, &two);
        let opened = key(1).open(&context, &one).expect("opens");
        prop_assert_eq!(opened.expose(), plaintext);
    }
}
