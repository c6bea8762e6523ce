//! What a provider answered: the tokens themselves and the facts about them, judged once (C11).

use std::time::Duration;

use secret::{AccessToken, RefreshToken};

use crate::{ScopeSet, Timestamp};

/// A token answer as it was read, before it is judged.
pub struct TokenAnswer {
    /// The access token.
    pub access: AccessToken,
    /// The refresh token, when there is one.
    pub refresh: Option<RefreshToken>,
    /// `token_type`, as it stands there.
    pub token_type: Option<Box<str>>,
    /// `expires_in`.
    pub expires_in: Option<Duration>,
    /// `scope`, when the answer names it.
    pub scopes: Option<ScopeSet>,
    /// The account at the provider, when it says which.
    pub account: Option<ProviderAccount>,
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

/// The answer cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefused {
    /// `token_type` is neither absent nor Bearer.
    #[error("the provider answered a token type that is not Bearer")]
    TokenType,
    /// A token is empty or not printable ASCII, or the tokens are too long together.
    #[error("the provider answered a token that cannot be sent in a header")]
    Token,
}

/// Most bytes of tokens that are kept of one answer, access and refresh token together: while nobody has confirmed them,
/// both are in one row.
pub const MAX_TOKEN: usize = 64 * 1024;

impl ExchangedTokens {
    /// C11.
    ///
    /// # Errors
    /// [`AnswerRefused`].
    pub fn check(
        answer: TokenAnswer,
        asked: &ScopeSet,
        default_life: Option<Duration>,
        now: Timestamp,
    ) -> Result<Self, AnswerRefused> {
        if !crate::switch::off(crate::Check::C11) {
            if answer
                .token_type
                .as_deref()
                .is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer"))
            {
                return Err(AnswerRefused::TokenType);
            }
            let left = MAX_TOKEN.saturating_sub(answer.access.length());
            if !answer.access.fits_header(MAX_TOKEN)
                || answer
                    .refresh
                    .as_ref()
                    .is_some_and(|token| !token.fits_header(left))
            {
                return Err(AnswerRefused::Token);
            }
        }
        Ok(Self {
            access: answer.access,
            refresh: answer.refresh,
            expires: answer
                .expires_in
                .or(default_life)
                .map(|life| now.plus(life)),
            scopes: answer.scopes.unwrap_or_else(|| asked.clone()),
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
            expires_in: None,
            scopes: None,
            account: None,
        };
        let now = Timestamp::from_seconds(1);
        ExchangedTokens::check(answer, &ScopeSet::default(), None, now).map(|_| ())
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
}
