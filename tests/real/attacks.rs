//! Attacks whose other half is a real browser. The same numbers are tried in `tests/it` request by request.

use serde_json::json;

use crate::installation::Installation;

#[actix_web::test]
async fn at_001_a_link_of_alice_opened_by_signed_in_bob() {
    let vault = Installation::start();
    let ((alice, elicitation), (bob, _)) = (vault.elicit("alice").await, vault.elicit("bob").await);
    let facts = vault
        .attack(
            "at-001",
            &json!({ "alice": alice, "bob": bob, "provider": vault.provider() }),
        )
        .await;
    let expected = json!({
        "own": "consent", "bobs": "mismatch", "status": 403, "consentForms": 0, "atProvider": 0, "names": false, "alices": "done"
    });
    assert_eq!(facts, expected);
    assert_eq!(vault.state("alice", &elicitation).await, "completed");
    assert!(vault.audited("identity_mismatch") >= 1);
    assert_eq!(vault.status("bob").await, "elicit");
    vault.stop();
}

#[actix_web::test]
async fn at_002_a_link_of_alice_opened_by_bob_who_then_signs_in() {
    let vault = Installation::start();
    let (alice, _) = vault.elicit("alice").await;
    let facts = vault
        .attack(
            "at-002",
            &json!({ "alice": alice, "provider": vault.provider() }),
        )
        .await;
    let expected = json!({ "bobs": "mismatch", "status": 403, "consentForms": 0, "atProvider": 0, "names": false, "alices": "done" });
    assert_eq!(facts, expected);
    assert_eq!(vault.notes("alice").await["owner"], "alice");
    vault.stop();
}

#[actix_web::test]
async fn at_004_a_forwarded_authorize_address_while_bob_has_a_flow_of_his_own() {
    let vault = Installation::start();
    let ((alice, elicitation), (bob, _)) = (vault.elicit("alice").await, vault.elicit("bob").await);
    let facts = vault
        .attack(
            "at-004",
            &json!({ "alice": alice, "bob": bob, "provider": vault.provider() }),
        )
        .await;
    assert_eq!(facts["forwarded"], true, "{facts}");
    assert_eq!(facts["seen"]["callback"], true, "{facts}");
    assert_ne!(
        facts["seen"]["heading"], "Is this the right account?",
        "{facts}"
    );
    assert_eq!(facts["own"], "done", "{facts}");
    // Alice's flow is dead in her own browser as well; her link stays good for another try.
    assert_eq!(vault.audited("flow_poisoned"), 1);
    assert_eq!(facts["dead"], "This link is no longer valid", "{facts}");
    assert_eq!(
        vault.state("alice", &elicitation).await,
        "consented",
        "{facts}"
    );
    assert_eq!(vault.status("alice").await, "elicit");
    assert_eq!(vault.notes("bob").await["owner"], "bob");
    assert_eq!(
        vault.provider_count("authorization_code ok").await,
        1,
        "only Bob's own code was redeemed"
    );
    vault.stop();
}

#[actix_web::test]
async fn at_008_cookies_planted_by_a_sibling_host() {
    let vault = Installation::start_at("connect.vault.localhost");
    let (alice, _) = vault.elicit("alice").await;
    let facts = vault.attack("at-008", &json!({ "alice": alice })).await;
    let expected = json!({
        "harmless": true, "planted": 0, "sessionBeforeLogin": false, "sessionAfter": true, "foreignAfter": 0, "end": "done"
    });
    assert_eq!(facts, expected);
    assert_eq!(vault.notes("alice").await["owner"], "alice");
    vault.stop();
}
