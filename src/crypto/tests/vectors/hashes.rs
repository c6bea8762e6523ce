//! Computes the digests of `digest.json` and the hashes of `hashes.json`.

use domain::{IssuerSlug, ProviderSlug, TenantSlug};
use secret::{CsrfSecret, Entropy, KeyClass, ServerKeyText};
use serde_json::Value;
use strongroom_crypto::{
    AccountPseudonym, CsrfForm, GrantFacts, KeyFacts, KeyPurpose, KeyState, LookupLabel, MacKey,
    MetadataDigest, csrf_token,
};

use crate::Outcome;
use crate::read::{array, bytes, hex, key, key_id, moment, number, text, unhex};

pub(crate) fn digest(case: &Value) -> Outcome {
    let digest = match text(case, "of") {
        "grant" => grant(case),
        "key" => row(case),
        _ => {
            let texts = case["parts"].as_array().expect("parts");
            let parts: Vec<_> = texts
                .iter()
                .map(|part| unhex(part.as_str().expect("hex")))
                .collect();
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            MetadataDigest::of_parts(&parts)
        }
    };
    Outcome::Is(hex(digest.as_bytes()))
}

fn byte(case: &Value, name: &str) -> u8 {
    u8::try_from(number(case, name)).expect("a byte")
}

fn grant(case: &Value) -> MetadataDigest {
    let scopes: Vec<&str> = case["scopes"]
        .as_array()
        .expect("scopes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let account = if text(case, "account").is_empty() {
        None
    } else {
        Some(array(case, "account"))
    };
    GrantFacts {
        status: byte(case, "status"),
        confirmed: case["confirmed"] == true,
        offline: case["offline"] == true,
        scopes: &scopes,
        expires_at_ms: moment(case, "expires_at_ms"),
        account: account.map(AccountPseudonym::from_bytes).as_ref(),
        policy_version: u32::try_from(number(case, "policy_version")).expect("u32"),
        created_at_ms: moment(case, "created_at_ms").expect("a moment"),
        alias: text(case, "alias"),
    }
    .digest()
}

fn row(case: &Value) -> MetadataDigest {
    KeyFacts {
        id: key_id(case, "id"),
        parent: key_id(case, "parent"),
        purpose: KeyPurpose::from_code(byte(case, "purpose")).expect("known"),
        state: KeyState::from_code(byte(case, "state")).expect("known"),
        created_ms: moment(case, "created_ms").expect("a moment"),
        not_after_ms: moment(case, "not_after_ms"),
        tenant: None,
        user: None,
    }
    .digest()
}

/// Gives the bytes it was made with.
struct Given([u8; 32]);

impl Entropy for Given {
    fn fill(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }
}

pub(crate) fn hash(case: &Value) -> Outcome {
    let tenant = || TenantSlug::parse(text(case, "tenant")).expect("a slug");
    if text(case, "of") == "csrf" {
        let secret = CsrfSecret::generate(&Given(array(case, "key")));
        let (flow, action) = (array(case, "flow"), text(case, "action"));
        let form = CsrfForm {
            flow: &flow,
            action,
            version: number(case, "version"),
        };
        return Outcome::Is(csrf_token(&secret, &form).as_str().into());
    }
    let mac = MacKey::new(&key(case, "key"));
    let hash = match text(case, "of") {
        "lookup" => *mac
            .lookup_hash(label(text(case, "label")), &bytes(case, "value"))
            .as_bytes(),
        "pseudonym" => {
            let issuer = IssuerSlug::parse(text(case, "issuer")).expect("a slug");
            let subject = bytes(case, "subject");
            *mac.pseudonym(&tenant(), &issuer, text(case, "issuer_url"), &subject)
                .as_bytes()
        }
        "account" => {
            let provider = ProviderSlug::parse(text(case, "provider")).expect("a slug");
            let (url, account) = (text(case, "provider_url"), text(case, "account"));
            *mac.account_pseudonym(&tenant(), &provider, url, account)
                .as_bytes()
        }
        _ => return server_key(&mac, case),
    };
    Outcome::Is(hex(&hash))
}

fn server_key(mac: &MacKey, case: &Value) -> Outcome {
    let class = if text(case, "class") == "sra_" {
        KeyClass::Admin
    } else {
        KeyClass::Server
    };
    match ServerKeyText::parse(class, text(case, "text")) {
        Ok(key) => Outcome::Is(hex(mac
            .server_key_hash(&key, text(case, "owner"))
            .as_bytes())),
        Err(_) => Outcome::Refused("bad_key".to_owned()),
    }
}

fn label(text: &str) -> LookupLabel {
    [
        LookupLabel::Ticket,
        LookupLabel::Browser,
        LookupLabel::Session,
        LookupLabel::State,
        LookupLabel::Idempotency,
    ]
    .into_iter()
    .find(|label| label.as_str() == text)
    .expect("a known label")
}
