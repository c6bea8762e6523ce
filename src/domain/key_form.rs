//! What a person types in to connect a provider that gives out keys: the fields of its form, and what they come to.

use secret::{AccessToken, KeyInput, Reveal as _};
use url::Url;

use crate::text;

/// A form that asks for a key.
#[derive(Debug)]
pub struct KeyForm {
    /// The fields, in the order in which they are asked for: the secret one alone, or a login name before it.
    pub login: Option<KeyField>,
    /// The secret.
    pub key: KeyField,
    /// Where the person finds the key.
    pub found_at: Option<Url>,
}

/// One field.
#[derive(Debug, Clone)]
pub struct KeyField {
    /// What it is called, as the provider calls it ("API key").
    pub label: Label,
    /// How to find it or what it looks like.
    pub hint: Option<Label>,
    /// What every right value begins with (`sk_`); empty where there is no such thing.
    pub begins: Box<str>,
    /// Fewest and most characters.
    pub length: (u16, u16),
}

/// Words of the operator or of a preset, in the languages of the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// English, or the one language there is.
    pub plain: Box<str>,
    /// Simplified Chinese.
    pub chinese: Option<Box<str>>,
}

/// Longest key or login name, in characters.
pub const MAX_KEY: u16 = 4096;

/// Which field of a key form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPart {
    /// The login name beside the key.
    Login,
    /// The key.
    Key,
}

/// Why what was typed in cannot be what was asked for. Nothing of it is repeated to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Nothing was typed in.
    #[error("a field was left empty")]
    Empty(KeyPart),
    /// It holds white space, control characters or anything else that no header can carry.
    #[error("a field holds characters that no key has")]
    Characters(KeyPart),
    /// It does not begin as every right one does.
    #[error("a field does not begin as it should")]
    Beginning(KeyPart),
    /// It is too short or too long.
    #[error("a field is too short or too long")]
    Length(KeyPart),
    /// It is a secret of this vault, or an address: somebody was talked into pasting something else.
    #[error("a field holds something that is not a key of this provider")]
    Foreign(KeyPart),
}

impl KeyFault {
    /// The field it is about.
    pub const fn part(self) -> KeyPart {
        match self {
            Self::Empty(part)
            | Self::Characters(part)
            | Self::Beginning(part)
            | Self::Length(part)
            | Self::Foreign(part) => part,
        }
    }
}

/// What a person typed in.
pub struct KeyInputs {
    /// The login name, where one is asked for.
    pub login: Option<KeyInput>,
    /// The key.
    pub key: KeyInput,
}

/// What was typed in, judged: it can stand in the provider's header.
#[derive(Debug)]
pub struct GivenKey {
    credential: AccessToken,
}

impl GivenKey {
    /// The credential as the header carries it after its prefix.
    pub fn credential(&self) -> &AccessToken {
        &self.credential
    }

    /// The same, for good.
    pub fn into_credential(self) -> AccessToken {
        self.credential
    }
}

impl KeyForm {
    /// Judges what was typed in. White space around a value was pasted with it and is not part of it. With a login name both
    /// become one credential (RFC 7617 section 2), so that neither is of use without the other's place.
    ///
    /// # Errors
    /// [`KeyFault`] of the first field that is wrong.
    pub fn judge(&self, inputs: &KeyInputs) -> Result<GivenKey, KeyFault> {
        let login = match (&self.login, &inputs.login) {
            (Some(field), Some(input)) => Some(field.value(KeyPart::Login, input)?),
            (Some(_), None) => return Err(KeyFault::Empty(KeyPart::Login)),
            (None, _) => None,
        };
        let key = self.key.value(KeyPart::Key, &inputs.key)?;
        let credential = match login {
            None => AccessToken::new(key.to_owned()),
            // RFC 7617 section 2: the login name ends at the first colon.
            Some(login) if login.contains(':') => {
                return Err(KeyFault::Characters(KeyPart::Login));
            }
            Some(login) => AccessToken::basic(login, key),
        };
        Ok(GivenKey { credential })
    }
}

impl KeyField {
    fn value<'a>(&self, part: KeyPart, input: &'a KeyInput) -> Result<&'a str, KeyFault> {
        let value = input.reveal().trim();
        if value.is_empty() {
            return Err(KeyFault::Empty(part));
        }
        if !value.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err(KeyFault::Characters(part));
        }
        if text::is_foreign_secret(value) {
            return Err(KeyFault::Foreign(part));
        }
        if !value.starts_with(&*self.begins) {
            return Err(KeyFault::Beginning(part));
        }
        let (fewest, most) = self.length;
        if !(usize::from(fewest)..=usize::from(most)).contains(&value.len()) {
            return Err(KeyFault::Length(part));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(begins: &str) -> KeyField {
        KeyField {
            label: Label {
                plain: "API key".into(),
                chinese: None,
            },
            hint: None,
            begins: begins.into(),
            length: (4, 12),
        }
    }

    fn form(login: bool) -> KeyForm {
        KeyForm {
            login: login.then(|| KeyField {
                length: (1, 12),
                ..field("")
            }),
            key: field("sk_"),
            found_at: None,
        }
    }

    fn judged(login: Option<&str>, key: &str) -> Result<String, KeyFault> {
        let inputs = KeyInputs {
            login: login.map(|login| KeyInput::new(login.into())),
            key: KeyInput::new(key.into()),
        };
        let given = form(login.is_some()).judge(&inputs)?;
        Ok(given.credential().reveal().to_owned())
    }

    #[test]
    fn what_was_pasted_with_white_space_around_it_is_taken_without_it() {
        assert_eq!(judged(None, "sk_1"), Ok("sk_1".into()));
        assert_eq!(judged(None, " \r\n\tsk_1\n "), Ok("sk_1".into()));
        assert_eq!(judged(None, "sk_456789012"), Ok("sk_456789012".into()));
    }

    #[test]
    fn what_cannot_be_the_key_is_told_apart() {
        use KeyPart::{Key, Login};
        for (key, fault) in [
            ("", KeyFault::Empty(Key)),
            (" \n", KeyFault::Empty(Key)),
            ("sk_1 2", KeyFault::Characters(Key)),
            ("sk_\u{e9}1", KeyFault::Characters(Key)),
            ("sk_\u{200b}1", KeyFault::Characters(Key)),
            ("sk_1\r\nX: y", KeyFault::Characters(Key)),
            ("pk_1", KeyFault::Beginning(Key)),
            ("sk_", KeyFault::Length(Key)),
            ("sk_4567890123", KeyFault::Length(Key)),
            ("https://x.test/?code=1&state=2", KeyFault::Foreign(Key)),
            ("srk_abc_def", KeyFault::Foreign(Key)),
            ("eyJhbGciOi.eyJzdWIi.x", KeyFault::Foreign(Key)),
        ] {
            assert_eq!(judged(None, key), Err(fault), "{key:?}");
        }
        for login in ["", "a:b", "a b"] {
            let part = judged(Some(login), "sk_1").unwrap_err().part();
            assert_eq!(part, Login, "{login:?}");
        }
    }

    #[test]
    fn a_login_name_and_a_key_become_one_credential() {
        // "a:sk_1" in Base64
        assert_eq!(judged(Some("a"), "sk_1"), Ok("YTpza18x".into()));
    }
}
