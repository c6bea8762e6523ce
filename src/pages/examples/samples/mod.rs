//! Every page in every state, for friendly and for hostile names. Shared by the tests and the example that writes them out.

use strongroom_pages::{
    Address, ArrivalView, Cause, Chrome, DeclinedView, Deed, DevHomeView, DevPlace, DoneView,
    ErrorView, ExpiredView, Form, Href, HrefError, Language, LeavingView, MismatchView, Page,
    Person, ProblemView, Provider, Scope, Server, SignInView, SignOut, SigningInView, Switch,
    Wording, render,
};

mod casts;
mod own_page;
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
pub(crate) fn chrome(language: Language) -> Result<Chrome, HrefError> {
    Ok(Chrome {
        operator: Some("Northwind".to_owned()),
        language,
        support_url: Some(Href::new(
            "https://help.northwind.example/?from=strongroom&to=people",
        )?),
        privacy_url: Some(Href::new(
            "https://northwind.example/privacy?for=people&in=all",
        )?),
        ..Chrome::new(Address::with_site(
            "connect.northwind.example",
            "northwind.example",
        ))
    })
}

/// What the name of a file or folder in a language ends with.
pub(crate) fn ending(language: Language) -> &'static str {
    match language {
        Language::English => "",
        Language::Chinese => ".zh",
    }
}

/// Every page and state for one cast, in one language.
///
/// # Errors
/// None in practice: all addresses are fixed.
pub(crate) fn samples(cast: &Cast, language: Language) -> Result<Vec<Sample>, HrefError> {
    let chrome = chrome(language)?;
    let mut out = before(&chrome)?;
    out.extend(steps(cast, &chrome)?);
    out.extend(ends(cast, &chrome)?);
    out.extend(own_page::samples(cast, &chrome)?);
    out.extend(bare(language));
    Ok(out)
}

/// A page; those of a flow can be had in another language.
fn sample(name: &str, view: &impl Page, chrome: &Chrome) -> Sample {
    let page = name.split('.').next().unwrap_or(name);
    let others = Language::ALL
        .into_iter()
        .filter(|other| OF_A_FLOW.contains(&page) && *other != chrome.language);
    let switch = |language: Language| {
        let href = Href::new(format!("/f/5c1a/in/{}", language.tag())).ok()?;
        Some(Switch { language, href })
    };
    let chrome = chrome.clone().offering(others.filter_map(switch).collect());
    Sample {
        name: name.to_owned(),
        html: render(view, &chrome),
    }
}

/// Pages whose address can be had in another language, with that of a flow for all of them.
const OF_A_FLOW: [&str; 8] = [
    "sign_in",
    "consent",
    "confirm",
    "mismatch",
    "declined",
    "done",
    "own_sign_in",
    "own_page",
];

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
    let mut out: Vec<_> = walk::consents(cast, chrome.language)
        .iter()
        .map(|(name, view)| sample(name, view, chrome))
        .collect();
    out.extend(
        walk::keys(cast)
            .iter()
            .map(|(name, view)| sample(name, view, chrome)),
    );
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
        walk::confirms(cast, chrome.language)
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
        sample("problem", &problem(chrome.language), chrome),
    ];
    out.extend(
        errors()?
            .iter()
            .map(|(name, view)| sample(name, view, chrome)),
    );
    Ok(out)
}

/// Pages where the operator has declared nothing about themselves.
fn bare(language: Language) -> Vec<Sample> {
    let chrome = Chrome {
        language,
        ..Chrome::new(Address::new("localhost:7601"))
    };
    vec![
        sample("dev_home", &dev_home(language), &chrome),
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
        ("error.key", error(Cause::Key, "key-refused", true, false)),
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

fn problem(language: Language) -> ProblemView {
    let [title, detail] = match language {
        Language::English => [
            "Too many requests",
            "Too much was asked for in a short time; nothing was changed. Try again after Retry-After seconds.",
        ],
        Language::Chinese => [
            "请求过多",
            "短时间内的请求过多；没有更改任何内容。请在 Retry-After 给出的秒数之后重试。",
        ],
    };
    ProblemView {
        title,
        detail,
        code: "too-many-requests",
        status: 429,
    }
}

fn dev_home(language: Language) -> DevHomeView {
    let place = |en: &str, zh: &str, url: &str| DevPlace {
        label: in_language(language, [en, zh]),
        url: url.to_owned(),
    };
    DevHomeView {
        places: vec![
            place(
                "API for servers",
                "供服务器使用的 API",
                "http://127.0.0.1:7602",
            ),
            place("Practice issuer", "练习用登录服务", "http://127.0.0.1:7611"),
            place(
                "Practice provider",
                "练习用第三方服务",
                "http://127.0.0.2:7612",
            ),
        ],
    }
}

fn in_language(language: Language, [en, zh]: [&str; 2]) -> String {
    match language {
        Language::English => en.to_owned(),
        Language::Chinese => zh.to_owned(),
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

/// A permission with its words in the language of the page.
fn scope(raw: &str, deed: Deed, language: Language, words: [&str; 2]) -> Scope {
    Scope {
        raw: raw.to_owned(),
        wording: Some(Wording {
            deed,
            words: in_language(language, words),
            language,
        }),
    }
}

/// A permission that the operator has put into English words alone.
fn english(raw: &str, deed: Deed, words: &str) -> Scope {
    scope(raw, deed, Language::English, [words, ""])
}

fn unknown(cast: &Cast) -> Scope {
    Scope {
        raw: cast.raw.to_owned(),
        wording: None,
    }
}

fn scopes(language: Language) -> Vec<Scope> {
    let scope = |raw, deed, words| scope(raw, deed, language, words);
    vec![
        scope(
            "read:repo",
            Deed::See,
            [
                "your repositories, including private ones",
                "您的代码仓库，包括私有仓库",
            ],
        ),
        scope(
            "user:email",
            Deed::See,
            [
                "your name and your e-mail addresses at GitHub",
                "您在 GitHub 的姓名和电子邮件地址",
            ],
        ),
        scope(
            "issues",
            Deed::Change,
            [
                "issues, pull requests and their comments, as you",
                "议题、拉取请求及其评论（以您的名义）",
            ],
        ),
    ]
}
