//! What a record holds. The number is part of the associated data, so a record of one kind never opens as another.

/// The kind of a sealed record. Numbers are frozen; new kinds get new numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A provider's access token.
    AccessToken = 1,
    /// A provider's refresh token.
    RefreshToken = 2,
    /// A key a person pasted for a provider without OAuth.
    ApiKey = 3,
    /// Tokens between the code exchange and the confirm page.
    PendingBundle = 4,
    /// A secret of a running flow: the PKCE verifier.
    FlowSecret = 5,
    /// Our secret at a provider.
    ClientSecret = 6,
    /// A private key for client assertions (RFC 7523).
    AssertionKey = 7,
    /// The registration access token of RFC 7592.
    RegistrationToken = 8,
    /// A user's data key, wrapped by the tenant key.
    WrappedDataKey = 9,
    /// A tenant key, wrapped by the root key.
    WrappedTenantKey = 10,
    /// A purpose key, wrapped by the root key.
    WrappedPurposeKey = 11,
    /// What is left to revoke at a provider.
    RevocationJob = 12,
    /// What a backup must contain.
    BackupManifest = 13,
    /// Who a user is: issuer and subject in clear, for work without a subject token.
    UserProfile = 14,
    /// A browser session.
    Session = 15,
    /// A request that a user do something in the browser.
    Elicitation = 16,
    /// The body of a requestState text.
    RequestState = 17,
    /// The pre-login cookie.
    PreLoginCookie = 18,
    /// One browser's walk through an elicitation.
    BrowserFlow = 19,
    /// What a person entered into a form.
    FormAnswer = 20,
    /// The root key in a seal slot. Our addition to the frozen list: the metadata digest covers slot number, seal type,
    /// seal parameters and the root key's id.
    RootKeySlot = 21,
}

impl Kind {
    /// Every kind, in the order of the numbers.
    pub const ALL: [Self; 21] = [
        Self::AccessToken,
        Self::RefreshToken,
        Self::ApiKey,
        Self::PendingBundle,
        Self::FlowSecret,
        Self::ClientSecret,
        Self::AssertionKey,
        Self::RegistrationToken,
        Self::WrappedDataKey,
        Self::WrappedTenantKey,
        Self::WrappedPurposeKey,
        Self::RevocationJob,
        Self::BackupManifest,
        Self::UserProfile,
        Self::Session,
        Self::Elicitation,
        Self::RequestState,
        Self::PreLoginCookie,
        Self::BrowserFlow,
        Self::FormAnswer,
        Self::RootKeySlot,
    ];

    /// The number that stands in the associated data.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether the record holds a 32-byte key instead of padded plaintext.
    pub const fn holds_key(self) -> bool {
        matches!(
            self,
            Self::WrappedDataKey
                | Self::WrappedTenantKey
                | Self::WrappedPurposeKey
                | Self::RootKeySlot
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_frozen() {
        let codes: Vec<u8> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes, (1..=21).collect::<Vec<u8>>());
        let keys: Vec<u8> = Kind::ALL
            .iter()
            .filter(|kind| kind.holds_key())
            .map(|kind| kind.code())
            .collect();
        assert_eq!(keys, [9, 10, 11, 21]);
    }
}
