//! One browser's walk through an elicitation: arrival, consent, provider, callback, confirm.
//!
//! The row is found by its id, which is public; the right to walk on is the flow cookie, of which only a keyed hash is here.
//! Everything that the next step needs is in this row, so that a restart in the middle changes nothing.

use std::time::Duration;

use crate::{
    Blob, BrowserFlowId, Digest, ElicitationId, FailureCode, GrantId, Holds, ScopeSet, Timestamp,
};

/// A browser flow as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BrowserFlow {
    /// Its id; public.
    pub id: BrowserFlowId,
    /// The elicitation it walks.
    pub elicitation: ElicitationId,
    /// Keyed hash of the cookie in the one browser that may walk on.
    pub cookie: Digest,
    /// The CSRF secret of its forms before login, sealed under the tenant's flow keyset.
    pub secret: Blob,
    /// When the link was opened.
    pub created: Timestamp,
    /// Whether somebody signed out on the way: the next login asks the issuer for a fresh one, or a person with two
    /// accounts would be signed in silently as the wrong one again and again.
    #[serde(default)]
    pub signed_out: bool,
    /// When its last step was finished: somebody signed in, consented, or came back from the provider. Its cookie gets a
    /// full life again then, and not before.
    #[serde(default)]
    pub stepped: Option<Timestamp>,
    /// Whether the person that the elicitation was made for has signed in in it. Nobody else can push it out.
    #[serde(default)]
    pub owned: bool,
    /// Where it stands.
    #[serde(flatten)]
    pub stage: Stage,
}

/// Where a browser flow stands.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum Stage {
    /// The link was opened. What is shown depends on who is signed in.
    Arrived,
    /// The person said yes; `state` and PKCE verifier exist from here on and not before.
    Consented {
        /// Keyed hash of `state`.
        state: Digest,
        /// `state` itself and the PKCE verifier, each sealed under the tenant's flow keyset.
        sealed_state: Blob,
        /// The PKCE verifier, sealed.
        verifier: Blob,
        /// When `state` was made.
        since: Timestamp,
    },
    /// The callback was accepted and `state` is spent; the code exchange runs.
    Exchanging {
        /// Since when.
        since: Timestamp,
    },
    /// Tokens are here and pending; the person is asked about the account.
    AwaitingConfirm {
        /// The pending bundle.
        pending: Pending,
    },
    /// The account was confirmed.
    Done {
        /// The grant.
        grant: GrantId,
    },
    /// The person said no.
    Declined,
    /// It went wrong; the person may try again unless it was poisoned.
    Failed {
        /// Why.
        code: FailureCode,
        /// Whether the flow is dead for good: it came back in the wrong browser or with a foreign callback.
        poisoned: bool,
    },
}

/// Tokens that nobody may use before the person has confirmed the account.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pending {
    /// The tokens, sealed under the person's data key (kind 4).
    pub bundle: Blob,
    /// The grant id that they will have.
    pub grant: GrantId,
    /// What the provider allowed.
    pub scopes: ScopeSet,
    /// When the access token ends, if it does.
    pub access_expires: Option<Timestamp>,
    /// Whether a refresh token came along.
    pub refreshable: bool,
    /// Keyed pseudonym of the account at the provider, when the provider says which.
    pub account: Option<Digest>,
    /// When the tokens came.
    pub since: Timestamp,
    /// What the grant will hold.
    #[serde(default)]
    pub holds: Holds,
}

impl BrowserFlow {
    /// Flow cookies that one browser holds at most.
    pub const MAX_IN_BROWSER: usize = 5;
    /// Life of the flow cookie, from its creation and again from each finished step.
    pub const COOKIE_LIFE: Duration = Duration::from_secs(10 * 60);
    /// Life of `state`, from consent.
    pub const STATE_LIFE: Duration = Duration::from_secs(10 * 60);
    /// Life of pending tokens, from the code exchange.
    pub const PENDING_LIFE: Duration = Duration::from_secs(10 * 60);

    /// A step was finished at `now`.
    pub fn step(&mut self, now: Timestamp) {
        self.stepped = Some(now);
    }

    /// Whether its cookie has come to its end. The browser forgets the cookie then; a copy of it is worth nothing, either.
    pub fn cookie_is_over(&self, now: Timestamp) -> bool {
        let since = self.stepped.unwrap_or(self.created);
        since.plus(Self::COOKIE_LIFE).passed(now)
    }

    /// Whether it makes room for a new one when there are too many: it has ended, or has not come further than its first
    /// page and is not in its owner's hands. `for_owner`: the owner of both asks, and may give up an earlier page.
    pub fn gives_way(&self, now: Timestamp, for_owner: bool) -> bool {
        let early = matches!(self.stage, Stage::Arrived | Stage::Failed { .. });
        self.is_over() || (early && (!self.owned || for_owner || self.cookie_is_over(now)))
    }

    /// Whether the flow has ended for good.
    pub fn is_over(&self) -> bool {
        matches!(
            self.stage,
            Stage::Done { .. } | Stage::Declined | Stage::Failed { poisoned: true, .. }
        )
    }
}
