//! Strongroom room: pages. Every page an end user sees, rendered on the server from plain data.
//!
//! No script, no inline style, nothing remote, no text from outside unescaped. All words stand in one table per language
//! (`strings`); views hold what is shown (`views`); templates only arrange it. The room knows no domain types.

mod assets;
mod href;
mod moment;
mod page;
mod scopes;
mod strings;
mod views;
mod words;

// The samples are shared with the example, where this crate has its public name.
#[cfg(test)]
extern crate self as strongroom_pages;
#[cfg(test)]
mod tests;

pub use assets::{Asset, assets, stylesheet_path};
pub use href::{Href, HrefError};
pub use page::{Page, render};
pub use views::{
    Address, ArrivalView, AtProvider, Cause, Chrome, Client, ConfirmView, Connection, ConsentView,
    DeclinedView, Deed, DevHomeView, DevPlace, DoneView, Earlier, EndedView, ErrorView, Exact,
    ExpiredView, Form, KeyField, KeyView, KeyWrong, Label, Language, LeavingView, MismatchView,
    Moment, OwnPageView, OwnSignInView, Person, ProblemView, Provider, Quote, Scope, Server,
    SignInView, SignOut, SigningInView, Switch, Waiting, Wording,
};
pub use words::with_name;
