//! What a provider answered: the tokens themselves and the facts about them, judged once (C11).

use std::time::Duration;

use secret::{AccessToken, RefreshToken};

use crate::{ScopeSet, Timestamp};

/// A member of an answer that may be left out. What is there and cannot be used is not the same as left out: that would read
/// a limit which we do not understand as no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said<T> {
    /// It is not there.
    Nothing,
    /// It is there, and no use.
    Unusable,
    /// This.
    This(T),
}

/// A token answer as it was read, before it is judged.
pub struct TokenAnswer {
    /// The access token.
    pub access: AccessToken,
    /// The refresh token, when there is one.
    pub refresh: Option<RefreshToken>,
    /// `token_type`, as it stands there.
    pub token_type: Option<Box<str>>,
    /// `expires_in`.
    pub expires_in: Said<Duration>,
    /// `scope`.
    pub scopes: Said<ScopeSet>,
    /// The account at the provider, when it says which.
    pub account: Option<ProviderAccount>,
}

impl TokenAnswer {
    /// Why these tokens cannot be sent anywhere.
    fn unfit(&self) -> Option<AnswerRefused> {
        let kind = self.token_type.as_deref();
        if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Some(AnswerRefused::TokenType);
        }
        let left = MAX_TOKEN.saturating_sub(self.access.length());
        let refresh = self.refresh.as_ref();
        let fit = self.access.fits_header(MAX_TOKEN)
            && refresh.is_none_or(|token| token.fits_header(left));
        (!fit).then_some(AnswerRefused::Token)
    }

    fn unused(self) -> UnusedTokens {
        UnusedTokens {
            access: self.access,
            refresh: self.refresh,
        }
    }
}

/// The account at a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderAccount {
    /// Stable id; compared, never shown.
    pub id: Box<str>,
    /// What people recognise; at most 128 characters.
    pub name: Option<Box<str>>,
}

impl std::fmt::Debug for ProviderAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProviderAccount(..)")
    }
}

/// Proof of C11: tokens that came from the pinned endpoint for our request and are of a kind we can use.
#[non_exhaustive] // made by `check` alone
pub struct ExchangedTokens {
    /// The access token.
    pub access: AccessToken,
    /// The refresh token, when there is one.
    pub refresh: Option<RefreshToken>,
    /// When the access token ends, if it does.
    pub expires: Option<Timestamp>,
    /// What was allowed: the answer's scopes, or those requested when it names none (RFC 6749 section 5.1).
    pub scopes: ScopeSet,
    /// The account, when known.
    pub account: Option<ProviderAccount>,
}

/// Tokens that came and that nobody will ever use. They are valid until the provider is told, so they are handed on for that.
pub struct UnusedTokens {
    /// The access token.
    pub access: AccessToken,
    /// The refresh token, when there is one.
    pub refresh: Option<RefreshToken>,
}

impl UnusedTokens {
    /// Whether there is anything to end: an answer may hold an access token without a single character.
    pub fn are_there(&self) -> bool {
        self.refresh.is_some() || self.access.length() > 0
    }
}

impl From<ExchangedTokens> for UnusedTokens {
    fn from(tokens: ExchangedTokens) -> Self {
        Self {
            access: tokens.access,
            refresh: tokens.refresh,
        }
    }
}

/// The answer cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefused {
    /// `token_type` is neither absent nor Bearer.
    #[error("the provider answered a token type that is not Bearer")]
    TokenType,
    /// A token is empty or not printable ASCII, or the tokens are too long together.
    #[error("the provider answered a token that cannot be sent in a header")]
    Token,
    /// `scope` is there and names nothing that can be a scope.
    #[error("the provider answered a scope that cannot be read")]
    Scope,
    /// The token has ended already, or does not say in a readable way when it ends, and it cannot be refreshed.
    #[error("the provider answered a token without a usable life and without a refresh token")]
    Life,
}

impl AnswerRefused {
    /// The word for the audit log.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TokenType => "token-type",
            Self::Token => "unusable-token",
            Self::Scope => "unreadable-scope",
            Self::Life => "unusable-life",
        }
    }
}

/// Most bytes of tokens that are kept of one answer, access and refresh token together: while nobody has confirmed them,
/// both are in one row.
pub const MAX_TOKEN: usize = 64 * 1024;

impl ExchangedTokens {
    /// Life of a token that says when it ends in a way we cannot read: short, so that it is refreshed in good time.
    pub const UNSURE_LIFE: Duration = Duration::from_secs(15 * 60);

    /// C11 for the first tokens of a connection: as [`Self::check`], and without a refresh token their life must be known,
    /// since nothing can replace them. Their scopes must be readable: what is not known to be granted is not everything that
    /// was asked for.
    ///
    /// # Errors
    /// [`AnswerRefused`], and the tokens for the provider to end.
    pub fn check_first(
        answer: TokenAnswer,
        asked: &ScopeSet,
        default_life: Option<Duration>,
        now: Timestamp,
    ) -> Result<Self, (AnswerRefused, UnusedTokens)> {
        let known = match answer.expires_in {
            Said::Nothing => true,
            Said::Unusable => default_life.is_some(),
            Said::This(life) => !life.is_zero(),
        };
        if !crate::switch::off(crate::Check::C11) {
            if answer.refresh.is_none() && !known {
                return Err((AnswerRefused::Life, answer.unused()));
            }
            if answer.scopes == Said::Unusable {
                return Err((AnswerRefused::Scope, answer.unused()));
            }
        }
        Self::check(answer, asked, default_life, now)
    }

    /// C11 for tokens that follow others. A scope that cannot be read is as good as none: a refresh gives what was granted
    /// before or less (RFC 6749 section 6), and the answer has replaced the refresh token already.
    ///
    /// # Errors
    /// [`AnswerRefused`], and the tokens for the provider to end.
    pub fn check(
        answer: TokenAnswer,
        asked: &ScopeSet,
        default_life: Option<Duration>,
        now: Timestamp,
    ) -> Result<Self, (AnswerRefused, UnusedTokens)> {
        if !crate::switch::off(crate::Check::C11)
            && let Some(why) = answer.unfit()
        {
            return Err((why, answer.unused()));
        }
        let life = match answer.expires_in {
            Said::Nothing => default_life,
            // Refreshed soon where that can be done; otherwise the operator's word about this provider counts.
            Said::Unusable => Some(match (default_life, &answer.refresh) {
                (Some(life), Some(_)) => life.min(Self::UNSURE_LIFE),
                (Some(life), None) => life,
                (None, _) => Self::UNSURE_LIFE,
            }),
            Said::This(life) => Some(life),
        };
        Ok(Self {
            access: answer.access,
            refresh: answer.refresh,
            expires: life.map(|life| now.plus(life)),
            scopes: match answer.scopes {
                Said::This(scopes) => scopes,
                Said::Nothing | Said::Unusable => asked.clone(),
            },
            account: answer.account,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(access: usize, refresh: usize) -> Result<(), AnswerRefused> {
        let answer = TokenAnswer {
            access: AccessToken::new("a".repeat(access)),
            refresh: Some(RefreshToken::new("r".repeat(refresh))),
            token_type: None,
            expires_in: Said::Nothing,
            scopes: Said::Nothing,
            account: None,
        };
        let now = Timestamp::from_seconds(1);
        ExchangedTokens::check(answer, &ScopeSet::default(), None, now)
            .map(|_| ())
            .map_err(|(why, _)| why)
    }

    #[test]
    fn both_tokens_together_fit_into_one_row() {
        assert_eq!(judged(MAX_TOKEN / 2, MAX_TOKEN / 2), Ok(()));
        assert_eq!(judged(MAX_TOKEN - 1, 1), Ok(()));
        for (access, refresh) in [
            (MAX_TOKEN / 2, MAX_TOKEN / 2 + 1),
            (MAX_TOKEN, 1),
            (1, MAX_TOKEN),
            (MAX_TOKEN + 1, 0),
            (0, 1),
            (1, 0),
        ] {
            assert_eq!(judged(access, refresh), Err(AnswerRefused::Token));
        }
    }

    fn lives(expires_in: Said<Duration>, default: Option<u64>, refresh: bool) -> Option<i64> {
        let answer = TokenAnswer {
            access: AccessToken::new("a".into()),
            refresh: refresh.then(|| RefreshToken::new("r".into())),
            token_type: None,
            expires_in,
            scopes: Said::Nothing,
            account: None,
        };
        let now = Timestamp::from_seconds(0);
        let default = default.map(Duration::from_secs);
        let tokens =
            ExchangedTokens::check_first(answer, &ScopeSet::default(), default, now).ok()?;
        Some(tokens.expires.map_or(-1, Timestamp::as_seconds))
    }

    #[test]
    fn a_life_that_cannot_be_read_is_short_and_never_endless() {
        use Said::{Nothing, This, Unusable};
        let unsure = ExchangedTokens::UNSURE_LIFE.as_secs().cast_signed();
        for (said, default, refresh, expected) in [
            (Nothing, None, true, Some(-1)),
            (Nothing, None, false, Some(-1)),
            (Nothing, Some(7200), false, Some(7200)),
            (Unusable, None, true, Some(unsure)),
            (Unusable, Some(7200), true, Some(unsure)),
            (Unusable, Some(60), true, Some(60)),
            (Unusable, Some(7200), false, Some(7200)),
            (Unusable, None, false, None),
            (This(Duration::ZERO), Some(7200), true, Some(0)),
            (This(Duration::ZERO), Some(7200), false, None),
            (This(Duration::from_secs(5)), None, false, Some(5)),
        ] {
            let lived = lives(said.clone(), default, refresh);
            assert_eq!(lived, expected, "{said:?} {default:?} {refresh}");
        }
    }

    #[test]
    fn a_scope_that_cannot_be_read_is_not_what_was_asked_for_but_is_what_a_refresh_had() {
        let asked = ScopeSet::new(["read", "write"]).unwrap();
        let none = ScopeSet::default();
        for (said, first, later) in [
            (Said::Nothing, Ok(&asked), &asked),
            (Said::Unusable, Err(AnswerRefused::Scope), &asked),
            (Said::This(none.clone()), Ok(&none), &none),
        ] {
            let answer = || TokenAnswer {
                access: AccessToken::new("a".into()),
                refresh: Some(RefreshToken::new("r".into())),
                token_type: None,
                expires_in: Said::Nothing,
                scopes: said.clone(),
                account: None,
            };
            let now = Timestamp::from_seconds(0);
            let tokens = ExchangedTokens::check_first(answer(), &asked, None, now);
            let scopes = tokens.as_ref().map(|tokens| &tokens.scopes);
            assert_eq!(scopes.map_err(|(why, _)| *why), first);
            if let Err((_, tokens)) = &tokens {
                assert!(tokens.refresh.is_some(), "they are there to be ended");
            }
            let tokens = ExchangedTokens::check(answer(), &asked, None, now);
            assert_eq!(
                tokens.ok().map(|tokens| tokens.scopes).as_ref(),
                Some(later)
            );
        }
    }
}
