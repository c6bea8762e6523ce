//! The door of a person's own page: what they have connected, what waits for them, and how to end it.
//!
//! Its session is one of its own: signing in by a link that somebody sent opens this page to nobody, and the other way round.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    BrowserFlowId, ElicitationId, GrantId, GrantStatus, Holds, Issuer, Provider, ProviderSlug,
    ScopeSet, Server, ServerSlug, Timestamp,
};

use super::{Answer, Cookies, Ctx, LoginStarted, PersonView, PostedForm, RevocationReceipt};

/// Where a login goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onward {
    /// To the flow that it was started in.
    Flow(BrowserFlowId),
    /// To the person's own page.
    OwnPage,
}

/// The own page of whoever is signed in there.
pub enum OwnPage {
    /// Nobody is.
    SignedOut {
        /// Where one can sign in.
        issuers: Vec<Arc<Issuer>>,
    },
    /// Somebody is.
    SignedIn(Box<OwnView>),
}

/// What a person sees on their own page.
pub struct OwnView {
    /// The person.
    pub person: PersonView,
    /// Requests that wait for them.
    pub waiting: Vec<WaitingView>,
    /// What they have connected, and not ended.
    pub connections: Vec<ConnectionView>,
    /// Token of the form that signs out.
    pub sign_out: Box<str>,
}

/// A request that waits for its person.
pub struct WaitingView {
    /// Its id.
    pub id: ElicitationId,
    /// Who asks.
    pub server: Arc<Server>,
    /// For what.
    pub provider: Arc<Provider>,
    /// Time left.
    pub left: Duration,
    /// Token of the form that says no.
    pub decline: Box<str>,
}

/// A connection. Its server and provider are `None` once the operator has taken them out of the configuration.
pub struct ConnectionView {
    /// Its id.
    pub id: GrantId,
    /// The server that may use it.
    pub server: (ServerSlug, Option<Arc<Server>>),
    /// Where it may be used.
    pub provider: (ProviderSlug, Option<Arc<Provider>>),
    /// Name of the account, where the provider gives one.
    pub account: Option<Box<str>>,
    /// Whether it can be used.
    pub status: GrantStatus,
    /// What it holds.
    pub holds: Holds,
    /// What it allows.
    pub scopes: ScopeSet,
    /// When it was made.
    pub created: Timestamp,
    /// When a credential of it was released last; up to a minute early after a crash. `None`: never.
    pub last_use: Option<Timestamp>,
    /// Token of the form that ends it.
    pub end: Box<str>,
}

/// A connection was ended.
pub struct EndedView {
    /// The server that used it.
    pub server: (ServerSlug, Option<Arc<Server>>),
    /// Where it was used.
    pub provider: (ProviderSlug, Option<Arc<Provider>>),
    /// What it held.
    pub holds: Holds,
    /// What became of it at the provider.
    pub receipt: RevocationReceipt,
}

/// After a form of the own page.
pub enum OwnPosted<T> {
    /// Done.
    Done(T),
    /// Nobody is signed in any more: the page says so.
    SignedOut,
    /// Not from our page (403); nothing was changed.
    Refused,
    /// Not there, or not this person's; nobody is told which.
    Gone,
}

/// The door of a person's own page.
pub trait OwnPageDoor: Send + Sync + 'static {
    /// The page. Changes nothing.
    fn own_page<'a>(&'a self, ctx: Ctx, cookies: &'a Cookies) -> Answer<'a, OwnPage>;

    /// Starts a login at an issuer, which is always asked to let the person sign in anew. `None`: not our form, or no such
    /// issuer.
    fn start_own_login<'a>(
        &'a self,
        ctx: Ctx,
        issuer: &'a str,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>>;

    /// Ends a connection of this person, here and at the provider.
    fn end<'a>(
        &'a self,
        ctx: Ctx,
        grant: GrantId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<EndedView>>;

    /// No to a request that waits for this person.
    fn decline_waiting<'a>(
        &'a self,
        ctx: Ctx,
        elicitation: ElicitationId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>>;

    /// Ends the session of the own page.
    fn leave_own_page<'a>(
        &'a self,
        ctx: Ctx,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, OwnPosted<()>>;
}
