//! A person's own page, put into the views of the pages room.

use actors::doors::{ConnectionView, EndedView, OwnPage, OwnView, ProviderRevocation, WaitingView};
use domain::{GrantStatus, Holds, Timestamp};
use pages::{
    Address, AtProvider, Connection, Form, Href, HrefError, Language, Moment, OwnPageView,
    OwnSignInView, Page, Server, Waiting,
};

use super::{address, minutes, origin_of, person, server, worded};
use crate::browser::answer::OWN_PAGE;

/// The page that `page` describes.
pub(crate) fn own_page(page: &OwnPage, language: Language) -> Box<dyn Page> {
    match page {
        OwnPage::SignedOut { issuers } => Box::new(OwnSignInView {
            issuers: issuers
                .iter()
                .map(|issuer| {
                    let at = address(&origin_of(issuer.url.as_str()), issuer.site.as_deref());
                    (at, form(&format!("login/{}", issuer.slug), ""))
                })
                .collect(),
        }),
        OwnPage::SignedIn(view) => Box::new(signed_in(view, language)),
    }
}

fn signed_in(view: &OwnView, language: Language) -> OwnPageView {
    OwnPageView {
        person: person(&view.person),
        sign_out: form("leave", &view.sign_out),
        waiting: view.waiting.iter().map(waiting).collect(),
        connections: view
            .connections
            .iter()
            .map(|one| connection(one, language))
            .collect(),
    }
}

fn waiting(one: &WaitingView) -> Waiting {
    Waiting {
        server: server(&one.server),
        provider: one.provider.name.as_ref().into(),
        minutes_left: minutes(one.left),
        decline: form(&format!("decline/{}", one.id), &one.decline),
    }
}

fn connection(one: &ConnectionView, language: Language) -> Connection {
    let (slug, declared) = &one.provider;
    let declared = declared.as_deref();
    Connection {
        provider: declared.map_or_else(|| slug.to_string(), |declared| declared.name.to_string()),
        account: one.account.as_deref().map(Into::into),
        server: of_declared(&one.server),
        works: one.status == GrantStatus::Active,
        key: one.holds == Holds::Key,
        scopes: worded((declared, language), &one.scopes),
        last_use: one.last_use.map(moment),
        since: moment(one.created),
        end: form(&format!("end/{}", one.id), &one.end),
    }
}

/// A server, by its slug where the operator has taken it out of the configuration.
fn of_declared(
    (slug, declared): &(domain::ServerSlug, Option<std::sync::Arc<domain::Server>>),
) -> Server {
    declared.as_deref().map_or_else(
        || Server {
            name: slug.to_string(),
            address: Address::new(""),
        },
        server,
    )
}

/// What became of a connection.
///
/// # Errors
/// [`HrefError`] when an address of ours were no link, which cannot be.
pub(crate) fn ended(view: &EndedView) -> Result<pages::EndedView, HrefError> {
    let (slug, declared) = &view.provider;
    let provider = declared
        .as_ref()
        .map_or_else(|| slug.to_string(), |declared| declared.name.to_string());
    let at_provider = match (view.holds, view.receipt.provider) {
        (Holds::Key, _) => AtProvider::Key,
        (Holds::Tokens, ProviderRevocation::Revoked) => AtProvider::Confirmed,
        (Holds::Tokens, ProviderRevocation::KeptForOtherGrant) => AtProvider::Shared,
        (
            Holds::Tokens,
            ProviderRevocation::NoEndpoint
            | ProviderRevocation::Failed
            | ProviderRevocation::NothingToRevoke,
        ) => AtProvider::Unconfirmed,
    };
    Ok(pages::EndedView {
        server: of_declared(&view.server).name,
        provider,
        at_provider,
        back: Href::new(OWN_PAGE)?,
    })
}

fn form(deed: &str, csrf: &str) -> Form {
    Form::new(format!("{OWN_PAGE}/{deed}"), csrf)
}

fn moment(at: Timestamp) -> Moment {
    Moment {
        unix_s: at.as_ms().div_euclid(1000),
    }
}
