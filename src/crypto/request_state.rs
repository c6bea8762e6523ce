//! requestState: the opaque text that goes through a server to its client and comes back.
//!
//! `srs1.` and the unpadded base64url of a kind-17 record with a body of fixed layout: always the same length, nothing in
//! clear, two texts for one elicitation look unrelated. It authorises nothing; it selects a row, whose owner must then be
//! the presented user and the authenticated server.

mod slug;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ElicitationId, IssuerSlug, KeyId, ProviderSlug, ServerSlug, TenantSlug, VaultId};
use secret::Entropy;
use zeroize::Zeroizing;

use self::slug::{PACKED, pack, unpack};
use crate::{Kind, SealContext, SealError, SealKey, Sealed};

const PREFIX: &str = "srs1.";
/// Header, one padded block, tag.
const RECORD: usize = 104 + 256 + 16;
/// The length of every requestState text, in characters.
const TEXT: usize = PREFIX.len() + (RECORD * 4).div_ceil(3);
const BODY: usize = 16 + 4 * PACKED + 32 + 32 + 33 + 8 + 8 + 16;

/// The text is not a requestState of ours for this caller, or it is past its time. There is only this one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this requestState cannot be used here; start again without it")]
pub struct BadRequestState;

/// Who presents a text, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) vault: VaultId,
    pub(crate) tenant: &'a TenantSlug,
    pub(crate) server: &'a ServerSlug,
    pub(crate) now_ms: i64,
}

/// What the text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestState {
    /// The row it selects.
    pub elicitation: ElicitationId,
    /// The tenant it was made in.
    pub tenant: TenantSlug,
    /// The server it was made for.
    pub server: ServerSlug,
    /// The issuer of the user it was made for.
    pub issuer: IssuerSlug,
    /// SHA-256 of the user's subject bytes.
    pub subject_hash: [u8; 32],
    /// The provider the elicitation is about.
    pub provider: ProviderSlug,
    /// Digest of what is known of the MCP client.
    pub client_digest: [u8; 32],
    /// Digest of the request that must be repeated with the text, if it is bound to one.
    pub request_digest: Option<[u8; 32]>,
    /// When it was made, in milliseconds since 1970.
    pub issued_ms: i64,
    /// When it stops being good, in milliseconds since 1970.
    pub expires_ms: i64,
}

impl RequestState {
    /// Seals the text under the named key. [`crate::Keyring::seal_request_state`] picks the active one.
    ///
    /// # Errors
    /// [`SealError`], which the fixed layout never causes.
    pub fn seal_under(
        &self,
        key: &SealKey,
        vault: VaultId,
        entropy: &dyn Entropy,
    ) -> Result<String, SealError> {
        let body = self.body(entropy);
        let sealed = key.seal(&context(vault, &self.tenant, &self.server), &body, entropy)?;
        let mut text = String::with_capacity(TEXT);
        text.push_str(PREFIX);
        URL_SAFE_NO_PAD.encode_string(sealed.as_bytes(), &mut text);
        Ok(text)
    }

    /// Opens a text with whichever key its record names.
    pub(crate) fn open_with<'k>(
        caller: &Caller<'_>,
        text: &str,
        key: impl FnOnce(KeyId) -> Option<&'k SealKey>,
    ) -> Result<Self, BadRequestState> {
        // The length is fixed, so it is looked at before anything is decoded.
        if text.len() != TEXT {
            return Err(BadRequestState);
        }
        let text = text.strip_prefix(PREFIX).ok_or(BadRequestState)?;
        let record = URL_SAFE_NO_PAD.decode(text).map_err(|_| BadRequestState)?;
        let sealed = Sealed::parse(record).map_err(|_| BadRequestState)?;
        let key = key(sealed.key_id()).ok_or(BadRequestState)?;
        let body = key
            .open(
                &context(caller.vault, caller.tenant, caller.server),
                &sealed,
            )
            .map_err(|_| BadRequestState)?;
        let state = Self::read(body.expose()).ok_or(BadRequestState)?;
        let here = state.tenant == *caller.tenant && state.server == *caller.server;
        if here && caller.now_ms < state.expires_ms {
            Ok(state)
        } else {
            Err(BadRequestState)
        }
    }

    /// Elicitation id (16) ‖ tenant, server, issuer (22 each) ‖ subject hash (32) ‖ provider (22) ‖ client digest (32) ‖
    /// bound (u8) ‖ request digest (32) ‖ issued, expires (i64 ms) ‖ random (16).
    fn body(&self, entropy: &dyn Entropy) -> Zeroizing<Vec<u8>> {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        let mut body = Zeroizing::new(Vec::with_capacity(BODY));
        body.extend_from_slice(self.elicitation.as_bytes());
        for slug in [
            self.tenant.as_str(),
            self.server.as_str(),
            self.issuer.as_str(),
        ] {
            body.extend_from_slice(&pack(slug));
        }
        body.extend_from_slice(&self.subject_hash);
        body.extend_from_slice(&pack(self.provider.as_str()));
        body.extend_from_slice(&self.client_digest);
        body.push(u8::from(self.request_digest.is_some()));
        body.extend_from_slice(&self.request_digest.unwrap_or([0; 32]));
        body.extend_from_slice(&self.issued_ms.to_be_bytes());
        body.extend_from_slice(&self.expires_ms.to_be_bytes());
        body.extend_from_slice(&random);
        body
    }

    fn read(mut body: &[u8]) -> Option<Self> {
        if body.len() != BODY {
            return None;
        }
        let rest = &mut body;
        Some(Self {
            elicitation: ElicitationId::from_bytes(take(rest)?),
            tenant: TenantSlug::parse(&unpack(&take(rest)?)?).ok()?,
            server: ServerSlug::parse(&unpack(&take(rest)?)?).ok()?,
            issuer: IssuerSlug::parse(&unpack(&take(rest)?)?).ok()?,
            subject_hash: take(rest)?,
            provider: ProviderSlug::parse(&unpack(&take(rest)?)?).ok()?,
            client_digest: take(rest)?,
            request_digest: match (take(rest)?, take(rest)?) {
                ([0], digest) if digest == [0; 32] => None,
                ([1], digest) => Some(digest),
                _ => return None,
            },
            issued_ms: i64::from_be_bytes(take(rest)?),
            expires_ms: i64::from_be_bytes(take(rest)?),
        })
    }
}

fn context<'a>(vault: VaultId, tenant: &'a TenantSlug, server: &'a ServerSlug) -> SealContext<'a> {
    SealContext {
        tenant: Some(tenant),
        server: Some(server),
        ..SealContext::new(Kind::RequestState, vault)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*field)
}
