//! Every case of the lab's catalogue, walked at the provider and at the issuer: nothing falls over, a fault that is dangerous
//! connects nobody, and one that is not keeps nobody from connecting.

use lab::Case;

use super::{CONFIRM, CONSENT, DONE, FAILED, GONE, SIGN_IN, ask, grants};
use crate::support::{Browser, Page, TestVault};

/// What a case leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The person goes on: to the confirm page, or signed in to the consent page.
    On,
    /// The page of a failure with this code.
    Fails(&'static str),
    /// The page for links that are no longer valid.
    Gone,
}

use Outcome::{Fails, Gone, On};

/// What a case leads to where a provider has it. What concerns issuers, refreshes or revocations alone is not noticed; what is
/// shown to the person before the yes, and the many forms of a good answer, are fine.
fn at_provider(case: &str) -> Outcome {
    match case {
        "callback-state-missing" | "callback-state-wrong" => Gone,
        "callback-form-post" => Fails("method-not-allowed"),
        "callback-denied"
        | "callback-markup"
        | "token-error-200"
        | "token-invalid-grant-once"
        | "token-markup" => Fails("provider-refused"),
        "token-503-once" | "token-lost-once" | "token-502-after-acting-once" => {
            Fails("provider-unreachable")
        }
        _ if case.starts_with("callback-") => Fails("wrong-callback"),
        _ if is_no_token_answer(case) || case == "token-type-other" => Fails("provider-unreadable"),
        _ => On,
    }
}

/// What it leads to where an issuer has it. The token type and the scopes of a login do not matter, as its access token is
/// not used; while metadata or keys cannot be used, those of ten minutes ago serve.
fn at_issuer(case: &str) -> Outcome {
    match case {
        "callback-denied" | "callback-markup" | "token-invalid-grant-once" => {
            Fails("login-refused")
        }
        "callback-form-post" => Fails("method-not-allowed"),
        "token-error-200" | "token-markup" => Fails("login-misconfigured"),
        "token-503-once" | "token-lost-once" | "token-502-after-acting-once" => {
            Fails("login-unreachable")
        }
        // Without the scope `openid` there is no ID token, and without keys there is none that counts.
        "token-scope-none" | "jwks-empty" => Fails("login-id-token"),
        _ if case.starts_with("id-token-") => Fails("login-id-token"),
        _ if case.starts_with("callback-") => Fails("login-wrong-answer"),
        _ if is_no_token_answer(case) => Fails("login-unreachable"),
        _ => On,
    }
}

/// Answers of a token endpoint in which nobody finds a token.
fn is_no_token_answer(case: &str) -> bool {
    [
        "token-redirect",
        "token-huge",
        "token-invalid-json",
        "token-html",
        "token-nested",
        "token-camel-case",
    ]
    .iter()
    .any(|prefix| case.starts_with(prefix))
}

/// What a page is, as far as these tests tell pages apart.
fn outcome_of(page: &Page, on: &str) -> Outcome {
    let codes = [
        "provider-refused",
        "provider-unreadable",
        "provider-unreachable",
        "wrong-callback",
        "login-id-token",
        "login-misconfigured",
        "login-refused",
        "login-unreachable",
        "login-wrong-answer",
        "method-not-allowed",
    ];
    match &*page.h1() {
        heading if heading == on => On,
        GONE => Gone,
        heading => {
            assert_eq!(heading, FAILED, "{}", page.body);
            let code = codes.into_iter().find(|code| page.body.contains(code));
            Fails(code.unwrap_or_else(|| panic!("no known code on {}", page.body)))
        }
    }
}

/// Never the page for what must not happen.
fn stands(page: &Page, case: &Case) {
    let known = page.status != 500 || page.body.contains("login-misconfigured");
    assert!(known, "{}: {}: {}", case.name, page.status, page.body);
    assert!(!page.body.contains("<script"), "{}", case.name);
}

#[actix_web::test]
async fn every_case_at_the_provider() {
    let vault = TestVault::start().await;
    for case in lab::catalogue().unwrap() {
        if case.name == "token-stalls" {
            continue; // it takes half a minute, and has a test of its own
        }
        vault.clock.move_s(181);
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        vault.provider.misbehave(case.switches.clone());
        let mut page = vault
            .consent(&mut alice, &consent, "alice-at-practice")
            .await;
        if page.form("/cb/practice").is_some() {
            page = alice.press(&page, "/cb/practice", &[]).await;
        }
        stands(&page, &case);
        let outcome = outcome_of(&page, CONFIRM);
        assert_eq!(outcome, at_provider(&case.name), "{}", case.name);
        if outcome == On {
            page = alice.press(&page, "/confirm", &[("mine", "yes")]).await;
            stands(&page, &case);
            assert_eq!(page.h1(), DONE, "{}", case.name);
            let answer = vault.s1.ensure(&asked.token).await;
            assert_eq!(answer.status, 200, "{}: {}", case.name, answer.body);
            revoke(&vault, &asked.token).await;
        }
        assert_eq!(grants(&vault, &asked.token).await, 0, "{}", case.name);
        vault.provider.behave();
    }
    vault.stop().await;
}

async fn revoke(vault: &TestVault, token: &str) {
    let list = vault
        .s1
        .call(
            reqwest::Method::GET,
            "/v1/grants",
            &[("subject-token", token)],
            None,
        )
        .await;
    for grant in list.body["grants"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|grant| grant["status"] == "active")
    {
        let path = format!("/v1/grants/{}", grant["id"].as_str().unwrap());
        assert_eq!(
            vault
                .s1
                .call(
                    reqwest::Method::DELETE,
                    &path,
                    &[("subject-token", token)],
                    None
                )
                .await
                .status,
            200
        );
    }
}

#[actix_web::test]
async fn every_case_at_the_issuer() {
    let vault = TestVault::start().await;
    for case in lab::catalogue().unwrap() {
        if case.name == "token-stalls" {
            continue;
        }
        vault.clock.move_s(181);
        let asked = ask(&vault, "alice").await;
        vault.issuer.misbehave(case.switches.clone());
        vault.clock.move_s(601); // metadata and keys are asked for again
        let mut alice = Browser::new();
        let mut page = alice.open(&asked.url).await;
        assert_eq!(page.h1(), SIGN_IN);
        page = alice.press(&page, "/login", &[]).await;
        page = vault.at_lab(&mut alice, page, "alice").await;
        if page.form("/login/callback/corp").is_some() {
            page = alice.press(&page, "/login/callback/corp", &[]).await;
        }
        stands(&page, &case);
        let in_session = alice.jar.keys().any(|(_, name)| name == "__Host-sr_s");
        let outcome = outcome_of(&page, CONSENT);
        assert_eq!(outcome, at_issuer(&case.name), "{}", case.name);
        assert_eq!(in_session, outcome == On, "{}", case.name);
        vault.issuer.behave();
    }
    assert!(vault.provider.recorded().is_empty());
    vault.stop().await;
}
