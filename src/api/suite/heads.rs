//! Heads: who may come in, by which method and address, and what every answer carries.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use secret::{KeyClass, OsEntropy, Reveal as _, ServerKeyText};

use super::door::Script;
use super::{about, ask, keyed, post};
use crate::limits::MAX_URL;
use crate::v1::{ROUTES, Serve};

/// A route's address with real ids in it.
pub(crate) fn address(pattern: &str) -> String {
    let id = if pattern.contains("elicitations") {
        format!("el_{}", "01".repeat(16))
    } else {
        format!("gr_{}", "02".repeat(16))
    };
    pattern.replace("{id}", &id)
}

/// A good body for every POST.
pub(crate) fn body(pattern: &str) -> &'static str {
    match pattern {
        "/v1/ensure" | "/v1/elicitations" => {
            r#"{"provider":"acme-files","scopes":[],"subject_token":"a.b.c"}"#
        }
        "/v1/elicitations/resolve" => r#"{"request_state":"srs1.x","subject_token":"a.b.c"}"#,
        _ => r#"{"subject_token":"a.b.c"}"#,
    }
}

fn good(script: &Script, method: &Method, pattern: &str) -> TestRequest {
    if *method == Method::POST {
        post(script, &address(pattern), body(pattern))
    } else {
        about(script, method.clone(), &address(pattern))
    }
}

#[actix_web::test]
async fn every_route_serves_a_good_request_and_no_other() {
    for route in ROUTES {
        let script = Script::new();
        let served = ask(&script, good(&script, &route.method, route.path)).await;
        assert!(served.status.is_success(), "{} {}", route.path, served.text);
        let bare = TestRequest::with_uri(&address(route.path)).method(route.method.clone());
        let bare = ask(&script, bare).await;
        let open = matches!(route.serve, Serve::Open(_));
        assert_eq!(bare.status.is_success(), open, "{}", route.path);
        if !open {
            assert_eq!(bare.code(), "unauthenticated", "{}", route.path);
        }
    }
}

#[actix_web::test]
async fn at_127_a_key_that_is_not_whole_and_alone_gets_the_same_401_on_every_route() {
    let script = Script::new();
    let key = script.key();
    let other = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
    let admin = ServerKeyText::generate(KeyClass::Admin, &OsEntropy);
    let swapped: String = key
        .chars()
        .map(|c| {
            if c.is_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    let mut wrong: Vec<String> = (1..key.len())
        .map(|cut| format!("Bearer {}", &key[..key.len() - cut]))
        .collect();
    wrong.extend([
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        key.into(),
        format!("Basic {key}"),
        format!("Bearer  {key}"),
        format!("Bearer\t{key}"),
        format!("Bearer {key}x"),
        format!("Bearer {key},"),
        format!("Bearer {key} {key}"),
        format!("Bearer {key}, Bearer {key}"),
        format!("Bearer {swapped}"),
        format!("Bearer {}", key.replacen("srk_", "srx_", 1)),
        format!("Bearer {}", key.replacen("srk_", "sra_", 1)),
        format!("Bearer {}", admin.reveal()),
    ]);
    let mut documents = std::collections::BTreeSet::new();
    for route in ROUTES
        .iter()
        .filter(|route| matches!(route.serve, Serve::Keyed(_)))
    {
        for header in wrong.iter().chain([&format!("Bearer {}", other.reveal())]) {
            let request = TestRequest::with_uri(&address(route.path))
                .method(route.method.clone())
                .insert_header(("Authorization", header.as_str()));
            let answer = ask(&script, request).await;
            assert_eq!(answer.status, 401, "{header}");
            assert_eq!(answer.header("WWW-Authenticate"), "Bearer");
            documents.insert(answer.text);
        }
    }
    assert_eq!(documents.len(), 1, "{documents:?}");
    let keyed_routes = ROUTES
        .iter()
        .filter(|route| matches!(route.serve, Serve::Keyed(_)))
        .count();
    // Each went to the door, which tells the audit log, and no further.
    assert_eq!(script.calls().len(), keyed_routes * (wrong.len() + 1));
    assert!(script.calls().iter().all(|call| call == "authenticate"));
    let twice = keyed(&script, Method::GET, "/v1/grants")
        .append_header(("Authorization", format!("Bearer {key}")));
    assert_eq!(ask(&script, twice).await.code(), "unauthenticated");
}

#[actix_web::test]
async fn at_127_keys_in_urls_and_bodies_are_refused_with_a_hint() {
    let script = Script::new();
    let key = script.key().to_owned();
    let encoded = key.replace('_', "%5F");
    for path in [
        format!("/v1/grants?key={key}"),
        format!("/v1/grants?{key}"),
        format!("/v1/grants?key={encoded}"),
        format!("/v1/grants/{key}"),
        format!("/nowhere/{key}"),
    ] {
        let with = about(&script, Method::GET, &path);
        assert_eq!(ask(&script, with).await.code(), "key-misplaced", "{path}");
        let without = TestRequest::with_uri(&path);
        let answer = ask(&script, without).await;
        assert_eq!(answer.code(), "key-misplaced", "{path}");
        assert!(!answer.text.contains(&key));
    }
    let body = format!(r#"{{"provider":"acme-files","scopes":[],"subject_token":"{key}"}}"#);
    assert_eq!(
        ask(&script, post(&script, "/v1/ensure", &body))
            .await
            .code(),
        "key-misplaced"
    );
}

#[actix_web::test]
async fn at_124_other_methods_are_refused_and_do_nothing() {
    let methods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW",
    ];
    for path in ROUTES.iter().map(|route| route.path) {
        let here = ROUTES.iter().filter(|route| route.path == path);
        let allowed: Vec<&str> = here.map(|route| route.method.as_str()).collect();
        for method in methods.iter().filter(|method| !allowed.contains(method)) {
            let script = Script::new();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = ask(&script, about(&script, method.clone(), &address(path))).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(
                answer.header("Allow"),
                allowed.join(", "),
                "{method} {path}"
            );
            assert!(script.calls().is_empty());
        }
    }
}

#[actix_web::test]
async fn browsers_have_no_business_here() {
    let script = Script::new();
    for header in ["Cookie", "Origin", "Sec-Fetch-Site"] {
        for path in ["/v1/grants", "/healthz", "/openapi.json"] {
            let request = about(&script, Method::GET, path).insert_header((header, "null"));
            assert_eq!(
                ask(&script, request).await.code(),
                "browser-request",
                "{header}"
            );
        }
    }
    assert!(script.calls().is_empty());
    // Node's fetch sends this one.
    let node = about(&script, Method::GET, "/v1/grants").insert_header(("Sec-Fetch-Mode", "cors"));
    assert_eq!(ask(&script, node).await.status, 200);
}

#[actix_web::test]
async fn every_answer_carries_the_same_protection() {
    let script = Script::new();
    for request in [
        about(&script, Method::GET, "/v1/grants"),
        TestRequest::with_uri("/healthz"),
        TestRequest::with_uri("/nowhere"),
        TestRequest::with_uri("/v1/ensure"),
        keyed(&script, Method::GET, "/v1/grants"),
    ] {
        let answer = ask(&script, request).await;
        for (name, value) in [
            ("Cache-Control", "no-store"),
            (
                "Content-Security-Policy",
                "default-src 'none'; frame-ancestors 'none'",
            ),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            (
                "Strict-Transport-Security",
                "max-age=63072000; includeSubDomains",
            ),
        ] {
            assert_eq!(answer.header(name), value, "{}", answer.text);
        }
        for name in [
            "Server",
            "ETag",
            "Last-Modified",
            "Set-Cookie",
            "Access-Control-Allow-Origin",
        ] {
            assert_eq!(answer.header(name), "", "{name}");
        }
        let kind = if answer.status.is_success() {
            "application/json"
        } else {
            "application/problem+json"
        };
        assert_eq!(answer.header("Content-Type"), kind);
    }
}

#[actix_web::test]
async fn heads_and_urls_are_bounded() {
    let script = Script::new();
    let long = format!("/v1/grants/{}", "x".repeat(MAX_URL));
    assert_eq!(
        ask(&script, about(&script, Method::GET, &long))
            .await
            .code(),
        "url-too-long"
    );
    let many = format!("/v1/grants?{}", vec!["a"; 33].join("&"));
    assert_eq!(
        ask(&script, about(&script, Method::GET, &many))
            .await
            .code(),
        "url-too-long"
    );
    let mut request = about(&script, Method::GET, "/v1/grants");
    for n in 0..64 {
        request = request.insert_header((format!("x-{n}"), "1"));
    }
    assert_eq!(ask(&script, request).await.code(), "head-too-large");
    let fat =
        about(&script, Method::GET, "/v1/grants").insert_header(("x-fat", "1".repeat(33_000)));
    assert_eq!(ask(&script, fat).await.code(), "head-too-large");
}

#[actix_web::test]
async fn unknown_doubled_and_impossible_parameters_are_refused() {
    let script = Script::new();
    let id = address("/v1/elicitations/{id}");
    for (query, place) in [
        ("?after=1", "after"),
        ("?wait=1&wait=1", "wait"),
        ("?Wait=1", "Wait"),
        ("?wait=", "wait"),
        ("?wait=56", "wait"),
        ("?wait=-1", "wait"),
        ("?wait=%2B1", "wait"),
        ("?wait=1.5", "wait"),
        ("?wait=055", "wait"),
        ("?wait=99999999999999999999", "wait"),
    ] {
        let answer = ask(
            &script,
            about(&script, Method::GET, &format!("{id}{query}")),
        )
        .await;
        assert_eq!(answer.code(), "invalid-request", "{query}");
        assert_eq!(answer.places(), [place], "{query}");
    }
    let longest = about(&script, Method::GET, &format!("{id}?wait=55"));
    assert_eq!(ask(&script, longest).await.status, 200);
    assert!(
        script.calls().iter().any(|call| call.ends_with(" 55s")),
        "{:?}",
        script.calls()
    );
}

#[actix_web::test]
async fn ids_have_one_form_and_any_other_is_not_found() {
    let script = Script::new();
    let good = address("{id}");
    for id in [
        good.to_uppercase(),
        format!("%7B{good}%7D"),
        format!("{good}0"),
        good.replace("gr_", "el_"),
        "..".into(),
        "%00".into(),
    ] {
        let answer = ask(
            &script,
            about(&script, Method::GET, &format!("/v1/grants/{id}")),
        )
        .await;
        assert_eq!(answer.code(), "not-found", "{id}");
    }
    for path in [
        "/",
        "/v1",
        "/v1/grants/",
        "/v1//grants",
        "/V1/grants",
        "/v2/grants",
        "/v1/ensure/",
    ] {
        assert_eq!(
            ask(&script, about(&script, Method::GET, path)).await.code(),
            "not-found",
            "{path}"
        );
    }
}

#[actix_web::test]
async fn the_subject_of_a_get_is_in_exactly_one_header() {
    let script = Script::new();
    let bare = ask(&script, keyed(&script, Method::GET, "/v1/grants")).await;
    assert_eq!(bare.places(), ["Subject-Token"]);
    let twice = about(&script, Method::GET, "/v1/grants").append_header(("Subject-Token", "d.e.f"));
    assert_eq!(ask(&script, twice).await.places(), ["Subject-Token"]);
    // {"iss":"https://id.corp.test","tid":"t","oid":"o","client_id":"c"}
    let assertion =
        "eyJpc3MiOiJodHRwczovL2lkLmNvcnAudGVzdCIsInRpZCI6InQiLCJvaWQiOiJvIiwiY2xpZW50X2lkIjoiYyJ9";
    let both =
        about(&script, Method::GET, "/v1/grants").insert_header(("Subject-Assertion", assertion));
    assert_eq!(ask(&script, both).await.places(), ["Subject-Assertion"]);
    let asserted =
        keyed(&script, Method::GET, "/v1/grants").insert_header(("Subject-Assertion", assertion));
    assert_eq!(ask(&script, asserted).await.status, 200);
    let told = r#"subject https://id.corp.test ["t", "o"] Some("c")"#;
    assert!(
        script.calls().contains(&told.into()),
        "{:?}",
        script.calls()
    );
    // Padding, JSON as it is, {}, {"iss":"i","sub":"s"}, and a doubled member.
    for wrong in [
        "e30=",
        "{}",
        "e30",
        "eyJpc3MiOiJpIiwic3ViIjoicyJ9",
        "eyJ0aWQiOiJhIiwidGlkIjoiYiJ9",
        "!",
    ] {
        let request =
            keyed(&script, Method::GET, "/v1/grants").insert_header(("Subject-Assertion", wrong));
        assert_eq!(
            ask(&script, request).await.places(),
            ["Subject-Assertion"],
            "{wrong}"
        );
    }
}

#[actix_web::test]
async fn readiness_is_told_without_detail() {
    let answer = ask(&Script::not_ready(), TestRequest::with_uri("/readyz")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("Retry-After")),
        (503, "2")
    );
    assert_eq!(
        ask(&Script::new(), TestRequest::with_uri("/readyz"))
            .await
            .text,
        r#"{"status":"ready"}"#
    );
}
