//! What ends while a request waits for somebody outside has ended for that request too.

use actix_rt::spawn;
use actors::doors::{AdminDoor, ServerDoor, SubjectInput};
use futures_util::poll;
use lab::{Gate, Misbehaviour, Moment, Reply};
use secret::SubjectToken;
use std::time::Duration;

use crate::flow::{DONE, ask, to_confirm};
use crate::support::{Answered, Browser, TestVault};

/// Public id of a key.
fn key_id(text: &str) -> &str {
    &text[4..16]
}

async fn disable(vault: &TestVault) {
    let door = vault.app.vault();
    door.set_disabled(AdminDoor::begin(door), &"s1".parse().unwrap(), true)
        .await
        .unwrap();
}

async fn revoke_key(vault: &TestVault) {
    let door = vault.app.vault();
    door.revoke_key(AdminDoor::begin(door), key_id(&vault.s1.key))
        .await
        .unwrap();
}

/// Alice is connected; a refresh of hers stands still at the provider, and a call of `s1` waits for it.
async fn waiting(moment: Moment, left_s: i64) -> (TestVault, Gate, impl Future<Output = Answered>) {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(first.text("/status"), "connected");
    vault.clock.move_s(3600 - left_s);
    let gate = vault.provider.hold("/token", moment);
    let (server, token) = (vault.s1.clone(), vault.token("alice"));
    let caller = spawn(async move { server.ensure(&token).await });
    gate.arrived(1).await;
    (vault, gate, async move { caller.await.unwrap() })
}

fn released_once(vault: &TestVault, answer: &Answered) {
    assert!(answer.body.get("credential").is_none(), "{}", answer.body);
    assert_eq!(vault.audited("credential_released", "ok"), 1);
    // The refresh itself was kept: what ended is the caller's right to it.
    assert_eq!(vault.audited("tokens_refreshed", "ok"), 1);
}

#[actix_web::test]
async fn at_137_a_server_that_is_disabled_while_it_waits_gets_no_credential() {
    let (vault, gate, answer) = waiting(Moment::BeforeAnswering, -1).await;
    disable(&vault).await;
    gate.open();
    let answer = answer.await;
    assert_eq!(answer.status, 401, "{}", answer.body);
    released_once(&vault, &answer);
    assert_eq!(vault.audited("caller_refused", "server-disabled"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_137_a_key_that_is_revoked_while_it_waits_gets_no_credential() {
    let (vault, gate, answer) = waiting(Moment::BeforeAnswering, -1).await;
    revoke_key(&vault).await;
    gate.open();
    let answer = answer.await;
    assert_eq!(answer.status, 401, "{}", answer.body);
    released_once(&vault, &answer);
    assert_eq!(vault.audited("caller_refused", "revoked-key"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_137_a_subject_token_that_ends_while_it_waits_gets_no_credential() {
    let (vault, gate, answer) = waiting(Moment::BeforeAnswering, -1).await;
    vault.clock.move_s(300 + 61);
    gate.open();
    let answer = answer.await;
    assert_eq!(
        (answer.status, answer.code()),
        (403, "subject-token-invalid"),
        "{}",
        answer.body
    );
    released_once(&vault, &answer);
    assert_eq!(vault.audited("subject_refused", "time"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_137_a_disabled_server_is_not_told_that_its_provider_is_down() {
    let (vault, gate, answer) = waiting(Moment::BeforeActing, -1).await;
    vault
        .provider
        .misbehave(Misbehaviour::default().reply("/token", None, Reply::Cut));
    disable(&vault).await;
    gate.open();
    let answer = answer.await;
    assert_eq!(answer.status, 401, "{}", answer.body);
    vault.stop().await;
}

#[actix_web::test]
async fn a_token_that_ends_while_its_refresh_is_waited_for_is_not_handed_out() {
    let (vault, gate, answer) = waiting(Moment::BeforeActing, 20).await;
    let lost = Misbehaviour::default().reply_after_acting("/token", Some(1), Reply::Cut);
    vault.provider.misbehave(Misbehaviour {
        reuse_grace: 60,
        ..lost
    });
    vault.clock.move_s(25);
    gate.open();
    let answer = answer.await;
    assert_eq!(answer.text("/status"), "provider_down", "{}", answer.body);
    assert!(answer.body.get("credential").is_none(), "{}", answer.body);
    assert_eq!(vault.audited("credential_released", "ok"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_130_a_wait_for_a_person_ends_with_the_key_that_waits() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    let door = vault.app.vault();
    let ctx = ServerDoor::begin(door);
    let caller = ServerDoor::authenticate(door, ctx, &vault.s1.key)
        .await
        .unwrap();
    let token = SubjectInput::Token(SubjectToken::new(asked.token.clone()));
    let subject = door.subject(ctx, &caller, token).await.unwrap();
    let request = (asked.id.parse().unwrap(), Duration::from_secs(55));
    let mut wait = ServerDoor::elicitation(door, ctx, &caller, &subject, request);
    assert!(poll!(&mut wait).is_pending());
    revoke_key(&vault).await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    assert!(matches!(wait.await, Err(actors::doors::Refusal::Caller)));
    assert_eq!(vault.audited("caller_refused", "revoked-key"), 1);
    vault.stop().await;
}
