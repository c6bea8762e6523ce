//! Opens the requestState texts of `request-state.json` and the slots of `root-slot.json`.

use domain::{KeyId, ServerSlug, TenantSlug};
use secret::{KeyBytes, OsEntropy, Passphrase, RevealKey};
use serde_json::{Value, json};
use strongroom_crypto::seal::{
    PassphraseError, PassphraseParameters, PassphraseSeal, RootSlot, SealKind, SlotError,
};
use strongroom_crypto::{
    KeyFacts, KeyPurpose, KeyState, Keyring, RequestState, RootKey, Sealed, WrappedKey,
};

use crate::Outcome;
use crate::read::{bytes, hex, key, key_id, moment, number, text, vault};

/// A keyring whose requestState key is the one of the case.
fn keyring(case: &Value) -> Keyring {
    let root = RootKey::generate(&OsEntropy);
    let purposes = [
        KeyPurpose::RequestState,
        KeyPurpose::Lookup,
        KeyPurpose::ServerKeyHash,
        KeyPurpose::Pseudonym,
        KeyPurpose::AuditSeed,
    ];
    let rows: Vec<_> = purposes
        .into_iter()
        .map(|purpose| {
            let given = purpose == KeyPurpose::RequestState;
            let id = if given {
                key_id(case, "key_id")
            } else {
                KeyId::from_bytes([purpose.code(); 16])
            };
            let key = if given {
                key(case, "key")
            } else {
                KeyBytes::generate(&OsEntropy)
            };
            let facts = KeyFacts {
                id,
                parent: root.id(),
                purpose,
                state: KeyState::Active,
                created_ms: 0,
                not_after_ms: None,
                tenant: None,
                user: None,
            };
            WrappedKey::wrap(root.as_parent(), vault(case), facts, &key, &OsEntropy).expect("wraps")
        })
        .collect();
    Keyring::open(&root, vault(case), &rows).expect("complete")
}

pub(crate) fn request_state(case: &Value) -> Outcome {
    let tenant = TenantSlug::parse(text(case, "tenant")).expect("a slug");
    let server = ServerSlug::parse(text(case, "server")).expect("a slug");
    let now_ms = moment(case, "now_ms").expect("a moment");
    match keyring(case).open_request_state(&tenant, &server, now_ms, text(case, "text")) {
        Ok(state) => Outcome::Is(fields(&state)),
        Err(_) => Outcome::Refused("bad_request_state".to_owned()),
    }
}

fn fields(state: &RequestState) -> Value {
    json!({
        "elicitation": hex(state.elicitation.as_bytes()),
        "tenant": state.tenant.as_str(),
        "server": state.server.as_str(),
        "issuer": state.issuer.as_str(),
        "subject_hash": hex(&state.subject_hash),
        "provider": state.provider.as_str(),
        "client_digest": hex(&state.client_digest),
        "request_digest": state.request_digest.map(|digest| hex(&digest)),
        "issued_ms": state.issued_ms,
        "expires_ms": state.expires_ms,
    })
}

pub(crate) fn root_slot(case: &Value) -> Outcome {
    let passphrase = Passphrase::new(text(case, "passphrase").into());
    let seal =
        PassphraseSeal::new(&passphrase, PassphraseParameters::default()).expect("a passphrase");
    let slot = RootSlot {
        number: u8::try_from(number(case, "number")).expect("a byte"),
        kind: SealKind::from_code(u8::try_from(number(case, "seal")).expect("a byte"))
            .expect("known"),
        parameters: bytes(case, "parameters"),
        root: key_id(case, "root"),
        sealed: Sealed::parse(bytes(case, "record")).expect("well formed"),
    };
    match slot.open(&seal, vault(case)) {
        Ok(root) => Outcome::Is(hex(root.reveal_key())),
        Err(SlotError::Shut { source, .. } | SlotError::Damaged { source, .. }) => {
            Outcome::Refused(source.reason().to_owned())
        }
        Err(SlotError::Passphrase(PassphraseError::OutOfRange(_))) => {
            Outcome::Refused("out_of_range".to_owned())
        }
        Err(SlotError::Passphrase(PassphraseError::Damaged)) => {
            Outcome::Refused("damaged".to_owned())
        }
        Err(other) => Outcome::Refused(other.to_string()),
    }
}
