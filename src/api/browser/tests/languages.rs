//! In which language which page comes.

use std::sync::Arc;
use std::time::Duration;

use actix_web::test::TestRequest;
use actors::doors::{AskView, FlowPage, LoginFailed, Onward, Opened, Posted, Refusal};
use domain::{Locale, LoginRefused};

use super::samples::{ask_view, tokens};
use super::script::{Script, browser_cookie, flow, set};
use super::{FLOW, Got, WORD, ask, click, form};

const MAINLAND: (&str, &str) = ("accept-language", "zh-CN,zh;q=0.9,en;q=0.8");
const AMERICAN: (&str, &str) = ("accept-language", "en-US,en;q=0.9");

fn locale(tag: &str) -> Option<Locale> {
    Locale::parse(tag).ok()
}

/// The language of a page, by its markup and its header alike.
fn language(got: &Got) -> &str {
    let (_, rest) = got.body.split_once("<html lang=\"").expect("a page");
    let (lang, _) = rest.split_once('"').expect("a value");
    assert_eq!(got.header("content-language"), Some(lang));
    assert_eq!(got.header("vary"), Some("Accept-Language, Cookie"));
    lang
}

/// Every kind of request that is answered with a page, whoever asks.
fn pages() -> Vec<TestRequest> {
    let page = format!("/f/{FLOW}");
    vec![
        click(&format!("/c/{WORD}"), "cross-site"),
        click("/c/x", "none"),
        click("/nowhere", "none"),
        click("/problems/busy", "cross-site"),
        click(&page, "same-origin"),
        click(&page, "cross-site"),
        click(&format!("{page}/leaving"), "same-origin"),
        click("/login/go", "same-origin"),
        click("/login/callback/staff?state=s", "cross-site"),
        click("/cb/github?state=s", "cross-site"),
        click(&format!("{page}?x"), "same-origin"),
        form(&format!("{page}/consent"), "csrf=a&x=y"),
        TestRequest::post().uri("/cb/github"),
        TestRequest::with_uri("*").method(actix_web::http::Method::OPTIONS),
    ]
}

#[actix_web::test]
async fn every_page_is_in_the_language_that_the_browser_asks_for() {
    let script = Script::well();
    for (header, wanted) in [(MAINLAND, "zh-Hans"), (AMERICAN, "en")] {
        for request in pages() {
            let got = ask(&script, request.insert_header(header)).await;
            assert_eq!(language(&got), wanted, "{}", got.body);
        }
    }
    for request in pages() {
        assert_eq!(language(&ask(&script, request).await), "en");
    }
}

#[actix_web::test]
async fn what_the_server_asked_for_comes_before_the_browser() {
    for (tag, header, wanted) in [
        ("zh-CN", AMERICAN, "zh-Hans"),
        ("en-GB", MAINLAND, "en"),
        ("zh-Hant-TW", AMERICAN, "zh-Hans"),
        // We do not have it, so what the browser asks for is the next best.
        ("de", MAINLAND, "zh-Hans"),
        ("de", AMERICAN, "en"),
    ] {
        let script = Script::well();
        set(&script.speaks, move || Ok(locale(tag)));
        set(&script.opens, move || {
            Ok(Some(Opened::Flow {
                flow: flow(),
                cookie: browser_cookie(),
                forget: Vec::new(),
                locale: locale(tag),
            }))
        });
        set(&script.takes, || {
            let (ask, tokens) = (ask_view(), tokens());
            Ok(Posted::TickMissing(Box::new(FlowPage::Consent {
                ask,
                tokens,
            })))
        });
        let page = format!("/f/{FLOW}");
        for request in [
            click(&format!("/c/{WORD}"), "cross-site"),
            click(&page, "same-origin"),
            click(&format!("{page}/leaving"), "same-origin"),
            click("/login/go", "same-origin"),
            click("/login/callback/staff?state=s", "cross-site"),
            click("/cb/github?state=s", "cross-site"),
            form(&format!("{page}/consent"), "csrf=a"),
        ] {
            let got = ask(&script, request.insert_header(header)).await;
            assert_eq!(language(&got), wanted, "{tag}: {}", got.body);
        }
        // Nobody knows these; they are the browser's.
        let got = ask(&script, click("/c/x", "none").insert_header(header)).await;
        let browsers = if header == AMERICAN { "en" } else { "zh-Hans" };
        assert_eq!(language(&got), browsers);
    }
}

#[actix_web::test]
async fn endings_and_failures_of_a_flow_are_in_its_language_too() {
    let script = Script::well();
    set(&script.speaks, || Ok(locale("zh-Hans")));
    set(&script.signs_in, || {
        Ok(Err(LoginFailed {
            reason: LoginRefused::Refused,
            reference: "7QK4-2M9D".into(),
            onward: Some(Onward::Flow(flow())),
        }))
    });
    set(&script.shows, || Ok(FlowPage::Gone));
    set(&script.takes, || Ok(Posted::Refused));
    let page = format!("/f/{FLOW}");
    for (request, words) in [
        (
            click("/login/callback/staff?state=s", "cross-site"),
            "这次登录没有成功。",
        ),
        (click(&page, "same-origin"), "此链接已失效"),
        (form(&format!("{page}/decline"), "csrf=a"), "此表单已经用过"),
        (
            form(
                "/session/end",
                "csrf=a&flow=bf_0102030405060708090a0b0c0d0e0f10",
            ),
            "此表单已经用过",
        ),
    ] {
        let got = ask(&script, request.insert_header(AMERICAN)).await;
        assert_eq!(language(&got), "zh-Hans");
        assert!(got.body.contains(words), "{}", got.body);
    }
    // A store that cannot say which language costs nobody the page.
    set(&script.speaks, || {
        Err(Refusal::Busy {
            retry_after: Duration::from_secs(1),
        })
    });
    let got = ask(&script, click(&page, "same-origin").insert_header(MAINLAND)).await;
    assert_eq!((got.status.as_u16(), language(&got)), (404, "zh-Hans"));
}

fn consent_in(tag: &'static str) -> Arc<Script> {
    let script = Script::well();
    set(&script.speaks, move || Ok(locale(tag)));
    set(&script.shows, move || {
        Ok(FlowPage::Consent {
            ask: AskView {
                locale: locale(tag),
                ..ask_view()
            },
            tokens: tokens(),
        })
    });
    script
}

#[actix_web::test]
async fn permissions_and_quotations_say_what_language_they_are_in() {
    let page = format!("/f/{FLOW}");
    let shown = async |tag| {
        let request = click(&page, "same-origin").insert_header(AMERICAN);
        ask(&consent_in(tag), request).await.body
    };
    let chinese = shown("zh-CN").await;
    for wanted in [
        "<bdi>您的代码仓库</bdi>",
        "<bdi lang=\"en\">your code</bdi>",
        "<blockquote lang=\"zh-CN\">",
    ] {
        assert!(chinese.contains(wanted), "{wanted}: {chinese}");
    }
    let english = shown("de-AT").await;
    for wanted in [
        "<bdi>your repositories</bdi>",
        "<bdi>your code</bdi>",
        "<blockquote lang=\"de-AT\">",
    ] {
        assert!(english.contains(wanted), "{wanted}: {english}");
    }
}

#[actix_web::test]
async fn problems_are_explained_in_both_languages() {
    let script = Script::well();
    for kind in crate::kind::Kind::ALL {
        let (_, code, title, detail) = kind.facts();
        let (zh_title, zh_detail) = kind.in_chinese();
        for (header, words) in [
            (AMERICAN, [title, detail]),
            (MAINLAND, [zh_title, zh_detail]),
        ] {
            let request = click(&format!("/problems/{code}"), "none").insert_header(header);
            let body = ask(&script, request).await.body.replace("&#39;", "'");
            for words in words {
                assert!(body.contains(words), "{code}: {words}");
            }
        }
        assert!(!zh_detail.contains(['!', '！', '你']), "{code}");
        // What is typed stays as it is typed.
        let typed = |text: &'static str| text.split('`').skip(1).step_by(2).collect::<Vec<_>>();
        let (english, chinese) = (typed(detail), typed(zh_detail));
        let known = english
            .iter()
            .all(|word| *word == "Bearer" || chinese.contains(word) || zh_detail.contains(word));
        assert!(known, "{code}: {english:?} {chinese:?}");
    }
}

#[actix_web::test]
async fn a_person_chooses_another_language_and_keeps_it_whatever_the_server_asks() {
    let script = Script::well();
    set(&script.speaks, || Ok(locale("zh-Hans")));
    let page = format!("/f/{FLOW}");
    let shown = ask(&script, click(&page, "same-origin")).await;
    let way = format!("<a href=\"{page}/in/en\" hreflang=\"en\" lang=\"en\"><span>English</span>");
    assert!(shown.body.contains(&way), "{}", shown.body);
    assert!(!shown.body.contains("简体中文"), "it is this language");

    let calls = script.calls().len();
    let chosen = ask(&script, click(&format!("{page}/in/en"), "same-origin")).await;
    assert_eq!(
        (chosen.status.as_u16(), chosen.header("location")),
        (303, Some(page.as_str()))
    );
    assert_eq!(
        chosen.cookies(),
        ["__Host-sr_t=en; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000"]
    );
    assert_eq!(
        script.calls()[calls..],
        ["begin"],
        "the door is asked nothing"
    );

    for (cookie, wanted) in [
        ("__Host-sr_t=en", "en"),
        ("a=b; __Host-sr_t=en", "en"),
        ("__Host-sr_t=zh-Hans", "zh-Hans"),
        // What was never ours counts as absent.
        ("__Host-sr_t=EN", "zh-Hans"),
        ("__Host-sr_t=", "zh-Hans"),
        ("__Host-sr_t", "zh-Hans"),
        ("__Host-sr_T=en", "zh-Hans"),
    ] {
        for request in [
            click(&page, "same-origin"),
            click("/cb/github?state=s", "none"),
        ] {
            let request = request.insert_header(("cookie", cookie));
            assert_eq!(language(&ask(&script, request).await), wanted, "{cookie}");
        }
    }
    let known = click("/c/x", "none").insert_header(("cookie", "__Host-sr_t=zh-Hans"));
    assert_eq!(
        language(&ask(&script, known.insert_header(AMERICAN)).await),
        "zh-Hans"
    );
    let double = click(&page, "none").insert_header(("cookie", "__Host-sr_t=en; __Host-sr_t=en"));
    assert_eq!(ask(&script, double).await.status.as_u16(), 400);
}

#[actix_web::test]
async fn nobody_else_chooses_for_a_person_and_only_pages_of_a_flow_offer_it() {
    let script = Script::well();
    let page = format!("/f/{FLOW}");
    for site in ["cross-site", "same-site"] {
        let got = ask(&script, click(&format!("{page}/in/zh-Hans"), site)).await;
        assert_eq!(
            (got.status.as_u16(), got.cookies().len()),
            (200, 0),
            "{site}"
        );
        assert_eq!(got.header("refresh"), None, "{site}");
    }
    for request in [
        click("/c/x", "none"),
        click("/problems/busy", "none"),
        click(&format!("{page}/leaving"), "same-origin"),
        click(&format!("/c/{WORD}"), "none"),
    ] {
        assert!(!ask(&script, request).await.body.contains("/in/"));
    }
    set(&script.shows, || Ok(FlowPage::Gone));
    let gone = ask(&script, click(&page, "same-origin")).await;
    assert_eq!(gone.body, ask(&script, click("/c/x", "none")).await.body);
}
