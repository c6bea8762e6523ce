//! A person's own page: signing in to it, the page, and what is said when a connection was ended there.

use super::{Address, Chrome, Form, Person, Scope, Server};
use crate::href::Href;
use crate::words::Words;

/// A moment, seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The seconds.
    pub unix_s: i64,
}

/// Nobody is signed in: where one can be. Nothing about anybody.
#[derive(Debug, Clone)]
pub struct OwnSignInView {
    /// Each issuer with the post that starts its login, which carries no token.
    pub issuers: Vec<(Address, Form)>,
}

/// Everything that a person has connected, and what waits for them.
#[derive(Debug, Clone)]
pub struct OwnPageView {
    /// The person.
    pub person: Person,
    /// `/me/leave`.
    pub sign_out: Form,
    /// Requests that wait.
    pub waiting: Vec<Waiting>,
    /// Connections.
    pub connections: Vec<Connection>,
}

impl OwnPageView {
    /// How many requests wait.
    pub(crate) fn waits(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// How many connections there are.
    pub(crate) fn connected(&self) -> u32 {
        u32::try_from(self.connections.len()).unwrap_or(u32::MAX)
    }
}

/// A request that waits for the person.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Who asks.
    pub server: Server,
    /// For what.
    pub provider: String,
    /// Minutes until it ends, at least 1.
    pub minutes_left: u32,
    /// `/me/decline/{elicitation id}`.
    pub decline: Form,
}

impl Waiting {
    /// The words of this request.
    pub(crate) fn words<'a>(&'a self, chrome: &'a Chrome) -> Words<'a> {
        Words {
            server: &self.server.name,
            provider: &self.provider,
            ..Words::new(chrome)
        }
    }
}

/// A connection.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The provider.
    pub provider: String,
    /// The account, where the provider names one.
    pub account: Option<String>,
    /// The server that may use it.
    pub server: Server,
    /// Whether it can be used; otherwise the person has to connect again.
    pub works: bool,
    /// It holds a key that allows whatever it allows; then nothing is listed.
    pub key: bool,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it was used last.
    pub last_use: Option<Moment>,
    /// When it was made.
    pub since: Moment,
    /// `/me/end/{grant id}`.
    pub end: Form,
}

impl Connection {
    /// The words of this connection.
    pub(crate) fn words<'a>(&'a self, chrome: &'a Chrome) -> Words<'a> {
        Words {
            server: &self.server.name,
            provider: &self.provider,
            ..Words::new(chrome)
        }
    }
}

/// What became of a connection at its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtProvider {
    /// It confirmed the end.
    Confirmed,
    /// It did not, or cannot be asked.
    Unconfirmed,
    /// Another connection of the person rests on the same access.
    Shared,
    /// A key, which only the person can delete there.
    Key,
}

/// A connection was ended.
#[derive(Debug, Clone)]
pub struct EndedView {
    /// Name of the server that used it.
    pub server: String,
    /// Name of the provider.
    pub provider: String,
    /// What became of it there.
    pub at_provider: AtProvider,
    /// Back to the own page.
    pub back: Href,
}
