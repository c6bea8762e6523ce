//! The door of the connect listener: one browser's walk from the link to the grant.
//!
//! The HTTP room reads cookies and forms and hands them over parsed; which page follows is decided behind this door.

use std::time::Duration;

use domain::{BrowserFlowId, FailureCode, Issuer, Locale, Provider, RequestId, ScopeSet, Server};
use secret::{BrowserCookie, ConnectTicket, SessionCookie};
use std::sync::Arc;

use super::{Answer, Ctx, Onward, OwnPageDoor};

/// Cookies of ours that came with a request. Doubles of one name were refused before.
#[derive(Default)]
pub struct Cookies {
    /// `__Host-sr_s`.
    pub session: Option<SessionCookie>,
    /// `__Host-sr_p`, the session of a person's own page.
    pub own_page: Option<SessionCookie>,
    /// `__Host-sr_f_<8 hex>`: the eight digits and the value.
    pub flows: Vec<(Box<str>, BrowserCookie)>,
    /// `__Host-sr_l`, sealed text.
    pub pre_login: Option<Box<str>>,
}

/// The eight hex digits in the name of a flow's cookie.
pub fn cookie_digits(flow: BrowserFlowId) -> String {
    flow.as_bytes()
        .iter()
        .take(4)
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A form of ours as it came in.
#[derive(Debug)]
pub struct PostedForm {
    /// Fetch Metadata or Origin says that our own page sent it.
    pub same_origin: bool,
    /// The hidden field `csrf`.
    pub csrf: Box<str>,
    /// Whether the required box was ticked.
    pub ticked: bool,
}

/// What came of opening a link.
pub enum Opened {
    /// Go on.
    Flow {
        /// The browser flow to go on with.
        flow: BrowserFlowId,
        /// The new flow cookie; `None` when this browser already walks this elicitation.
        cookie: Option<BrowserCookie>,
        /// Digits of the flow cookies that make room for it.
        forget: Vec<Box<str>>,
        /// The language that the link's server asks for.
        locale: Option<Locale>,
    },
    /// This browser is in the middle of too many other requests; nothing was made.
    Crowded,
}

/// A person as their own pages show them.
#[derive(Debug, Clone)]
pub struct PersonView {
    /// Name, when the issuer gave one.
    pub name: Option<Box<str>>,
    /// Login name, or the subject where the issuer gives none.
    pub login: Box<str>,
}

/// What consent and confirm pages have in common.
pub struct AskView {
    /// The server that asks.
    pub server: Arc<Server>,
    /// The provider.
    pub provider: Arc<Provider>,
    /// Where one signs in at the provider; `None` where people type in a key.
    pub authorization_endpoint: Option<Box<str>>,
    /// The issuer that identifies the person.
    pub issuer: Arc<Issuer>,
    /// The person.
    pub person: PersonView,
    /// What is asked for.
    pub scopes: ScopeSet,
    /// The MCP client, and whether we verified it.
    pub client: domain::McpClient,
    /// The server's words.
    pub reason: Option<Box<str>>,
    /// The language of the server's words, if it named one.
    pub locale: Option<Locale>,
    /// Time left.
    pub left: Duration,
    /// Short reference that people may quote.
    pub reference: Box<str>,
}

/// CSRF tokens of the forms on a page.
pub struct Tokens {
    /// For the yes of this page (`login`, `consent`, `key` or `confirm`).
    pub yes: Box<str>,
    /// For the no.
    pub no: Box<str>,
    /// For another account, or once more.
    pub again: Box<str>,
    /// For signing out.
    pub sign_out: Box<str>,
}

/// The account that a yes to the confirm page would replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    /// None, or the same one.
    Nothing,
    /// Another one, by the name the provider gave it.
    Named(Box<str>),
    /// Another one that the provider did not name.
    Unnamed,
}

/// Which page a browser flow shows.
pub enum FlowPage {
    /// Nobody is signed in: go on to sign in. Nothing about the request.
    SignIn {
        /// Where one signs in.
        issuer: Arc<Issuer>,
        /// Token of the form.
        yes: Box<str>,
    },
    /// Someone else is signed in. Nothing about the request or anybody.
    Mismatch {
        /// Token of the sign-out form.
        sign_out: Box<str>,
    },
    /// The question; asked again of a person who said yes and has not come back from the provider yet.
    Consent {
        /// What is asked.
        ask: AskView,
        /// Tokens of the forms.
        tokens: Tokens,
    },
    /// The question, where a key is typed in.
    Key {
        /// What is asked.
        ask: AskView,
        /// Tokens of the forms.
        tokens: Tokens,
    },
    /// The code exchange, or the trying of a key, is running in another request.
    Working,
    /// Is this the right account?
    Confirm {
        /// What was asked.
        ask: AskView,
        /// Name of the account at the provider, when it says which.
        account: Option<Box<str>>,
        /// What a yes would replace.
        replaces: Replaced,
        /// What the provider allowed.
        granted: ScopeSet,
        /// Tokens of the forms.
        tokens: Tokens,
    },
    /// Connected.
    Done {
        /// What was asked.
        ask: AskView,
        /// Name of the account at the provider.
        account: Option<Box<str>>,
    },
    /// The person said no.
    Declined {
        /// The server that is told.
        server: Arc<Server>,
        /// The provider.
        provider: Arc<Provider>,
    },
    /// It went wrong.
    Failed {
        /// Why.
        code: FailureCode,
        /// Short reference.
        reference: Box<str>,
        /// Tokens for trying again or stopping; `None` when the flow is dead.
        tokens: Option<Tokens>,
    },
    /// Expired, used, unknown, or not this browser's; nobody is told which.
    Gone,
}

/// After a posted form.
pub enum Posted {
    /// Show the flow's page (303 to `/f/{flow}`).
    Page,
    /// Consent was given: go to the leaving page (303 to `/f/{flow}/leaving`).
    Leaving,
    /// The tick was forgotten: show this page again with its tick marked.
    TickMissing(Box<FlowPage>),
    /// What was typed in cannot be a key of this provider: show this page again, with the field empty and the reason beside it.
    KeyWrong(Box<FlowPage>, domain::KeyFault),
    /// Not from our page (403); nothing was changed.
    Refused,
    /// Expired, used, unknown, or not this browser's.
    Gone,
}

/// A login was started: the pre-login cookie to set; then 303 to `/login/go`.
pub struct LoginStarted {
    /// Sealed text of `__Host-sr_l`.
    pub cookie: Box<str>,
}

/// On the way to the issuer.
pub struct LoginLeaving {
    /// The issuer.
    pub issuer: Arc<Issuer>,
    /// Where to go.
    pub url: url::Url,
    /// What it is for.
    pub onward: Onward,
}

/// Signed in: a new session, whatever the browser had before.
pub struct SignedIn {
    /// Value of the new session cookie, `__Host-sr_s` or that of the own page; the pre-login cookie is removed.
    pub cookie: SessionCookie,
    /// Where to go on.
    pub onward: Onward,
}

/// The login did not work.
#[derive(Debug)]
pub struct LoginFailed {
    /// Why.
    pub reason: domain::LoginRefused,
    /// Short reference.
    pub reference: Box<str>,
    /// Where to try again from, when the pre-login cookie says so.
    pub onward: Option<Onward>,
}

/// On the way to the provider.
pub struct ProviderLeaving {
    /// What was asked.
    pub ask: AskView,
    /// Where to go.
    pub url: url::Url,
    /// Time left to come back.
    pub left: Duration,
}

/// A short reference made of a request id, for people to quote: `7QK4-2M9D`.
pub fn reference(request: RequestId) -> String {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut text = String::with_capacity(9);
    for (place, byte) in request.as_bytes().iter().take(8).enumerate() {
        if place == 4 {
            text.push('-');
        }
        text.push(
            LETTERS
                .get(usize::from(byte & 31))
                .copied()
                .map_or('0', char::from),
        );
    }
    text
}

/// The door of the connect listener.
pub trait BrowserDoor: OwnPageDoor {
    /// A new request: draws its id and reads the clock.
    fn begin(&self) -> Ctx;

    /// F2: opens a link. `None`: no longer valid, or never was.
    fn open_link<'a>(
        &'a self,
        ctx: Ctx,
        ticket: &'a ConnectTicket,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Opened>>;

    /// The language that a flow's server asks its pages to be in; `None` for whoever does not hold the flow's cookie.
    /// Changes nothing.
    fn locale<'a>(
        &'a self,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Locale>>;

    /// Which page the flow shows in this browser. Changes nothing.
    fn page<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, FlowPage>;

    /// F3: starts the login. `None`: not our form, or the flow is gone.
    fn start_login<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Option<LoginStarted>>;

    /// Where a started login goes. Changes nothing. `None`: no pre-login cookie of ours, or too old.
    fn login_leaving<'a>(
        &'a self,
        ctx: Ctx,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Result<LoginLeaving, LoginFailed>>>;

    /// C5: the issuer's answer. `query` is the raw query string.
    fn finish_login<'a>(
        &'a self,
        ctx: Ctx,
        issuer: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Result<SignedIn, LoginFailed>>;

    /// F5: yes to the question.
    fn consent<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted>;

    /// F5 where a key is typed in: yes to the question, with what was typed in.
    fn submit_key<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: (PostedForm, domain::KeyInputs),
    ) -> Answer<'a, Posted>;

    /// F6: the way to the provider, after consent. Changes nothing.
    fn leaving<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
    ) -> Answer<'a, Option<Result<ProviderLeaving, FailureCode>>>;

    /// F7 and F8: the provider's answer. Gives the flow to go on with; `None`: no page of this browser.
    fn callback<'a>(
        &'a self,
        ctx: Ctx,
        provider: &'a str,
        query: &'a str,
        arrival: (bool, &'a Cookies),
    ) -> Answer<'a, Option<BrowserFlowId>>;

    /// F9: yes, this account.
    fn confirm<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted>;

    /// No, at any step.
    fn decline<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted>;

    /// Another account, or once more after a failure: back to the question.
    fn again<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted>;

    /// Ends the session of this browser. The flow whose page was left by it stays. The caller touches cookies only when the
    /// form was taken.
    fn sign_out<'a>(
        &'a self,
        ctx: Ctx,
        flow: BrowserFlowId,
        cookies: &'a Cookies,
        form: PostedForm,
    ) -> Answer<'a, Posted>;
}
