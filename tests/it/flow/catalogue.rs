//! Every case of the lab's catalogue, walked at the provider and at the issuer: nothing falls over, a fault that is dangerous
//! connects nobody, and one that is not keeps nobody from connecting.

use lab::Case;

use super::{CONFIRM, CONSENT, DONE, SIGN_IN, ask, grants};
use crate::support::{Browser, Page, TestVault};

/// Cases after which a provider's answer may still be used: what is wrong concerns issuers or refreshes, is shown to the person
/// before the yes, or is one of the many forms of a good answer.
const HARMLESS_AT_PROVIDER: [&str; 13] = [
    "token-type-missing",
    "token-expiry-odd",
    "token-expiry-missing",
    "token-no-refresh",
    "token-scope-none",
    "token-scope-wider",
    "token-form-encoded",
    "token-nested",
    "token-camel-case",
    "token-numbers-as-text",
    "token-scope-commas",
    "code-used-again",
    "pkce-ignored",
];
const OF_OTHERS: [&str; 8] = [
    "metadata-",
    "refresh-",
    "id-token-",
    "access-token-",
    "jwks-",
    "userinfo-",
    "me-",
    "revoke-",
];

/// Cases that concern the login and must end it.
const DANGEROUS_AT_ISSUER: [&str; 6] = [
    "id-token-",
    "callback-iss",
    "callback-state",
    "callback-code",
    "callback-denied",
    "token-redirect",
];

fn begins_with(case: &Case, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| case.name.starts_with(prefix))
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
        let harmless =
            HARMLESS_AT_PROVIDER.contains(&case.name.as_str()) || begins_with(&case, &OF_OTHERS);
        if page.h1() == CONFIRM {
            assert!(harmless, "{} came to the confirm page", case.name);
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
        assert_eq!(in_session, page.h1() == CONSENT, "{}", case.name);
        assert!(
            !(in_session && begins_with(&case, &DANGEROUS_AT_ISSUER)),
            "{} signed somebody in",
            case.name
        );
        vault.issuer.behave();
    }
    assert!(vault.provider.recorded().is_empty());
    vault.stop().await;
}
