//! Errors of libraries become codes here, at the place where they come out, because some carry whole answers.

use http::StatusCode;
use oauth2::RequestTokenError;

use crate::failure::{
    OauthErrorCode, ProviderFailure, RefreshFailure, RevokeFailure, RevokeOutcome,
};
use crate::metadata::FetchFailure;
use crate::outbound::CallFailure;
use crate::token_call::{LibraryError, Seen};

/// What an error of a token request was, in our words.
enum Cause {
    /// Nothing came back.
    NoAnswer(CallFailure),
    /// The other side is broken or overloaded.
    NotAvailable(Option<std::time::Duration>),
    /// No success and no OAuth error: the page of a firewall, a redirect, nothing at all.
    Foreign,
    /// A structured OAuth error, and whether it came with a 4xx as it should.
    Structured { code: OauthErrorCode, in_4xx: bool },
    /// An answer that is no answer.
    Unreadable,
}

/// Codes that say "not now" though they come as a 400 (RFC 6749 section 4.1.2.1 has them for the browser leg).
const PASSING: [&str; 3] = ["temporarily_unavailable", "server_error", "slow_down"];

fn cause(error: LibraryError, seen: Option<&Seen>) -> Cause {
    let status = seen.map(|seen| seen.status);
    let retry_after = seen.and_then(|seen| seen.retry_after);
    match error {
        RequestTokenError::Request(failure) => Cause::NoAnswer(failure),
        _ if status.is_some_and(passing) => Cause::NotAvailable(retry_after),
        RequestTokenError::ServerResponse(reply) if PASSING.contains(&reply.code()) => {
            Cause::NotAvailable(retry_after)
        }
        RequestTokenError::ServerResponse(reply) => Cause::Structured {
            code: OauthErrorCode::new(reply.code()),
            in_4xx: status.is_some_and(|status| status.is_client_error()),
        },
        // A page of a firewall or load balancer says nothing about the grant; nothing of it is kept.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => match status {
            Some(status) if !status.is_success() => Cause::Foreign,
            _ => Cause::Unreadable,
        },
    }
}

/// Statuses that pass by themselves.
fn passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}

/// A failed code exchange.
pub(crate) fn exchange_failure(error: LibraryError, seen: Option<&Seen>) -> ProviderFailure {
    match cause(error, seen) {
        Cause::NoAnswer(failure) => FetchFailure::from(failure).into(),
        Cause::NotAvailable(_) => ProviderFailure::Unreachable,
        Cause::Structured { code, .. } => ProviderFailure::Refused(code),
        Cause::Foreign | Cause::Unreadable => ProviderFailure::Unreadable,
    }
}

/// A failed refresh.
pub(crate) fn refresh_failure(error: LibraryError, seen: Option<&Seen>) -> RefreshFailure {
    match cause(error, seen) {
        Cause::NoAnswer(failure) => match failure {
            CallFailure::Forbidden => RefreshFailure::Misconfigured,
            CallFailure::NotSent => RefreshFailure::Unavailable { retry_after: None },
            CallFailure::Timeout | CallFailure::Interrupted => RefreshFailure::OutcomeUnknown,
            CallFailure::TooLarge => RefreshFailure::Unreadable,
        },
        Cause::NotAvailable(retry_after) => RefreshFailure::Unavailable { retry_after },
        Cause::Foreign => RefreshFailure::Unavailable { retry_after: None },
        Cause::Structured { code, in_4xx: true } if code.as_str() == "invalid_grant" => {
            RefreshFailure::InvalidGrant
        }
        Cause::Structured { code, .. } => RefreshFailure::ClientConfig(code),
        Cause::Unreadable => RefreshFailure::Unreadable,
    }
}

/// A failed revocation. A token that the provider does not know is as good as revoked (RFC 7009 section 2.2).
pub(crate) fn revoke_failure(error: LibraryError, seen: Option<&Seen>) -> RevokeOutcome {
    RevokeOutcome::Failed(match cause(error, seen) {
        Cause::Structured { code, in_4xx: true } if code.as_str() == "invalid_token" => {
            return RevokeOutcome::Revoked;
        }
        Cause::NoAnswer(CallFailure::Forbidden) => RevokeFailure::Misconfigured,
        Cause::NoAnswer(_) | Cause::NotAvailable(_) => RevokeFailure::Unavailable,
        Cause::Structured { code, .. } => RevokeFailure::Refused(code),
        Cause::Foreign | Cause::Unreadable => RevokeFailure::Unreadable,
    })
}

impl From<FetchFailure> for ProviderFailure {
    fn from(failure: FetchFailure) -> Self {
        match failure {
            FetchFailure::Unreachable => Self::Unreachable,
            FetchFailure::Timeout => Self::Timeout,
            FetchFailure::Unreadable => Self::Unreadable,
            FetchFailure::Misconfigured => Self::Misconfigured,
        }
    }
}

impl From<FetchFailure> for RefreshFailure {
    fn from(failure: FetchFailure) -> Self {
        match failure {
            // No token was sent anywhere yet.
            FetchFailure::Unreachable | FetchFailure::Timeout | FetchFailure::Unreadable => {
                Self::Unavailable { retry_after: None }
            }
            FetchFailure::Misconfigured => Self::Misconfigured,
        }
    }
}
