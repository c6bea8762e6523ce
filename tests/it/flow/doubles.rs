//! Callback parameters that are doubled, malformed or only nearly right (C8, C10).

use reqwest::{StatusCode, Url};

use super::{
    Asked, CONFIRM, ask, come_back, grants, has_code, is_gone, parameter, rows, to_callback,
    with_query,
};
use crate::support::{Browser, TestVault};

/// A live flow of Alice, up to the callback.
struct Live {
    alice: Browser,
    asked: Asked,
    callback: Url,
    code: String,
    state: String,
}

async fn live(vault: &TestVault) -> Live {
    vault.clock.move_s(120);
    let mut alice = Browser::new();
    let asked = ask(vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(vault, &mut alice, &consent, "alice-at-practice").await;
    let (code, state) = (parameter(&callback, "code"), parameter(&callback, "state"));
    Live {
        alice,
        asked,
        callback,
        code,
        state,
    }
}

#[actix_web::test]
async fn at_034_an_issuer_parameter_that_is_wrong_or_nearly_right() {
    let vault = TestVault::start().await;
    let iss = vault.provider.base_url().to_owned();
    let encoded: String = url::form_urlencoded::byte_serialize(iss.as_bytes()).collect();
    let wrong = [
        format!("{iss}/"),
        iss.replace("http", "HTTP"),
        iss.replace("http://", "http://@"),
        iss.replace("127.0.0.2", "127.0.0.02"),
        encoded,
        format!("{iss} "),
        format!("{iss}?"),
        "https://evil.example".to_owned(),
    ];
    for wrong in &wrong {
        let mut live = live(&vault).await;
        let url = with_query(
            &live.callback,
            &[("code", &live.code), ("state", &live.state), ("iss", wrong)],
        );
        let poisoned = vault.audited("flow_poisoned", "other-issuer");
        has_code(&come_back(&mut live.alice, &url).await, "wrong-callback");
        assert_eq!(
            vault.audited("flow_poisoned", "other-issuer"),
            poisoned + 1,
            "{wrong}"
        );
        is_gone(&come_back(&mut live.alice, &live.callback).await);
        assert_eq!(grants(&vault, &live.asked.token).await, 0);
    }
    // Missing although it is required, and also with an error instead of a code.
    let mut one = live(&vault).await;
    let url = with_query(&one.callback, &[("code", &one.code), ("state", &one.state)]);
    has_code(&come_back(&mut one.alice, &url).await, "wrong-callback");
    let mut one = live(&vault).await;
    let url = with_query(
        &one.callback,
        &[
            ("error", "access_denied"),
            ("state", &one.state),
            ("iss", "https://evil.example"),
        ],
    );
    has_code(&come_back(&mut one.alice, &url).await, "wrong-callback");
    // Twice.
    let mut one = live(&vault).await;
    let url: Url = format!("{}&iss=https%3A%2F%2Fevil.example", one.callback)
        .parse()
        .unwrap();
    has_code(&come_back(&mut one.alice, &url).await, "wrong-callback");
    assert_eq!(vault.provider.count("/token"), 0);

    // Without a valid `state` nobody's flow is harmed.
    let mut one = live(&vault).await;
    let guess = "A".repeat(43);
    let url = with_query(
        &one.callback,
        &[
            ("code", &one.code),
            ("state", &guess),
            ("iss", "https://evil.example"),
        ],
    );
    let before = rows(&vault).await;
    is_gone(&come_back(&mut one.alice, &url).await);
    assert_eq!(rows(&vault).await, before);
    assert_eq!(come_back(&mut one.alice, &one.callback).await.h1(), CONFIRM);
    assert_eq!(vault.provider.count("/token"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_043_an_ambiguous_state_is_refused_and_poisons_nothing() {
    let vault = TestVault::start().await;
    let Live {
        mut alice,
        callback,
        code,
        state,
        ..
    } = live(&vault).await;
    let iss = parameter(&callback, "iss");
    let at = callback.as_str().split('?').next().unwrap();
    let rest = format!("code={code}&iss={iss}");
    let before = rows(&vault).await;
    let refused = [
        (
            format!("state={state}&state={state}&{rest}"),
            StatusCode::BAD_REQUEST,
        ),
        (
            format!("state={state}&state=x&{rest}"),
            StatusCode::BAD_REQUEST,
        ),
        (
            format!("state=x&{rest}&state={state}"),
            StatusCode::BAD_REQUEST,
        ),
        (
            format!("state={state}&%73tate={state}&{rest}"),
            StatusCode::BAD_REQUEST,
        ),
        (format!("state=%ff{state}&{rest}"), StatusCode::BAD_REQUEST),
        (format!("state={state}%00&{rest}"), StatusCode::BAD_REQUEST),
        (format!("state=%&{rest}"), StatusCode::BAD_REQUEST),
        (format!("state[]={state}&{rest}"), StatusCode::NOT_FOUND),
        (format!("state[a]={state}&{rest}"), StatusCode::NOT_FOUND),
        (format!("State={state}&{rest}"), StatusCode::NOT_FOUND),
        (
            format!("state={state}{}&{rest}", "a".repeat(40_000)),
            StatusCode::URI_TOO_LONG,
        ),
        (rest.clone(), StatusCode::NOT_FOUND),
        (String::new(), StatusCode::NOT_FOUND),
    ];
    for (query, status) in refused {
        let page = alice
            .visit(&format!("{at}?{query}").parse().unwrap(), "cross-site")
            .await;
        assert_eq!(page.status, status, "{query:.80}");
        assert_eq!(page.next(), None);
        assert!(!page.body.contains(&code) && !page.body.contains(&state));
    }
    assert_eq!(rows(&vault).await, before);
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(
        vault
            .audit()
            .iter()
            .filter(|entry| entry["action"] == "flow_poisoned")
            .count(),
        0
    );

    // Unknown parameters mean nothing, not even when doubled.
    let url: Url = format!("{callback}&session_state=a&session_state=b&authuser=0&x[]=1&%7F=2")
        .parse()
        .unwrap();
    assert_eq!(come_back(&mut alice, &url).await.h1(), CONFIRM);
    assert_eq!(vault.provider.count("/token"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_043_a_clear_state_with_a_broken_rest_ends_the_flow() {
    let vault = TestVault::start().await;
    let long = "a".repeat(3000);
    for broken in [
        "&code=injected",
        "&code=",
        "&iss=x",
        "&error=access_denied",
        "&error=%ff",
        "&code=%00",
        &format!("&error={long}"),
        &"&x=1".repeat(40),
    ] {
        let mut live = live(&vault).await;
        let url: Url = format!("{}{broken}", live.callback).parse().unwrap();
        has_code(&come_back(&mut live.alice, &url).await, "wrong-callback");
        is_gone(&come_back(&mut live.alice, &live.callback).await);
        assert_eq!(vault.provider.count("/token"), 0, "{broken:.40}");
    }
    for only in [
        format!("iss={}", vault.provider.base_url()),
        "code=a%ff".to_owned(),
        "code[]=a".to_owned(),
        "code=a%0d%0ab".to_owned(),
    ] {
        let mut live = live(&vault).await;
        let at = live.callback.as_str().split('?').next().unwrap();
        let url: Url = format!("{at}?state={}&{only}", live.state).parse().unwrap();
        has_code(&come_back(&mut live.alice, &url).await, "wrong-callback");
        assert_eq!(vault.provider.count("/token"), 0, "{only}");
    }
    assert_eq!(vault.audited("flow_poisoned", "malformed"), 12);
    vault.stop().await;
}
