//! Proves for all types of this room at once that they cannot be copied, shown or compared, and that texts have one form.

use proptest::prelude::*;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::*;

/// Fails to compile when a type implements the trait: the second blanket impl would make the call ambiguous.
macro_rules! never {
    ($trait:path: $($type:ty),+ $(,)?) => {
        const _: () = {
            trait Ambiguous<A> {
                fn call() {}
            }
            struct Implements;
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $trait> Ambiguous<Implements> for T {}
            $(let _ = <$type as Ambiguous<_>>::call;)+
        };
    };
}

macro_rules! all_secrets {
    ($($type:ty),+ $(,)?) => {
        never!(Clone: $($type),+);
        never!(std::fmt::Display: $($type),+);
        never!(serde::Serialize: $($type),+);
        never!(PartialEq: $($type),+);

        fn every_type_is_wiped() {
            fn wiped<T: ZeroizeOnDrop>() {}
            $(wiped::<$type>();)+
        }
    };
}

all_secrets!(
    AccessToken,
    AuthorizationCode,
    BrowserCookie,
    ClientSecret,
    ConnectTicket,
    CsrfSecret,
    IdToken,
    KeyBytes,
    Nonce,
    OauthState,
    PkceVerifier,
    RefreshToken,
    SecretBytes,
    ServerKeyText,
    SessionCookie,
    SubjectToken,
);

/// Counts up from a start value.
struct Counting(std::sync::atomic::AtomicU8);

impl Entropy for Counting {
    fn fill(&self, out: &mut [u8]) {
        out.fill_with(|| self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
}

fn counting(start: u8) -> Counting {
    Counting(start.into())
}

/// All bytes the same.
struct Constant(u8);

impl Entropy for Constant {
    fn fill(&self, out: &mut [u8]) {
        out.fill(self.0);
    }
}

#[test]
fn debug_shows_the_name_only() {
    every_type_is_wiped();
    assert_eq!(
        format!("{:?}", RefreshToken::new("canary".into())),
        "RefreshToken(..)"
    );
    assert_eq!(
        format!("{:?}", KeyBytes::generate(&OsEntropy)),
        "KeyBytes(..)"
    );
    assert_eq!(
        format!("{:?}", SecretBytes::new(b"canary".to_vec())),
        "SecretBytes(..)"
    );
    assert_eq!(
        format!("{:?}", OauthState::generate(&OsEntropy)),
        "OauthState(..)"
    );
}

#[test]
fn a_bearer_word_has_one_text() {
    let ticket = ConnectTicket::generate(&counting(0));
    let text = ticket.to_text();
    assert_eq!(text.as_str(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
    assert!(ConnectTicket::parse(&text).is_ok_and(|same| same.ct_eq(&ticket)));
    assert!(!ConnectTicket::generate(&counting(1)).ct_eq(&ticket));
    for wrong in [
        "",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9", // stray bits in the last character
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh",
        " AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
    ] {
        assert!(ConnectTicket::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_key_keeps_its_bytes() {
    let key = KeyBytes::from_bytes(Zeroizing::new([7; 32]));
    assert_eq!(key.reveal_key(), &[7; 32]);
}

#[test]
fn a_server_key_has_one_text() {
    let key = ServerKeyText::generate(KeyClass::Server, &counting(0));
    // 62^43 is just above 2^256, so the largest secret still fits and the text above it is refused.
    let largest = ServerKeyText::generate(KeyClass::Admin, &Constant(0xf7));
    for key in [&key, &largest] {
        assert_eq!(key.reveal().len(), 66);
        let again = ServerKeyText::parse(key.class(), key.reveal()).expect("our own text");
        assert_eq!(again.reveal(), key.reveal());
        assert_eq!(again.id(), key.id());
    }
    assert!(ServerKeyText::parse(KeyClass::Admin, key.reveal()).is_err());
    let body = format!("srk_000000000000_{}", "z".repeat(43));
    let mut too_large = body.clone();
    push_check(&mut too_large);
    assert!(ServerKeyText::parse(KeyClass::Server, &too_large).is_err());
}

/// The checksum, computed apart from the code under test.
fn push_check(text: &mut String) {
    let mut check = crc32fast::hash(text.as_bytes());
    let mut digits = Vec::new();
    for _ in 0..6 {
        digits.push(
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[check as usize % 62],
        );
        check /= 62;
    }
    text.extend(digits.into_iter().rev().map(char::from));
}

#[test]
fn every_changed_character_of_a_server_key_is_noticed() {
    let key = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
    for place in 0..66 {
        for other in ['0', 'Z', '_', ' ', 'é'] {
            let changed: String = key
                .reveal()
                .chars()
                .enumerate()
                .map(|(at, c)| if at == place { other } else { c })
                .collect();
            if changed != key.reveal() {
                assert!(
                    ServerKeyText::parse(KeyClass::Server, &changed).is_err(),
                    "{place} {other}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,80}", body in "srk_[0-9A-Za-z_é]{60,64}") {
        prop_assert!(ConnectTicket::parse(&text).is_err() || text.len() == 43);
        prop_assert!(ServerKeyText::parse(KeyClass::Server, &text).is_err());
        prop_assert!(ServerKeyText::parse(KeyClass::Server, &body).is_err());
    }

    #[test]
    fn any_secret_survives_its_text(bytes: [u8; 32]) {
        struct Given([u8; 32]);
        impl Entropy for Given {
            fn fill(&self, out: &mut [u8]) {
                // The id is drawn byte by byte and draws again from 248 up.
                let limit = if out.len() == 1 { 248 } else { 256 };
                for (byte, given) in out.iter_mut().zip(self.0) {
                    *byte = u8::try_from(u16::from(given) % limit).unwrap_or_default();
                }
            }
        }
        let key = ServerKeyText::generate(KeyClass::Server, &Given(bytes));
        prop_assert!(ServerKeyText::parse(KeyClass::Server, key.reveal()).is_ok());
    }
}
