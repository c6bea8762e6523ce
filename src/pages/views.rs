//! What each page shows: plain data, no domain types, so that the caller decides and this room only words and draws it.
//! Every `String` here may hold hostile text; the templates escape and isolate all of it.

mod error;
mod key;
mod language;
mod own_page;

pub use error::{Cause, ErrorView, ProblemView};
pub use key::{KeyField, KeyView, KeyWrong, Label};
pub use language::{Language, Switch};
pub use own_page::{
    AtProvider, Connection, EndedView, Moment, OwnPageView, OwnSignInView, Waiting,
};

use crate::href::Href;

/// What frames every page, whoever looks at it.
#[derive(Debug, Clone)]
pub struct Chrome {
    /// Who runs this vault, as the operator declared it; without it the host stands in where a name is needed.
    pub operator: Option<String>,
    /// Authority of the connect origin (`connect.northwind.example`), shown in the foot so that people can compare it.
    pub host: Address,
    /// Where the operator answers questions; no help line without it.
    pub support_url: Option<Href>,
    /// Where the operator says what is done with what is known about people; no such line without it.
    pub privacy_url: Option<Href>,
    /// Path of the stylesheet; [`crate::stylesheet_path`] unless the operator brings an accent.
    pub stylesheet: String,
    /// Which string table words the page.
    pub language: Language,
    /// Ways to the same page in other languages, in the foot.
    pub switches: Vec<Switch>,
}

impl Chrome {
    /// The frame for `host` with nothing declared: no operator name, no help line, English.
    pub fn new(host: Address) -> Self {
        Self {
            operator: None,
            host,
            support_url: None,
            privacy_url: None,
            stylesheet: crate::stylesheet_path().to_owned(),
            language: Language::English,
            switches: Vec::new(),
        }
    }

    /// Operator name, or the host where none is declared.
    pub(crate) fn operator_name(&self) -> &str {
        self.operator.as_deref().unwrap_or(&self.host.text)
    }
}

/// An address for people to compare: ASCII (punycode), shown in monospace, left to right, never cut.
#[derive(Debug, Clone)]
pub struct Address {
    /// The address, with or without a scheme (`https://login.northwind.example`, `github.com`).
    pub text: String,
    /// The site the operator declared for it (`northwind.example`), shown bold; without it, or where it does not
    /// match the end of the host, everything after the scheme is bold. Nothing is guessed.
    pub site: Option<String>,
}

impl Address {
    /// An address without a declared site.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            site: None,
        }
    }

    /// An address and the site the operator declared for it.
    pub fn with_site(text: impl Into<String>, site: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            site: Some(site.into()),
        }
    }
}

/// A form post: where it goes and the value of its hidden `csrf` field.
#[derive(Clone)]
pub struct Form {
    /// Path on the connect origin, such as `/f/{flow id}/consent`.
    pub action: String,
    /// Value of the hidden field `csrf`.
    pub csrf: String,
}

impl Form {
    /// A form post to `action` with the token `csrf`.
    pub fn new(action: impl Into<String>, csrf: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            csrf: csrf.into(),
        }
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

/// The sign-out form: `/session/end`, with the flow it should end in a hidden field `flow`.
#[derive(Debug, Clone)]
pub struct SignOut {
    /// Where the form goes.
    pub form: Form,
    /// Value of the hidden field `flow`, if a flow is under way.
    pub flow: Option<String>,
}

/// The MCP server that asks. A server always comes with its origin.
#[derive(Debug, Clone)]
pub struct Server {
    /// Display name, at most 64 characters, checked when the server was declared.
    pub name: String,
    /// Its checked origin without a scheme, such as `release-notes.mcp.northwind.example`.
    pub address: Address,
}

/// The third-party service. Its name is the operator's and may stand in headings and titles.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Display name.
    pub name: String,
    /// Its origin without a scheme, such as `github.com`.
    pub address: Address,
}

/// The signed-in person who looks at the page. Never shown before login and comparison.
#[derive(Debug, Clone)]
pub struct Person {
    /// Full name, if the issuer tells one.
    pub name: Option<String>,
    /// What they sign in with: e-mail, user name, or the subject where nothing better is known.
    pub login: String,
}

/// One permission.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Its name at the provider.
    pub raw: String,
    /// What it means, from the provider file; without it the page says that we cannot say.
    pub wording: Option<Wording>,
}

/// What a permission means, in the operator's words.
#[derive(Debug, Clone)]
pub struct Wording {
    /// Whether it looks or changes.
    pub deed: Deed,
    /// Plain words that go on "It can see …" or "It can change …".
    pub words: String,
    /// The language of the words; marked on pages in another one, for those who have pages read to them.
    pub language: Language,
}

/// The tag before a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// It only looks.
    See,
    /// It changes something.
    Change,
}

/// The exact addresses behind the words, folded away on the consent page.
#[derive(Debug, Clone)]
pub struct Exact {
    /// Resource identifier of the server.
    pub server: String,
    /// Authorization endpoint of the provider.
    pub provider: String,
    /// The issuer the person signed in at.
    pub issuer: String,
    /// The MCP client the elicitation is bound to, if known.
    pub client: Option<Client>,
}

/// The MCP client, by who vouches for it.
#[derive(Debug, Clone)]
pub enum Client {
    /// From the verified subject token.
    Verified(String),
    /// As the server asserted it.
    Asserted(String),
}

/// The reason a server gave, quoted as its own words.
#[derive(Debug, Clone)]
pub struct Quote {
    /// At most 200 characters of plain text.
    pub text: String,
    /// BCP 47 tag of its language, if the server named one.
    pub lang: Option<String>,
}

impl Quote {
    /// The language tag, if it has the form of one (RFC 5646 section 2.1); others are dropped.
    pub(crate) fn tag(&self) -> Option<&str> {
        let formed = |tag: &&str| {
            (2..=35).contains(&tag.len())
                && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        self.lang.as_deref().filter(formed)
    }
}

/// Arrival hop: a 200 with `Refresh: 0` to a clean address of ours, and this link. Nothing is known yet.
#[derive(Debug, Clone)]
pub struct ArrivalView {
    /// Where the link goes; the same address as in `Refresh`.
    pub next: Href,
}

/// Sign-in handoff: nobody is known, so nothing about the request is shown.
#[derive(Debug, Clone)]
pub struct SignInView {
    /// Address of the issuer, with scheme.
    pub issuer: Address,
    /// The post that starts the login.
    pub start: Form,
}

/// Interstitial to the issuer: a 200 with `Refresh: 0`, no form.
#[derive(Debug, Clone)]
pub struct SigningInView {
    /// Address of the issuer, with scheme.
    pub issuer: Address,
    /// The authorization request at the issuer.
    pub href: Href,
}

/// Consent, step 1 of 3. Tick field: `agree=yes`.
#[derive(Debug, Clone)]
pub struct ConsentView {
    /// Who asks.
    pub server: Server,
    /// What it wants to use.
    pub provider: Provider,
    /// For whom.
    pub person: Person,
    /// What it could do.
    pub scopes: Vec<Scope>,
    /// Exact addresses.
    pub exact: Exact,
    /// Why, in the server's words.
    pub reason: Option<Quote>,
    /// `/f/{flow id}/consent`.
    pub yes: Form,
    /// `/f/{flow id}/decline`.
    pub no: Form,
    /// `/session/end`.
    pub sign_out: SignOut,
    /// The form came back without its tick.
    pub wrong: bool,
    /// Minutes until the request ends, rounded up, at least 1.
    pub minutes_left: u32,
    /// What people can tell the operator.
    pub reference: String,
}

/// Leaving page, step 2 of 3. Whether it goes on at once is a header; the page is the same.
#[derive(Debug, Clone)]
pub struct LeavingView {
    /// Name of the provider.
    pub provider: String,
    /// Address of its authorization endpoint's origin, with scheme.
    pub address: Address,
    /// The authorization request.
    pub href: Href,
    /// Back to consent, `/f/{flow id}`.
    pub back: Href,
    /// Minutes until coming back is too late, rounded down, at least 1.
    pub minutes_left: u32,
}

/// An account that was connected before.
#[derive(Debug, Clone)]
pub enum Earlier {
    /// The provider named it.
    Named(String),
    /// The provider named none.
    Unnamed,
}

/// Confirm, step 3 of 3. Tick field: `mine=yes`.
#[derive(Debug, Clone)]
pub struct ConfirmView {
    /// The account the provider names, or `None` where it names none.
    pub account: Option<String>,
    /// The account connected until now, where it is another one.
    pub changed_from: Option<Earlier>,
    /// The provider.
    pub provider: Provider,
    /// The server.
    pub server: Server,
    /// The person.
    pub person: Person,
    /// A key that allows whatever it allows; then nothing is listed.
    pub all: bool,
    /// What was asked for and is allowed.
    pub allowed: Vec<Scope>,
    /// What was asked for and is not allowed.
    pub missing: Vec<Scope>,
    /// What is allowed though nobody asked for it.
    pub extra: Vec<Scope>,
    /// `/f/{flow id}/confirm`.
    pub yes: Form,
    /// `/f/{flow id}/decline`.
    pub no: Form,
    /// `/f/{flow id}/again`.
    pub again: Form,
    /// The form came back without its tick.
    pub wrong: bool,
    /// What people can tell the operator.
    pub reference: String,
}

/// Another person than the one the link was made for is signed in. Names nobody, not even the reader.
#[derive(Debug, Clone)]
pub struct MismatchView {
    /// `/session/end`.
    pub sign_out: SignOut,
}

/// The person said no.
#[derive(Debug, Clone)]
pub struct DeclinedView {
    /// Name of the server that is told.
    pub server: String,
    /// Name of the provider.
    pub provider: String,
}

/// Used, expired or unknown link: one page for all, so that it tells nobody which.
#[derive(Debug, Clone, Copy)]
pub struct ExpiredView;

/// Connected.
#[derive(Debug, Clone)]
pub struct DoneView {
    /// The account, if the provider names it.
    pub account: Option<String>,
    /// Name of the provider.
    pub provider: String,
    /// The server.
    pub server: Server,
    /// The person.
    pub person: Person,
}

/// Front page of `strongroom dev`: says that this is practice, and where things are.
#[derive(Debug, Clone)]
pub struct DevHomeView {
    /// What is where, in the order to read it.
    pub places: Vec<DevPlace>,
}

/// One address of the practice set-up.
#[derive(Debug, Clone)]
pub struct DevPlace {
    /// What it is, such as `API for servers`.
    pub label: String,
    /// Its address.
    pub url: String,
}
