//! The thirteen checks of the flow by number, and the switch that turns one of them off in a special build.
//!
//! In an ordinary build [`off`] is a constant `false` and the switch does not exist. With the feature `kill-switch`,
//! `scripts/kill-table` names one check at start and shows that a test notices its absence.

/// The checks C1 to C13 of the flow; each one's function returns the proof that the next step demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The caller's server key, server and tenant enabled.
    C1,
    /// The subject token.
    C2,
    /// Provider and scopes allowed for this server.
    C3,
    /// The elicitation is live.
    C4,
    /// The browser login: pre-login cookie, state, nonce, ID token.
    C5,
    /// The person in the browser is the person asked about.
    C6,
    /// A form of ours, sent from our own page by this person.
    C7,
    /// Callback parameters are strict and the navigation is top-level.
    C8,
    /// The callback came back to the browser and person that left.
    C9,
    /// The callback belongs to this provider, carries its issuer, and is used once.
    C10,
    /// The token answer is what was asked for.
    C11,
    /// The person confirmed the provider account while tokens were pending.
    C12,
    /// The requestState is presented by the principal it was made for.
    C13,
}

/// Whether `check` is switched off. Always `false` without the feature `kill-switch`.
#[cfg(not(feature = "kill-switch"))]
pub const fn off(_check: Check) -> bool {
    false
}

#[cfg(feature = "kill-switch")]
pub use killable::{off, switch_off};

#[cfg(feature = "kill-switch")]
mod killable {
    use super::Check;
    use std::sync::OnceLock;

    static OFF: OnceLock<Check> = OnceLock::new();

    /// Whether `check` is the one switched off.
    pub fn off(check: Check) -> bool {
        OFF.get() == Some(&check)
    }

    /// Switches one check off for the rest of the process. The first call wins.
    pub fn switch_off(name: &str) -> bool {
        let all = [
            Check::C1,
            Check::C2,
            Check::C3,
            Check::C4,
            Check::C5,
            Check::C6,
            Check::C7,
            Check::C8,
            Check::C9,
            Check::C10,
            Check::C11,
            Check::C12,
            Check::C13,
        ];
        all.into_iter()
            .find(|check| format!("{check:?}") == name)
            .is_some_and(|check| OFF.set(check).is_ok())
    }
}
