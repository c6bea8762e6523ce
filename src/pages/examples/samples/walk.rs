//! The two pages of the walk that ask something, in every state.

use strongroom_pages::{
    Address, Client, ConfirmView, ConsentView, Deed, Earlier, Exact, KeyField, KeyView, KeyWrong,
    Label, Language, Quote,
};

use super::{Cast, english, form, person, provider, scope, scopes, server, sign_out, unknown};

pub(super) fn consents(cast: &Cast, language: Language) -> Vec<(&'static str, ConsentView)> {
    let view = consent(cast, language);
    let many = (1..=9).flat_map(|n| {
        [
            scope(
                &format!("read:{n}"),
                Deed::See,
                language,
                ["one more thing", "又一项内容"],
            ),
            unknown(cast),
        ]
    });
    vec![
        ("consent", view.clone()),
        (
            "consent.check",
            ConsentView {
                wrong: true,
                ..view.clone()
            },
        ),
        (
            "consent.short",
            ConsentView {
                scopes: vec![
                    english("repo", Deed::Change, "your repositories"),
                    unknown(cast),
                ],
                exact: Exact {
                    client: Some(Client::Asserted(cast.client.to_owned())),
                    ..view.exact.clone()
                },
                person: person(cast, false),
                reason: None,
                minutes_left: 1,
                ..view.clone()
            },
        ),
        (
            "consent.many",
            ConsentView {
                scopes: many.collect(),
                ..view.clone()
            },
        ),
        (
            "consent.none",
            ConsentView {
                scopes: Vec::new(),
                exact: Exact {
                    client: None,
                    ..view.exact.clone()
                },
                ..view
            },
        ),
    ]
}

fn consent(cast: &Cast, language: Language) -> ConsentView {
    ConsentView {
        server: server(cast),
        provider: provider(cast),
        person: person(cast, true),
        scopes: scopes(language),
        exact: Exact {
            server: "https://release-notes.mcp.northwind.example/".to_owned(),
            provider: "https://github.com/login/oauth/authorize".to_owned(),
            issuer: "https://login.northwind.example/".to_owned(),
            client: Some(Client::Verified(cast.client.to_owned())),
        },
        reason: Some(Quote {
            text: cast.reason.to_owned(),
            lang: Some(cast.lang.to_owned()),
        }),
        yes: form("consent"),
        no: form("decline"),
        sign_out: sign_out(Some("5c1a")),
        wrong: false,
        minutes_left: 12,
        reference: "7QK4-2M9D".to_owned(),
    }
}

/// The page that asks for a key, alone and beside a login name, and with each reason for coming back.
pub(super) fn keys(cast: &Cast) -> Vec<(&'static str, KeyView)> {
    let label = |plain: &str, chinese: &str| Label {
        plain: plain.to_owned(),
        chinese: Some(chinese.to_owned()),
    };
    let field = |wrong| KeyField {
        label: label("API key", "API 密钥"),
        hint: Some(label("Under Account, then Keys.", "在“账户”下的“密钥”中。")),
        begins: "tw_".to_owned(),
        wrong,
    };
    let view = KeyView {
        server: server(cast),
        provider: provider(cast),
        person: person(cast, true),
        login: None,
        key: field(None),
        found_at: Some(Address::with_site(
            "https://tidewater.example/account/keys",
            "tidewater.example",
        )),
        tried: true,
        reason: Some(Quote {
            text: cast.reason.to_owned(),
            lang: Some(cast.lang.to_owned()),
        }),
        yes: form("key"),
        no: form("decline"),
        sign_out: sign_out(Some("5c1a")),
        wrong: false,
        minutes_left: 12,
        reference: "7QK4-2M9D".to_owned(),
    };
    let wrong = |wrong| KeyView {
        key: field(Some(wrong)),
        ..view.clone()
    };
    vec![
        ("key.empty", wrong(KeyWrong::Empty)),
        ("key.characters", wrong(KeyWrong::Characters)),
        ("key.beginning", wrong(KeyWrong::Beginning)),
        ("key.length", wrong(KeyWrong::Length)),
        ("key.foreign", wrong(KeyWrong::Foreign)),
        (
            "key.check",
            KeyView {
                wrong: true,
                ..view.clone()
            },
        ),
        (
            "key.login",
            KeyView {
                login: Some(KeyField {
                    label: label("E-mail address", "电子邮件地址"),
                    hint: None,
                    begins: String::new(),
                    wrong: None,
                }),
                found_at: None,
                tried: false,
                reason: None,
                ..view.clone()
            },
        ),
        ("key", view),
    ]
}

fn confirm(cast: &Cast, language: Language) -> ConfirmView {
    ConfirmView {
        account: Some(cast.account.to_owned()),
        changed_from: None,
        provider: provider(cast),
        server: server(cast),
        person: person(cast, true),
        all: false,
        allowed: scopes(language),
        missing: Vec::new(),
        extra: Vec::new(),
        yes: form("confirm"),
        no: form("decline"),
        again: form("again"),
        wrong: false,
        reference: "7QK4-2M9D".to_owned(),
    }
}

pub(super) fn confirms(cast: &Cast, language: Language) -> Vec<(&'static str, ConfirmView)> {
    let view = confirm(cast, language);
    let changed = Some(Earlier::Named(cast.other_account.to_owned()));
    let missing = vec![scope(
        "workflow",
        Deed::Change,
        language,
        ["your automation files", "您的自动化流程文件"],
    )];
    vec![
        ("confirm", view.clone()),
        (
            "confirm.check",
            ConfirmView {
                wrong: true,
                ..view.clone()
            },
        ),
        (
            "confirm.changed",
            ConfirmView {
                changed_from: changed,
                person: person(cast, false),
                ..view.clone()
            },
        ),
        (
            "confirm.changed_unnamed",
            ConfirmView {
                changed_from: Some(Earlier::Unnamed),
                ..view.clone()
            },
        ),
        (
            "confirm.key",
            ConfirmView {
                all: true,
                allowed: Vec::new(),
                ..view.clone()
            },
        ),
        (
            "confirm.unnamed",
            ConfirmView {
                account: None,
                ..view.clone()
            },
        ),
        (
            "confirm.differs",
            ConfirmView {
                missing,
                extra: vec![unknown(cast)],
                ..view.clone()
            },
        ),
        (
            "confirm.none",
            ConfirmView {
                allowed: Vec::new(),
                ..view
            },
        ),
    ]
}
