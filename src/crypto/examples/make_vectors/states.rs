//! Vectors of requestState texts and of root key slots.

use domain::{ElicitationId, IssuerSlug, KeyId, ProviderSlug, ServerSlug, TenantSlug, VaultId};
use secret::{KeyBytes, Passphrase};
use serde_json::{Value, json};
use strongroom_crypto::seal::{PassphraseParameters, PassphraseSeal, RootSlot};
use strongroom_crypto::{RequestState, RootKey, SealKey};
use zeroize::Zeroizing;

use crate::{Counter, Made, hex};

const KEY: [u8; 32] = *b"golden vectors: requestState 32b";
const KEY_ID: [u8; 16] = *b"golden key id 17";
const VAULT: [u8; 16] = *b"golden vault 001";

fn state() -> Made<RequestState> {
    Ok(RequestState {
        elicitation: ElicitationId::from_bytes([1; 16]),
        tenant: TenantSlug::parse("acme")?,
        server: ServerSlug::parse("release-notes-2")?,
        issuer: IssuerSlug::parse("corp")?,
        subject_hash: [2; 32],
        provider: ProviderSlug::parse("abcdefghijklmnopqrstuvwxyz-01234")?,
        client_digest: [3; 32],
        request_digest: Some([4; 32]),
        issued_ms: 1_800_000_000_000,
        expires_ms: 1_800_001_800_000,
    })
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

/// requestState texts that open, and changed or misplaced ones that must not.
pub(crate) fn file() -> Made<Value> {
    let key = SealKey::new(
        KeyId::from_bytes(KEY_ID),
        KeyBytes::from_bytes(Zeroizing::new(KEY)),
    );
    let (vault, entropy) = (VaultId::from_bytes(VAULT), Counter(1700.into()));
    let bound = state()?;
    let free = RequestState {
        request_digest: None,
        ..state()?
    };
    let text = bound.seal_under(&key, vault, &entropy)?;
    let free_text = free.seal_under(&key, vault, &entropy)?;
    let refused = json!({ "refused": "bad_request_state" });
    let mut cases = vec![
        json!({ "name": "bound to a request", "expect": { "opens": fields(&bound) } }),
        json!({ "name": "not bound", "text": free_text, "expect": { "opens": fields(&free) } }),
        json!({ "name": "last moment", "now_ms": bound.expires_ms - 1, "expect": { "opens": fields(&bound) } }),
        json!({ "name": "expired", "now_ms": bound.expires_ms, "expect": refused }),
        json!({ "name": "other tenant", "tenant": "globex", "expect": refused }),
        json!({ "name": "other server", "server": "release-notes", "expect": refused }),
        json!({ "name": "other installation", "vault": hex(&[0; 16]), "expect": refused }),
        json!({ "name": "other key", "key": hex(&[0; 32]), "expect": refused }),
        json!({ "name": "unknown key name", "key_id": hex(&[0; 16]), "expect": refused }),
    ];
    let (start, end) = text.split_at(text.len() - 1);
    let body = start.strip_prefix("srs1.").ok_or("no prefix")?;
    let texts = [
        ("empty", String::new()),
        ("only the prefix", "srs1.".into()),
        ("other prefix", text.replacen("srs1.", "srs2.", 1)),
        ("no prefix", format!("{body}{end}")),
        ("one character less", start.into()),
        ("one character more", format!("{text}A")),
        ("with padding", format!("{text}==")),
        ("with a line end", format!("{text}\n")),
        ("with a space in front", format!(" {text}")),
        ("upper case", text.to_uppercase()),
        ("spare bits set at the end", format!("{start}{}", next(end))),
        (
            "first character changed",
            format!("srs1.{}{end}", body.replacen('U', "V", 1)),
        ),
        ("reversed", text.chars().rev().collect()),
        ("padding instead of the end", format!("{start}=")),
        (
            "standard alphabet",
            text.replace('-', "+").replace('_', "/"),
        ),
    ];
    for (name, text) in texts {
        cases.push(json!({ "name": name, "text": text, "expect": refused }));
    }
    Ok(json!({
        "about": "requestState texts, presented by a server of a tenant at a moment.",
        "op": "request_state",
        "base": { "key_id": hex(&KEY_ID), "key": hex(&KEY), "vault": hex(&VAULT), "tenant": "acme", "server": "release-notes-2",
                  "now_ms": bound.issued_ms, "text": text },
        "cases": cases,
    }))
}

/// The character after the last one in the alphabet: it differs in a bit that carries nothing.
fn next(end: &str) -> char {
    end.chars().next().map_or('B', |last| {
        char::from_u32(u32::from(last) + 1).unwrap_or('B')
    })
}

/// Root key slots under a passphrase.
pub(crate) fn slots() -> Made<Value> {
    let passphrase = "correct horse battery staple";
    let cost = PassphraseParameters {
        memory_kib: 19 * 1024,
        passes: 2,
        lanes: 1,
    };
    let spoken = Passphrase::new(passphrase.into());
    let seal = PassphraseSeal::new(&spoken, cost)?;
    let root = RootKey::new(
        KeyId::from_bytes([0x21; 16]),
        KeyBytes::from_bytes(Zeroizing::new(KEY)),
    );
    let slot = RootSlot::create(
        1,
        &seal,
        VaultId::from_bytes(VAULT),
        &root,
        &Counter(2100.into()),
    )?;
    let parameters = hex(&slot.parameters);
    let weaker = format!(
        "{}{}",
        hex(&[0, 0, 0x10, 0]),
        parameters.get(8..).ok_or("too short")?
    );
    let mut damaged = slot.sealed.as_bytes().to_vec();
    if let Some(last) = damaged.last_mut() {
        *last ^= 1;
    }
    // Composed as sealed, decomposed as presented.
    let composed = Passphrase::new("Z\u{fc}rich \u{1e9b}\u{323} caf\u{e9} 3000".into());
    let decomposed = "Zu\u{308}rich \u{17f}\u{323}\u{307} cafe\u{301} 3000";
    let letters = RootSlot::create(
        1,
        &PassphraseSeal::new(&composed, cost)?,
        VaultId::from_bytes(VAULT),
        &root,
        &Counter(2200.into()),
    )?;
    let (salt, record) = (hex(&letters.parameters), hex(letters.sealed.as_bytes()));
    let salted = parameters.get(24..).ok_or("too short")?;
    let dear = |memory: u32, passes: u32, lanes: u32| {
        let cost = [memory, passes, lanes].map(u32::to_be_bytes).concat();
        format!("{}{salted}", hex(&cost))
    };
    let refused = |reason: &str| json!({ "refused": reason });
    Ok(json!({
        "about": "A root key in a seal slot, under a passphrase stretched with Argon2id.",
        "op": "root_slot",
        "base": { "passphrase": passphrase, "vault": hex(&VAULT), "number": 1, "seal": 2, "parameters": parameters,
                  "root": hex(&[0x21; 16]), "record": hex(slot.sealed.as_bytes()) },
        "cases": [
            { "name": "as sealed", "expect": { "opens": hex(&KEY) } },
            { "name": "other passphrase", "passphrase": "correct horse battery stapler", "expect": refused("wrong_key_or_context") },
            { "name": "other slot number", "number": 2, "expect": refused("wrong_key_or_context") },
            { "name": "other installation", "vault": hex(&[0; 16]), "expect": refused("wrong_key_or_context") },
            { "name": "other root key name", "root": hex(&[0; 16]), "expect": refused("wrong_key_or_context") },
            { "name": "cost below the floor", "parameters": weaker, "expect": refused("out_of_range") },
            { "name": "64 GiB", "parameters": dear(64 << 20, 2, 1), "expect": refused("out_of_range") },
            { "name": "2^32 - 1 passes", "parameters": dear(19 << 10, u32::MAX, 1), "expect": refused("out_of_range") },
            { "name": "no lanes", "parameters": dear(19 << 10, 2, 0), "expect": refused("out_of_range") },
            { "name": "memory times passes beyond the ceiling", "parameters": dear(4 << 20, 3, 1), "expect": refused("out_of_range") },
            { "name": "other salt", "parameters": salt, "expect": refused("wrong_key_or_context") },
            { "name": "right passphrase, changed record", "record": hex(&damaged), "expect": refused("corrupt") },
            { "name": "the same letters, decomposed", "passphrase": decomposed, "parameters": salt, "record": record,
              "expect": { "opens": hex(&KEY) } },
            { "name": "letters that only look alike", "passphrase": decomposed.replace('3', "\u{ff13}"), "parameters": salt,
              "record": record, "expect": refused("wrong_key_or_context") },
            { "name": "parameters cut", "parameters": hex(&[0; 27]), "expect": refused("damaged") },
        ],
    }))
}
