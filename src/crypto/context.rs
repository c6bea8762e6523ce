//! What a sealed record belongs to, and its one encoding as associated data.

use domain::{
    GrantId, IssuerSlug, KeyId, ProviderSlug, ServerSlug, SlotName, TenantSlug, UserId, VaultId,
};

use crate::{Kind, MetadataDigest};

const PREFIX: &[u8; 6] = b"SRAAD\x01";
/// An id that does not apply.
const ABSENT: [u8; 16] = [0; 16];
/// Everything in the associated data that does not vary: prefix, kind, ids, lengths, version and digest.
const FIXED: usize = 6 + 1 + 16 + 7 * 4 + 16 * 3 + 8 + 32;

/// Where a record belongs. A record opens only in the context it was sealed in, so moving it to another tenant, server,
/// person, provider, grant, slot or version breaks it.
///
/// Start from [`SealContext::new`] and name what applies; the rest stays absent and is encoded as empty or zero.
///
/// ```
/// use strongroom_crypto::{Kind, SealContext};
/// # use domain::{TenantSlug, VaultId};
/// # let (vault, tenant) = (VaultId::from_bytes([1; 16]), TenantSlug::parse("acme").expect("a slug"));
/// let context = SealContext { tenant: Some(&tenant), version: 3, ..SealContext::new(Kind::Session, vault) };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SealContext<'a> {
    /// What the record holds.
    pub kind: Kind,
    /// The installation.
    pub vault: VaultId,
    /// The tenant.
    pub tenant: Option<&'a TenantSlug>,
    /// The server that asked.
    pub server: Option<&'a ServerSlug>,
    /// The issuer that says who the user is.
    pub issuer: Option<&'a IssuerSlug>,
    /// The issuer's identifier, exactly as in its tokens.
    pub issuer_url: &'a str,
    /// LP(value) of each claim on the issuer's claim list, in order.
    pub subject: &'a [u8],
    /// The provider.
    pub provider: Option<&'a ProviderSlug>,
    /// The grant.
    pub grant: Option<GrantId>,
    /// The token slot inside the grant.
    pub slot: Option<&'a SlotName>,
    /// The person, by internal id.
    pub user: Option<UserId>,
    /// How many times this record has been sealed, from 1.
    pub version: u64,
    /// The clear columns that decisions depend on.
    pub metadata: MetadataDigest,
}

impl<'a> SealContext<'a> {
    /// The context in which nothing but kind and installation applies; first version, no metadata.
    pub const fn new(kind: Kind, vault: VaultId) -> Self {
        Self {
            kind,
            vault,
            tenant: None,
            server: None,
            issuer: None,
            issuer_url: "",
            subject: &[],
            provider: None,
            grant: None,
            slot: None,
            user: None,
            version: 1,
            metadata: MetadataDigest::ZERO,
        }
    }

    /// The associated data under the named key: the one encoding of this context.
    pub fn aad(&self, key: &KeyId) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.aad_length());
        self.push_aad(key, &mut out);
        out
    }

    pub(crate) fn aad_length(&self) -> usize {
        self.texts()
            .iter()
            .fold(FIXED, |sum, text| sum + text.len())
    }

    /// Appends the associated data. Fixed order, every variable field behind its length, nothing normalised: two different
    /// contexts never encode alike.
    pub(crate) fn push_aad(&self, key: &KeyId, out: &mut Vec<u8>) {
        let [tenant, server, issuer, issuer_url, subject, provider, slot] = self.texts();
        out.extend_from_slice(PREFIX);
        out.push(self.kind.code());
        out.extend_from_slice(self.vault.as_bytes());
        for text in [tenant, server, issuer, issuer_url, subject, provider] {
            push_lp(out, text);
        }
        out.extend(self.grant.as_ref().map_or(&ABSENT, GrantId::as_bytes));
        push_lp(out, slot);
        out.extend(self.user.as_ref().map_or(&ABSENT, UserId::as_bytes));
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(self.metadata.as_bytes());
    }

    fn texts(&self) -> [&'a [u8]; 7] {
        [
            self.tenant.map_or("", TenantSlug::as_str).as_bytes(),
            self.server.map_or("", ServerSlug::as_str).as_bytes(),
            self.issuer.map_or("", IssuerSlug::as_str).as_bytes(),
            self.issuer_url.as_bytes(),
            self.subject,
            self.provider.map_or("", ProviderSlug::as_str).as_bytes(),
            self.slot.map_or("", SlotName::as_str).as_bytes(),
        ]
    }
}

/// The length of a field as it stands before it: u32, big-endian. Nothing near 4 GiB ever gets here.
pub(crate) fn lp_length(field: &[u8]) -> [u8; 4] {
    u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// LP(field): its length, then its bytes.
pub(crate) fn push_lp(out: &mut Vec<u8>, field: &[u8]) {
    out.extend_from_slice(&lp_length(field));
    out.extend_from_slice(field);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_between_fields_cannot_move() {
        let key = KeyId::from_bytes([9; 16]);
        let vault = VaultId::from_bytes([1; 16]);
        let base = SealContext::new(Kind::AccessToken, vault);
        let one = SealContext {
            issuer_url: "https://a",
            subject: b"bc",
            ..base
        };
        let two = SealContext {
            issuer_url: "https://ab",
            subject: b"c",
            ..base
        };
        assert_eq!(one.aad(&key).len(), two.aad(&key).len());
        assert_ne!(one.aad(&key), two.aad(&key));
        assert_eq!(one.aad(&key).len(), one.aad_length());
        assert_eq!(base.aad(&key).len(), FIXED);
    }
}
