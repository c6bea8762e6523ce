//! The only map from what a door refuses to what a caller is told.

use std::time::Duration;

use actors::doors::Refusal;
use domain::{NotPermitted, SubjectRefused};

use crate::problem::{Kind, Problem};

/// When to try again after a failure of the store or of an issuer, which nobody can time.
const LATER: Duration = Duration::from_secs(10);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Caller => Kind::Unauthenticated.into(),
            // Not the token's fault, so not 403: the server would throw away a good token.
            Refusal::Subject(SubjectRefused::KeysUnavailable) => {
                Self::retry(Kind::IssuerUnavailable, LATER)
            }
            Refusal::Subject(_) => Kind::SubjectTokenInvalid.into(),
            Refusal::NotPermitted(NotPermitted::Provider) => Kind::ProviderNotPermitted.into(),
            Refusal::NotPermitted(NotPermitted::Scopes(missing)) => Self {
                missing: missing.into(),
                ..Self::from(Kind::ScopesNotPermitted)
            },
            Refusal::NotFound => Kind::NotFound.into(),
            Refusal::RequestState => Kind::RequestStateInvalid.into(),
            Refusal::Gone => Kind::ElicitationGone.into(),
            Refusal::IdempotencyConflict => Kind::IdempotencyConflict.into(),
            Refusal::KeyLimit => Kind::KeyLimit.into(),
            Refusal::TooMany { retry_after } => Self::retry(Kind::TooManyRequests, retry_after),
            Refusal::Busy { retry_after } => Self::retry(Kind::Busy, retry_after),
            Refusal::Unavailable => Self::retry(Kind::Unavailable, LATER),
            Refusal::Internal => Kind::Internal.into(),
        }
    }
}
