//! C13: a requestState selects a row and authorises nothing; who presents it must be who it was made for.

use crate::switch::{self, Check};
use crate::{Digest, ElicitationId, IssuerSlug, ProviderSlug};

/// What a requestState says, or what the one who presents it is: the two are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePrincipal {
    /// The issuer of the person.
    pub issuer: IssuerSlug,
    /// SHA-256 of the person's subject bytes.
    pub subject: Digest,
    /// SHA-256 of the MCP client.
    pub client: Digest,
    /// Digest of the MCP request; missing on one side only is a mismatch.
    pub request: Option<Digest>,
    /// The provider; `None` where the presenter does not name one.
    pub provider: Option<ProviderSlug>,
}

/// Proof of C13.
#[derive(Debug)]
pub struct StatePresented {
    elicitation: ElicitationId,
}

/// The requestState was made for another principal or request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the requestState was made for another principal or request")]
pub struct StateRefused;

impl StatePresented {
    /// C13. The server and tenant were compared when the state was opened: they are in its associated data. `row_is_theirs`
    /// says whether the row that the state selects is the presenter's; so the two are judged together.
    ///
    /// # Errors
    /// [`StateRefused`].
    pub fn check(
        elicitation: ElicitationId,
        made_for: &StatePrincipal,
        (presenter, row_is_theirs): (&StatePrincipal, bool),
    ) -> Result<Self, StateRefused> {
        let provider_fits = presenter.provider.is_none() || presenter.provider == made_for.provider;
        let fits = made_for.issuer == presenter.issuer
            && made_for.subject == presenter.subject
            && made_for.client == presenter.client
            && made_for.request == presenter.request
            && provider_fits
            && row_is_theirs;
        if fits || switch::off(Check::C13) {
            Ok(Self { elicitation })
        } else {
            Err(StateRefused)
        }
    }

    /// The elicitation.
    pub fn elicitation(&self) -> ElicitationId {
        self.elicitation
    }
}
