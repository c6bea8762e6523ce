//! The page that asks for a key, and why its form came back.

use actors::doors::{AskView, Tokens};
use domain::{AccountSource, KeyFault, KeyForm, KeyPart};
use pages::{KeyField, KeyView, KeyWrong, Label, Quote};

use super::{Paths, address, minutes, person, provider, server};

/// Why a form came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Without its tick.
    Tick,
    /// With something that is no key.
    Key(KeyFault),
}

/// The page.
pub(super) fn key(
    at: &Paths,
    (ask, form): (&AskView, &KeyForm),
    tokens: &Tokens,
    wrong: Option<Wrong>,
) -> KeyView {
    let fault = match wrong {
        Some(Wrong::Key(fault)) => Some(fault),
        Some(Wrong::Tick) | None => None,
    };
    let field = |part, field: &domain::KeyField| KeyField {
        label: label(&field.label),
        hint: field.hint.as_ref().map(label),
        begins: field.begins.as_ref().into(),
        wrong: fault.filter(|fault| fault.part() == part).map(key_wrong),
    };
    KeyView {
        server: server(&ask.server),
        provider: provider(ask),
        person: person(&ask.person),
        login: form
            .login
            .as_ref()
            .map(|login| field(KeyPart::Login, login)),
        key: field(KeyPart::Key, &form.key),
        found_at: form
            .found_at
            .as_ref()
            .map(|url| address(url.as_str(), ask.provider.site.as_deref())),
        tried: matches!(ask.provider.account, AccountSource::Endpoint { .. }),
        reason: ask.reason.as_deref().map(|text| Quote {
            text: text.to_owned(),
            lang: None,
        }),
        yes: at.form("key", &tokens.yes),
        no: at.form("decline", &tokens.no),
        sign_out: at.sign_out(&tokens.sign_out),
        wrong: wrong == Some(Wrong::Tick),
        minutes_left: minutes(ask.left),
        reference: ask.reference.as_ref().into(),
    }
}

fn label(label: &domain::Label) -> Label {
    Label {
        plain: label.plain.as_ref().into(),
        chinese: label.chinese.as_deref().map(Into::into),
    }
}

fn key_wrong(fault: KeyFault) -> KeyWrong {
    match fault {
        KeyFault::Empty(_) => KeyWrong::Empty,
        KeyFault::Characters(_) => KeyWrong::Characters,
        KeyFault::Beginning(_) => KeyWrong::Beginning,
        KeyFault::Length(_) => KeyWrong::Length,
        KeyFault::Foreign(_) => KeyWrong::Foreign,
    }
}
