//! Every page in every state, for friendly and for hostile names. Shared by the tests and the example that writes them out.

use strongroom_pages::{
    Address, ArrivalView, Cause, Chrome, DeclinedView, Deed, DevHomeView, DevPlace, DoneView,
    ErrorView, ExpiredView, Form, Href, HrefError, LeavingView, MismatchView, Page, Person,
    ProblemView, Provider, Scope, Server, SignInView, SignOut, SignedOutView, SigningInView,
    Wording, render,
};

mod casts;
mod walk;

pub(crate) use casts::{CASTS, Cast};

/// A rendered page.
pub(crate) struct Sample {
    /// Page and state, such as `consent.check`; a file name without its end.
    pub(crate) name: String,
    /// The page.
    pub(crate) html: String,
}

/// The frame with everything declared.
///
/// # Errors
/// None in practice: the address is fixed.
pub(crate) fn chrome() -> Result<Chrome, HrefError> {
    Ok(Chrome {
        operator: Some("Northwind".to_owned()),
        support_url: Some(Href::new(
            "https://help.northwind.example/?from=strongroom&to=people",
        )?),
        ..Chrome::new(Address::with_site(
            "connect.northwind.example",
            "northwind.example",
        ))
    })
}

/// Every page and state for one cast.
///
/// # Errors
/// None in practice: all addresses are fixed.
pub(crate) fn samples(cast: &Cast) -> Result<Vec<Sample>, HrefError> {
    let mut out = before(&chrome()?)?;
    out.extend(steps(cast, &chrome()?)?);
    out.extend(ends(cast, &chrome()?)?);
    out.extend(bare());
    Ok(out)
}

fn sample(name: &str, view: &impl Page, chrome: &Chrome) -> Sample {
    Sample {
        name: name.to_owned(),
        html: render(view, chrome),
    }
}

/// What is seen before anybody is known.
fn before(chrome: &Chrome) -> Result<Vec<Sample>, HrefError> {
    let issuer = || Address::with_site("https://login.northwind.example", "northwind.example");
    let href = Href::new("https://login.northwind.example/authorize?client_id=a&nonce=b")?;
    Ok(vec![
        sample(
            "arrival",
            &ArrivalView {
                next: Href::new("/f/5c1a")?,
            },
            chrome,
        ),
        sample(
            "sign_in",
            &SignInView {
                issuer: issuer(),
                start: form("login"),
            },
            chrome,
        ),
        sample(
            "signing_in",
            &SigningInView {
                issuer: issuer(),
                href,
            },
            chrome,
        ),
    ])
}

/// The three steps.
fn steps(cast: &Cast, chrome: &Chrome) -> Result<Vec<Sample>, HrefError> {
    let mut out: Vec<_> = walk::consents(cast)
        .iter()
        .map(|(name, view)| sample(name, view, chrome))
        .collect();
    let leaving = LeavingView {
        provider: cast.provider.to_owned(),
        address: Address::new("https://github.com"),
        href: Href::new(
            "https://github.com/login/oauth/authorize?client_id=a&state=b&scope=repo%20user",
        )?,
        back: Href::new("/f/5c1a")?,
        minutes_left: 10,
    };
    let leaving_soon = LeavingView {
        minutes_left: 1,
        ..leaving.clone()
    };
    out.push(sample("leaving", &leaving, chrome));
    out.push(sample("leaving.soon", &leaving_soon, chrome));
    out.extend(
        walk::confirms(cast)
            .iter()
            .map(|(name, view)| sample(name, view, chrome)),
    );
    Ok(out)
}

/// Every ending.
fn ends(cast: &Cast, chrome: &Chrome) -> Result<Vec<Sample>, HrefError> {
    let done = |account: Option<&str>, with_name: bool| DoneView {
        account: account.map(str::to_owned),
        provider: cast.provider.to_owned(),
        server: server(cast),
        person: person(cast, with_name),
    };
    let declined = DeclinedView {
        server: cast.server.to_owned(),
        provider: cast.provider.to_owned(),
    };
    let mut out = vec![
        sample(
            "mismatch",
            &MismatchView {
                sign_out: sign_out(None),
            },
            chrome,
        ),
        sample("declined", &declined, chrome),
        sample("expired", &ExpiredView, chrome),
        sample("done", &done(Some(cast.account), true), chrome),
        sample("done.unnamed", &done(None, false), chrome),
        sample("signed_out", &SignedOutView, chrome),
        sample("problem", &PROBLEM, chrome),
    ];
    out.extend(
        errors()?
            .iter()
            .map(|(name, view)| sample(name, view, chrome)),
    );
    Ok(out)
}

/// Pages where the operator has declared nothing about themselves.
fn bare() -> Vec<Sample> {
    let chrome = Chrome::new(Address::new("localhost:7601"));
    vec![
        sample("dev_home", &dev_home(), &chrome),
        sample("expired.bare", &ExpiredView, &chrome),
    ]
}

fn errors() -> Result<Vec<(&'static str, ErrorView)>, HrefError> {
    let error = |cause, code: &str, again: bool, stop: bool| ErrorView {
        cause,
        code: code.to_owned(),
        reference: "7QK4-2M9D".to_owned(),
        again: again.then(|| form("again")),
        back: None,
        stop: stop.then(|| form("decline")),
    };
    Ok(vec![
        (
            "error.back",
            ErrorView {
                back: Some(Href::new("/f/5c1a")?),
                ..error(Cause::SignIn, "login-refused", false, false)
            },
        ),
        (
            "error.timeout",
            error(Cause::Timeout, "provider-timeout", true, true),
        ),
        (
            "error.refused",
            error(Cause::Refused, "provider-refused", true, false),
        ),
        (
            "error.browser",
            error(Cause::Browser, "other-browser", false, false),
        ),
        (
            "error.operator",
            error(Cause::Operator, "client-credentials", false, true),
        ),
        ("error.busy", error(Cause::Busy, "busy", false, false)),
        (
            "error.crowded",
            error(Cause::Crowded, "too-many-open-requests", false, false),
        ),
        (
            "error.form",
            error(Cause::Form, "form-refused", false, false),
        ),
        (
            "error.generic",
            error(Cause::Generic, "internal", false, false),
        ),
    ])
}

const PROBLEM: ProblemView = ProblemView {
    title: "Too many requests",
    detail: "Too much was asked for in a short time; nothing was changed. Try again after Retry-After seconds.",
    code: "too-many-requests",
    status: 429,
};

fn dev_home() -> DevHomeView {
    let place = |label: &str, url: &str| DevPlace {
        label: label.to_owned(),
        url: url.to_owned(),
    };
    DevHomeView {
        places: vec![
            place("API for servers", "http://127.0.0.1:7602"),
            place("Practice issuer", "http://127.0.0.1:7611"),
            place("Practice provider", "http://127.0.0.2:7612"),
        ],
    }
}

fn form(name: &str) -> Form {
    Form::new(format!("/f/5c1a/{name}"), format!("sample-{name}"))
}

fn sign_out(flow: Option<&str>) -> SignOut {
    SignOut {
        form: Form::new("/session/end", "sample-sign-out"),
        flow: flow.map(str::to_owned),
    }
}

fn server(cast: &Cast) -> Server {
    Server {
        name: cast.server.to_owned(),
        address: Address::with_site(cast.server_origin, "northwind.example"),
    }
}

fn provider(cast: &Cast) -> Provider {
    Provider {
        name: cast.provider.to_owned(),
        address: Address::new("github.com"),
    }
}

fn person(cast: &Cast, with_name: bool) -> Person {
    Person {
        name: with_name.then(|| cast.person.to_owned()),
        login: cast.login.to_owned(),
    }
}

fn scope(raw: &str, deed: Deed, words: &str) -> Scope {
    Scope {
        raw: raw.to_owned(),
        wording: Some(Wording {
            deed,
            words: words.to_owned(),
        }),
    }
}

fn unknown(cast: &Cast) -> Scope {
    Scope {
        raw: cast.raw.to_owned(),
        wording: None,
    }
}

fn scopes() -> Vec<Scope> {
    vec![
        scope(
            "read:repo",
            Deed::See,
            "your repositories, including private ones",
        ),
        scope(
            "user:email",
            Deed::See,
            "your name and your e-mail addresses at GitHub",
        ),
        scope(
            "issues",
            Deed::Change,
            "issues, pull requests and their comments, as you",
        ),
    ]
}
