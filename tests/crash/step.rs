//! What is done, and what has to be done before it.

/// A step that stores something: of a credential's life, of a link that ends otherwise, of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// The server asks; an elicitation is created.
    Ask,
    /// The link is opened; a browser flow begins.
    Open,
    /// The person signs in at the issuer.
    SignIn,
    /// The person says yes and leaves for the provider.
    Consent,
    /// The provider sends the browser back; the code is exchanged, tokens are pending.
    Exchange,
    /// The person confirms the account; the grant becomes usable.
    Confirm,
    /// The server gets the credential.
    Fetch,
    /// The token has ended; it is refreshed for the server.
    Refresh,
    /// The server ends the grant.
    Revoke,
    /// The person says no to the consent page.
    DeclineConsent,
    /// The person says no to the confirm page; what is pending is destroyed.
    DeclineConfirm,
    /// The person wants another account; what is pending is destroyed.
    Again,
    /// The server takes the link back while tokens are pending.
    Cancel,
    /// The person says no in the client.
    ClientDecline,
    /// The person cancels in the client while tokens are pending.
    ClientCancel,
    /// The person signs out on a page of the walk.
    SignOut,
    /// Nobody confirms in time; the janitor destroys what is pending.
    Expire,
    /// The operator makes a server key.
    NewKey,
    /// The operator revokes it.
    RevokeKey,
    /// The operator disables the server.
    Disable,
    /// The operator enables it again.
    Enable,
    /// The operator replaces the admin key.
    AdminKey,
}

/// A credential's life, in order.
pub(crate) static LIFE: [Step; 9] = [
    Step::Ask,
    Step::Open,
    Step::SignIn,
    Step::Consent,
    Step::Exchange,
    Step::Confirm,
    Step::Fetch,
    Step::Refresh,
    Step::Revoke,
];

impl Step {
    /// What has to be done before.
    pub(crate) fn path(self) -> &'static [Self] {
        let life = |steps: usize| &LIFE[..steps];
        match self {
            Self::Ask => life(0),
            Self::Open => life(1),
            Self::SignIn => life(2),
            Self::Consent | Self::DeclineConsent | Self::ClientDecline | Self::SignOut => life(3),
            Self::Exchange => life(4),
            Self::Confirm
            | Self::DeclineConfirm
            | Self::Again
            | Self::Cancel
            | Self::ClientCancel
            | Self::Expire => life(5),
            Self::Fetch => life(6),
            Self::Refresh => life(7),
            Self::Revoke => life(8),
            Self::NewKey | Self::AdminKey => &[],
            Self::RevokeKey | Self::Disable => &[Self::NewKey],
            Self::Enable => &[Self::NewKey, Self::Disable],
        }
    }

    /// Whether an operator takes it.
    pub(crate) fn is_operators(self) -> bool {
        self >= Self::NewKey
    }

    /// What an elicitation becomes by it, if it ends by it.
    pub(crate) fn end(self) -> Option<&'static str> {
        match self {
            Self::DeclineConsent | Self::DeclineConfirm | Self::ClientDecline => Some("declined"),
            Self::Cancel | Self::ClientCancel => Some("cancelled"),
            _ => None,
        }
    }

    /// The audit entry about the elicitation that such a step owes.
    pub(crate) fn entry(self) -> Option<&'static str> {
        match self {
            Self::DeclineConsent | Self::DeclineConfirm | Self::ClientDecline => Some("declined"),
            Self::Cancel | Self::ClientCancel => Some("elicitation_cancelled"),
            Self::Again | Self::Expire => Some("pending_destroyed"),
            Self::SignOut => Some("signed_out"),
            _ => None,
        }
    }
}
