//! Providers that fail or lie (C10, C11): the right page, the right code, no connection, and a way to try again.

use lab::{Misbehaviour, Reply};

use super::{CONFIRM, DONE, ask, grants, has_code, state};
use crate::support::{Browser, Page, TestVault};

/// Alice walks to the end of the callback while the provider misbehaves; then it behaves again.
async fn walk(vault: &TestVault, alice: &mut Browser, bad: Misbehaviour) -> (super::Asked, Page) {
    vault.clock.move_s(181);
    let asked = ask(vault, "alice").await;
    let consent = vault.sign_in(alice, &asked.url, "alice").await;
    vault.provider.misbehave(bad);
    let page = vault.consent(alice, &consent, "alice-at-practice").await;
    vault.provider.behave();
    (asked, page)
}

/// Entries about flows that failed: for `code`, and as an attack.
fn failures(vault: &TestVault, code: &str) -> (usize, usize) {
    let poisoned = ["other-issuer", "malformed"];
    let poisoned = poisoned.map(|outcome| vault.audited("flow_poisoned", outcome));
    (
        vault.audited("exchange_failed", code),
        poisoned.into_iter().sum(),
    )
}

async fn fails_with(vault: &TestVault, case: &str, bad: Misbehaviour, code: &str) {
    let mut alice = Browser::new();
    let (failed, poisoned) = failures(vault, code);
    let (asked, page) = walk(vault, &mut alice, bad).await;
    assert!(page.status.is_success(), "{case}: {}", page.status);
    assert!(
        page.body.contains(code),
        "{case}: no {code} on {}",
        page.body
    );
    has_code(&page, code);
    assert_eq!(grants(vault, &asked.token).await, 0, "{case}");
    assert_eq!(state(vault, &asked).await, "consented", "{case}");
    let expected = match code {
        "wrong-callback" => (failed, poisoned + 1),
        _ => (failed + 1, poisoned),
    };
    assert_eq!(
        failures(vault, code),
        expected,
        "{case}: one entry, no more"
    );
    // Once more, unless it looked like an attack; then the link itself starts afresh.
    let consent = if page.form("/again").is_some() {
        alice.press(&page, "/again", &[]).await
    } else {
        assert_eq!(code, "wrong-callback", "{case}");
        alice.open(&asked.url).await
    };
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    assert_eq!(confirm.h1(), CONFIRM, "{case}");
    alice.press(&confirm, "/decline", &[]).await;
}

#[actix_web::test]
async fn token_endpoints_that_fail_connect_nothing() {
    let vault = TestVault::start().await;
    for (case, code) in [
        ("token-type-other", "provider-unreadable"),
        ("token-html", "provider-unreadable"),
        ("token-invalid-json", "provider-unreadable"),
        ("token-huge", "provider-unreadable"),
        ("token-huge-declared", "provider-unreadable"),
        ("token-redirect-302", "provider-unreadable"),
        ("token-redirect-307", "provider-unreadable"),
        ("token-error-200", "provider-refused"),
        ("token-invalid-grant-once", "provider-refused"),
        ("token-markup", "provider-refused"),
        ("token-503-once", "provider-unreachable"),
        ("token-lost-once", "provider-unreachable"),
        ("token-502-after-acting-once", "provider-unreachable"),
    ] {
        fails_with(&vault, case, Misbehaviour::named(case).unwrap(), code).await;
    }
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn callbacks_that_lie_connect_nothing() {
    let vault = TestVault::start().await;
    for (case, code) in [
        ("callback-iss-wrong", "wrong-callback"),
        ("callback-iss-missing", "wrong-callback"),
        ("callback-iss-twice", "wrong-callback"),
        ("callback-code-twice", "wrong-callback"),
        ("callback-code-and-error", "wrong-callback"),
        ("callback-denied", "provider-refused"),
        ("callback-markup", "provider-refused"),
    ] {
        fails_with(&vault, case, Misbehaviour::named(case).unwrap(), code).await;
    }
    vault.stop().await;
}

#[actix_web::test]
async fn odd_answers_of_the_token_endpoint_are_refused() {
    let vault = TestVault::start().await;
    let member = |name: &str, value: serde_json::Value| {
        Misbehaviour::default().member("/token", name, value)
    };
    let status = |status: u16| {
        let raw = Reply::Raw {
            status,
            content_type: "text/plain".to_owned(),
            headers: vec![],
            body: "alice".to_owned(),
        };
        Misbehaviour::default().reply("/token", None, raw)
    };
    let error = |error: &str| {
        let reply = Reply::OauthError {
            status: 400,
            error: error.to_owned(),
            description: None,
        };
        Misbehaviour::default().reply("/token", None, reply)
    };
    for (case, bad, code) in [
        (
            "DPoP",
            member("token_type", "DPoP".into()),
            "provider-unreadable",
        ),
        (
            "type 7",
            member("token_type", 7.into()),
            "provider-unreadable",
        ),
        (
            "empty token",
            member("access_token", "".into()),
            "provider-unreadable",
        ),
        (
            "token with a line end",
            member("access_token", "a\r\nb".into()),
            "provider-unreadable",
        ),
        (
            "token beyond ASCII",
            member("access_token", "t\u{f6}ken".into()),
            "provider-unreadable",
        ),
        (
            "no token",
            member("access_token", serde_json::Value::Null),
            "provider-unreadable",
        ),
        (
            "token as number",
            member("access_token", 12.into()),
            "provider-unreadable",
        ),
        (
            "refresh token with a space",
            member("refresh_token", "a b".into()),
            "provider-unreadable",
        ),
        (
            "token of 100 kB",
            member("access_token", "a".repeat(100_000).into()),
            "provider-unreadable",
        ),
        ("500", status(500), "provider-unreachable"),
        ("404", status(404), "provider-unreadable"),
        ("429", status(429), "provider-unreachable"),
        ("invalid_scope", error("invalid_scope"), "provider-refused"),
        (
            "server_error",
            error("server_error"),
            "provider-unreachable",
        ),
        (
            "cut",
            Misbehaviour::default().reply("/token", None, Reply::Cut),
            "provider-unreachable",
        ),
    ] {
        fails_with(&vault, case, bad, code).await;
    }
    vault.stop().await;
}

#[actix_web::test]
async fn an_account_that_cannot_be_learnt_connects_nothing_and_the_tokens_are_revoked() {
    let vault = TestVault::start().await;
    let me = |reply| Misbehaviour::default().reply("/api/me", None, reply);
    let html = Reply::Raw {
        status: 200,
        content_type: "text/html".to_owned(),
        headers: vec![],
        body: "<p>Sign in</p>".to_owned(),
    };
    let down = Reply::Raw {
        status: 503,
        content_type: "text/plain".to_owned(),
        headers: vec![],
        body: String::new(),
    };
    for (case, bad, code) in [
        ("html", me(html), "provider-unreadable"),
        ("503", me(down), "provider-unreachable"),
        (
            "huge",
            me(Reply::Huge {
                bytes: 64 << 20,
                declared: false,
            }),
            "provider-unreadable",
        ),
        (
            "no id",
            Misbehaviour::default().member("/api/me", "id", serde_json::Value::Null),
            "provider-unreadable",
        ),
        (
            "redirect",
            me(Reply::Redirect {
                status: 302,
                location: "https://evil.example/".to_owned(),
            }),
            "provider-unreadable",
        ),
    ] {
        vault.provider.clear();
        let mut alice = Browser::new();
        let (asked, page) = walk(&vault, &mut alice, bad).await;
        has_code(&page, code);
        assert_eq!(vault.provider.count("/revoke"), 1, "{case}");
        assert!(vault.provider.live_grants().is_empty(), "{case}");
        assert_eq!(grants(&vault, &asked.token).await, 0);
    }
    vault.stop().await;
}

#[actix_web::test]
async fn text_of_a_provider_is_text_on_our_pages() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let (_, confirm) = walk(
        &vault,
        &mut alice,
        Misbehaviour::named("me-markup").unwrap(),
    )
    .await;
    assert_eq!(confirm.h1(), CONFIRM);
    assert!(
        !confirm.body.contains("<script")
            && confirm.body.contains("&#60;script&#62;") | confirm.body.contains("&lt;script&gt;")
    );
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    assert!(!done.body.contains("<script"));
    vault.stop().await;
}

#[actix_web::test]
async fn a_provider_that_never_ends_its_answer_is_given_up() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let (asked, page) = walk(
        &vault,
        &mut alice,
        Misbehaviour::named("token-stalls").unwrap(),
    )
    .await;
    has_code(&page, "provider-unreachable");
    assert_eq!(grants(&vault, &asked.token).await, 0);
    assert!(page.form("/again").is_some());
    vault.stop().await;
}
