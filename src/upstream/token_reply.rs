//! Answers of token endpoints, read leniently: providers write numbers as text, leave `token_type` out, and list scopes in
//! three ways. What they mean is judged later, by `domain` (C11).

use std::fmt;
use std::time::Duration;

use domain::{Said, ScopeSet};
use oauth2::basic::BasicTokenType;
use oauth2::{AccessToken, ErrorResponse, RefreshToken, Scope, TokenResponse};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Longest life that is believed; more is read as this.
const LONGEST_LIFE: f64 = 10.0 * 365.0 * 86_400.0;

/// A token answer (RFC 6749 section 5.1) with every tolerance.
#[derive(Deserialize)]
pub(crate) struct TokenReply {
    access_token: AccessToken,
    #[serde(default, deserialize_with = "optional_text")]
    refresh_token: Option<String>,
    #[serde(default)]
    token_type: Value,
    #[serde(default)]
    expires_in: Value,
    #[serde(default)]
    scope: Value,
    /// Of an issuer's answer (OpenID Connect Core section 3.1.3.3).
    #[serde(default, deserialize_with = "optional_text")]
    id_token: Option<String>,
    /// What the library asks for and nobody uses.
    #[serde(skip, default = "bearer")]
    library_type: BasicTokenType,
    #[serde(skip)]
    library_refresh: Option<RefreshToken>,
}

impl TokenReply {
    /// The access token, moved into a type that is wiped.
    pub(crate) fn access(&self) -> secret::AccessToken {
        secret::AccessToken::new(self.access_token.secret().clone())
    }

    /// The refresh token. Missing, `null`, `false` and empty are all "none".
    pub(crate) fn take_refresh(&mut self) -> Option<secret::RefreshToken> {
        self.refresh_token.take().map(secret::RefreshToken::new)
    }

    /// The ID token.
    pub(crate) fn take_id_token(&mut self) -> Option<secret::IdToken> {
        self.id_token.take().map(secret::IdToken::new)
    }

    /// `token_type`, `None` when there is none. A value that is no text is kept as something that is not Bearer.
    pub(crate) fn kind(&self) -> Option<Box<str>> {
        match &self.token_type {
            Value::Null | Value::Bool(false) => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.as_str().into()),
            _ => Some("unreadable".into()),
        }
    }

    /// `expires_in`: a number or a number as text. Zero is a token that has ended; less than zero is no life.
    pub(crate) fn life(&self) -> Said<Duration> {
        let seconds = match &self.expires_in {
            Value::Null => return Said::Nothing,
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match seconds {
            Some(seconds) if seconds >= 0.0 => {
                Said::This(Duration::from_secs_f64(seconds.min(LONGEST_LIFE).floor()))
            }
            _ => Said::Unusable,
        }
    }

    /// `scope`: one text with spaces, commas or the provider's joiner, or a list of texts. Empty counts as absent. Words that
    /// are no scopes are left out, which makes the grant smaller as long as one is left; without any, nothing is known of
    /// what was granted.
    pub(crate) fn granted(&self, joiner: &str) -> Said<ScopeSet> {
        let mut words: Vec<&str> = match &self.scope {
            Value::Null => return Said::Nothing,
            Value::String(text) if text.is_empty() => return Said::Nothing,
            Value::Array(list) if list.is_empty() => return Said::Nothing,
            Value::String(text) => {
                let joiner = joiner.chars().next().filter(|joiner| *joiner != ' ');
                let joiner = joiner.unwrap_or(',');
                text.split([' ', joiner]).collect()
            }
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => return Said::Unusable,
        };
        words.retain(|word| ScopeSet::new([*word]).is_ok());
        words.truncate(ScopeSet::MAX);
        match ScopeSet::new(words) {
            Ok(scopes) if !scopes.is_empty() => Said::This(scopes),
            _ => Said::Unusable,
        }
    }
}

fn bearer() -> BasicTokenType {
    BasicTokenType::Bearer
}

fn optional_text<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(reader)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    })
}

impl TokenResponse for TokenReply {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    fn token_type(&self) -> &BasicTokenType {
        &self.library_type
    }

    fn expires_in(&self) -> Option<Duration> {
        match self.life() {
            Said::This(life) => Some(life),
            Said::Nothing | Said::Unusable => None,
        }
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        self.library_refresh.as_ref()
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        None
    }
}

impl fmt::Debug for TokenReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenReply(..)")
    }
}

/// The library wants its answers to be writable; ours are never written, and would say nothing.
impl Serialize for TokenReply {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        writer.serialize_unit()
    }
}

/// An error answer (RFC 6749 section 5.2): its code and nothing else of it.
#[derive(Deserialize)]
pub(crate) struct ErrorReply {
    error: String,
}

impl ErrorReply {
    /// The code, unfiltered.
    pub(crate) fn code(&self) -> &str {
        &self.error
    }
}

impl ErrorResponse for ErrorReply {}

impl fmt::Debug for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorReply(..)")
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error answer")
    }
}

impl Serialize for ErrorReply {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        writer.serialize_unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(fields: &Value) -> TokenReply {
        let mut all = json!({ "access_token": "at" });
        for (name, value) in fields.as_object().unwrap() {
            all[name] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_life_is_read_however_it_is_written() {
        let this = |seconds| Said::This(Duration::from_secs(seconds));
        for (written, expected) in [
            (json!(3600), this(3600)),
            (json!("3600"), this(3600)),
            (json!(3600.9), this(3600)),
            (json!(1e15), this(315_360_000)),
            (json!("inf"), this(315_360_000)),
            (json!(0), this(0)),
            (json!("0"), this(0)),
            (json!(0.5), this(0)),
            (json!(null), Said::Nothing),
            (json!(-5), Said::Unusable),
            (json!(""), Said::Unusable),
            (json!("soon"), Said::Unusable),
            (json!("NaN"), Said::Unusable),
            (json!([1]), Said::Unusable),
            (json!(true), Said::Unusable),
        ] {
            let life = reply(&json!({ "expires_in": written })).life();
            assert_eq!(life, expected, "{written}");
        }
        assert_eq!(reply(&json!({})).life(), Said::Nothing);
    }

    #[test]
    fn a_missing_type_is_missing_and_an_odd_one_is_kept() {
        for (written, kind) in [
            (json!({}), None),
            (json!({ "token_type": null }), None),
            (json!({ "token_type": "" }), None),
            (json!({ "token_type": "BEARER" }), Some("BEARER")),
            (json!({ "token_type": "mac" }), Some("mac")),
            (json!({ "token_type": 7 }), Some("unreadable")),
        ] {
            assert_eq!(reply(&written).kind().as_deref(), kind, "{written}");
        }
    }

    #[test]
    fn scopes_come_in_three_forms_and_nothing_means_nothing_said() {
        let both = Said::This(ScopeSet::new(["a", "b"]).unwrap());
        for (written, joiner) in [
            (json!("b a"), " "),
            (json!("a,b"), " "),
            (json!("a,b"), ","),
            (json!("a;b"), ";"),
            (json!(["a", "b", "ä", 1]), " "),
        ] {
            let granted = reply(&json!({ "scope": written })).granted(joiner);
            assert_eq!(granted, both, "{written}");
        }
        for written in [json!(null), json!(""), json!([])] {
            let granted = reply(&json!({ "scope": written })).granted(" ");
            assert_eq!(granted, Said::Nothing, "{written}");
        }
        for written in [
            json!(1),
            json!(false),
            json!({}),
            json!(" "),
            json!(","),
            json!("ä"),
            json!("\"all\""),
            json!([1, null, ""]),
        ] {
            let granted = reply(&json!({ "scope": written })).granted(" ");
            assert_eq!(granted, Said::Unusable, "{written}");
        }
    }

    #[test]
    fn no_refresh_token_has_four_spellings() {
        for written in [
            json!({}),
            json!({ "refresh_token": null }),
            json!({ "refresh_token": "" }),
            json!({ "refresh_token": false }),
        ] {
            assert!(reply(&written).take_refresh().is_none(), "{written}");
        }
        assert!(
            reply(&json!({ "refresh_token": "rt" }))
                .take_refresh()
                .is_some()
        );
    }
}
