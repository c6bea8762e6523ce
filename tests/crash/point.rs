//! Where the program is killed: at which step, and in which moment of it.

use lab::Moment;

/// The steps of a credential's life, in order. Each of them stores something.
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
}

impl Step {
    /// In order.
    pub(crate) const ALL: [Self; 9] = [
        Self::Ask,
        Self::Open,
        Self::SignIn,
        Self::Consent,
        Self::Exchange,
        Self::Confirm,
        Self::Fetch,
        Self::Refresh,
        Self::Revoke,
    ];
}

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

const fn held(step: Step, side: Side, path: &'static str, moment: Moment) -> Point {
    at(step, When::Held(side, path, moment))
}

/// Every point: each step after its answer and in its middle, each call outside before and after it took effect there.
pub(crate) static POINTS: [Point; 26] = [
    at(Step::Ask, When::Acknowledged),
    at(Step::Refresh, When::Sometime),
    held(
        Step::Exchange,
        Side::Provider,
        "/token",
        Moment::BeforeActing,
    ),
    at(Step::Open, When::Acknowledged),
    held(
        Step::Refresh,
        Side::Provider,
        "/token",
        Moment::BeforeAnswering,
    ),
    at(Step::SignIn, When::Sometime),
    at(Step::Confirm, When::Acknowledged),
    held(
        Step::Revoke,
        Side::Provider,
        "/revoke",
        Moment::BeforeActing,
    ),
    at(Step::Consent, When::Acknowledged),
    at(Step::Confirm, When::Sometime),
    at(Step::Refresh, When::Acknowledged),
    held(
        Step::SignIn,
        Side::Issuer,
        "/token",
        Moment::BeforeAnswering,
    ),
    at(Step::Revoke, When::Acknowledged),
    at(Step::Ask, When::Sometime),
    held(
        Step::Exchange,
        Side::Provider,
        "/token",
        Moment::BeforeAnswering,
    ),
    at(Step::Fetch, When::Acknowledged),
    at(Step::Open, When::Sometime),
    at(Step::Exchange, When::Acknowledged),
    held(
        Step::Refresh,
        Side::Provider,
        "/token",
        Moment::BeforeActing,
    ),
    at(Step::SignIn, When::Acknowledged),
    held(
        Step::Revoke,
        Side::Provider,
        "/revoke",
        Moment::BeforeAnswering,
    ),
    at(Step::Exchange, When::Sometime),
    at(Step::Revoke, When::Sometime),
    at(Step::Consent, When::Sometime),
    held(Step::SignIn, Side::Issuer, "/token", Moment::BeforeActing),
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
