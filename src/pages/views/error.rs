//! The page for everything that did not work.

use super::Form;
use crate::href::Href;

/// What went wrong, from our own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The provider did not answer in time.
    Timeout,
    /// The provider refused.
    Refused,
    /// The provider did not let a key in.
    Key,
    /// The person could not be signed in.
    SignIn,
    /// The callback arrived in another browser.
    Browser,
    /// The operator has to repair something.
    Operator,
    /// We are at a limit.
    Busy,
    /// This browser is in the middle of too many requests.
    Crowded,
    /// A form that was used already, or that is not from a page of ours.
    Form,
    /// Anything else.
    Generic,
}

/// An error. May be met before login, so it names neither server nor provider nor person.
#[derive(Debug, Clone)]
pub struct ErrorView {
    /// What happened.
    pub cause: Cause,
    /// Stable code, such as `provider-timeout`.
    pub code: String,
    /// What the operator can look up.
    pub reference: String,
    /// `/f/{flow id}/again`, where trying again can help.
    pub again: Option<Form>,
    /// `/f/{flow id}`, where a link is all that trying again takes: pages at callback addresses hold no form, because they
    /// send no `Referer` and so no `Origin`. Not shown beside [`Self::again`].
    pub back: Option<Href>,
    /// `/f/{flow id}/decline`, where there is something to stop.
    pub stop: Option<Form>,
}

/// What a problem document of the api and admin listeners means: its `type` leads here. All texts are ours, from one table.
#[derive(Debug, Clone, Copy)]
pub struct ProblemView {
    /// Short title.
    pub title: &'static str,
    /// What happened and what to do.
    pub detail: &'static str,
    /// Stable code.
    pub code: &'static str,
    /// Status that it comes with.
    pub status: u32,
}

impl ErrorView {
    /// Whether something may have been done before, so that only this step is known to have changed nothing.
    pub(crate) fn may_have_gone_on(&self) -> bool {
        matches!(self.cause, Cause::Form | Cause::Busy | Cause::Crowded)
    }

    /// Whether waiting can help: there is a way on from here, or the same address may answer later.
    pub(crate) fn has_way_on(&self) -> bool {
        self.again.is_some()
            || self.back.is_some()
            || matches!(self.cause, Cause::Busy | Cause::Operator)
    }
}
