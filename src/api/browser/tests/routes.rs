//! Addresses, methods, authority, and all that must not reach the door.

use actix_web::http::Method;
use actix_web::test::TestRequest;

use super::script::Script;
use super::{FLOW, HOST, WORD, ask, ask_with, click, settings};

fn gets() -> Vec<String> {
    vec![
        format!("/c/{WORD}"),
        "/cb/github".into(),
        "/login/callback/staff".into(),
        "/login/go".into(),
        format!("/f/{FLOW}"),
        format!("/f/{FLOW}/leaving"),
        format!("/f/{FLOW}/in/zh-Hans"),
        "/me".into(),
        "/me/in/zh-Hans".into(),
        "/problems/busy".into(),
        "/robots.txt".into(),
        "/healthz".into(),
        ::pages::stylesheet_path().into(),
    ]
}

fn posts() -> Vec<String> {
    let deeds = ["login", "consent", "key", "confirm", "decline", "again"];
    let forms = deeds.iter().map(|deed| format!("/f/{FLOW}/{deed}"));
    let id = "0102030405060708090a0b0c0d0e0f10";
    let own = [
        "/session/end".to_owned(),
        "/me/login/staff".to_owned(),
        format!("/me/end/gr_{id}"),
        format!("/me/decline/el_{id}"),
        "/me/leave".to_owned(),
    ];
    forms.chain(own).collect()
}

#[actix_web::test]
async fn head_and_prefetch_ask_the_door_nothing() {
    for path in gets().iter().chain(&posts()) {
        let mut requests = vec![TestRequest::with_uri(path).method(Method::HEAD)];
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "Prefetch; anonymous-client-ip"),
            ("purpose", "prefetch"),
            ("x-moz", "prefetch"),
            ("x-purpose", "preview"),
        ] {
            requests.push(click(path, "none").insert_header((name, value)));
        }
        for request in requests {
            let script = Script::well();
            let got = ask(&script, request).await;
            assert_eq!(got.status.as_u16(), 204, "{path}");
            assert_eq!((got.body.as_str(), got.cookies().len()), ("", 0), "{path}");
            assert!(script.calls().is_empty(), "{path}: {:?}", script.calls());
        }
    }
}

#[actix_web::test]
async fn other_methods_are_not_allowed() {
    let others = [
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::OPTIONS,
        Method::TRACE,
    ];
    for (paths, allow, wrong) in [
        (gets(), "GET, HEAD", Method::POST),
        (posts(), "POST", Method::GET),
    ] {
        for path in paths {
            for method in others.iter().chain([&wrong]) {
                let script = Script::well();
                let got = ask(&script, TestRequest::with_uri(&path).method(method.clone())).await;
                assert_eq!(got.status.as_u16(), 405, "{method} {path}");
                assert_eq!(got.header("allow"), Some(allow), "{method} {path}");
                assert_eq!(script.calls(), ["begin"], "{method} {path}");
            }
        }
    }
}

#[actix_web::test]
async fn only_the_one_spelling_of_a_link_is_a_link() {
    let encoded = format!("/c/%41{}", &WORD[1..]);
    let bent = format!("/c/{}B", &WORD[1..]);
    let gone = [
        format!("/c/{}", &WORD[1..]),
        format!("/c/{WORD}A"),
        format!("/c/{WORD}/"),
        format!("/c/{WORD}/x"),
        format!("/c//{WORD}"),
        format!("//c/{WORD}"),
        format!("/C/{WORD}"),
        format!("/c/{WORD};jsessionid=1"),
        encoded,
        bent,
        "/c/".into(),
        "/c".into(),
        "/".into(),
        "/f/bf_1".into(),
        format!("/f/{}", FLOW.to_uppercase()),
        format!("/f/{FLOW}/in/"),
        format!("/f/{FLOW}/in/de"),
        format!("/f/{FLOW}/in/zh"),
        format!("/f/{FLOW}/in/zh-hans"),
        "/f/bf_1/in/en".into(),
        "/me/".into(),
        "/me/in/de".into(),
        "/cb/Git_Hub".into(),
        "/cb/".into(),
        "/login/callback/a.b".into(),
    ];
    let mut bodies: Vec<String> = Vec::new();
    for path in gone {
        let script = Script::well();
        let got = ask(&script, click(&path, "none")).await;
        assert_eq!(got.status.as_u16(), 404, "{path}");
        assert_eq!(script.calls(), ["begin"], "{path}");
        bodies.push(got.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "one page for all");
}

#[actix_web::test]
async fn nothing_in_a_query_has_a_meaning() {
    for path in [
        format!("/c/{WORD}"),
        "/c/x".into(),
        format!("/f/{FLOW}"),
        format!("/f/{FLOW}/leaving"),
        format!("/f/{FLOW}/in/en"),
        "/login/go".into(),
        "/me".into(),
        "/me/in/en".into(),
    ] {
        for query in ["", "x", "x=1", "provider=x&scope=y", "sid=1"] {
            let script = Script::well();
            let got = ask(&script, click(&format!("{path}?{query}"), "same-origin")).await;
            assert_eq!(got.status.as_u16(), 400, "{path}?{query}");
            assert_eq!(script.calls(), ["begin"], "{path}?{query}");
        }
    }
}

#[actix_web::test]
async fn callbacks_hand_over_the_query_as_it_came() {
    let script = Script::well();
    ask(
        &script,
        click(
            "/cb/github?code=a%2Bb+c&state=%41&state=x&iss=https%3A%2F%2Fh",
            "cross-site",
        ),
    )
    .await;
    ask(&script, click("/login/callback/staff", "cross-site")).await;
    let wanted = [
        "begin",
        "callback github code=a%2Bb+c&state=%41&state=x&iss=https%3A%2F%2Fh true",
        "begin",
        "sign-in staff  true",
    ];
    assert_eq!(script.calls(), wanted);
}

#[actix_web::test]
async fn only_our_own_authority_is_served() {
    let page = format!("/f/{FLOW}");
    for host in [
        "evil.example",
        "connect.vault.example:443",
        "connect.vault.example.",
        "CONNECT.vault.example",
        "",
    ] {
        for path in gets().iter().chain(&posts()) {
            let script = Script::well();
            let request = click(path, "none").insert_header(("host", host));
            let request = request
                .insert_header(("x-forwarded-host", HOST))
                .insert_header(("forwarded", "host=connect.vault.example"));
            assert_eq!(
                ask_with(settings(), &script, request).await.status.as_u16(),
                421,
                "{host} {path}"
            );
            assert_eq!(script.calls(), ["begin"]);
        }
    }
    let without = ask_with(settings(), &Script::well(), click(&page, "none")).await;
    assert_eq!(without.status.as_u16(), 421, "no Host");
    let twice = click(&page, "none")
        .append_header(("host", HOST))
        .append_header(("host", HOST));
    assert_eq!(
        ask_with(settings(), &Script::well(), twice)
            .await
            .status
            .as_u16(),
        421,
        "two Hosts"
    );
    for (target, status) in [
        ("https://connect.vault.example/healthz", 200),
        ("https://evil.example/healthz", 421),
    ] {
        assert_eq!(
            ask(&Script::well(), click(target, "none"))
                .await
                .status
                .as_u16(),
            status,
            "{target}"
        );
    }
}

#[actix_web::test]
async fn a_forwarded_host_is_believed_from_a_declared_proxy_alone() {
    let behind = || settings().behind(|peer| peer.is_loopback());
    let from = |peer: &str, host: &'static str| {
        let request = click("/healthz", "none")
            .insert_header(("host", "internal:8080"))
            .insert_header(("x-forwarded-host", host));
        request.peer_addr(peer.parse().expect("an address"))
    };
    let cases = [
        (from("127.0.0.1:1", HOST), 200),
        (from("127.0.0.1:1", "evil.example"), 421),
        (
            from("127.0.0.1:1", HOST).append_header(("x-forwarded-host", HOST)),
            421,
        ),
        (from("10.0.0.1:1", HOST), 421),
    ];
    for (number, (request, status)) in cases.into_iter().enumerate() {
        assert_eq!(
            ask_with(behind(), &Script::well(), request)
                .await
                .status
                .as_u16(),
            status,
            "case {number}"
        );
    }
}

#[actix_web::test]
async fn oversized_heads_are_turned_away() {
    let long = format!("/cb/github?state={}", "a".repeat(4096));
    assert_eq!(
        ask(&Script::well(), click(&long, "none"))
            .await
            .status
            .as_u16(),
        414
    );
    let mut many = click("/healthz", "none");
    for _ in 0..64 {
        many = many.append_header(("x-a", "b"));
    }
    assert_eq!(ask(&Script::well(), many).await.status.as_u16(), 431);
    let fat = click("/healthz", "none").insert_header(("x-a", "b".repeat(33 * 1024)));
    assert_eq!(ask(&Script::well(), fat).await.status.as_u16(), 431);
}
