//! One file for each kind of record: a few that open, many that must not.

use domain::{
    GrantId, IssuerSlug, KeyId, ProviderSlug, ServerSlug, SlotName, TenantSlug, UserId, VaultId,
};
use secret::KeyBytes;
use serde_json::{Value, json};
use strongroom_crypto::{Kind, MetadataDigest, SealContext, SealKey};
use zeroize::Zeroizing;

use crate::forge::{BROKEN_RULES, Forgery, OURS, key_bodies, padded, padded_bodies};
use crate::{Counter, Made, hex};

const KEY: [u8; 32] = *b"golden vectors: a key of 32 byte";
const KEY_ID: [u8; 16] = *b"golden key id 01";
const VAULT: [u8; 16] = *b"golden vault 001";

/// Names, and which fields of the context apply to each kind: (t)enant, (s)erver, (i)ssuer and subject, (p)rovider,
/// (g)rant and slot, (u)ser, (m)etadata.
const KINDS: [(&str, &str); 21] = [
    ("access-token", "tsipgum"),
    ("refresh-token", "tsipgum"),
    ("api-key", "tsipgum"),
    ("pending-bundle", "tsipgum"),
    ("flow-secret", "tsipm"),
    ("client-secret", "tp"),
    ("assertion-key", "tp"),
    ("registration-token", "tp"),
    ("wrapped-data-key", "tum"),
    ("wrapped-tenant-key", "tm"),
    ("wrapped-purpose-key", "tm"),
    ("revocation-job", "tsipgum"),
    ("backup-manifest", "m"),
    ("user-profile", "tu"),
    ("session", "tm"),
    ("elicitation", "tsim"),
    ("request-state", "ts"),
    ("pre-login-cookie", "tm"),
    ("browser-flow", "tsm"),
    ("form-answer", "tspm"),
    ("root-key-slot", "m"),
];

/// The slugs of all contexts.
struct Slugs {
    tenant: TenantSlug,
    server: ServerSlug,
    issuer: IssuerSlug,
    provider: ProviderSlug,
    slot: SlotName,
}

impl Slugs {
    fn new() -> Made<Self> {
        Ok(Self {
            tenant: TenantSlug::parse("acme")?,
            server: ServerSlug::parse("release-notes")?,
            issuer: IssuerSlug::parse("corp")?,
            provider: ProviderSlug::parse("forge")?,
            slot: SlotName::parse("main")?,
        })
    }

    fn context(&self, kind: Kind, applies: &str) -> SealContext<'_> {
        let mut context = SealContext {
            version: 7,
            ..SealContext::new(kind, VaultId::from_bytes(VAULT))
        };
        for field in applies.chars() {
            match field {
                't' => context.tenant = Some(&self.tenant),
                's' => context.server = Some(&self.server),
                'i' => {
                    context.issuer = Some(&self.issuer);
                    context.issuer_url = "https://login.corp.example/";
                    context.subject = b"\0\0\0\x05alice";
                }
                'p' => context.provider = Some(&self.provider),
                'g' => {
                    context.grant = Some(GrantId::from_bytes(*b"golden grant 001"));
                    context.slot = Some(&self.slot);
                }
                'u' => context.user = Some(UserId::from_bytes(*b"golden user 0001")),
                _ => context.metadata = MetadataDigest::of_parts(&[b"golden"]),
            }
        }
        context
    }
}

/// The fields of a context, as they stand in the files.
pub(crate) fn context_json(context: &SealContext<'_>) -> Value {
    json!({
        "kind": context.kind.code(),
        "vault": hex(context.vault.as_bytes()),
        "tenant": context.tenant.map_or("", TenantSlug::as_str),
        "server": context.server.map_or("", ServerSlug::as_str),
        "issuer": context.issuer.map_or("", IssuerSlug::as_str),
        "issuer_url": context.issuer_url,
        "subject": hex(context.subject),
        "provider": context.provider.map_or("", ProviderSlug::as_str),
        "grant": context.grant.map_or(String::new(), |id| hex(id.as_bytes())),
        "slot": context.slot.map_or("", SlotName::as_str),
        "user": context.user.map_or(String::new(), |id| hex(id.as_bytes())),
        "version": context.version,
        "metadata": hex(context.metadata.as_bytes()),
    })
}

/// All kind files, by name.
pub(crate) fn files() -> Made<Vec<(String, Value)>> {
    let slugs = Slugs::new()?;
    let named = Kind::ALL.into_iter().zip(KINDS);
    named
        .map(|(kind, (name, applies))| {
            let file = file(&slugs.context(kind, applies), name)?;
            Ok((format!("kind-{:02}-{name}.json", kind.code()), file))
        })
        .collect()
}

fn file(context: &SealContext<'_>, name: &str) -> Made<Value> {
    let key = SealKey::new(
        KeyId::from_bytes(KEY_ID),
        KeyBytes::from_bytes(Zeroizing::new(KEY)),
    );
    let entropy = Counter(u64::from(context.kind.code()).wrapping_mul(1 << 32).into());
    let plaintext = if context.kind.holds_key() {
        b"wrapped golden key of 32 bytes..".to_vec()
    } else {
        name.into()
    };
    let record = key.seal(context, &plaintext, &entropy)?.into_bytes();
    let mut cases = vec![json!({ "name": "as sealed", "expect": { "opens": hex(&plaintext) } })];
    if !context.kind.holds_key() {
        for (name, length) in [
            ("empty", 0),
            ("one byte less than a block", 255),
            ("a whole block", 256),
        ] {
            let plaintext = vec![0x80; length];
            let record = key.seal(context, &plaintext, &entropy)?.into_bytes();
            cases.push(json!({ "name": name, "record": hex(&record), "expect": { "opens": hex(&plaintext) } }));
        }
    }
    cases.extend(moved(context));
    cases.extend(bent(record.len()));
    cases.extend(forged(context, &plaintext)?);
    Ok(json!({
        "about": format!("Records of kind {} ({name}). A case is the base with its own members over it, then its edit.", context.kind.code()),
        "op": "open",
        "base": { "key_id": hex(&KEY_ID), "key": hex(&KEY), "context": context_json(context), "record": hex(&record) },
        "cases": cases,
    }))
}

/// The same record, asked for in another context or with another key.
fn moved(context: &SealContext<'_>) -> Vec<Value> {
    let refused = json!({ "refused": "wrong_key_or_context" });
    let other_kind =
        |kind: &Kind| *kind != context.kind && kind.holds_key() == context.kind.holds_key();
    let changes = [
        ("vault", json!(hex(b"golden vault 002"))),
        ("tenant", json!("globex")),
        ("server", json!("other")),
        ("issuer", json!("corp-2")),
        ("issuer_url", json!("https://login.corp.example")),
        ("subject", json!(hex(b"\0\0\0\x03bob"))),
        ("provider", json!("chat")),
        ("grant", json!(hex(b"golden grant 002"))),
        ("slot", json!("bot")),
        ("user", json!(hex(b"golden user 0002"))),
        ("version", json!(6)),
        ("version", json!(8)),
        ("metadata", json!(hex(&[0x11; 32]))),
    ];
    let mut cases: Vec<Value> = changes
        .into_iter()
        .map(|(field, value)| json!({ "name": format!("moved: other {field}"), "context": { field: value }, "expect": refused }))
        .collect();
    for kind in Kind::ALL.into_iter().filter(other_kind) {
        let name = format!("moved: kind {}", kind.code());
        cases.push(json!({ "name": name, "context": { "kind": kind.code() }, "expect": refused }));
    }
    let other_id = hex(b"golden key id 02");
    cases.push(
        json!({ "name": "other key under the same name", "key": hex(&[7; 32]), "expect": refused }),
    );
    cases.push(
        json!({ "name": "same key under another name", "key_id": other_id, "expect": refused }),
    );
    let renamed = json!({ "set": { "at": 4, "bytes": other_id } });
    cases.push(json!({ "name": "renamed in the header too", "key_id": other_id, "edit": renamed, "expect": refused }));
    cases
}

/// The record with single bits flipped, cut, or made longer.
fn bent(length: usize) -> Vec<Value> {
    let flips = [
        ("magic", 0, "unknown_format"),
        ("format version", 2, "unknown_format"),
        ("suite", 3, "unknown_format"),
        ("key id", 4, "wrong_key_or_context"),
        ("record version", 27, "wrong_key_or_context"),
        ("salt", 28, "wrong_key_or_context"),
        ("commitment", 91, "wrong_key_or_context"),
        ("nonce", 92, "corrupt"),
        ("ciphertext", 104, "corrupt"),
        ("tag", length - 1, "corrupt"),
    ];
    let mut cases: Vec<Value> = flips
        .into_iter()
        .map(|(part, byte, reason)| {
            let edit = json!({ "flip_bit": byte * 8 + 3 });
            json!({ "name": format!("flipped: {part}"), "edit": edit, "expect": { "refused": reason } })
        })
        .collect();
    for cut in [0, 3, 103, 104, 120, length - 16, length - 1] {
        let edit = json!({ "truncate_to": cut });
        cases.push(json!({ "name": format!("cut to {cut}"), "edit": edit, "expect": { "refused": "malformed" } }));
    }
    for more in [1, 16, 96 * 1024] {
        let edit = json!({ "append_zeros": more });
        cases.push(json!({ "name": format!("longer by {more}"), "edit": edit, "expect": { "refused": "malformed" } }));
    }
    cases
}

/// Records sealed with the right key, but not by the rules.
fn forged(context: &SealContext<'_>, plaintext: &[u8]) -> Made<Vec<Value>> {
    let keys = context.kind.holds_key();
    let base = Forgery {
        start: *b"SR\x01\x01",
        key_id: KEY_ID,
        key: KEY,
        version: context.version,
        aad: context.aad(&KeyId::from_bytes(KEY_ID)),
        body: if keys {
            plaintext.to_vec()
        } else {
            padded(plaintext, 256)
        },
        labels: OURS,
        header_in_aad: true,
    };
    let mut forgeries = Vec::new();
    for (name, change, reason) in BROKEN_RULES {
        let mut forgery = base.clone();
        change(&mut forgery);
        forgeries.push((name, forgery, reason));
    }
    let bodies = if keys {
        key_bodies(plaintext)
    } else {
        padded_bodies()
    };
    for (name, body, reason) in bodies {
        forgeries.push((
            name,
            Forgery {
                body,
                ..base.clone()
            },
            reason,
        ));
    }
    forgeries
        .into_iter()
        .map(|(name, forgery, reason)| {
            let record = hex(&forgery.seal()?);
            Ok(json!({ "name": format!("forged: {name}"), "record": record, "expect": { "refused": reason } }))
        })
        .collect()
}
