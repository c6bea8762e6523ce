//! Forms over HTTP: what reaches the door, and with which word about where it came from.

use actix_web::test::TestRequest;
use actors::doors::Posted;

use super::script::{Script, set};
use super::{FLOW, ORIGIN, ask, form};

fn consent(body: &'static str) -> TestRequest {
    form(&format!("/f/{FLOW}/consent"), body)
}

#[actix_web::test]
async fn each_form_reaches_its_own_deed() {
    let page = format!("/f/{FLOW}");
    let cases = [
        ("consent", "csrf=t&agree=yes", "consent own ticked csrf=t"),
        ("consent", "csrf=t", "consent own csrf=t"),
        (
            "key",
            "csrf=t&key=sk_1234&agree=yes",
            "key 0 7 own ticked csrf=t",
        ),
        ("key", "csrf=t&login=ab&key=", "key 2 0 own csrf=t"),
        ("key", "csrf=t", "key 0 0 own csrf=t"),
        ("confirm", "csrf=t&mine=yes", "confirm own ticked csrf=t"),
        ("decline", "csrf=t", "decline own csrf=t"),
        ("again", "csrf=t", "again own csrf=t"),
        ("login", "csrf=t", "login own csrf=t"),
        ("login", "", "login own csrf="),
    ];
    for (deed, body, call) in cases {
        let script = Script::well();
        let got = ask(&script, form(&format!("{page}/{deed}"), body)).await;
        assert_eq!(got.status.as_u16(), 303, "{deed}");
        assert_eq!(script.calls(), ["begin", call]);
    }
    let script = Script::well();
    set(&script.takes, || Ok(Posted::Leaving));
    let got = ask(&script, consent("csrf=t&agree=yes")).await;
    assert_eq!(
        got.header("location"),
        Some(format!("{page}/leaving").as_str())
    );
}

#[actix_web::test]
async fn where_a_form_came_from_is_judged_by_the_table() {
    let (own, foreign) = ("consent own csrf=t", "consent foreign csrf=t");
    let cases: [(Option<&str>, Option<&str>, &str); 12] = [
        (Some("same-origin"), Some(ORIGIN), own),
        (Some("same-origin"), None, own),
        (Some("same-origin"), Some("null"), foreign),
        (Some("same-origin"), Some("https://evil.example"), foreign),
        (
            Some("same-site"),
            Some("https://evil.vault.example"),
            foreign,
        ),
        (Some("same-site"), Some(ORIGIN), foreign),
        (Some("cross-site"), Some(ORIGIN), foreign),
        (Some("none"), Some(ORIGIN), foreign),
        (None, Some(ORIGIN), own),
        (None, Some("http://connect.vault.example"), foreign),
        (None, Some("null"), foreign),
        (None, None, foreign),
    ];
    for (site, origin, call) in cases {
        let script = Script::well();
        set(&script.takes, || Ok(Posted::Refused));
        let mut request = TestRequest::post()
            .uri(&format!("/f/{FLOW}/consent"))
            .insert_header((
                "content-type",
                "application/x-www-form-urlencoded; charset=UTF-8",
            ))
            .set_payload("csrf=t");
        if let Some(site) = site {
            request = request.insert_header(("sec-fetch-site", site));
        }
        if let Some(origin) = origin {
            request = request.insert_header(("origin", origin));
        }
        let got = ask(&script, request).await;
        assert_eq!(script.calls(), ["begin", call], "{site:?} {origin:?}");
        assert_eq!(got.status.as_u16(), 403);
    }
}

#[actix_web::test]
async fn a_form_from_a_frame_a_script_or_with_double_headers_is_foreign() {
    for (name, value) in [
        ("sec-fetch-dest", "iframe"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-dest", "empty"),
    ] {
        let script = Script::well();
        ask(&script, consent("csrf=t").insert_header((name, value))).await;
        assert_eq!(
            script.calls(),
            ["begin", "consent foreign csrf=t"],
            "{value}"
        );
    }
    for (name, value) in [("sec-fetch-site", "same-origin"), ("origin", ORIGIN)] {
        let script = Script::well();
        ask(&script, consent("csrf=t").append_header((name, value))).await;
        assert_eq!(
            script.calls(),
            ["begin", "consent foreign csrf=t"],
            "{name} twice"
        );
    }
}

#[actix_web::test]
async fn other_bodies_never_reach_the_door() {
    let big = format!("csrf={}", "a".repeat(16 * 1024));
    let typed = |kind: &'static str| consent("csrf=t").insert_header(("content-type", kind));
    let cases = [
        (typed("text/plain"), 415),
        (typed("multipart/form-data; boundary=x"), 415),
        (typed("application/json"), 415),
        (
            typed("application/x-www-form-urlencoded; charset=utf-16"),
            415,
        ),
        (typed("application/x-www-form-urlencoded2"), 415),
        (
            consent("csrf=t").append_header(("content-type", "application/x-www-form-urlencoded")),
            415,
        ),
        (
            consent("csrf=t").insert_header(("content-encoding", "gzip")),
            415,
        ),
        (
            typed("text/plain").insert_header(("sec-fetch-site", "cross-site")),
            403,
        ),
        (consent("").set_payload(big), 413),
        (consent("csrf=t&csrf=t"), 400),
        (consent("csrf=t&mine=yes"), 400),
        (consent("csrf=t&agree=maybe"), 400),
        (consent("csrf=t&_method=delete"), 400),
        (consent("csrf=%ff"), 400),
        (form("/session/end", "csrf=t&flow=bf_1"), 400),
        (form(&format!("/f/{FLOW}/consent?agree=yes"), "csrf=t"), 400),
        (form("/f/bf_1/consent", "csrf=t"), 404),
    ];
    for (number, (request, status)) in cases.into_iter().enumerate() {
        let script = Script::well();
        let got = ask(&script, request).await;
        assert_eq!(got.status.as_u16(), status, "case {number}");
        assert_eq!(script.calls(), ["begin"], "case {number}");
    }
}

#[actix_web::test]
async fn a_login_form_that_the_door_does_not_take_is_foreign_or_gone() {
    let script = Script::well();
    set(&script.starts, || Ok(None));
    let login = || form(&format!("/f/{FLOW}/login"), "csrf=t");
    assert_eq!(ask(&script, login()).await.status.as_u16(), 404);
    let foreign = login().insert_header(("sec-fetch-site", "cross-site"));
    assert_eq!(ask(&script, foreign).await.status.as_u16(), 403);
}
