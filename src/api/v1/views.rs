//! Answers as they are written: elicitations, grants and receipts in snake_case, times in RFC 3339 with whole seconds.

use actors::doors::{ElicitationView, GrantView, ProviderRevocation, RevocationReceipt};
use domain::{ElicitationState, GrantStatus};
use serde::Serialize;

/// An elicitation.
#[derive(Serialize)]
pub(crate) struct Elicitation<'a> {
    id: String,
    provider: &'a str,
    account: &'a str,
    scopes: Vec<&'a str>,
    state: &'static str,
    /// Only when the link was just made: it is not kept in a form that could be shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_url: Option<&'a str>,
    created_at: String,
    expires_at: String,
    /// Only when completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_id: Option<String>,
    /// Only when failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_code: Option<&'static str>,
    /// Only when wrong people opened the link and it was cancelled for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mismatch: bool,
}

impl<'a> Elicitation<'a> {
    /// Writes a view; `url` when the link was just made.
    pub(crate) fn new(view: &'a ElicitationView, url: Option<&'a str>) -> Self {
        let (grant_id, failure_code) = match &view.state {
            ElicitationState::Completed { grant } => (Some(grant.to_string()), None),
            ElicitationState::Failed { code } => (None, Some(code.as_str())),
            _ => (None, None),
        };
        Self {
            id: view.id.to_string(),
            provider: view.provider.as_str(),
            account: view.alias.as_str(),
            scopes: view.scopes.iter().collect(),
            state: state(&view.state),
            connect_url: url,
            created_at: view.created.rfc3339(),
            expires_at: view.expires.rfc3339(),
            grant_id,
            failure_code,
            mismatch: view.mismatched,
        }
    }
}

/// A grant.
#[derive(Serialize)]
pub(crate) struct Grant<'a> {
    id: String,
    provider: &'a str,
    account: &'a str,
    status: &'static str,
    scopes: Vec<&'a str>,
    created_at: String,
    access_expires_at: Option<String>,
    generation: u64,
}

impl<'a> From<&'a GrantView> for Grant<'a> {
    fn from(view: &'a GrantView) -> Self {
        Self {
            id: view.id.to_string(),
            provider: view.provider.as_str(),
            account: view.alias.as_str(),
            status: grant_status(view.status),
            scopes: view.scopes.iter().collect(),
            created_at: view.created.rfc3339(),
            access_expires_at: view.access_expires.map(domain::Timestamp::rfc3339),
            generation: view.generation,
        }
    }
}

/// What came of ending a grant.
#[derive(Serialize)]
pub(crate) struct Receipt {
    grant_id: String,
    ended_at: String,
    provider_revocation: &'static str,
    detail: &'static str,
}

impl From<RevocationReceipt> for Receipt {
    fn from(receipt: RevocationReceipt) -> Self {
        let (provider_revocation, detail) = match receipt.provider {
            ProviderRevocation::Revoked => (
                "revoked",
                "The tokens are destroyed here, and the provider confirmed that they no longer work.",
            ),
            ProviderRevocation::NoEndpoint => (
                "no_endpoint",
                "The tokens are destroyed here. The provider has no way to be told; the user can remove the app in the account settings there.",
            ),
            ProviderRevocation::Failed => (
                "failed",
                "The tokens are destroyed here. The provider did not confirm that they no longer work; the user can remove the app in the account settings there.",
            ),
            ProviderRevocation::KeptForOtherGrant => (
                "kept_for_other_grant",
                "The tokens are destroyed here. The provider was not told, because another connection of the user to the same account may need the same authorization there.",
            ),
            ProviderRevocation::NothingToRevoke => (
                "nothing_to_revoke",
                "There was no token that the provider could be told about. The user can look at the app in the account settings there.",
            ),
        };
        Self {
            grant_id: receipt.grant.to_string(),
            ended_at: receipt.ended.rfc3339(),
            provider_revocation,
            detail,
        }
    }
}

/// The text of an elicitation's state.
fn state(state: &ElicitationState) -> &'static str {
    match state {
        ElicitationState::Issued => "issued",
        ElicitationState::SignedIn => "signed_in",
        ElicitationState::Consented => "consented",
        ElicitationState::Completed { .. } => "completed",
        ElicitationState::Declined => "declined",
        ElicitationState::Cancelled => "cancelled",
        ElicitationState::Expired => "expired",
        ElicitationState::Failed { .. } => "failed",
    }
}

/// The text of a grant's status.
pub(crate) fn grant_status(status: GrantStatus) -> &'static str {
    match status {
        GrantStatus::Pending => "pending",
        GrantStatus::Active => "active",
        GrantStatus::NeedsReconnect => "needs_reconnect",
        GrantStatus::Revoked => "revoked",
    }
}
