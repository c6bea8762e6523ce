//! Reads typed values out of a case.

use domain::{
    GrantId, IssuerSlug, KeyId, ProviderSlug, ServerSlug, SlotName, TenantSlug, UserId, VaultId,
};
use secret::KeyBytes;
use serde_json::Value;
use strongroom_crypto::{Kind, MetadataDigest, SealContext};
use zeroize::Zeroizing;

pub(crate) fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} is a text"))
}

pub(crate) fn bytes(case: &Value, name: &str) -> Vec<u8> {
    unhex(text(case, name))
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "whole bytes");
    let digit = |place: usize| u8::from_str_radix(&text[place..place + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(digit).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> Value {
    let mut text = String::new();
    for byte in bytes {
        text.extend(
            [byte >> 4, byte & 15]
                .into_iter()
                .filter_map(|nibble| char::from_digit(nibble.into(), 16)),
        );
    }
    text.into()
}

pub(crate) fn array<const N: usize>(case: &Value, name: &str) -> [u8; N] {
    bytes(case, name)
        .try_into()
        .unwrap_or_else(|_| panic!("{name} has {N} bytes"))
}

pub(crate) fn number(case: &Value, name: &str) -> u64 {
    case[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} is a number"))
}

pub(crate) fn moment(case: &Value, name: &str) -> Option<i64> {
    case[name].as_i64()
}

pub(crate) fn key(case: &Value, name: &str) -> KeyBytes {
    KeyBytes::from_bytes(Zeroizing::new(array(case, name)))
}

pub(crate) fn key_id(case: &Value, name: &str) -> KeyId {
    KeyId::from_bytes(array(case, name))
}

pub(crate) fn vault(case: &Value) -> VaultId {
    VaultId::from_bytes(array(case, "vault"))
}

/// The texts of a context, owned.
pub(crate) struct Context {
    kind: Kind,
    vault: VaultId,
    tenant: Option<TenantSlug>,
    server: Option<ServerSlug>,
    issuer: Option<IssuerSlug>,
    issuer_url: String,
    subject: Vec<u8>,
    provider: Option<ProviderSlug>,
    grant: Option<GrantId>,
    slot: Option<SlotName>,
    user: Option<UserId>,
    version: u64,
    metadata: MetadataDigest,
}

impl Context {
    pub(crate) fn read(case: &Value) -> Self {
        let id = |name| {
            if text(case, name).is_empty() {
                None
            } else {
                Some(array(case, name))
            }
        };
        let code = number(case, "kind");
        Self {
            kind: Kind::ALL
                .into_iter()
                .find(|kind| u64::from(kind.code()) == code)
                .expect("a known kind"),
            vault: vault(case),
            tenant: TenantSlug::parse(text(case, "tenant")).ok(),
            server: ServerSlug::parse(text(case, "server")).ok(),
            issuer: IssuerSlug::parse(text(case, "issuer")).ok(),
            issuer_url: text(case, "issuer_url").to_owned(),
            subject: bytes(case, "subject"),
            provider: ProviderSlug::parse(text(case, "provider")).ok(),
            grant: id("grant").map(GrantId::from_bytes),
            slot: SlotName::parse(text(case, "slot")).ok(),
            user: id("user").map(UserId::from_bytes),
            version: number(case, "version"),
            metadata: MetadataDigest::from_bytes(array(case, "metadata")),
        }
    }

    pub(crate) fn seal_context(&self) -> SealContext<'_> {
        SealContext {
            tenant: self.tenant.as_ref(),
            server: self.server.as_ref(),
            issuer: self.issuer.as_ref(),
            issuer_url: &self.issuer_url,
            subject: &self.subject,
            provider: self.provider.as_ref(),
            grant: self.grant,
            slot: self.slot.as_ref(),
            user: self.user,
            version: self.version,
            metadata: self.metadata,
            ..SealContext::new(self.kind, self.vault)
        }
    }
}
