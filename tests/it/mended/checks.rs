//! C1, C3 and C9 once more, each by another way than the tests that are about it: one test alone could be weakened unnoticed.

use reqwest::Method;
use serde_json::json;

use crate::access::admin::admin;
use crate::access::problem;
use crate::flow::{ask, come_back, grants, is_gone, signed_in, state, to_callback};
use crate::support::{Browser, McpServer, Setup, TestVault};

#[actix_web::test]
async fn c1_a_key_that_was_replaced_opens_nothing_that_its_successor_does() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let asked = ask(&vault, "bob").await;
    let successor = vault.server("s1").await;
    let id = &vault.s1.key[4..16];
    admin(&vault, Method::DELETE, &format!("/v1/keys/{id}")).await;
    let token = vault.token("alice");
    let of_bob = vault.token("bob");
    let elicitation = format!("/v1/elicitations/{}", asked.id);
    for (path, subject) in [("/v1/grants", &token), (elicitation.as_str(), &of_bob)] {
        let headers = [("subject-token", subject.as_str())];
        let old = vault.s1.call(Method::GET, path, &headers, None).await;
        assert_eq!((old.status, problem(&old)), (401, "unauthenticated"));
        let new = successor.call(Method::GET, path, &headers, None).await;
        assert_eq!(new.status, 200, "{}", new.body);
    }
    let released = vault.audited("credential_released", "ok");
    assert_eq!(vault.s1.ensure(&token).await.status, 401);
    assert_eq!(vault.audited("credential_released", "ok"), released);
    vault.stop().await;
}

const READER: &str = r#"
[[server]]
slug = "reader"
name = "Reader"
resource = "https://reader.test/mcp"
issuer = "corp"
allow = [{ provider = "practice", scopes = ["notes.read"] }]
"#;

#[actix_web::test]
async fn c3_a_request_beyond_the_allowance_makes_no_link() {
    let vault = TestVault::start_with(Setup {
        more: READER.to_owned(),
        ..Setup::default()
    })
    .await;
    let reader: McpServer = vault.server("reader").await;
    let token = vault.token_for(
        "alice",
        "https://reader.test/mcp",
        &lab::JwtEdits::default(),
    );
    let body = json!({ "provider": "practice", "scopes": ["notes.read", "notes.write"], "subject_token": token });
    let made = reader
        .call(Method::POST, "/v1/elicitations", &[], Some(body))
        .await;
    assert_eq!(
        (made.status, problem(&made)),
        (403, "scopes-not-permitted"),
        "{}",
        made.body
    );
    assert_eq!(made.body["missing"], json!(["notes.write"]));
    let rows = vault
        .store
        .scan(storage::Table::Elicitations, &[], None, 9)
        .await;
    assert!(rows.unwrap().is_empty());
    vault.stop().await;
}

#[actix_web::test]
async fn c9_a_callback_in_another_browser_of_the_same_person_connects_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let mut elsewhere = signed_in(&vault, "alice").await;
    let page = come_back(&mut elsewhere, &callback).await;
    is_gone(&page);
    assert_eq!(
        vault.provider.count("/token"),
        0,
        "the code is not redeemed"
    );
    assert_eq!(vault.audited("flow_poisoned", "other-browser"), 1);
    assert_ne!(state(&vault, &asked).await, "completed");
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.stop().await;
}
