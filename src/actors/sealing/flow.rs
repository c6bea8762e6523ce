//! Records of a connect flow, sealed before the person has a data key: the elicitation's owner, the flow's form secret,
//! `state`, the PKCE verifier, and the pre-login cookie.

use crypto::{Kind, MetadataDigest, SealContext};
use domain::{
    Blob, BrowserFlowId, Elicitation, ElicitationId, ElicitationOwner, Identity, Issuer,
    TenantSlug, Timestamp,
};
use secret::{
    ConnectTicket, CsrfSecret, Nonce, OauthState, PkceVerifier, Reveal as _, RevealOwn as _,
};

use super::wire::{Reader, Writer};
use crate::core::Core;
use crate::doors::{Onward, Refusal};

/// What the pre-login cookie holds while the person is at the issuer.
pub(crate) struct PreLogin {
    /// Where it goes on.
    pub(crate) onward: Onward,
    /// `state` of the login.
    pub(crate) state: OauthState,
    /// `nonce` of the login.
    pub(crate) nonce: Nonce,
    /// PKCE verifier of the login.
    pub(crate) verifier: PkceVerifier,
    /// When the cookie ends.
    pub(crate) expires: Timestamp,
    /// Whether the issuer is asked to let the person sign in anew: the last one to sign in here was the wrong one.
    pub(crate) fresh: bool,
}

/// Name of the pre-login cookie; part of its associated data.
pub(crate) const PRE_LOGIN_COOKIE: &str = "__Host-sr_l";

impl Core {
    /// Seals the identity an elicitation is made for.
    pub(crate) fn seal_owner(
        &self,
        id: ElicitationId,
        server: &domain::ServerSlug,
        identity: &Identity,
    ) -> Result<Blob, Refusal> {
        let subject = identity.subject.to_bytes();
        let plain = Writer::with_room(1024)
            .field(identity.issuer_url.as_str().as_bytes())
            .field(&subject);
        let context = SealContext {
            tenant: Some(&identity.tenant),
            server: Some(server),
            issuer: Some(&identity.issuer),
            metadata: MetadataDigest::of_parts(&[b"elicitation", id.as_bytes()]),
            ..SealContext::new(Kind::Elicitation, self.vault)
        };
        self.seal_flow(&identity.tenant, &context, plain.bytes())
    }

    /// Opens the identity an elicitation was made for.
    pub(crate) fn open_owner(
        &self,
        elicitation: &Elicitation,
    ) -> Result<ElicitationOwner, Refusal> {
        let context = SealContext {
            tenant: Some(&elicitation.tenant),
            server: Some(&elicitation.server),
            issuer: Some(&elicitation.issuer),
            metadata: MetadataDigest::of_parts(&[b"elicitation", elicitation.id.as_bytes()]),
            ..SealContext::new(Kind::Elicitation, self.vault)
        };
        let plain = self.open_flow(&context, &elicitation.owner)?;
        let mut reader = Reader::new(&plain);
        let identity = reader.identity((&elicitation.tenant, &elicitation.issuer));
        let identity = identity.ok_or(Refusal::Internal)?;
        Ok(ElicitationOwner::new(elicitation, identity))
    }

    /// Seals 32 bytes of a flow (its form secret, or `state`).
    pub(crate) fn seal_flow_word(
        &self,
        tenant: &TenantSlug,
        what: &str,
        flow: BrowserFlowId,
        word: &[u8; 32],
    ) -> Result<Blob, Refusal> {
        self.seal_flow(tenant, &self.flow_word_context(tenant, what, flow), word)
    }

    /// Seals an elicitation's connect ticket, for a request that is repeated.
    pub(crate) fn seal_ticket(
        &self,
        facts: &Elicitation,
        ticket: &ConnectTicket,
    ) -> Result<Blob, Refusal> {
        self.seal_flow(
            &facts.tenant,
            &self.ticket_context(facts),
            ticket.as_bytes(),
        )
    }

    /// Opens an elicitation's connect ticket.
    pub(crate) fn open_ticket(
        &self,
        facts: &Elicitation,
        blob: &Blob,
    ) -> Result<ConnectTicket, Refusal> {
        let plain = self.open_flow(&self.ticket_context(facts), blob)?;
        ConnectTicket::parse(&word_text(plain.expose())).map_err(|_| Refusal::Internal)
    }

    fn ticket_context<'a>(&self, facts: &'a Elicitation) -> SealContext<'a> {
        SealContext {
            tenant: Some(&facts.tenant),
            server: Some(&facts.server),
            issuer: Some(&facts.issuer),
            provider: Some(&facts.provider),
            metadata: MetadataDigest::of_parts(&[b"repeated ticket", facts.id.as_bytes()]),
            ..SealContext::new(Kind::FlowSecret, self.vault)
        }
    }

    /// Opens `state` of a flow.
    pub(crate) fn open_flow_state(
        &self,
        tenant: &TenantSlug,
        flow: BrowserFlowId,
        blob: &Blob,
    ) -> Result<OauthState, Refusal> {
        let plain = self.open_flow(&self.flow_word_context(tenant, FLOW_STATE, flow), blob)?;
        OauthState::parse(&word_text(plain.expose())).map_err(|_| Refusal::Internal)
    }

    /// Opens the form secret of a flow.
    pub(crate) fn open_flow_secret(
        &self,
        tenant: &TenantSlug,
        flow: BrowserFlowId,
        blob: &Blob,
    ) -> Result<CsrfSecret, Refusal> {
        let plain = self.open_flow(&self.flow_word_context(tenant, FLOW_SECRET, flow), blob)?;
        CsrfSecret::parse(&word_text(plain.expose())).map_err(|_| Refusal::Internal)
    }

    fn flow_word_context<'a>(
        &self,
        tenant: &'a TenantSlug,
        what: &str,
        flow: BrowserFlowId,
    ) -> SealContext<'a> {
        SealContext {
            tenant: Some(tenant),
            metadata: MetadataDigest::of_parts(&[what.as_bytes(), flow.as_bytes()]),
            ..SealContext::new(Kind::BrowserFlow, self.vault)
        }
    }

    /// Seals the PKCE verifier of a flow.
    pub(crate) fn seal_verifier(
        &self,
        facts: &Elicitation,
        flow: BrowserFlowId,
        verifier: &PkceVerifier,
    ) -> Result<Blob, Refusal> {
        self.seal_flow(
            &facts.tenant,
            &self.verifier_context(facts, flow),
            verifier.reveal().as_bytes(),
        )
    }

    /// Opens the PKCE verifier of a flow.
    pub(crate) fn open_verifier(
        &self,
        facts: &Elicitation,
        flow: BrowserFlowId,
        blob: &Blob,
    ) -> Result<PkceVerifier, Refusal> {
        let plain = self.open_flow(&self.verifier_context(facts, flow), blob)?;
        let text = std::str::from_utf8(plain.expose()).map_err(|_| Refusal::Internal)?;
        Ok(PkceVerifier::new(text.to_owned()))
    }

    fn verifier_context<'a>(&self, facts: &'a Elicitation, flow: BrowserFlowId) -> SealContext<'a> {
        SealContext {
            tenant: Some(&facts.tenant),
            server: Some(&facts.server),
            issuer: Some(&facts.issuer),
            provider: Some(&facts.provider),
            metadata: MetadataDigest::of_parts(&[b"verifier", flow.as_bytes()]),
            ..SealContext::new(Kind::FlowSecret, self.vault)
        }
    }

    /// Seals the pre-login cookie: `<issuer slug>.<sealed>`. The slug is no secret; it stands in the callback's path too.
    pub(crate) fn seal_pre_login(
        &self,
        issuer: &Issuer,
        pre: &PreLogin,
    ) -> Result<String, Refusal> {
        use base64::Engine as _;
        let plain = Writer::with_room(256)
            .field(match &pre.onward {
                Onward::Flow(flow) => flow.as_bytes(),
                Onward::OwnPage => &[],
            })
            .field(pre.state.as_bytes())
            .field(pre.nonce.reveal().as_bytes())
            .field(pre.verifier.reveal().as_bytes())
            .field(&pre.expires.as_ms().to_be_bytes())
            .field(&[u8::from(pre.fresh)]);
        let sealed = self.seal_flow(
            &issuer.tenant,
            &self.pre_login_context(issuer),
            plain.bytes(),
        )?;
        Ok(format!(
            "{}.{}",
            issuer.slug,
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sealed.0)
        ))
    }

    /// Opens a pre-login cookie; `None` for anything that is not one of ours.
    pub(crate) fn open_pre_login(&self, text: &str) -> Option<(std::sync::Arc<Issuer>, PreLogin)> {
        use base64::Engine as _;
        let (slug, sealed) = text.split_once('.').filter(|_| text.len() <= 2048)?;
        let issuer = self.registry.issuer(&slug.parse().ok()?)?;
        let sealed = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(sealed)
            .ok()?;
        // Not through `open_flow`: a cookie is brought by anybody, so one that does not open is no fault of the store.
        let sealed = crypto::Sealed::parse(sealed).ok()?;
        let plain = self
            .keyring
            .open_record(&self.pre_login_context(issuer), &sealed)
            .ok()?;
        let mut reader = Reader::new(&plain);
        let pre = PreLogin {
            onward: match reader.field()? {
                [] => Onward::OwnPage,
                flow => Onward::Flow(BrowserFlowId::from_bytes(flow.try_into().ok()?)),
            },
            state: OauthState::parse(&word_text(reader.field()?)).ok()?,
            nonce: Nonce::new(reader.text()?.to_owned()),
            verifier: PkceVerifier::new(reader.text()?.to_owned()),
            expires: Timestamp::from_ms(i64::from_be_bytes(reader.array()?)),
            fresh: reader.array::<1>()? == [1],
        };
        Some((std::sync::Arc::clone(issuer), pre))
    }

    fn pre_login_context<'a>(&self, issuer: &'a Issuer) -> SealContext<'a> {
        SealContext {
            tenant: Some(&issuer.tenant),
            issuer: Some(&issuer.slug),
            issuer_url: issuer.url.as_str(),
            metadata: MetadataDigest::of_parts(&[
                PRE_LOGIN_COOKIE.as_bytes(),
                self.public_url.as_str().as_bytes(),
            ]),
            ..SealContext::new(Kind::PreLoginCookie, self.vault)
        }
    }
}

/// Label of a flow's form secret.
pub(crate) const FLOW_SECRET: &str = "flow secret";
/// Label of a flow's `state`.
pub(crate) const FLOW_STATE: &str = "flow state";

/// The text form of a 32-byte word, from which our bearer types are read.
pub(super) fn word_text(bytes: &[u8]) -> zeroize::Zeroizing<String> {
    use base64::Engine as _;
    zeroize::Zeroizing::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}
