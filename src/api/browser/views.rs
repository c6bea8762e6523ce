//! What the door knows, put into the views of the pages room.

use std::time::Duration;

use actix_web::http::StatusCode;
use actors::doors::{AskView, FlowPage, PersonView, ProviderLeaving, Replaced, Tokens};
use domain::{BrowserFlowId, FailureCode, LoginRefused, McpClient, ScopeEffect, ScopeSet};
use pages::{
    Address, ArrivalView, Cause, Client, ConfirmView, ConsentView, DeclinedView, Deed, DoneView,
    Earlier, ErrorView, Exact, ExpiredView, Form, Href, HrefError, Language, LeavingView,
    MismatchView, Page, Person, Quote, Scope, SignInView, SignOut, Wording,
};
use url::Url;

use super::answer::flow_path;
use super::settings::authority;

mod key;
mod own_page;

pub(crate) use key::Wrong;
use key::key;
pub(crate) use own_page::{ended, own_page};

/// A page of a flow and the status it goes out with.
pub(crate) struct FlowView {
    pub(crate) status: StatusCode,
    pub(crate) page: Box<dyn Page>,
}

impl FlowView {
    /// The page that `page` describes; `wrong` says why its form came back.
    ///
    /// # Errors
    /// [`HrefError`] when an address of ours were no link, which cannot be.
    pub(crate) fn of(
        (flow, language): (BrowserFlowId, Language),
        page: FlowPage,
        wrong: Option<Wrong>,
    ) -> Result<Self, HrefError> {
        let status = match &page {
            FlowPage::Mismatch { .. } => StatusCode::FORBIDDEN,
            FlowPage::Gone => StatusCode::NOT_FOUND,
            _ if wrong.is_some() => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::OK,
        };
        let at = Paths(flow);
        let unticked = wrong == Some(Wrong::Tick);
        let page: Box<dyn Page> = match page {
            FlowPage::SignIn { issuer, yes } => Box::new(SignInView {
                issuer: address(&origin_of(issuer.url.as_str()), issuer.site.as_deref()),
                start: at.form("login", &yes),
            }),
            FlowPage::Mismatch { sign_out } => Box::new(MismatchView {
                sign_out: at.sign_out(&sign_out),
            }),
            FlowPage::Consent { ask, tokens } => {
                Box::new(consent(&at, (&ask, language), &tokens, unticked))
            }
            FlowPage::Key { ask, tokens } => match ask.provider.key_form() {
                Some(form) => Box::new(key(&at, (&ask, form), &tokens, wrong)),
                None => Box::new(ExpiredView), // never: whoever asks for a key has a form for it
            },
            FlowPage::Working => Box::new(ArrivalView {
                next: Href::new(flow_path(flow))?,
            }),
            FlowPage::Confirm {
                ask,
                account,
                replaces,
                granted,
                tokens,
            } => {
                let mut view = confirm(&at, (&ask, language), &granted, &tokens);
                view.account = account.map(Into::into);
                view.changed_from = earlier(replaces);
                view.wrong = unticked;
                Box::new(view)
            }
            FlowPage::Done { ask, account } => Box::new(DoneView {
                account: account.map(Into::into),
                provider: ask.provider.name.as_ref().into(),
                server: server(&ask.server),
                person: person(&ask.person),
            }),
            FlowPage::Declined { server, provider } => Box::new(DeclinedView {
                server: server.name.as_ref().into(),
                provider: provider.name.as_ref().into(),
            }),
            FlowPage::Failed {
                code,
                reference,
                tokens,
            } => Box::new(ErrorView {
                cause: failure_cause(code),
                code: code.as_str().to_owned(),
                reference: reference.into(),
                again: tokens
                    .as_ref()
                    .map(|tokens| at.form("again", &tokens.again)),
                back: None,
                stop: tokens.as_ref().map(|tokens| at.form("decline", &tokens.no)),
            }),
            FlowPage::Gone => Box::new(ExpiredView),
        };
        Ok(Self { status, page })
    }
}

/// The forms of one flow.
struct Paths(BrowserFlowId);

impl Paths {
    fn form(&self, deed: &str, csrf: &str) -> Form {
        Form::new(format!("{}/{deed}", flow_path(self.0)), csrf)
    }

    fn sign_out(&self, csrf: &str) -> SignOut {
        SignOut {
            form: Form::new("/session/end", csrf),
            flow: Some(self.0.to_string()),
        }
    }
}

fn consent(
    at: &Paths,
    (ask, language): (&AskView, Language),
    tokens: &Tokens,
    wrong: bool,
) -> ConsentView {
    ConsentView {
        server: server(&ask.server),
        provider: provider(ask),
        person: person(&ask.person),
        scopes: scopes((ask, language), &ask.scopes),
        exact: Exact {
            server: ask.server.resource.as_ref().into(),
            provider: at_provider(ask).into(),
            issuer: ask.issuer.url.as_str().to_owned(),
            client: client(&ask.client),
        },
        reason: ask.reason.as_deref().map(|text| Quote {
            text: text.to_owned(),
            lang: ask.locale.as_ref().map(|tag| tag.as_str().to_owned()),
        }),
        yes: at.form("consent", &tokens.yes),
        no: at.form("decline", &tokens.no),
        sign_out: at.sign_out(&tokens.sign_out),
        wrong,
        minutes_left: minutes(ask.left),
        reference: ask.reference.as_ref().into(),
    }
}

fn confirm(
    at: &Paths,
    about: (&AskView, Language),
    granted: &ScopeSet,
    tokens: &Tokens,
) -> ConfirmView {
    let (ask, _) = about;
    // What the provider file always asks for is no surprise, though no server named it.
    let extra = granted
        .without(&ask.scopes)
        .without(&ask.provider.extra_scopes);
    ConfirmView {
        account: None,
        changed_from: None,
        provider: provider(ask),
        server: server(&ask.server),
        person: person(&ask.person),
        all: ask.provider.key_form().is_some(),
        allowed: scopes(about, &granted.without(&extra)),
        missing: scopes(about, &ask.scopes.without(granted)),
        extra: scopes(about, &extra),
        yes: at.form("confirm", &tokens.yes),
        no: at.form("decline", &tokens.no),
        again: at.form("again", &tokens.again),
        wrong: false,
        reference: ask.reference.as_ref().into(),
    }
}

fn earlier(replaced: Replaced) -> Option<Earlier> {
    match replaced {
        Replaced::Nothing => None,
        Replaced::Named(name) => Some(Earlier::Named(name.into())),
        Replaced::Unnamed => Some(Earlier::Unnamed),
    }
}

/// The leaving page. Its minutes are whole ones: whoever relies on them is not late.
pub(crate) fn leaving(leaving: &ProviderLeaving, href: Href, back: Href) -> LeavingView {
    let provider = &leaving.ask.provider;
    let minutes = leaving.left.as_secs() / 60;
    LeavingView {
        provider: provider.name.as_ref().into(),
        address: address(&origin_of(leaving.url.as_str()), provider.site.as_deref()),
        href,
        back,
        minutes_left: u32::try_from(minutes).unwrap_or(u32::MAX).max(1),
    }
}

fn server(server: &domain::Server) -> pages::Server {
    pages::Server {
        name: server.name.as_ref().into(),
        address: address(&host_of(&server.resource), server.site.as_deref()),
    }
}

fn provider(ask: &AskView) -> pages::Provider {
    pages::Provider {
        name: ask.provider.name.as_ref().into(),
        address: address(&host_of(at_provider(ask)), ask.provider.site.as_deref()),
    }
}

/// Where one signs in at the provider; where a key is typed in, the first host that it goes to.
fn at_provider(ask: &AskView) -> &str {
    let hosts = &ask.provider.allowed_hosts;
    let host = || hosts.first().map_or("", |host| host);
    ask.authorization_endpoint.as_deref().unwrap_or_else(host)
}

fn person(person: &PersonView) -> Person {
    Person {
        name: person.name.as_deref().map(Into::into),
        login: person.login.as_ref().into(),
    }
}

fn client(client: &McpClient) -> Option<Client> {
    match client {
        McpClient::Verified(id) => Some(Client::Verified(id.as_ref().into())),
        McpClient::Asserted(id) => Some(Client::Asserted(id.as_ref().into())),
        McpClient::Unnamed => None,
    }
}

/// Permissions with their words in a language; in English, and marked so, where the provider's file has none in that one.
fn scopes((ask, language): (&AskView, Language), set: &ScopeSet) -> Vec<Scope> {
    worded((Some(&ask.provider), language), set)
}

/// The same, also where the provider is not declared any more.
fn worded(
    (provider, language): (Option<&domain::Provider>, Language),
    set: &ScopeSet,
) -> Vec<Scope> {
    let wording = |name: &str| {
        let info = provider?.scope(name)?;
        let deed = match info.effect {
            ScopeEffect::See => Deed::See,
            ScopeEffect::Change => Deed::Change,
        };
        let translated = info
            .words_in
            .iter()
            .find(|(tag, _)| **tag == *language.tag());
        let (words, language) = match translated {
            Some((_, words)) => (words, language),
            None => (info.words.as_ref()?, Language::English),
        };
        Some(Wording {
            deed,
            words: words.as_ref().into(),
            language,
        })
    };
    let scope = |name: &str| Scope {
        raw: name.to_owned(),
        wording: wording(name),
    };
    set.iter().map(scope).collect()
}

fn address(text: &str, site: Option<&str>) -> Address {
    Address {
        text: text.to_owned(),
        site: site.map(Into::into),
    }
}

/// Scheme, host and port of an address, the host in ASCII; the text itself where it is no web address.
pub(crate) fn origin_of(address: &str) -> String {
    let origin = Url::parse(address)
        .ok()
        .map(|url| url.origin())
        .filter(url::Origin::is_tuple);
    origin.map_or_else(|| address.to_owned(), |origin| origin.ascii_serialization())
}

/// Host and port of an address, as [`origin_of`].
fn host_of(address: &str) -> String {
    let host = Url::parse(address)
        .ok()
        .and_then(|url| authority(&url.origin()));
    host.unwrap_or_else(|| address.to_owned())
}

/// Whole minutes, begun ones included.
fn minutes(left: Duration) -> u32 {
    let minutes = left.as_millis().div_ceil(60_000);
    u32::try_from(minutes).unwrap_or(u32::MAX).max(1)
}

/// What happened, in the words of our list.
pub(crate) fn failure_cause(code: FailureCode) -> Cause {
    match code {
        FailureCode::WrongBrowser => Cause::Browser,
        FailureCode::KeyRefused => Cause::Key,
        FailureCode::ProviderRefused => Cause::Refused,
        FailureCode::ProviderUnreachable => Cause::Timeout,
        FailureCode::ProviderMisconfigured => Cause::Operator,
        FailureCode::WrongCallback
        | FailureCode::ProviderUnreadable
        | FailureCode::Interrupted
        | FailureCode::NotConfirmed => Cause::Generic,
    }
}

/// Status, words and code for a login that did not work.
pub(crate) fn login_failure(reason: LoginRefused) -> (StatusCode, Cause, &'static str) {
    match reason {
        LoginRefused::NotStartedHere => (
            StatusCode::BAD_REQUEST,
            Cause::Browser,
            "login-not-started-here",
        ),
        LoginRefused::WrongAnswer => (StatusCode::BAD_REQUEST, Cause::SignIn, "login-wrong-answer"),
        LoginRefused::Refused => (StatusCode::FORBIDDEN, Cause::SignIn, "login-refused"),
        LoginRefused::IdToken => (StatusCode::FORBIDDEN, Cause::SignIn, "login-id-token"),
        LoginRefused::Unreachable => (
            StatusCode::SERVICE_UNAVAILABLE,
            Cause::SignIn,
            "login-unreachable",
        ),
        LoginRefused::Misconfigured => (
            StatusCode::INTERNAL_SERVER_ERROR,
            Cause::Operator,
            "login-misconfigured",
        ),
    }
}
