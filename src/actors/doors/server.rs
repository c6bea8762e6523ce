//! The door of the api listener: MCP servers ask for credentials, elicitations and grants.

use std::time::Duration;

use domain::{
    AccountAlias, AuthenticatedServer, Digest, ElicitationId, ElicitationState, FailureCode,
    GrantId, GrantStatus, Locale, ProviderSlug, ScopeSet, Timestamp, VerifiedSubject, text,
};
use secret::{AccessToken, SubjectToken};

use super::{Answer, Ctx};

/// Who a call is about, as the caller presents it.
pub enum SubjectInput {
    /// The user's access token that the MCP server received.
    Token(SubjectToken),
    /// `{iss, …claims}` on the server's own word.
    Asserted {
        /// Issuer.
        iss: Box<str>,
        /// One value for each claim of the issuer's list, in its order.
        values: Vec<Box<str>>,
        /// The MCP client as the server names it.
        client: Option<Box<str>>,
    },
}

/// What is wanted of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The provider.
    pub provider: ProviderSlug,
    /// Scopes the call needs.
    pub scopes: ScopeSet,
    /// Which of the person's accounts.
    pub alias: AccountAlias,
    /// SHA-256 of the MCP request's salient parameters.
    pub request_digest: Option<Digest>,
    /// The server's own words; checked by [`reason_is_plain`].
    pub reason: Option<Box<str>>,
    /// The language that the pages of a new link shall be in, and that `reason` is in.
    pub locale: Option<Locale>,
}

/// Whether a server's reason may be shown: at most 200 characters of plain text, nothing that hides or turns text, nothing
/// that can be taken for an address.
pub fn reason_is_plain(reason: &str) -> bool {
    (1..=200).contains(&reason.chars().count())
        && !reason.chars().any(text::is_misleading)
        && !text::names_an_address(reason)
}

/// What the MCP client answered to the last elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAnswer {
    /// It opened the link. Proves nothing.
    Accept,
    /// The user said no in the client.
    Decline,
    /// The user closed the question.
    Cancel,
}

/// `POST /v1/ensure`.
pub struct Ensure {
    /// What is wanted.
    pub wanted: Wanted,
    /// The echoed requestState.
    pub request_state: Option<Box<str>>,
    /// The client's answer to it.
    pub client_answer: Option<ClientAnswer>,
}

/// A credential for one request of one server for one person. Not `Clone`, not `Serialize`; wiped.
#[derive(Debug)]
pub struct Credential {
    /// The access token.
    pub token: AccessToken,
    /// Header that carries it.
    pub header_name: Box<str>,
    /// Text before it in that header.
    pub header_prefix: Box<str>,
    /// When it ends, if it does.
    pub expires: Option<Timestamp>,
    /// What it allows.
    pub scopes: ScopeSet,
    /// Hosts it may be sent to.
    pub allowed_hosts: Vec<Box<str>>,
}

/// A freshly made link, shown once.
#[derive(Debug)]
pub struct ConnectLink {
    /// The elicitation.
    pub view: ElicitationView,
    /// `https://connect…/c/<ticket>`.
    pub url: Box<str>,
    /// Sealed state for the MCP client to echo.
    pub request_state: Box<str>,
}

/// What `ensure` found.
#[derive(Debug)]
pub enum Ensured {
    /// Connected: here is the credential.
    Connected {
        /// The credential.
        credential: Credential,
        /// The grant it is from.
        grant: GrantView,
    },
    /// Not connected: send the user to this link.
    Elicit(ConnectLink),
    /// A link is out and the user has not finished.
    Waiting {
        /// The elicitation.
        view: ElicitationView,
        /// Fresh sealed state.
        request_state: Box<str>,
    },
    /// The elicitation that the requestState names has ended without a grant.
    Ended(ElicitationView),
    /// The provider cannot be asked for a fresh token; the grant is kept.
    ProviderDown {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// The operator has to set something right; no grant is lost.
    NeedsOperator {
        /// What.
        code: FailureCode,
    },
}

/// An elicitation as its server sees it.
#[derive(Debug, Clone)]
pub struct ElicitationView {
    /// Its id.
    pub id: ElicitationId,
    /// The provider.
    pub provider: ProviderSlug,
    /// The provider's display name, for messages to the user.
    pub provider_name: Box<str>,
    /// The account alias.
    pub alias: AccountAlias,
    /// The scopes.
    pub scopes: ScopeSet,
    /// Where it stands at the time of the request.
    pub state: ElicitationState,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends unless a step is finished before.
    pub expires: Timestamp,
    /// Whether it was cancelled because wrong people opened it.
    pub mismatched: bool,
    /// The language it was asked for in.
    pub locale: Option<Locale>,
}

/// A grant as its server sees it.
#[derive(Debug, Clone)]
pub struct GrantView {
    /// Its id.
    pub id: GrantId,
    /// The provider.
    pub provider: ProviderSlug,
    /// The account alias.
    pub alias: AccountAlias,
    /// Usable or not.
    pub status: GrantStatus,
    /// What the provider allowed.
    pub scopes: ScopeSet,
    /// When it was given.
    pub created: Timestamp,
    /// When its access token ends, if it does.
    pub access_expires: Option<Timestamp>,
    /// Generation of its token slot.
    pub generation: u64,
}

/// What came of ending a grant.
#[derive(Debug, Clone)]
pub struct RevocationReceipt {
    /// The grant.
    pub grant: GrantId,
    /// When it ended here.
    pub ended: Timestamp,
    /// What the provider said.
    pub provider: ProviderRevocation,
}

/// What became of a revocation at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderRevocation {
    /// It confirmed.
    Revoked,
    /// It has no revocation endpoint; its own page must be used.
    NoEndpoint,
    /// It did not confirm.
    Failed,
    /// It was not told: another grant of the person may hang on the same authorization, which one token would end.
    KeptForOtherGrant,
    /// There was no token left to tell it about, or it is not declared any more.
    NothingToRevoke,
}

/// The door of the api listener.
pub trait ServerDoor: Send + Sync + 'static {
    /// A new request: draws its id and reads the clock.
    fn begin(&self) -> Ctx;

    /// C1: whose key is this? `key` is the bare text of the `Authorization: Bearer` header; whatever else came instead of a
    /// key is refused and counted here, too.
    fn authenticate<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, AuthenticatedServer>;

    /// C2: whom is the call about?
    fn subject<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        input: SubjectInput,
    ) -> Answer<'a, VerifiedSubject>;

    /// The one call.
    fn ensure<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: Ensure,
    ) -> Answer<'a, Ensured>;

    /// Makes an elicitation without asking whether there is a grant. With an idempotency key, the same request gives the
    /// same elicitation and link again.
    fn create_elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: (Wanted, Option<Box<str>>),
    ) -> Answer<'a, ConnectLink>;

    /// An elicitation of this caller, person and client; waits up to `wait` for it to end.
    fn elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: (ElicitationId, Duration),
    ) -> Answer<'a, ElicitationView>;

    /// Takes an elicitation back.
    fn cancel_elicitation<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: ElicitationId,
    ) -> Answer<'a, ElicitationView>;

    /// The elicitation that a requestState names (C13).
    fn resolve<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        request: (Box<str>, Option<Digest>),
    ) -> Answer<'a, ElicitationView>;

    /// What the person has connected to this server.
    fn grants<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
    ) -> Answer<'a, Vec<GrantView>>;

    /// One of them.
    fn grant<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, GrantView>;

    /// Ends one of them, with one attempt to revoke it at the provider.
    fn revoke_grant<'a>(
        &'a self,
        ctx: Ctx,
        caller: &'a AuthenticatedServer,
        subject: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, RevocationReceipt>;

    /// Whether the vault can serve requests.
    fn ready(&self) -> bool;
}
