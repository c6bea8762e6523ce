//! Flows: the work itself, as plain async functions over [`crate::core::Core`].
//!
//! Each step loads what it needs, decides with the pure functions of the domain, and commits by compare-and-swap. Nothing
//! is kept between steps but what is in the store, so a process may end anywhere and another may go on.

pub(crate) mod admin_key;
pub(crate) mod audit_trail;
pub(crate) mod budgets;
pub(crate) mod callback;
pub(crate) mod confirm;
pub(crate) mod consent;
pub(crate) mod credentials;
pub(crate) mod decline;
pub(crate) mod elicit;
pub(crate) mod exchange;
pub(crate) mod grants;
pub(crate) mod keep;
pub(crate) mod key;
pub(crate) mod link;
pub(crate) mod login;
pub(crate) mod mismatch;
pub(crate) mod obtain;
pub(crate) mod own_deeds;
pub(crate) mod own_page;
pub(crate) mod page;
pub(crate) mod pending;
pub(crate) mod people;
pub(crate) mod release;
pub(crate) mod repeats;
pub(crate) mod request_state;
pub(crate) mod revocation;
pub(crate) mod sign_out;
pub(crate) mod walk;
