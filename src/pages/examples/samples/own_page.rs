//! A person's own page.

use strongroom_pages::{
    Address, AtProvider, Chrome, Connection, EndedView, Form, Href, HrefError, Moment, OwnPageView,
    OwnSignInView, Server, Waiting,
};

use super::{Cast, Sample, person, sample, scopes, server, unknown};

/// Signing in, the page, and each way in which a connection ended.
pub(super) fn samples(cast: &Cast, chrome: &Chrome) -> Result<Vec<Sample>, HrefError> {
    let issuer = Address::with_site("https://login.northwind.example", "northwind.example");
    let sign_in = OwnSignInView {
        issuers: vec![(issuer, Form::new("/me/login/staff", ""))],
    };
    let full = OwnPageView {
        person: person(cast, true),
        sign_out: form("leave"),
        waiting: [9, 1].map(|minutes| waiting(cast, minutes)).into(),
        connections: connections(cast, chrome),
    };
    let empty = OwnPageView {
        person: person(cast, false),
        waiting: Vec::new(),
        connections: Vec::new(),
        ..full.clone()
    };
    let mut out = vec![
        sample("own_sign_in", &sign_in, chrome),
        sample("own_page", &full, chrome),
        sample("own_page.nothing", &empty, chrome),
    ];
    for (name, at_provider) in [
        ("ended", AtProvider::Confirmed),
        ("ended.unsure", AtProvider::Unconfirmed),
        ("ended.shared", AtProvider::Shared),
        ("ended.key", AtProvider::Key),
    ] {
        let view = EndedView {
            server: cast.server.to_owned(),
            provider: cast.provider.to_owned(),
            at_provider,
            back: Href::new("/me")?,
        };
        out.push(sample(name, &view, chrome));
    }
    Ok(out)
}

fn waiting(cast: &Cast, minutes_left: u32) -> Waiting {
    Waiting {
        server: server(cast),
        provider: cast.provider.to_owned(),
        minutes_left,
        decline: form("decline/el_1"),
    }
}

/// One of each kind: it works, it needs its person, it is a key, its server is not declared any more.
fn connections(cast: &Cast, chrome: &Chrome) -> Vec<Connection> {
    let works = Connection {
        provider: cast.provider.to_owned(),
        account: Some(cast.account.to_owned()),
        server: server(cast),
        works: true,
        key: false,
        scopes: scopes(chrome.language),
        last_use: Some(Moment {
            unix_s: 1_796_126_700,
        }),
        since: Moment {
            unix_s: 1_772_500_000,
        },
        end: form("end/gr_1"),
    };
    let needs = Connection {
        account: None,
        works: false,
        scopes: vec![unknown(cast)],
        ..works.clone()
    };
    let key = Connection {
        key: true,
        last_use: None,
        ..works.clone()
    };
    let undeclared = Connection {
        server: Server {
            name: cast.server.to_owned(),
            address: Address::new(""),
        },
        scopes: Vec::new(),
        ..works.clone()
    };
    vec![works, needs, key, undeclared]
}

fn form(deed: &str) -> Form {
    Form::new(format!("/me/{deed}"), "sample-own")
}
