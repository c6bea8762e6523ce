//! Upstream: the only room that speaks to the outside.
//!
//! One outbound client ([`Outbound`]) checks every address before it connects; [`Upstream`] uses it to talk to issuers
//! (who is this person?) and to providers (tokens). Answers are read strictly where they decide about identity and leniently
//! where providers differ in harmless ways. Errors of libraries become codes here and go no further: some of them carry
//! whole answers with live tokens in them.

mod account;
mod address;
mod authorize;
pub mod budgets;
mod failure;
mod issuer;
mod jws;
mod keys;
mod metadata;
mod outbound;
mod provider;
mod resolver;
mod scrub;
mod snapshots;
mod strict_json;
mod subject_memory;
mod token_call;
mod token_reply;
mod upstream;

#[cfg(test)]
mod testing;

pub use address::{AddressPolicy, BadNetwork, InternalHost, Network};
pub use authorize::{AuthorizationRequest, LoginRequest, code_challenge};
pub use failure::{
    OauthErrorCode, ProviderFailure, RefreshFailure, RevokeFailure, RevokeOutcome, Unkept,
};
pub use issuer::LoginCode;
pub use outbound::{Outbound, OutboundError};
pub use provider::{ProviderCode, Redemption, TokenEndpoint, TokenToRevoke};
pub use resolver::{NameResolver, Resolution, SystemResolver};
pub use upstream::Upstream;

/// Makes aws-lc-rs the one TLS provider of this process. Call it first; calling it again changes nothing.
pub fn install_crypto() {
    // An error means that a provider is installed already, which is what was asked for.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
}
