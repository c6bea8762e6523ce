//! The page that asks for a key.

use super::{Address, Form, Language, Person, Provider, Quote, Server, SignOut};

/// Words of the operator, in the languages there are.
#[derive(Debug, Clone)]
pub struct Label {
    /// English, or whatever the one language is.
    pub plain: String,
    /// Simplified Chinese.
    pub chinese: Option<String>,
}

impl Label {
    /// The words for a page in this language.
    pub(crate) fn on(&self, language: impl std::borrow::Borrow<Language>) -> &str {
        match (*language.borrow(), &self.chinese) {
            (Language::Chinese, Some(words)) => words,
            _ => &self.plain,
        }
    }

    /// The language of these words where it is another one than that of the page.
    pub(crate) fn tag(&self, language: impl std::borrow::Borrow<Language>) -> Option<&'static str> {
        let other = *language.borrow() == Language::Chinese && self.chinese.is_none();
        other.then(|| Language::English.tag())
    }
}

/// A field that a person types into.
#[derive(Debug, Clone)]
pub struct KeyField {
    /// What the provider calls it.
    pub label: Label,
    /// How to find it.
    pub hint: Option<Label>,
    /// What every right value begins with; empty where there is no such thing.
    pub begins: String,
    /// Why the value of before was not taken.
    pub wrong: Option<KeyWrong>,
}

impl KeyField {
    /// Whether there is anything to say about it beside its label.
    pub(crate) fn described(&self) -> bool {
        self.hint.is_some() || !self.begins.is_empty()
    }
}

/// Why what was typed in was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyWrong {
    /// Nothing was typed in.
    Empty,
    /// It holds what no key holds.
    Characters,
    /// It does not begin as it should.
    Beginning,
    /// It is too short or too long.
    Length,
    /// It is plainly something else.
    Foreign,
}

/// The question where a key is typed in, step 1 of 3. Fields `login`, `key`; tick field: `agree=yes`.
#[derive(Debug, Clone)]
pub struct KeyView {
    /// Who asks.
    pub server: Server,
    /// Where the key goes.
    pub provider: Provider,
    /// For whom.
    pub person: Person,
    /// The name beside the key, where there is one.
    pub login: Option<KeyField>,
    /// The key.
    pub key: KeyField,
    /// Where the key is found.
    pub found_at: Option<Address>,
    /// Whether the key is tried before it is kept.
    pub tried: bool,
    /// Why, in the server's words.
    pub reason: Option<Quote>,
    /// `/f/{flow id}/key`.
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

impl KeyView {
    /// Whether the form came back for whatever reason.
    pub(crate) fn came_back(&self) -> bool {
        let wrong = |field: &KeyField| field.wrong.is_some();
        self.wrong || wrong(&self.key) || self.login.as_ref().is_some_and(wrong)
    }
}
