//! What can go wrong with a provider, as decisions a caller can take. Nothing here holds text of an answer except short,
//! filtered OAuth error codes.

use std::fmt;
use std::time::Duration;

use domain::{AnswerRefused, UnusedTokens};

/// An OAuth error code (RFC 6749 section 5.2) reduced to safe text: at most 64 letters, digits, `_`, `-` and `.`.
#[derive(Clone, PartialEq, Eq)]
pub struct OauthErrorCode(Box<str>);

impl OauthErrorCode {
    /// Longest code that is kept.
    pub const MAX: usize = 64;

    /// Keeps `text` if it is a plain code; anything else becomes `unnamed`.
    pub fn new(text: &str) -> Self {
        let plain = (1..=Self::MAX).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        Self(if plain { text } else { "unnamed" }.into())
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OauthErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for OauthErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why connecting at a provider did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// No connection, a forbidden address, a broken connection, or an error of the provider's own (5xx).
    #[error("the provider cannot be reached; try again later")]
    Unreachable,
    /// No answer in time.
    #[error("the provider did not answer in time; try again later")]
    Timeout,
    /// The provider does not let the key in (401 or 403 where its account is asked for).
    #[error("the provider does not let the key in")]
    KeyRefused,
    /// The provider said no, with this OAuth error.
    #[error("the provider refused: {0}")]
    Refused(OauthErrorCode),
    /// The answer is too large or not what the protocol says.
    #[error("the provider's answer cannot be read")]
    Unreadable,
    /// Metadata contradicts the configuration, an endpoint is missing, or our registration is wrong.
    #[error("the provider is configured wrongly; compare its file with the provider's metadata")]
    Misconfigured,
    /// The tokens cannot be used (C11).
    #[error(transparent)]
    AnswerRefused(#[from] AnswerRefused),
}

/// Why a refresh did not work. Only [`Self::InvalidGrant`] ends a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefreshFailure {
    /// A structured `invalid_grant` in a 4xx: the refresh token is dead.
    #[error("the provider no longer accepts the refresh token")]
    InvalidGrant,
    /// Any other structured OAuth error (`invalid_client`, `unauthorized_client`, `invalid_scope`, ..): the operator's to repair.
    #[error("the provider refused our registration or request: {0}")]
    ClientConfig(OauthErrorCode),
    /// Not reached, overloaded or broken at present; the refresh token was not used up as far as we can know.
    #[error("the provider is not available at present")]
    Unavailable {
        /// `Retry-After`, at most one hour.
        retry_after: Option<Duration>,
    },
    /// An answer came but cannot be read; it may have replaced the refresh token.
    #[error("the provider's answer cannot be read")]
    Unreadable,
    /// The request was sent and no answer came; it may have replaced the refresh token.
    #[error("the request was sent but no answer came")]
    OutcomeUnknown,
    /// Metadata contradicts the configuration, or an endpoint is missing.
    #[error("the provider is configured wrongly; compare its file with the provider's metadata")]
    Misconfigured,
    /// The new tokens cannot be used (C11).
    #[error(transparent)]
    AnswerRefused(#[from] AnswerRefused),
}

/// A failure, and the tokens that came all the same. Nobody will use them, so whoever asked for them tells the provider.
pub struct Unkept<F> {
    /// What went wrong.
    pub failure: F,
    /// What came.
    pub tokens: Option<UnusedTokens>,
}

impl<F: fmt::Debug> fmt::Debug for Unkept<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unkept({:?})", self.failure)
    }
}

impl<F> From<F> for Unkept<F> {
    fn from(failure: F) -> Self {
        Self {
            failure,
            tokens: None,
        }
    }
}

impl<F: From<AnswerRefused>> Unkept<F> {
    /// What C11 refused.
    pub(crate) fn refused((why, tokens): (AnswerRefused, UnusedTokens)) -> Self {
        Self {
            failure: why.into(),
            tokens: Some(tokens),
        }
    }
}

/// What became of a revocation (RFC 7009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// The provider says that the token is no longer valid.
    Revoked,
    /// The provider has no revocation endpoint.
    NoEndpoint,
    /// It may still be valid.
    Failed(RevokeFailure),
}

/// Why a revocation failed; the text is stable and safe for the audit log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevokeFailure {
    /// Not reached or not available; worth another try.
    #[error("unavailable")]
    Unavailable,
    /// The provider said no, with this OAuth error.
    #[error("{0}")]
    Refused(OauthErrorCode),
    /// An answer that is no answer.
    #[error("unreadable")]
    Unreadable,
    /// Metadata contradicts the configuration.
    #[error("misconfigured")]
    Misconfigured,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_code_is_short_plain_text_or_nothing() {
        assert_eq!(
            OauthErrorCode::new("invalid_grant").as_str(),
            "invalid_grant"
        );
        for odd in ["", "a b", "x\r\nSet-Cookie: a", "<b>", "é", &"x".repeat(65)] {
            assert_eq!(OauthErrorCode::new(odd).as_str(), "unnamed", "{odd}");
        }
    }
}
