//! C6, C7 and C12: the right person, on our own page, saying yes on purpose.

use crate::switch::{self, Check};
use crate::{
    Digest, ElicitationId, ElicitationOwner, GrantId, Identity, Pending, Timestamp, VerifiedLogin,
};

/// Someone signed in, in one browser: what a session record holds.
#[derive(Debug)]
pub struct BrowserSession {
    /// The person.
    pub identity: Identity,
    /// Name to show.
    pub name: Option<Box<str>>,
    /// Login name to show.
    pub login: Option<Box<str>>,
    /// When the person signed in.
    pub signed_in: Timestamp,
    /// Keyed hash of the session cookie; what forms and flows are bound to.
    pub id: Digest,
}

impl BrowserSession {
    /// Idle end.
    pub const IDLE: std::time::Duration = std::time::Duration::from_secs(15 * 60);
    /// Absolute end.
    pub const LIFE: std::time::Duration = std::time::Duration::from_secs(60 * 60);

    /// A fresh session for a fresh login; the only way a session begins.
    pub fn begin(login: &VerifiedLogin, id: Digest) -> Self {
        Self {
            identity: login.identity().clone(),
            name: login.name().map(Into::into),
            login: login.login().map(Into::into),
            signed_in: login.at(),
            id,
        }
    }

    /// Whether its absolute end has passed.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.signed_in.plus(Self::LIFE).passed(now)
    }
}

/// Proof of C6: the person in this browser is the person the elicitation was made for.
#[derive(Debug)]
pub struct SamePerson {
    elicitation: ElicitationId,
    session: Digest,
}

/// Someone else is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("someone else is signed in in this browser")]
pub struct WrongPerson;

impl SamePerson {
    /// C6: tenant, issuer and subject equal, byte for byte.
    ///
    /// # Errors
    /// [`WrongPerson`].
    pub fn check(session: &BrowserSession, owner: &ElicitationOwner) -> Result<Self, WrongPerson> {
        if session.identity == *owner.identity() || switch::off(Check::C6) {
            Ok(Self {
                elicitation: owner.elicitation(),
                session: session.id,
            })
        } else {
            Err(WrongPerson)
        }
    }

    /// The elicitation it is about.
    pub fn elicitation(&self) -> ElicitationId {
        self.elicitation
    }

    /// The session it is about.
    pub fn session(&self) -> Digest {
        self.session
    }
}

/// What a form of ours does. The text is part of its CSRF token, so a token for one deed is worth nothing for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormAction {
    /// Go on to sign in.
    Login,
    /// Yes, go on to the provider.
    Consent,
    /// Yes, with a key.
    Key,
    /// No.
    Decline,
    /// Yes, this account.
    Confirm,
    /// Another account, or once more.
    Again,
    /// Sign out.
    SignOut,
    /// End a connection, on a person's own page.
    End,
    /// No to a request that waits, on a person's own page.
    DeclineWaiting,
}

impl FormAction {
    /// The word inside the CSRF token.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Consent => "consent",
            Self::Key => "key",
            Self::Decline => "decline",
            Self::Confirm => "confirm",
            Self::Again => "again",
            Self::SignOut => "sign-out",
            Self::End => "end",
            Self::DeclineWaiting => "decline-waiting",
        }
    }
}

/// Proof of C7, first half: the form came from our own page, in this session and flow, for this deed.
#[derive(Debug)]
pub struct FormProof {
    action: FormAction,
}

/// The form did not come from our page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormRefused {
    /// Fetch Metadata or Origin says another site.
    #[error("the form was sent from another site")]
    Origin,
    /// The CSRF token is missing or belongs to another session, flow or deed.
    #[error("the form's token is not the one of this page")]
    Token,
}

impl FormProof {
    /// C7: same-origin, and the right token for this deed.
    ///
    /// # Errors
    /// [`FormRefused`].
    pub fn check(
        action: FormAction,
        same_origin: bool,
        token_fits: bool,
    ) -> Result<Self, FormRefused> {
        if !switch::off(Check::C7) {
            if !same_origin {
                return Err(FormRefused::Origin);
            }
            if !token_fits {
                return Err(FormRefused::Token);
            }
        }
        Ok(Self { action })
    }
}

/// Whether the required box was ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// It was.
    Ticked,
    /// It was not: the page comes back and says so.
    Missing,
}

/// Proof of C7: the right person ticked the box and said yes. `state` and PKCE verifier are made from here on, and a key is
/// tried nowhere without it.
#[derive(Debug)]
pub struct ConsentGiven {
    elicitation: ElicitationId,
}

impl ConsentGiven {
    /// C7. `None` when the box was not ticked or the proof is for another deed.
    pub fn check(person: &SamePerson, form: &FormProof, tick: Tick) -> Option<Self> {
        let asked = matches!(form.action, FormAction::Consent | FormAction::Key);
        let yes = asked && tick == Tick::Ticked;
        (yes || switch::off(Check::C7)).then_some(Self {
            elicitation: person.elicitation,
        })
    }

    /// The elicitation it is about.
    pub fn elicitation(&self) -> ElicitationId {
        self.elicitation
    }
}

/// Proof of C12: the right person saw the account and said that it is theirs, while the tokens were pending.
#[derive(Debug)]
pub struct Confirmed {
    elicitation: ElicitationId,
    grant: GrantId,
}

impl Confirmed {
    /// C12. `None` when the box was not ticked, the proof is for another deed, or the pending time is over.
    pub fn check(
        person: &SamePerson,
        form: &FormProof,
        tick: Tick,
        pending: &Pending,
        now: Timestamp,
    ) -> Option<Self> {
        let in_time = !pending
            .since
            .plus(crate::BrowserFlow::PENDING_LIFE)
            .passed(now);
        let yes = form.action == FormAction::Confirm && tick == Tick::Ticked && in_time;
        (yes || switch::off(Check::C12)).then_some(Self {
            elicitation: person.elicitation,
            grant: pending.grant,
        })
    }

    /// The elicitation it is about.
    pub fn elicitation(&self) -> ElicitationId {
        self.elicitation
    }

    /// The grant that the pending tokens become.
    pub fn grant(&self) -> GrantId {
        self.grant
    }
}
