//! Vectors of what goes into records and indexes: associated data, digests, keyed hashes.

use domain::{IssuerSlug, KeyId, ProviderSlug, TenantSlug, UserId, VaultId};
use secret::{CsrfSecret, KeyBytes, KeyClass, Reveal as _, RevealOwn as _, ServerKeyText};
use serde_json::{Value, json};
use strongroom_crypto::{
    AccountPseudonym, CsrfForm, GrantFacts, KeyFacts, KeyPurpose, KeyState, Kind, LookupLabel,
    MacKey, MetadataDigest, SealContext, csrf_token,
};
use zeroize::Zeroizing;

use crate::kinds::context_json;
use crate::{Counter, Made, hex};

const KEY: [u8; 32] = *b"golden vectors: a hashing key 32";
const KEY_ID: [u8; 16] = *b"golden key id 01";

/// Encodings of contexts, and pairs that must not encode alike.
pub(crate) fn aad() -> Made<Value> {
    let tenant = TenantSlug::parse("acme")?;
    let key = KeyId::from_bytes(KEY_ID);
    let bare = SealContext::new(Kind::BackupManifest, VaultId::from_bytes([1; 16]));
    let split = SealContext {
        issuer_url: "https://a",
        subject: b"bc",
        tenant: Some(&tenant),
        ..bare
    };
    let shifted = SealContext {
        issuer_url: "https://ab",
        subject: b"c",
        ..split
    };
    let person = SealContext {
        user: Some(UserId::from_bytes([2; 16])),
        version: u64::MAX,
        ..bare
    };
    let case = |name: &str, context: &SealContext<'_>, expect: Value| json!({ "name": name, "key_id": hex(&KEY_ID), "context": context_json(context), "expect": expect });
    let encoded = |context: &SealContext<'_>| json!({ "is": hex(&context.aad(&key)) });
    let differs = |context: &SealContext<'_>| json!({ "differs": hex(&context.aad(&key)) });
    Ok(json!({
        "about": "Associated data: how a context is encoded under a named key.",
        "op": "aad",
        "base": {},
        "cases": [
            case("nothing applies", &bare, encoded(&bare)),
            case("texts apply", &split, encoded(&split)),
            case("ids apply, highest version", &person, encoded(&person)),
            case("a boundary moved", &shifted, differs(&split)),
            case("absent is not present", &bare, differs(&person)),
            case("other kind", &SealContext { kind: Kind::Session, ..bare }, differs(&bare)),
        ],
    }))
}

/// Digests of grants, of wrapped keys' rows and of parts.
pub(crate) fn digests() -> Value {
    let account = AccountPseudonym::from_bytes([4; 32]);
    let facts = GrantFacts {
        status: 2,
        confirmed: true,
        offline: true,
        scopes: &["repo:write", "repo:read"],
        expires_at_ms: Some(1_800_000_000_000),
        account: Some(&account),
        policy_version: 3,
        created_at_ms: 1_790_000_000_000,
        alias: "default",
    };
    let base = json!({
        "of": "grant", "status": 2, "confirmed": true, "offline": true, "scopes": ["repo:write", "repo:read"],
        "expires_at_ms": 1_800_000_000_000_i64, "account": hex(account.as_bytes()), "policy_version": 3,
        "created_at_ms": 1_790_000_000_000_i64, "alias": "default",
    });
    let digest = hex(facts.digest().as_bytes());
    let bare = GrantFacts {
        scopes: &[],
        expires_at_ms: None,
        account: None,
        ..facts
    };
    let mut cases = vec![
        json!({ "name": "whole", "expect": { "is": digest } }),
        json!({ "name": "order of scopes", "scopes": ["repo:read", "repo:write"], "expect": { "is": digest } }),
        json!({ "name": "nothing optional", "scopes": [], "expires_at_ms": null, "account": "",
                "expect": { "is": hex(bare.digest().as_bytes()) } }),
    ];
    let changes = [
        ("status", json!(1)),
        ("confirmed", json!(false)),
        ("offline", json!(false)),
        ("scopes", json!(["repo:read"])),
        ("scopes", json!(["repo:read", "repo:writ", "e"])),
        ("scopes", json!(["repo:read", "repo:write", "repo:write"])),
        ("expires_at_ms", Value::Null),
        ("expires_at_ms", json!(1_800_000_000_001_i64)),
        ("account", json!("")),
        ("account", json!(hex(&[5; 32]))),
        ("policy_version", json!(4)),
        ("created_at_ms", json!(1_790_000_000_001_i64)),
        ("alias", json!("work")),
    ];
    for (field, value) in changes {
        cases.push(json!({ "name": format!("other {field}"), field: value, "expect": { "differs": digest } }));
    }
    cases.extend(row_digests());
    let about = "Digests of the clear columns that a record is bound to.";
    json!({ "about": about, "op": "digest", "base": base, "cases": cases })
}

fn row_digests() -> Vec<Value> {
    let row = KeyFacts {
        id: KeyId::from_bytes(KEY_ID),
        parent: KeyId::from_bytes([9; 16]),
        purpose: KeyPurpose::Flow,
        state: KeyState::Active,
        created_ms: 5,
        not_after_ms: None,
        tenant: None,
        user: None,
    };
    let case = |name: &str, state: u8, expect: Value| {
        json!({ "name": name, "of": "key", "id": hex(&KEY_ID), "parent": hex(&[9; 16]), "purpose": 3, "state": state,
                "created_ms": 5, "not_after_ms": null, "expect": expect })
    };
    let digest = hex(row.digest().as_bytes());
    let parts = hex(MetadataDigest::of_parts(&[b"ab", b"c", b""]).as_bytes());
    vec![
        case("a key's row", 2, json!({ "is": digest })),
        case(
            "a key's row in another state",
            3,
            json!({ "differs": digest }),
        ),
        json!({ "name": "parts", "of": "parts", "parts": [hex(b"ab"), hex(b"c"), ""], "expect": { "is": parts } }),
        json!({ "name": "parts cut elsewhere", "of": "parts", "parts": [hex(b"a"), hex(b"bc"), ""], "expect": { "differs": parts } }),
        json!({ "name": "parts without the empty one", "of": "parts", "parts": [hex(b"ab"), hex(b"c")], "expect": { "differs": parts } }),
    ]
}

/// Keyed hashes under one key.
pub(crate) fn hashes() -> Made<Value> {
    let mac = MacKey::new(&KeyBytes::from_bytes(Zeroizing::new(KEY)));
    let value = [6; 32];
    let labels = [
        LookupLabel::Ticket,
        LookupLabel::Browser,
        LookupLabel::Session,
        LookupLabel::State,
        LookupLabel::Idempotency,
    ];
    let mut cases = Vec::new();
    for label in labels {
        let hash = hex(mac.lookup_hash(label, &value).as_bytes());
        let case = |name: &str, value: &[u8], expect: Value| json!({ "name": format!("{}: {name}", label.as_str()), "of": "lookup", "label": label.as_str(), "value": hex(value), "expect": expect });
        cases.push(case("a value", &value, json!({ "is": hash })));
        cases.push(case("another value", &[7; 32], json!({ "differs": hash })));
    }
    let ticket = hex(mac.lookup_hash(LookupLabel::Ticket, &value).as_bytes());
    cases.push(json!({ "name": "a ticket is not a state", "of": "lookup", "label": "state", "value": hex(&value), "expect": { "differs": ticket } }));
    cases.push(json!({ "name": "another key", "of": "lookup", "key": hex(&[1; 32]), "label": "ticket", "value": hex(&value), "expect": { "differs": ticket } }));
    cases.extend(people(&mac)?);
    cases.extend(server_keys(&mac));
    cases.extend(form_tokens());
    let about = "Keyed hashes: HMAC-SHA-256 under the base's key (form tokens: under the session's secret).";
    Ok(json!({ "about": about, "op": "hash", "base": { "key": hex(&KEY) }, "cases": cases }))
}

fn people(mac: &MacKey) -> Made<Vec<Value>> {
    let (tenant, issuer) = (TenantSlug::parse("acme")?, IssuerSlug::parse("corp")?);
    let provider = ProviderSlug::parse("forge")?;
    let person = hex(mac
        .pseudonym(
            &tenant,
            &issuer,
            "https://login.example/",
            b"\0\0\0\x05alice",
        )
        .as_bytes());
    let account = hex(mac
        .account_pseudonym(&tenant, &provider, "https://forge.example", "4711")
        .as_bytes());
    let user = |name: &str, issuer_url: &str, subject: &[u8], expect: Value| json!({ "name": name, "of": "pseudonym", "tenant": "acme", "issuer": "corp", "issuer_url": issuer_url, "subject": hex(subject), "expect": expect });
    let at = |name: &str, provider: &str, account: &str, expect: Value| json!({ "name": name, "of": "account", "tenant": "acme", "provider": provider, "provider_url": "https://forge.example", "account": account, "expect": expect });
    Ok(vec![
        user(
            "a person",
            "https://login.example/",
            b"\0\0\0\x05alice",
            json!({ "is": person }),
        ),
        user(
            "nearly the same issuer",
            "https://login.example",
            b"\0\0\0\x05alice",
            json!({ "differs": person }),
        ),
        user(
            "another subject",
            "https://login.example/",
            b"\0\0\0\x05Alice",
            json!({ "differs": person }),
        ),
        at("an account", "forge", "4711", json!({ "is": account })),
        at(
            "another account",
            "forge",
            "471",
            json!({ "differs": account }),
        ),
        at(
            "another provider",
            "chat",
            "4711",
            json!({ "differs": account }),
        ),
    ])
}

fn server_keys(mac: &MacKey) -> Vec<Value> {
    let mut cases = Vec::new();
    for class in [KeyClass::Server, KeyClass::Admin] {
        let key = ServerKeyText::generate(class, &Counter(77.into()));
        let owner = match class {
            KeyClass::Server => "s1",
            KeyClass::Admin => "",
        };
        let hash = hex(mac.server_key_hash(&key, owner).as_bytes());
        let owned = |owner: &str, name: &str, text: &str, expect: Value| json!({ "name": format!("{} {name}", class.prefix()), "of": "server_key", "class": class.prefix(), "owner": owner, "text": text, "expect": expect });
        let case = |name: &str, text: &str, expect: Value| owned(owner, name, text, expect);
        let text = key.reveal();
        let other = if text.starts_with("srk_") {
            "sra_"
        } else {
            "srk_"
        };
        let swapped = text.replacen(class.prefix(), other, 1);
        let (cut, _) = text.split_at(65);
        let reversed: String = text.chars().rev().collect();
        cases.push(case("key", text, json!({ "is": hash })));
        for other in ["", "s", "s1", "s11", "s2"]
            .iter()
            .filter(|other| **other != owner)
        {
            cases.push(owned(
                other,
                &format!("key as one of {other:?}"),
                text,
                json!({ "differs": hash }),
            ));
        }
        cases.push(case(
            "key reversed",
            &reversed,
            json!({ "refused": "bad_key" }),
        ));
        cases.push(case("key cut", cut, json!({ "refused": "bad_key" })));
        cases.push(case(
            "key of the other class",
            &swapped,
            json!({ "refused": "bad_key" }),
        ));
        let mistyped = format!("{cut}{}", if text.ends_with('0') { '1' } else { '0' });
        cases.push(case(
            "key with a wrong check",
            &mistyped,
            json!({ "refused": "bad_key" }),
        ));
        // 62^43 − 1 is above 2^256; the checksums are right.
        let check = if class == KeyClass::Server {
            "1fk5tg"
        } else {
            "4UirTJ"
        };
        let too_large = format!("{}000000000000_{}{check}", class.prefix(), "z".repeat(43));
        cases.push(case(
            "secret above 2^256",
            &too_large,
            json!({ "refused": "bad_key" }),
        ));
    }
    cases
}

fn form_tokens() -> Vec<Value> {
    let secret = CsrfSecret::generate(&Counter(99.into()));
    let form = CsrfForm {
        flow: &[3; 16],
        action: "consent",
        version: 2,
    };
    let token = csrf_token(&secret, &form).to_string();
    let case = |name: &str, action: &str, version: u64, expect: Value| json!({ "name": name, "of": "csrf", "key": hex(secret.as_bytes()), "flow": hex(&[3; 16]), "action": action, "version": version, "expect": expect });
    vec![
        case("a form", "consent", 2, json!({ "is": token })),
        case("another action", "decline", 2, json!({ "differs": token })),
        case("another version", "consent", 3, json!({ "differs": token })),
    ]
}
