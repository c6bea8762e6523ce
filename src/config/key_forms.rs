//! `[provider.key]` and `[provider.login]`: what a person types in at a provider that gives out keys.

use domain::{KeyField, KeyForm, Label, MAX_KEY};
use pages::Language;

use super::keys::FIELD;
use super::section::Section;
use super::words::{web_url, words, words_in};

/// How a person connects a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Oauth,
    ApiKey,
}

/// The kind that a provider says it is of.
pub(super) fn kind(section: &Section<'_>) -> Option<Kind> {
    section.choice("kind", &[("oauth", Kind::Oauth), ("api_key", Kind::ApiKey)])
}

/// Keys that only mean something where OAuth is done.
const OAUTH: [&str; 17] = [
    "client_id",
    "client_auth",
    "client_secret",
    "discover",
    "endpoint_hosts",
    "authorization_url",
    "token_url",
    "revocation_url",
    "callback_issuer",
    "callback_issuer_required",
    "pkce",
    "scope_joiner",
    "scope",
    "extra_scopes",
    "authorize_extra",
    "token_extra",
    "default_life_s",
];

/// Refuses what has no meaning for a provider of this kind.
pub(super) fn only_of(section: &Section<'_>, kind: Kind) {
    let (idle, why): (&[&str], _) = match kind {
        Kind::Oauth => (
            &["key", "login"],
            "is of no use unless `kind = \"api_key\"`",
        ),
        Kind::ApiKey => (
            &OAUTH,
            "is of no use with `kind = \"api_key\"`: there is no OAuth there",
        ),
    };
    for key in idle.iter().filter(|key| section.written(key)) {
        section.fault_with(key, why, "Remove it, or correct `kind`.");
    }
}

/// The form.
pub(super) fn key_form(section: &Section<'_>) -> Option<KeyForm> {
    if !section.written("key") {
        section.fault("key", "is missing");
        return None;
    }
    let key = section.table("key", FIELD);
    let found_at = key.text("found_at").map(|_| web_url(&key, "found_at"));
    let login = section.written("login").then(|| {
        let login = section.table("login", FIELD);
        if login.written("found_at") {
            login.fault_with(
                "found_at",
                "belongs to the key and not to the name beside it",
                "Write it under `[provider.key]`.",
            );
        }
        field(&login)
    });
    Some(KeyForm {
        login: match login {
            Some(login) => Some(login?),
            None => None,
        },
        key: field(&key)?,
        found_at: match found_at {
            Some(url) => Some(url?),
            None => None,
        },
    })
}

fn field(section: &Section<'_>) -> Option<KeyField> {
    section.required("label");
    let text = label(section, ("label", "label_in"), 40);
    let hint = section
        .written("hint")
        .then(|| label(section, ("hint", "hint_in"), 160));
    if section.depth("hint_in").is_some() && !section.written("hint") {
        section.fault("hint", "is missing beside `hint_in`");
    }
    let begins = section.text("begins").unwrap_or_default();
    if begins.len() > 32 || !begins.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
        section.fault(
            "begins",
            "is longer than 32 characters or not visible ASCII",
        );
    }
    let longest = u32::from(MAX_KEY);
    let fewest = section.integer("shortest", 1..=longest)?;
    let most = section.integer("longest", 1..=longest)?;
    if fewest > most {
        section.fault("shortest", "is more than `longest`");
    }
    Some(KeyField {
        label: text?,
        hint: match hint {
            Some(hint) => Some(hint?),
            None => None,
        },
        begins: begins.into(),
        length: (u16::try_from(fewest).ok()?, u16::try_from(most).ok()?),
    })
}

fn label(section: &Section<'_>, (plain, others): (&str, &str), most: usize) -> Option<Label> {
    let first = words(section, plain, section.text(plain)?, most);
    let mut other = words_in(section, others, most)?.into_iter();
    let chinese = other.find(|(tag, _)| &**tag == Language::Chinese.tag());
    Some(Label {
        plain: first?,
        chinese: chinese.map(|(_, text)| text),
    })
}
