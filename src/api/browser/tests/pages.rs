//! What people see: every page of a flow, one page for everything that is gone, and nothing of what a request brought.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use actors::doors::{FlowPage, LoginFailed, Posted, Refusal, Replaced};
use domain::{FailureCode, LoginRefused};

use super::samples::{HOSTILE, ask_view, issuer, provider, scopes, server, tokens};
use super::script::{Script, set};
use super::{FLOW, Got, WORD, ask, ask_with, click, form, settings};
use crate::browser::LeavingPage;

/// Makes a refusal.
type Refuses = Box<dyn Fn() -> Refusal + Send>;

async fn shown(page: impl FnMut() -> Result<FlowPage, Refusal> + Send + 'static) -> Got {
    let script = Script::well();
    set(&script.shows, page);
    ask(&script, click(&format!("/f/{FLOW}"), "same-origin")).await
}

pub(super) fn assert_says(got: &Got, status: u16, words: &[&str]) {
    assert_eq!(got.status.as_u16(), status, "{}", got.body);
    for word in words {
        assert!(got.body.contains(word), "{word} is missing in {}", got.body);
    }
    assert!(!got.body.contains("<script"), "{}", got.body);
}

#[actix_web::test]
async fn consent_says_who_asks_what_of_whom() {
    let got = shown(|| {
        Ok(FlowPage::Consent {
            ask: ask_view(),
            tokens: tokens(),
        })
    })
    .await;
    let deeds = ["consent", "decline"].map(|deed| format!("action=\"/f/{FLOW}/{deed}\""));
    let words = [
        "Release &#60;b&#62;notes",
        "notes.mcp.<b>northwind.example</b>",
        "<b>github.example</b>",
        "Ada L.",
        "ada@northwind.example",
        "your repositories",
        "your code",
        "https://notes.mcp.northwind.example/mcp",
        "https://github.example/login/authorize",
        "https://login.northwind.example/realm",
        "https://client.example/",
        "&#60;script&#62;",
        "10 minutes",
        "7QK4-2M9D",
        "csrf-yes",
        "csrf-no",
        "csrf-out",
        &deeds[0],
        &deeds[1],
        "action=\"/session/end\"",
        &format!("name=\"flow\" value=\"{FLOW}\""),
    ];
    assert_says(&got, 200, &words);
}

#[actix_web::test]
async fn every_other_page_has_its_status_and_its_forms() {
    assert_says(
        &shown(|| {
            Ok(FlowPage::SignIn {
                issuer: issuer(),
                yes: "csrf-yes".into(),
            })
        })
        .await,
        200,
        &[
            "https://login.<b>northwind.example</b>",
            "/login\"",
            "csrf-yes",
        ],
    );
    let mismatch = shown(|| {
        Ok(FlowPage::Mismatch {
            sign_out: "csrf-out".into(),
        })
    })
    .await;
    assert_says(&mismatch, 403, &["csrf-out", FLOW]);
    for name in ["ada", "GitHub", "Release"] {
        assert!(
            !mismatch.body.contains(name),
            "a mismatch names nobody: {name}"
        );
    }
    let working = shown(|| Ok(FlowPage::Working)).await;
    assert_says(&working, 200, &[&format!("href=\"/f/{FLOW}\"")]);
    assert_eq!(working.header("refresh"), None, "no timed wait");
    let confirm = || FlowPage::Confirm {
        ask: ask_view(),
        account: Some("octo".into()),
        replaces: Replaced::Named("old-octo".into()),
        granted: scopes("repo:read odd offline_access"),
        tokens: tokens(),
    };
    assert_says(
        &shown(move || Ok(confirm())).await,
        200,
        &[
            "octo",
            "old-octo",
            "csrf-again",
            "/confirm\"",
            "/again\"",
            "your code",
            "odd",
            "mine",
        ],
    );
    assert_says(
        &shown(|| {
            Ok(FlowPage::Done {
                ask: ask_view(),
                account: Some("octo".into()),
            })
        })
        .await,
        200,
        &["octo", "GitHub"],
    );
    assert_says(
        &shown(|| {
            Ok(FlowPage::Declined {
                server: server(),
                provider: provider(),
            })
        })
        .await,
        200,
        &["GitHub"],
    );
    let failed = |tokens| FlowPage::Failed {
        code: FailureCode::ProviderUnreachable,
        reference: "ABCD-EFGH".into(),
        tokens,
    };
    let got = shown(move || Ok(failed(Some(tokens())))).await;
    assert_says(
        &got,
        200,
        &["provider-unreachable", "ABCD-EFGH", "csrf-again", "csrf-no"],
    );
    assert!(!shown(move || Ok(failed(None))).await.body.contains("<form"));
}

#[actix_web::test]
async fn what_the_provider_file_always_asks_for_is_no_surprise() {
    let confirm = |granted: &'static str| {
        move || {
            Ok(FlowPage::Confirm {
                ask: ask_view(),
                account: None,
                replaces: Replaced::Unnamed,
                granted: scopes(granted),
                tokens: tokens(),
            })
        }
    };
    let got = shown(confirm("repo:read repo:write offline_access")).await;
    assert_says(&got, 200, &["offline_access", "another one was connected"]);
    assert!(!got.body.contains("class=\"differs"), "{}", got.body);
    let got = shown(confirm("repo:read repo:write odd")).await;
    assert_says(&got, 200, &["class=\"differs differs-more\""]);
}

#[actix_web::test]
async fn a_forgotten_tick_comes_back_marked() {
    let script = Script::well();
    set(&script.takes, || {
        Ok(Posted::TickMissing(Box::new(FlowPage::Consent {
            ask: ask_view(),
            tokens: tokens(),
        })))
    });
    let got = ask(&script, form(&format!("/f/{FLOW}/consent"), "csrf=t")).await;
    assert_says(&got, 422, &["class=\"tick wrong\"", "csrf-yes"]);
}

#[actix_web::test]
async fn the_leaving_page_goes_at_once_or_asks() {
    let path = format!("/f/{FLOW}/leaving");
    let link = "href=\"https://github.example/login/authorize?state=s&#38;x=%27%22\"";
    let got = ask(&Script::well(), click(&path, "same-origin")).await;
    assert_says(
        &got,
        200,
        &[link, "https://<b>github.example</b>", "You have 6 minutes"],
    );
    assert!(got.header("refresh").is_some() && !got.body.contains("<form"));
    let asks = settings().leaving(LeavingPage::Ask);
    let got = ask_with(
        asks,
        &Script::well(),
        click(&path, "same-origin").insert_header(("host", super::HOST)),
    )
    .await;
    assert_says(&got, 200, &[link]);
    assert_eq!(got.header("refresh"), None);
    let script = Script::well();
    set(&script.leaves, || Ok(None));
    assert_eq!(
        ask(&script, click(&path, "same-origin"))
            .await
            .header("location"),
        Some(format!("/f/{FLOW}").as_str())
    );
    set(&script.leaves, || {
        Ok(Some(Err(FailureCode::ProviderMisconfigured)))
    });
    assert_says(
        &ask(&script, click(&path, "same-origin")).await,
        200,
        &["provider-misconfigured", &format!("href=\"/f/{FLOW}\"")],
    );
}

#[actix_web::test]
async fn whatever_is_gone_looks_the_same() {
    let script = Script::well();
    set(&script.opens, || Ok(None));
    set(&script.shows, || Ok(FlowPage::Gone));
    set(&script.goes, || Ok(None));
    set(&script.comes_back, || Ok(None));
    set(&script.takes, || Ok(Posted::Gone));
    let page = format!("/f/{FLOW}");
    let requests = [
        click(&format!("/c/{WORD}"), "none"),
        click("/c/short", "none"),
        click("/cb/github?state=s", "none"),
        click("/cb/github", "none"),
        click("/login/go", "none"),
        click(&page, "none"),
        click("/f/x", "none"),
        click("/never/heard/of", "none"),
        form(&format!("{page}/consent"), "csrf=t"),
        form(&format!("{page}/decline"), "csrf=t"),
        form(
            "/session/end",
            "csrf=t&flow=bf_0102030405060708090a0b0c0d0e0f10",
        ),
    ];
    let mut seen = Vec::new();
    for request in requests {
        let got = ask(&script, request).await;
        assert_eq!(got.status.as_u16(), 404);
        let mut headers: Vec<_> = got
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value:?}"))
            .collect();
        headers.retain(|line| !line.starts_with("referrer-policy"));
        headers.sort();
        seen.push((headers, got.body));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1);
}

#[actix_web::test]
async fn refusals_have_their_status_and_a_reference() {
    let busy = || Refusal::Busy {
        retry_after: Duration::from_millis(1200),
    };
    let cases: [(Refuses, u16, &str, Option<&str>); 5] = [
        (Box::new(busy), 503, "busy", Some("2")),
        (
            Box::new(|| Refusal::TooMany {
                retry_after: Duration::ZERO,
            }),
            429,
            "too-many",
            Some("1"),
        ),
        (Box::new(|| Refusal::Unavailable), 503, "unavailable", None),
        (Box::new(|| Refusal::Internal), 500, "internal", None),
        (Box::new(|| Refusal::RequestState), 500, "internal", None),
    ];
    for (refusal, status, code, retry) in cases {
        let got = shown(move || Err(refusal())).await;
        assert_says(&got, status, &[code, "7777-7777"]);
        assert_eq!(got.header("retry-after"), retry);
    }
    assert_says(&shown(|| Err(Refusal::NotFound)).await, 404, &[]);
}

#[actix_web::test]
async fn an_ambiguous_callback_is_a_bad_request() {
    let script = Script::well();
    set(&script.comes_back, || Ok(None));
    for query in [
        "state=a&state=b",
        "code=a&error=b&state=c",
        "state=%ff",
        "state=%00",
    ] {
        let got = ask(&script, click(&format!("/cb/github?{query}"), "cross-site")).await;
        assert_eq!(got.status.as_u16(), 400, "{query}");
    }
}

#[actix_web::test]
async fn nothing_that_a_request_brought_comes_back() {
    const MARK: &str = "zq9x7";
    let query = format!(
        "error={MARK}&error_description=%3Cscript%3E{MARK}&error_uri=https://{MARK}.example&state={MARK}%0d%0ax:{MARK}"
    );
    let with_marks = |request: TestRequest| {
        request
            .insert_header(("cookie", format!("__Host-sr_s={MARK}; {MARK}={MARK}")))
            .insert_header(("referer", format!("https://{MARK}.example/")))
            .insert_header(("user-agent", MARK))
            .insert_header(("accept-language", MARK))
            .insert_header(("x-forwarded-host", MARK))
    };
    let script = Script::well();
    set(&script.comes_back, || Ok(None));
    set(&script.signs_in, || {
        Ok(Err(LoginFailed {
            reason: LoginRefused::WrongAnswer,
            reference: "R".into(),
            onward: None,
        }))
    });
    set(&script.takes, || Ok(Posted::Refused));
    let requests = [
        click(&format!("/cb/github?{query}"), "cross-site"),
        click(&format!("/cb/{MARK}?state=a&state={MARK}"), "cross-site"),
        click(&format!("/login/callback/{MARK}?{query}"), "cross-site"),
        click(&format!("/c/{MARK}?{MARK}"), "none"),
        click(&format!("/{MARK}/%3Cscript%3E"), "none"),
        click(&format!("/f/{MARK}"), "cross-site"),
        TestRequest::with_uri(&format!("/f/{FLOW}"))
            .method(Method::from_bytes(MARK.as_bytes()).expect("a method")),
        form(&format!("/f/{FLOW}/consent"), "csrf=zq9x7"),
        form(&format!("/f/{FLOW}/consent"), "zq9x7=zq9x7"),
        form(&format!("/f/{FLOW}/consent"), "csrf=t").insert_header(("content-type", MARK)),
    ];
    for (number, request) in requests.into_iter().enumerate() {
        let got = ask(&script, with_marks(request)).await;
        assert!(got.status.is_client_error(), "case {number}");
        assert!(!got.body.contains(MARK), "case {number}: {}", got.body);
        for (name, value) in &got.headers {
            assert!(
                !format!("{value:?}").contains(MARK),
                "case {number}: {name}"
            );
        }
    }
    assert!(HOSTILE.contains("<script"));
}
