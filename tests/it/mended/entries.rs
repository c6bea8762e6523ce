//! What ends has its entry before anything is erased or anybody outside is told, and a second one with the provider's answer.

use actix_rt::spawn;
use lab::Moment;
use reqwest::Method;
use serde_json::json;

use crate::flow::{CONFIRM, CONSENT, DONE, ask, connect_as, to_confirm};
use crate::support::{Browser, TestVault};

/// Outcomes of all entries of an action, in order.
fn outcomes(vault: &TestVault, action: &str) -> Vec<String> {
    let text = |entry: &serde_json::Value| entry["outcome"].as_str().unwrap().to_owned();
    let all = vault.audit();
    let of = all.iter().filter(|entry| entry["action"] == action);
    of.map(text).collect()
}

#[actix_web::test]
async fn a_no_and_a_fresh_start_are_written_before_the_tokens_are_gone() {
    for (deed, first) in [("/decline", "declined"), ("/again", "pending_destroyed")] {
        let vault = TestVault::start().await;
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
        let gate = vault.provider.hold("/revoke", Moment::BeforeActing);
        let pressing = async { alice.press(&confirm, deed, &[]).await };
        let looking = async {
            gate.arrived(1).await;
            let now = (
                outcomes(&vault, first),
                outcomes(&vault, "pending_destroyed"),
            );
            gate.open();
            now
        };
        let (_, (done, destroyed)) = futures_util::future::join(pressing, looking).await;
        assert_eq!((done, destroyed), (vec!["ok".into()], vec!["ok".into()]));
        assert_eq!(outcomes(&vault, "pending_destroyed"), ["ok", "revoked"]);
        vault.stop().await;
    }
}

#[actix_web::test]
async fn silence_is_written_before_the_tokens_are_gone() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    to_confirm(&vault, &mut Browser::new(), &asked, "alice").await;
    vault.clock.move_s(10 * 60 + 1);
    let gate = vault.provider.hold("/revoke", Moment::BeforeActing);
    let looking = async {
        gate.arrived(1).await;
        let now = outcomes(&vault, "pending_destroyed");
        gate.open();
        now
    };
    let (swept, before) = futures_util::future::join(vault.app.vault().sweep(), looking).await;
    swept.unwrap();
    assert_eq!(before, ["ok"]);
    assert_eq!(outcomes(&vault, "pending_destroyed"), ["ok", "revoked"]);
    vault.stop().await;
}

#[actix_web::test]
async fn every_grant_that_is_replaced_has_ended_and_the_provider_is_heard() {
    for (account, answer) in [
        ("alice-at-practice", "kept-for-other-grant"),
        ("bob-at-practice", "revoked"),
    ] {
        let vault = TestVault::start().await;
        let mut alice = Browser::new();
        vault.walk(&mut alice, "alice", "alice-at-practice").await;
        let first = vault.s1.ensure(&vault.token("alice")).await;
        let asked = ask(&vault, "alice").await;
        let consent = alice.open(&asked.url).await;
        assert_eq!(consent.h1(), CONSENT);
        let confirm = connect_as(&vault, &mut alice, &consent, account).await;
        assert_eq!(confirm.h1(), CONFIRM);
        let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
        assert_eq!(done.h1(), DONE);
        let all = vault.audit();
        let ends = all.iter().filter(|one| one["action"] == "grant_revoked");
        for end in ends {
            assert_eq!(end["grant"], first.text("/grant/id"), "{account}");
        }
        assert_eq!(outcomes(&vault, "grant_revoked"), ["replaced", answer]);
        let again = vault.s1.ensure(&vault.token("alice")).await;
        assert_ne!(again.text("/grant/id"), first.text("/grant/id"));
        vault.stop().await;
    }
}

#[actix_web::test]
async fn what_the_provider_says_to_an_end_is_written() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = vault.token("alice");
    let grant = vault.s1.ensure(&token).await.text("/grant/id").to_owned();
    let (path, head) = (format!("/v1/grants/{grant}"), [("subject-token", &*token)]);
    let receipt = vault.s1.call(Method::DELETE, &path, &head, None).await;
    assert_eq!(receipt.text("/provider_revocation"), "revoked");
    assert_eq!(outcomes(&vault, "grant_revoked"), ["ok", "revoked"]);
    vault.stop().await;
}

#[actix_web::test]
async fn tokens_that_a_link_brings_after_its_end_do_not_stay_alive() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let walking = connect_as(&vault, &mut alice, &consent, "alice-at-practice");
    let ending = async {
        gate.arrived(1).await;
        let path = format!("/v1/elicitations/{}/cancel", asked.id);
        let body = json!({ "subject_token": asked.token });
        let ended = vault.s1.call(Method::POST, &path, &[], Some(body)).await;
        assert_eq!(ended.text("/state"), "cancelled", "{}", ended.body);
        gate.open();
    };
    let (page, ()) = futures_util::future::join(walking, ending).await;
    crate::flow::is_gone(&page);
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(outcomes(&vault, "tokens_pending"), [""; 0]);
    assert_eq!(outcomes(&vault, "pending_destroyed"), ["revoked"]);
    vault.stop().await;
}

#[actix_web::test]
async fn a_refresh_that_was_overtaken_is_taken_back() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = vault.token("alice");
    let grant = vault.s1.ensure(&token).await.text("/grant/id").to_owned();
    vault.clock.move_s(3601);
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let (s1, token) = (vault.s1.clone(), vault.token("alice"));
    let refreshing = spawn(async move { s1.ensure(&token).await });
    gate.arrived(1).await;
    let (path, token) = (format!("/v1/grants/{grant}"), vault.token("alice"));
    let head = [("subject-token", &*token)];
    vault.s1.call(Method::DELETE, &path, &head, None).await;
    gate.open();
    let answer = refreshing.await.unwrap();
    assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    assert_eq!(outcomes(&vault, "tokens_refreshed"), ["ok", "not-done"]);
    assert_eq!(outcomes(&vault, "refresh_refused"), ["revoked"]);
    vault.stop().await;
}

#[actix_web::test]
async fn an_exchange_that_fails_after_its_flow_is_gone_is_written_all_the_same() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let gate = vault.provider.hold("/token", Moment::BeforeActing);
    let walking = connect_as(&vault, &mut alice, &consent, "alice-at-practice");
    let meanwhile = async {
        gate.arrived(1).await;
        vault.clock.move_s(31 * 60); // the code ends, and so does the link
        vault.app.vault().sweep().await.unwrap();
        gate.open();
    };
    futures_util::future::join(walking, meanwhile).await;
    assert_eq!(outcomes(&vault, "exchange_failed"), ["provider-refused"]);
    vault.stop().await;
}
