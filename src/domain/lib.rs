//! Domain: the words of the product as types, and every decision as a pure function.
//!
//! No IO, no clock, no randomness, no async: whoever calls brings time and random bytes along. The checks of the connect
//! flow live in [`checks`]; each returns a proof that the next step demands as an argument.

#[cfg(all(feature = "kill-switch", not(debug_assertions)))]
compile_error!("kill-switch is for builds of tests; a release is built without it");

mod audit;
mod blob;
mod browser_flow;
mod checks;
mod clock;
mod elicitation;
mod endpoint_hosts;
mod form;
mod grant;
mod identity;
mod ids;
mod issuer;
mod key_form;
mod locale;
mod provider;
mod registry;
mod scope;
mod switch;
pub mod text;
mod tokens;

pub use audit::*;
pub use blob::{Blob, Digest};
pub use browser_flow::*;
pub use checks::*;
pub use clock::*;
pub use elicitation::*;
pub use endpoint_hosts::*;
pub use form::form_decoded;
pub use grant::*;
pub use identity::*;
pub use ids::*;
pub use issuer::*;
pub use key_form::*;
pub use locale::*;
pub use provider::*;
pub use registry::*;
pub use scope::*;
#[cfg(feature = "kill-switch")]
pub use switch::switch_off;
pub use switch::{Check, off};
pub use tokens::*;
