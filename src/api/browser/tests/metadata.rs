//! The Fetch Metadata matrix of security.md 5.4, route by route.

use actix_web::test::TestRequest;

use super::script::Script;
use super::{FLOW, WORD, ask, click};

const SITES: [&str; 4] = ["none", "same-origin", "same-site", "cross-site"];
/// Ways of loading that are not the opening of a whole page.
const NOT_PAGES: [(&str, &str); 8] = [
    ("navigate", "iframe"),
    ("navigate", "frame"),
    ("navigate", "object"),
    ("navigate", "embed"),
    ("no-cors", "image"),
    ("no-cors", "script"),
    ("cors", "empty"),
    ("websocket", "document"),
];

fn load(path: &str, (mode, dest): (&'static str, &'static str)) -> TestRequest {
    click(path, "cross-site")
        .insert_header(("sec-fetch-mode", mode))
        .insert_header(("sec-fetch-dest", dest))
}

#[actix_web::test]
async fn links_and_callbacks_open_from_anywhere() {
    for path in [
        format!("/c/{WORD}"),
        "/cb/github?state=s".into(),
        "/login/callback/staff?state=s".into(),
    ] {
        for site in SITES {
            let script = Script::well();
            let got = ask(&script, click(&path, site)).await;
            assert_eq!(got.status.as_u16(), 200, "{path} {site}");
            assert!(got.header("refresh").is_some());
            assert_eq!(script.calls().len(), 2);
        }
        let bare = ask(&Script::well(), TestRequest::get().uri(&path)).await;
        assert_eq!(bare.status.as_u16(), 200, "{path} in an old browser");
    }
}

#[actix_web::test]
async fn pages_from_elsewhere_wait_for_a_click_and_ask_the_door_nothing() {
    for path in [
        format!("/f/{FLOW}"),
        format!("/f/{FLOW}/leaving"),
        "/login/go".into(),
    ] {
        for (site, calls) in [
            ("none", 2),
            ("same-origin", 2),
            ("same-site", 1),
            ("cross-site", 1),
        ] {
            let script = Script::well();
            let got = ask(&script, click(&path, site)).await;
            assert_eq!(got.status.as_u16(), 200, "{path} {site}");
            assert_eq!(script.calls().len(), calls, "{path} {site}");
            if calls == 1 {
                assert_eq!(got.header("refresh"), None);
                assert!(got.body.contains(&format!("href=\"{path}\"")));
                assert!(
                    !got.body.contains("GitHub") && !got.body.contains("login.northwind"),
                    "{path} tells"
                );
            }
        }
        assert_eq!(
            ask(&Script::well(), TestRequest::get().uri(&path))
                .await
                .status
                .as_u16(),
            200
        );
    }
}

#[actix_web::test]
async fn frames_images_and_scripts_get_nothing() {
    for how in NOT_PAGES {
        for path in [
            format!("/c/{WORD}"),
            format!("/f/{FLOW}"),
            format!("/f/{FLOW}/leaving"),
            "/login/go".into(),
        ] {
            let script = Script::well();
            let got = ask(&script, load(&path, how)).await;
            assert_eq!(got.status.as_u16(), 403, "{path} {how:?}");
            assert_eq!(script.calls(), ["begin"], "{path} {how:?}");
        }
        for (path, call) in [
            ("/cb/github?state=s", "callback github state=s false"),
            (
                "/login/callback/staff?state=s",
                "sign-in staff state=s false",
            ),
        ] {
            let script = Script::well();
            super::script::set(&script.comes_back, || Ok(None));
            super::script::set(&script.signs_in, || {
                let reason = domain::LoginRefused::WrongAnswer;
                Ok(Err(actors::doors::LoginFailed {
                    reason,
                    reference: "R".into(),
                    onward: None,
                }))
            });
            let got = ask(&script, load(path, how)).await;
            assert_eq!(got.status.as_u16(), 403, "{path} {how:?}");
            assert_eq!(
                script.calls(),
                ["begin", call],
                "the door is told, and refuses"
            );
        }
    }
}

#[actix_web::test]
async fn broken_or_unknown_metadata_is_no_navigation() {
    let path = format!("/c/{WORD}");
    let twice = click(&path, "none").append_header(("sec-fetch-site", "none"));
    let unknown = click(&path, "none").insert_header(("sec-fetch-site", "elsewhere"));
    let partial = TestRequest::get()
        .uri(&path)
        .insert_header(("sec-fetch-dest", "image"));
    for request in [twice, unknown, partial] {
        let script = Script::well();
        assert_eq!(ask(&script, request).await.status.as_u16(), 403);
        assert_eq!(script.calls(), ["begin"]);
    }
}

#[actix_web::test]
async fn assets_are_for_our_own_pages() {
    let path = ::pages::stylesheet_path();
    let cases = [
        ("same-origin", "style", 200),
        ("same-origin", "image", 200),
        ("none", "style", 200),
        ("same-site", "style", 403),
        ("cross-site", "image", 403),
        ("same-origin", "script", 403),
        ("none", "document", 403),
    ];
    for (site, dest, status) in cases {
        let request = click(path, site).insert_header(("sec-fetch-dest", dest));
        let got = ask(
            &Script::well(),
            request.insert_header(("sec-fetch-mode", "no-cors")),
        )
        .await;
        assert_eq!(got.status.as_u16(), status, "{site} {dest}");
    }
    assert_eq!(
        ask(&Script::well(), TestRequest::get().uri(path))
            .await
            .status
            .as_u16(),
        200
    );
    assert_eq!(
        ask(
            &Script::well(),
            TestRequest::get().uri("/assets/strongroom.css")
        )
        .await
        .status
        .as_u16(),
        404
    );
}
