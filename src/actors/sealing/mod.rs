//! What is sealed where: the one place that knows in which context each kind of record of ours is sealed and opened.
//!
//! A record that does not open is a fault of the store or an attack on it, never "not found"; callers answer it as such.

mod flow;
mod person;
mod place;
mod tokens;
mod wire;

use crypto::{OpenError, SealContext, SealKey, Sealed};
use domain::{Blob, TenantSlug};
use secret::SecretBytes;

use crate::core::Core;
use crate::doors::Refusal;

pub(crate) use flow::{FLOW_SECRET, FLOW_STATE, PreLogin};
pub(crate) use person::{DataKey, OpenSession, SessionSecrets};
pub(crate) use place::POLICY_VERSION;
pub(crate) use tokens::{PendingTokens, TokenRecord, TokenToSeal, main_slot};

impl From<OpenError> for Refusal {
    fn from(error: OpenError) -> Self {
        // The class is for the operator; callers learn only that something is wrong here.
        tracing::error!(class = ?error, "a sealed record does not open; the store was changed or restored in part");
        Self::Internal
    }
}

impl Core {
    /// Seals under the tenant's flow key.
    fn seal_flow(
        &self,
        tenant: &TenantSlug,
        context: &SealContext<'_>,
        plaintext: &[u8],
    ) -> Result<Blob, Refusal> {
        let key = self.keyring.flow_key(tenant).ok_or(Refusal::Internal)?;
        seal(key, context, plaintext, self)
    }

    /// Opens what was sealed under one of the tenant's flow keys.
    fn open_flow(&self, context: &SealContext<'_>, blob: &Blob) -> Result<SecretBytes, Refusal> {
        let sealed = Sealed::parse(blob.0.clone())?;
        Ok(self.keyring.open_record(context, &sealed)?)
    }
}

fn seal(
    key: &SealKey,
    context: &SealContext<'_>,
    plaintext: &[u8],
    core: &Core,
) -> Result<Blob, Refusal> {
    match key.seal(context, plaintext, &*core.entropy) {
        Ok(sealed) => Ok(Blob(sealed.into_bytes())),
        Err(error) => {
            tracing::error!(error = %error, "a record cannot be sealed");
            Err(Refusal::Internal)
        }
    }
}
