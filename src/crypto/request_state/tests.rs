//! Attacks on requestState: everything but the untouched text, in the right hands and in time, gives the one answer.

use secret::{KeyBytes, OsEntropy};

use super::*;

fn key(id: u8) -> SealKey {
    SealKey::new(
        KeyId::from_bytes([id; 16]),
        KeyBytes::from_bytes(Zeroizing::new([5; 32])),
    )
}

fn state() -> RequestState {
    RequestState {
        elicitation: ElicitationId::from_bytes([1; 16]),
        tenant: TenantSlug::parse("acme").expect("a slug"),
        server: ServerSlug::parse("release-notes").expect("a slug"),
        issuer: IssuerSlug::parse("corp-2").expect("a slug"),
        subject_hash: [2; 32],
        provider: ProviderSlug::parse("forge").expect("a slug"),
        client_digest: [3; 32],
        request_digest: Some([4; 32]),
        issued_ms: 1_000,
        expires_ms: 2_000,
    }
}

const VAULT: VaultId = VaultId::from_bytes([9; 16]);

fn open_at(now_ms: i64, text: &str) -> Result<RequestState, BadRequestState> {
    let state = state();
    let caller = Caller {
        vault: VAULT,
        tenant: &state.tenant,
        server: &state.server,
        now_ms,
    };
    let key = key(1);
    RequestState::open_with(&caller, text, |id| (id == key.id()).then_some(&key))
}

#[test]
fn it_comes_back_whole_and_always_as_long() {
    for request_digest in [None, Some([4; 32])] {
        let longest = TenantSlug::parse(&"z".repeat(32)).expect("a slug");
        let state = RequestState {
            request_digest,
            ..state()
        };
        let text = state.seal_under(&key(1), VAULT, &OsEntropy).expect("fits");
        assert_eq!(text.len(), TEXT);
        assert_eq!(open_at(1_999, &text), Ok(state.clone()));
        let other = RequestState {
            tenant: longest,
            ..state
        };
        assert_eq!(
            other
                .seal_under(&key(1), VAULT, &OsEntropy)
                .expect("fits")
                .len(),
            TEXT
        );
    }
    let one = state()
        .seal_under(&key(1), VAULT, &OsEntropy)
        .expect("fits");
    let two = state()
        .seal_under(&key(1), VAULT, &OsEntropy)
        .expect("fits");
    assert_ne!(one, two);
}

#[test]
fn only_the_caller_it_was_made_for_may_use_it_and_only_in_time() {
    let state = state();
    let text = state.seal_under(&key(1), VAULT, &OsEntropy).expect("fits");
    assert_eq!(open_at(2_000, &text), Err(BadRequestState));
    let (tenant, server) = (
        TenantSlug::parse("t").expect("a slug"),
        ServerSlug::parse("s").expect("a slug"),
    );
    let home = Caller {
        vault: VAULT,
        tenant: &state.tenant,
        server: &state.server,
        now_ms: 1_500,
    };
    let key = key(1);
    for caller in [
        Caller {
            tenant: &tenant,
            ..home
        },
        Caller {
            server: &server,
            ..home
        },
        Caller {
            vault: VaultId::from_bytes([8; 16]),
            ..home
        },
    ] {
        assert_eq!(
            RequestState::open_with(&caller, &text, |_| Some(&key)),
            Err(BadRequestState)
        );
    }
    assert_eq!(
        RequestState::open_with(&home, &text, |_| None),
        Err(BadRequestState)
    );
}

#[test]
fn at_112_every_change_gives_the_one_answer() {
    let text = state()
        .seal_under(&key(1), VAULT, &OsEntropy)
        .expect("fits");
    assert!(open_at(1_500, &text).is_ok());
    let bytes = text.as_bytes();
    for bit in 0..bytes.len() * 8 {
        let mut bent = bytes.to_vec();
        bent[bit / 8] ^= 1 << (bit % 8);
        refused(&bent);
    }
    for place in 0..bytes.len() {
        refused(&bytes[..place]);
        refused(&[&bytes[..place], &bytes[place + 1..]].concat());
        for byte in [b'A', b'=', b'\n', 0, bytes[place]] {
            refused(&[&bytes[..place], &[byte], &bytes[place..]].concat());
        }
        for byte in *b"+/=. \n" {
            let mut other = bytes.to_vec();
            other[place] = byte;
            if other != bytes {
                refused(&other);
            }
        }
    }
    for end in ["=", "==", "A", "\n", " "] {
        refused(format!("{text}{end}").as_bytes());
    }
    refused(text.replace("srs1.", "srs2.").as_bytes());
    refused(text.to_uppercase().as_bytes());
    refused("A".repeat(1 << 20).as_bytes());
}

fn refused(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(open_at(1_500, text), Err(BadRequestState));
    }
}

#[test]
fn the_last_character_has_no_spare_bits() {
    // 376 bytes leave four unused bits at the end; only zeros are accepted there.
    let text = state()
        .seal_under(&key(1), VAULT, &OsEntropy)
        .expect("fits");
    let mut opened = 0;
    for last in b'-'..=b'z' {
        let other = format!("{}{}", &text[..TEXT - 1], char::from(last));
        opened += usize::from(open_at(1_500, &other).is_ok());
    }
    assert_eq!(opened, 1);
}
