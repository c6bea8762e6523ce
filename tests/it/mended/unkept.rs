//! Tokens that come and cannot be used are ended where they came from, and the audit log says why; what came with a mere
//! blemish is kept.

use lab::Misbehaviour;
use serde_json::{Value, json};

use crate::flow::{ask, connect_as, has_code};
use crate::support::{Browser, TestVault};

fn answers(name: &str, value: Value) -> Misbehaviour {
    Misbehaviour::default().member("/token", name, value)
}

async fn connected() -> TestVault {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
}

#[actix_web::test]
async fn a_rotated_refresh_token_is_kept_though_its_scope_cannot_be_read() {
    let vault = connected().await;
    for (generation, scope) in [(2, json!(false)), (3, json!({})), (4, json!(" "))] {
        vault.provider.misbehave(answers("scope", scope));
        vault.clock.move_s(3601);
        let answer = vault.s1.ensure(&vault.token("alice")).await;
        let grant = &answer.body["grant"];
        assert_eq!(grant["generation"], generation, "{}", answer.body);
    }
    vault.stop().await;
}

#[actix_web::test]
async fn a_refused_refresh_that_replaced_the_refresh_token_waits_for_the_person() {
    let vault = connected().await;
    vault
        .provider
        .misbehave(answers("token_type", json!("mac")));
    vault.clock.move_s(3601);
    vault.provider.clear();
    for _ in 0..2 {
        let answer = vault.s1.ensure(&vault.token("alice")).await;
        assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
        vault.clock.move_s(6);
    }
    assert_eq!(vault.provider.count("/token"), 1, "nothing is spent twice");
    assert_eq!(vault.audited("refresh_refused", "token-type"), 1);
    assert_eq!(vault.audited("refresh_refused", "revoked"), 1);
    assert!(vault.provider.live_grants().is_empty());
    vault.stop().await;
}

#[actix_web::test]
async fn a_refused_refresh_that_replaced_nothing_is_tried_again() {
    let vault = connected().await;
    let refused =
        answers("token_type", json!("mac")).member("/token", "refresh_token", json!(null));
    vault.provider.misbehave(refused);
    vault.clock.move_s(3601);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert!(answer.body.get("elicitation").is_none(), "{}", answer.body);
    assert!(answer.body["retry_after"].is_u64(), "{}", answer.body);
    assert_eq!(vault.audited("refresh_refused", "token-type"), 1);
    assert_eq!(vault.provider.count("/revoke"), 0);
    assert_eq!(vault.provider.live_grants().len(), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn first_tokens_that_are_refused_are_revoked() {
    for (name, value) in [
        ("token_type", json!("mac")),
        ("scope", json!(false)),
        ("access_token", json!("a b")),
    ] {
        let vault = TestVault::start().await;
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        vault.provider.misbehave(answers(name, value));
        let page = connect_as(&vault, &mut alice, &consent, "alice-at-practice").await;
        has_code(&page, "provider-unreadable");
        assert!(vault.provider.live_grants().is_empty(), "{name}");
        assert_eq!(vault.audited("pending_destroyed", "revoked"), 1, "{name}");
        vault.stop().await;
    }
}
