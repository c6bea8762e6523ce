//! Whose account tokens or a key open.

use domain::{AccountSource, ConsentGiven, GivenKey, Provider, ProviderAccount};
use secret::AccessToken;

use crate::account::{self, Pointers};
use crate::failure::ProviderFailure;
use crate::token_call::Seen;
use crate::upstream::Upstream;

impl Upstream {
    /// Tries a key that the person typed in, where the provider file says how, and learns the account by it. Without such a
    /// place nothing is asked, and the key is believed.
    ///
    /// # Errors
    /// [`ProviderFailure`]; `Refused` when the provider does not let it in.
    pub async fn try_key(
        &self,
        _consent: &ConsentGiven,
        provider: &Provider,
        key: &GivenKey,
    ) -> Result<Option<ProviderAccount>, ProviderFailure> {
        match &provider.account {
            AccountSource::Endpoint { .. } => {
                self.account_of(provider, key.credential(), None).await
            }
            AccountSource::TokenAnswer { .. } | AccountSource::Unknown => Ok(None),
        }
    }

    /// The account behind fresh tokens, or behind a key.
    pub(super) async fn account_of(
        &self,
        provider: &Provider,
        access: &AccessToken,
        seen: Option<&Seen>,
    ) -> Result<Option<domain::ProviderAccount>, ProviderFailure> {
        match &provider.account {
            AccountSource::Unknown => Ok(None),
            AccountSource::TokenAnswer { .. } => named_account(provider, seen)
                .map(Some)
                .ok_or(ProviderFailure::Unreadable),
            AccountSource::Endpoint { url, id, name } => {
                let at = Pointers {
                    id,
                    name: name.as_deref(),
                };
                let account = account::ask(self.outbound(), provider, access, (url, at)).await?;
                Ok(Some(account))
            }
        }
    }
}

/// The account that a token answer names, where the provider file says that it names one.
pub(super) fn named_account(
    provider: &Provider,
    seen: Option<&Seen>,
) -> Option<domain::ProviderAccount> {
    let AccountSource::TokenAnswer { id, name } = &provider.account else {
        return None;
    };
    let name = name.as_deref();
    account::read(seen?.body.expose(), Pointers { id, name })
}
