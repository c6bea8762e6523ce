//! One request that a user connect a provider in the browser: its facts, its states and its clock.
//!
//! An elicitation ends exactly once. Its life starts at fifteen minutes; each finished step (signed in, consented) leaves at
//! least ten more, and after thirty it is over whatever happened.

use std::time::Duration;

use crate::switch::{self, Check};
use crate::{
    AccountAlias, BrowserFlowId, ElicitationId, GrantId, Identity, IssuerSlug, Locale, McpClient,
    ProviderSlug, ScopeSet, ServerSlug, TenantSlug, Timestamp,
};

/// Where an elicitation stands.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ElicitationState {
    /// The link exists; nobody proven to be the right person has opened it.
    Issued,
    /// The right person is signed in.
    SignedIn,
    /// The right person said yes; a provider may be at work.
    Consented,
    /// Connected.
    Completed {
        /// The grant that came of it.
        grant: GrantId,
    },
    /// The person said no.
    Declined,
    /// The server took it back, or too many wrong people opened it.
    Cancelled,
    /// Its time ran out.
    Expired,
    /// It cannot be finished; says why.
    Failed {
        /// The reason.
        code: FailureCode,
    },
}

/// Why a flow or elicitation failed; stable codes that people may quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The callback came back in another browser or for another person.
    WrongBrowser,
    /// The callback did not belong to this provider or this flow.
    WrongCallback,
    /// The provider said no.
    ProviderRefused,
    /// The provider did not answer in time or not at all.
    ProviderUnreachable,
    /// The provider answered something we do not accept.
    ProviderUnreadable,
    /// Our registration at the provider is wrong; the operator must act.
    ProviderMisconfigured,
    /// The process ended between taking the code and keeping the tokens.
    Interrupted,
    /// Ten minutes passed without an answer on the confirm page.
    NotConfirmed,
    /// The provider does not know the key that was typed in, or does not let it in.
    KeyRefused,
}

impl FailureCode {
    /// The code as it is shown and logged.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WrongBrowser => "wrong-browser",
            Self::WrongCallback => "wrong-callback",
            Self::ProviderRefused => "provider-refused",
            Self::ProviderUnreachable => "provider-unreachable",
            Self::ProviderUnreadable => "provider-unreadable",
            Self::ProviderMisconfigured => "provider-misconfigured",
            Self::Interrupted => "interrupted",
            Self::NotConfirmed => "not-confirmed",
            Self::KeyRefused => "key-refused",
        }
    }
}

/// Keyed pseudonym of a person: HMAC over tenant, issuer and subject. What the store may know of an identity.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Pseudonym(#[serde(with = "crate::blob::array")] pub [u8; 32]);

impl Pseudonym {
    /// Sixteen hex digits, enough to tell people apart in an audit log and useless for anything else.
    pub fn short(&self) -> String {
        self.0
            .iter()
            .take(8)
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }
}

impl std::fmt::Debug for Pseudonym {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.short())
    }
}

/// An elicitation as it is stored. The identity itself is sealed in `owner`; `pseudonym` is its keyed hash.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Elicitation {
    /// Its id.
    pub id: ElicitationId,
    /// Tenant of the server and the person.
    pub tenant: TenantSlug,
    /// The server that asks.
    pub server: ServerSlug,
    /// The issuer that identifies the person.
    pub issuer: IssuerSlug,
    /// The person it was made for, as a keyed hash.
    pub pseudonym: Pseudonym,
    /// The person it was made for, sealed under the tenant's flow keyset.
    pub owner: crate::Blob,
    /// The MCP client that it is bound to.
    pub client: McpClient,
    /// What is to be connected.
    pub provider: ProviderSlug,
    /// For which of the person's accounts.
    pub alias: AccountAlias,
    /// With which scopes.
    pub scopes: ScopeSet,
    /// SHA-256 of the MCP request's salient parameters, when the server gave it.
    pub request_digest: Option<crate::Digest>,
    /// The server's own words.
    pub reason: Option<Box<str>>,
    /// The language its server asks its pages to be in. No decision rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<Locale>,
    /// Keyed hash of the connect ticket.
    pub ticket: crate::Digest,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends unless a step is finished before.
    pub expires: Timestamp,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ElicitationState,
    /// Wrong people who opened it so far.
    pub mismatches: u8,
    /// Keys typed in that the provider did not let in.
    #[serde(default)]
    pub refused_keys: u8,
    /// Live browser flows, oldest first; at most [`Elicitation::MAX_FLOWS`].
    pub flows: Vec<BrowserFlowId>,
}

/// Proof of C4: the elicitation was live when it was looked at.
#[derive(Debug)]
pub struct LiveElicitation {
    elicitation: Elicitation,
}

/// The elicitation is over, or was never there; nobody is told which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the elicitation is no longer live")]
pub struct NotLive;

/// A proof was handed over that is about another elicitation; a fault of ours, and nothing moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the proof is about another elicitation")]
pub struct OtherElicitation;

impl Elicitation {
    /// Life from creation.
    pub const LIFE: Duration = Duration::from_secs(15 * 60);
    /// What each finished step leaves at least.
    pub const STEP: Duration = Duration::from_secs(10 * 60);
    /// Hard end, from creation.
    pub const HARD_END: Duration = Duration::from_secs(30 * 60);
    /// Browser flows alive at once: previews and second tabs must not use the link up.
    pub const MAX_FLOWS: usize = 5;
    /// Wrong people after which the link is cancelled.
    pub const MAX_MISMATCHES: u8 = 3;
    /// Keys that the provider does not let in, after which the link ends: a vault is no place to guess keys.
    pub const MAX_REFUSED_KEYS: u8 = 10;

    /// When it is over whatever happens.
    pub fn hard_end(&self) -> Timestamp {
        self.created.plus(Self::HARD_END)
    }

    /// Whether it has come to its end, by state or by time.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.is_final() || self.expires.passed(now) || self.hard_end().passed(now)
    }

    /// Whether its state can no longer change.
    pub fn is_final(&self) -> bool {
        !matches!(
            self.state,
            ElicitationState::Issued | ElicitationState::SignedIn | ElicitationState::Consented
        )
    }

    /// The state that callers see: what is stored, or expired when time has run out.
    pub fn seen(&self, now: Timestamp) -> ElicitationState {
        if !self.is_final() && self.is_over(now) {
            ElicitationState::Expired
        } else {
            self.state.clone()
        }
    }

    /// C4: takes a live elicitation, refuses a finished or expired one.
    ///
    /// # Errors
    /// [`NotLive`] when it is over.
    pub fn live(self, now: Timestamp) -> Result<LiveElicitation, NotLive> {
        if self.is_over(now) && !switch::off(Check::C4) {
            return Err(NotLive);
        }
        Ok(LiveElicitation { elicitation: self })
    }

    fn finished_step(&mut self, now: Timestamp) {
        self.expires = self.expires.max(now.plus(Self::STEP)).min(self.hard_end());
    }
}

impl LiveElicitation {
    /// The facts.
    pub fn facts(&self) -> &Elicitation {
        &self.elicitation
    }

    /// Whether a proof of the browser is about this very elicitation.
    fn only(self, about: ElicitationId) -> Result<Self, OtherElicitation> {
        if about == self.elicitation.id {
            Ok(self)
        } else {
            Err(OtherElicitation)
        }
    }

    /// The right person is signed in.
    ///
    /// # Errors
    /// [`OtherElicitation`].
    pub fn signed_in(
        self,
        person: &crate::SamePerson,
        now: Timestamp,
    ) -> Result<Elicitation, OtherElicitation> {
        let Self { mut elicitation } = self.only(person.elicitation())?;
        if elicitation.state == ElicitationState::Issued {
            elicitation.state = ElicitationState::SignedIn;
            elicitation.finished_step(now);
        }
        Ok(elicitation)
    }

    /// The right person said yes.
    ///
    /// # Errors
    /// [`OtherElicitation`].
    pub fn consented(
        self,
        consent: &crate::ConsentGiven,
        now: Timestamp,
    ) -> Result<Elicitation, OtherElicitation> {
        let Self { mut elicitation } = self.only(consent.elicitation())?;
        elicitation.state = ElicitationState::Consented;
        elicitation.finished_step(now);
        Ok(elicitation)
    }

    /// The right person confirmed the account, and the grant that was pending is theirs; it is over.
    ///
    /// # Errors
    /// [`OtherElicitation`].
    pub fn completed(self, confirmed: &crate::Confirmed) -> Result<Elicitation, OtherElicitation> {
        let Self { mut elicitation } = self.only(confirmed.elicitation())?;
        let grant = confirmed.grant();
        elicitation.state = ElicitationState::Completed { grant };
        Ok(elicitation)
    }

    /// The right person said no; it is over.
    ///
    /// # Errors
    /// [`OtherElicitation`].
    pub fn declined(self, person: &crate::SamePerson) -> Result<Elicitation, OtherElicitation> {
        let Self { mut elicitation } = self.only(person.elicitation())?;
        elicitation.state = ElicitationState::Declined;
        Ok(elicitation)
    }

    /// The person said no in the MCP client; it is over.
    ///
    /// # Errors
    /// [`OtherElicitation`].
    pub fn declined_in_client(
        self,
        state: &crate::StatePresented,
    ) -> Result<Elicitation, OtherElicitation> {
        let Self { mut elicitation } = self.only(state.elicitation())?;
        elicitation.state = ElicitationState::Declined;
        Ok(elicitation)
    }

    /// The server took it back; it is over.
    #[must_use]
    pub fn cancelled(mut self) -> Elicitation {
        self.elicitation.state = ElicitationState::Cancelled;
        self.elicitation
    }

    /// The flow was stopped for good; it is over.
    #[must_use]
    pub fn failed(mut self, code: FailureCode) -> Elicitation {
        self.elicitation.state = ElicitationState::Failed { code };
        self.elicitation
    }

    /// A key was typed in that the provider does not let in. At the tenth the link fails.
    #[must_use]
    pub fn key_refused(mut self) -> Elicitation {
        self.elicitation.refused_keys = self.elicitation.refused_keys.saturating_add(1);
        if self.elicitation.refused_keys >= Elicitation::MAX_REFUSED_KEYS {
            return self.failed(FailureCode::KeyRefused);
        }
        self.elicitation
    }

    /// A wrong person opened the link. At the third it is cancelled.
    #[must_use]
    pub fn mismatched(mut self) -> Elicitation {
        self.elicitation.mismatches = self.elicitation.mismatches.saturating_add(1);
        if self.elicitation.mismatches >= Elicitation::MAX_MISMATCHES {
            self.elicitation.state = ElicitationState::Cancelled;
        }
        self.elicitation
    }
}

/// The identity an elicitation was made for, opened from its sealed owner record. Made only by whoever could open it.
#[derive(Debug)]
pub struct ElicitationOwner {
    elicitation: ElicitationId,
    identity: Identity,
}

impl ElicitationOwner {
    /// Joins an elicitation and the identity that its owner record held.
    pub fn new(elicitation: &Elicitation, identity: Identity) -> Self {
        Self {
            elicitation: elicitation.id,
            identity,
        }
    }

    /// The elicitation.
    pub fn elicitation(&self) -> ElicitationId {
        self.elicitation
    }

    /// The person.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }
}

#[cfg(test)]
mod tests;
