//! Response headers: the whole set, exactly, on every kind of answer.

use std::collections::BTreeMap;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use url::Url;

use super::script::{Script, set};
use super::{ConnectSettings, FLOW, Got, WORD, ask, ask_with, click, form};

/// Security.md 5.2, written out once more: a change in the code has to be made here too.
const EVERYWHERE: [(&str, &str); 11] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("origin-agent-cluster", "?1"),
    (
        "permissions-policy",
        "accelerometer=(), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(), display-capture=(), geolocation=(), gyroscope=(), identity-credentials-get=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), serial=(), usb=(), xr-spatial-tracking=()",
    ),
    (
        "strict-transport-security",
        "max-age=63072000; includeSubDomains",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-dns-prefetch-control", "off"),
    ("x-frame-options", "DENY"),
    ("x-robots-tag", "noindex, nofollow, noarchive"),
];

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");
const TEXT: (&str, &str) = ("content-type", "text/plain; charset=utf-8");
const FOREVER: (&str, &str) = ("cache-control", "public, max-age=31536000, immutable");

/// A request, its referrer policy, status and further headers.
type Case<'a> = (TestRequest, &'a str, u16, &'a [(&'a str, &'a str)]);

/// All headers but cookies, exactly: the common ones, the referrer policy and `more`.
fn assert_exact(what: &str, got: &Got, referrer: &str, more: &[(&str, &str)]) {
    let mut wanted: BTreeMap<&str, &str> = EVERYWHERE.into_iter().collect();
    wanted.insert("cache-control", "no-store");
    wanted.insert("referrer-policy", referrer);
    wanted.extend(more.iter().copied());
    if more.contains(&HTML) {
        wanted.extend([
            ("content-language", "en"),
            ("vary", "Accept-Language, Cookie"),
        ]);
    }
    let all = got.headers.iter().filter(|(name, _)| *name != "set-cookie");
    let given: BTreeMap<&str, &str> = all
        .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
        .collect();
    assert_eq!(given, wanted, "{what}");
}

#[actix_web::test]
async fn every_route_carries_the_whole_set_and_nothing_else() {
    let script = Script::well();
    let page = format!("/f/{FLOW}");
    let to_page = format!("0; url=/f/{FLOW}");
    let leaving = format!("/f/{FLOW}/leaving");
    let style = ::pages::stylesheet_path();
    let provider = "0; url=https://github.example/login/authorize?state=s&x=%27%22";
    let issuer = "0; url=https://login.northwind.example/authorize?state=s";
    let (none, same) = ("no-referrer", "same-origin");
    let cases: [Case<'_>; 13] = [
        (
            click(&format!("/c/{WORD}"), "cross-site"),
            none,
            200,
            &[HTML, ("refresh", &to_page)],
        ),
        (
            click("/cb/github?state=s", "cross-site"),
            none,
            200,
            &[HTML, ("refresh", &to_page)],
        ),
        (
            click("/login/callback/staff?state=s", "cross-site"),
            none,
            200,
            &[HTML, ("refresh", &to_page)],
        ),
        (
            click("/login/go", "same-origin"),
            none,
            200,
            &[HTML, ("refresh", issuer)],
        ),
        (
            click(&leaving, "same-origin"),
            none,
            200,
            &[HTML, ("refresh", provider)],
        ),
        (click(&page, "same-origin"), same, 200, &[HTML]),
        (
            form(&format!("{page}/consent"), "csrf=a&agree=yes"),
            same,
            303,
            &[("location", &page)],
        ),
        (
            form(&format!("{page}/login"), "csrf=a"),
            same,
            303,
            &[("location", "/login/go")],
        ),
        (
            click(style, "same-origin").insert_header(("sec-fetch-dest", "style")),
            same,
            200,
            &[("content-type", "text/css; charset=utf-8"), FOREVER],
        ),
        (click("/problems/busy", "cross-site"), same, 200, &[HTML]),
        (click("/robots.txt", "none"), same, 200, &[TEXT]),
        (click("/healthz", "none"), same, 200, &[TEXT]),
        (click("/favicon.ico", "same-origin"), same, 404, &[]),
    ];
    for (number, (request, referrer, status, more)) in cases.into_iter().enumerate() {
        let got = ask(&script, request).await;
        assert_eq!(got.status.as_u16(), status, "case {number}");
        assert_exact(&format!("case {number}"), &got, referrer, more);
    }
}

#[actix_web::test]
async fn refusals_carry_it_too() {
    let script = Script::well();
    let (none, same) = ("no-referrer", "same-origin");
    let page = format!("/f/{FLOW}");
    let cases: [Case<'_>; 10] = [
        (click("/c/x", "none"), none, 404, &[HTML]),
        (click(&format!("/c/{WORD}?"), "none"), none, 400, &[HTML]),
        (
            TestRequest::with_uri(&format!("/c/{WORD}")).method(Method::HEAD),
            none,
            204,
            &[],
        ),
        (
            TestRequest::post().uri("/cb/github"),
            none,
            405,
            &[HTML, ("allow", "GET, HEAD")],
        ),
        (
            TestRequest::get().uri(&format!("{page}/consent")),
            same,
            405,
            &[HTML, ("allow", "POST")],
        ),
        (click("/nowhere", "none"), same, 404, &[HTML]),
        (click("/%63/x", "none"), same, 404, &[HTML]),
        (
            click(&page, "none").insert_header(("sec-fetch-dest", "iframe")),
            same,
            403,
            &[HTML],
        ),
        (
            click(&page, "none").insert_header(("upgrade", "websocket")),
            same,
            400,
            &[HTML],
        ),
        (
            TestRequest::with_uri("*").method(Method::OPTIONS),
            same,
            400,
            &[HTML],
        ),
    ];
    for (number, (request, referrer, status, more)) in cases.into_iter().enumerate() {
        let got = ask(&script, request).await;
        assert_eq!(got.status.as_u16(), status, "case {number}");
        assert_exact(&format!("case {number}"), &got, referrer, more);
    }
    let got = ask_with(
        super::settings(),
        &script,
        click(&page, "none").insert_header(("host", "evil.example")),
    )
    .await;
    assert_eq!(got.status.as_u16(), 421);
    assert_exact("wrong host", &got, same, &[HTML]);
}

#[actix_web::test]
async fn a_panic_behind_a_page_is_one_failed_request_with_all_headers() {
    let script = Script::well();
    set(&script.shows, || panic!("canary"));
    set(&script.takes, || panic!("canary"));
    let page = format!("/f/{FLOW}");
    for request in [
        click(&page, "same-origin"),
        form(&format!("{page}/consent"), "csrf=a&agree=yes"),
    ] {
        let got = ask(&script, request).await;
        assert_eq!(got.status.as_u16(), 500);
        assert!(got.body.contains("This did not work") && got.body.contains("internal"));
        assert!(!got.body.contains("canary"));
        assert_exact("after a panic", &got, "same-origin", &[HTML]);
    }
    let lines = super::log::lines();
    let answered = "status=500 request.id=rq_07070707070707070707070707070707";
    assert_eq!(
        lines.iter().filter(|line| line.contains(answered)).count(),
        2
    );
}

#[actix_web::test]
async fn hsts_is_for_https_alone() {
    let settings = ConnectSettings::new(&Url::parse("http://localhost:7601").expect("a URL"))
        .expect("an origin");
    let request = click("/robots.txt", "none").insert_header(("host", "localhost:7601"));
    let got = ask_with(settings, &Script::well(), request).await;
    assert_eq!(got.status.as_u16(), 200);
    assert_eq!(got.header("strict-transport-security"), None);
    assert_eq!(
        ask(&Script::well(), click("/robots.txt", "none"))
            .await
            .header("x-frame-options"),
        Some("DENY")
    );
}
