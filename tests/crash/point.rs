//! Where the program is killed: at which step, and in which moment of it.

use lab::Moment::{self, BeforeActing, BeforeAnswering};

use crate::step::Step;

/// The moment within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At once after its answer.
    Acknowledged,
    /// At a random moment after it began.
    Sometime,
    /// While the call to issuer or provider stands still there.
    Held(Side, &'static str, Moment),
}

/// Whose gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The issuer's.
    Issuer,
    /// The provider's.
    Provider,
}

/// A point to kill at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// The step.
    pub(crate) step: Step,
    /// The moment.
    pub(crate) when: When,
}

const fn at(step: Step, when: When) -> Point {
    Point { step, when }
}

const fn held(step: Step, call: Call, moment: Moment) -> Point {
    let (side, path) = match call {
        Call::Login => (Side::Issuer, "/token"),
        Call::Token => (Side::Provider, "/token"),
        Call::Revoke => (Side::Provider, "/revoke"),
    };
    at(step, When::Held(side, path, moment))
}

/// A call outside.
#[derive(Clone, Copy)]
enum Call {
    /// The issuer's token endpoint.
    Login,
    /// The provider's token endpoint.
    Token,
    /// The provider's revocation endpoint.
    Revoke,
}

/// Every point: each step after its answer and in its middle, each call outside before and after it took effect there. They
/// are mixed, so that what a kill leaves behind meets something else.
pub(crate) static POINTS: [Point; 57] = [
    at(Step::Ask, When::Acknowledged),
    at(Step::Refresh, When::Sometime),
    at(Step::DeclineConsent, When::Acknowledged),
    held(Step::Exchange, Call::Token, BeforeActing),
    at(Step::NewKey, When::Sometime),
    at(Step::Open, When::Acknowledged),
    held(Step::DeclineConfirm, Call::Revoke, BeforeActing),
    held(Step::Refresh, Call::Token, BeforeAnswering),
    at(Step::Disable, When::Acknowledged),
    at(Step::SignIn, When::Sometime),
    at(Step::Again, When::Sometime),
    at(Step::Confirm, When::Acknowledged),
    at(Step::SignOut, When::Acknowledged),
    held(Step::Revoke, Call::Revoke, BeforeActing),
    at(Step::AdminKey, When::Sometime),
    at(Step::Consent, When::Acknowledged),
    at(Step::Cancel, When::Sometime),
    at(Step::ClientDecline, When::Acknowledged),
    at(Step::Confirm, When::Sometime),
    held(Step::Expire, Call::Revoke, BeforeActing),
    at(Step::RevokeKey, When::Acknowledged),
    at(Step::Refresh, When::Acknowledged),
    held(Step::Again, Call::Revoke, BeforeAnswering),
    held(Step::SignIn, Call::Login, BeforeAnswering),
    at(Step::DeclineConfirm, When::Acknowledged),
    at(Step::Revoke, When::Acknowledged),
    at(Step::Enable, When::Sometime),
    at(Step::Ask, When::Sometime),
    at(Step::ClientCancel, When::Sometime),
    held(Step::Exchange, Call::Token, BeforeAnswering),
    at(Step::Fetch, When::Acknowledged),
    at(Step::DeclineConsent, When::Sometime),
    at(Step::NewKey, When::Acknowledged),
    at(Step::Open, When::Sometime),
    at(Step::Expire, When::Acknowledged),
    at(Step::Exchange, When::Acknowledged),
    at(Step::SignOut, When::Sometime),
    held(Step::Refresh, Call::Token, BeforeActing),
    at(Step::Disable, When::Sometime),
    at(Step::SignIn, When::Acknowledged),
    held(Step::DeclineConfirm, Call::Revoke, BeforeAnswering),
    at(Step::Again, When::Acknowledged),
    held(Step::Revoke, Call::Revoke, BeforeAnswering),
    at(Step::AdminKey, When::Acknowledged),
    at(Step::Exchange, When::Sometime),
    at(Step::ClientCancel, When::Acknowledged),
    held(Step::Again, Call::Revoke, BeforeActing),
    at(Step::Revoke, When::Sometime),
    at(Step::RevokeKey, When::Sometime),
    at(Step::Cancel, When::Acknowledged),
    at(Step::Consent, When::Sometime),
    held(Step::Expire, Call::Revoke, BeforeAnswering),
    at(Step::ClientDecline, When::Sometime),
    held(Step::SignIn, Call::Login, BeforeActing),
    at(Step::DeclineConfirm, When::Sometime),
    at(Step::Enable, When::Acknowledged),
    at(Step::Fetch, When::Sometime),
];

/// Seeded choices (SplitMix64), so that a failed run can be repeated.
pub(crate) struct Dice(u64);

impl Dice {
    /// From a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
