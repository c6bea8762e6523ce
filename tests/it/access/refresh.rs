//! Refresh: spent once, kept before anybody gets it, and never lost with whoever asked for it.

use actix_rt::spawn;
use domain::Clock as _;
use futures_util::future::join_all;
use lab::{Misbehaviour, Moment, RefreshRule};
use reqwest::Method;
use serde_json::json;
use storage::{Claim, Holder};

use super::{header_value, problem};
use crate::support::{Answered, Browser, McpServer, TestVault};

/// A vault where Alice is connected; gives her first token and the grant.
async fn connected() -> (TestVault, String, String) {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    let (token, grant) = (header_value(&answer), answer.text("/grant/id").to_owned());
    vault.provider.clear();
    (vault, token, grant)
}

/// Moves beyond the end of every access token and asks.
async fn after_an_hour(vault: &TestVault) -> Answered {
    vault.clock.move_s(3601);
    vault.s1.ensure(&vault.token("alice")).await
}

/// The refresh tokens that were spent at the provider, in order.
fn spent(vault: &TestVault) -> Vec<String> {
    vault
        .provider
        .recorded()
        .iter()
        .filter_map(|seen| seen.form_param("refresh_token"))
        .collect()
}

#[actix_web::test]
async fn a_rotated_refresh_token_survives_restarts() {
    let (mut vault, mut last, _) = connected().await;
    for generation in 2..6 {
        let answer = after_an_hour(&vault).await;
        let token = header_value(&answer);
        assert_ne!(token, last);
        assert_eq!(answer.body["grant"]["generation"], generation);
        assert!(
            vault
                .provider
                .is_active(token.trim_start_matches("Bearer "))
        );
        last = token;
        vault = vault.restart().await;
        assert_eq!(
            header_value(&vault.s1.ensure(&vault.token("alice")).await),
            last,
            "and is read back as it was"
        );
    }
    let spent = spent(&vault);
    let different: std::collections::BTreeSet<&String> = spent.iter().collect();
    assert_eq!(
        (spent.len(), different.len()),
        (4, 4),
        "each was spent once"
    );
    assert_eq!(vault.audited("tokens_refreshed", "ok"), 4);
    vault.stop().await;
}

#[actix_web::test]
async fn without_a_new_refresh_token_the_old_one_is_kept() {
    for rule in [RefreshRule::Silent, RefreshRule::SameToken] {
        let (mut vault, first, _) = connected().await;
        vault.provider.misbehave(Misbehaviour {
            refresh: rule,
            ..Misbehaviour::default()
        });
        for _ in 0..2 {
            assert_ne!(
                header_value(&after_an_hour(&vault).await),
                first,
                "{rule:?}"
            );
            vault = vault.restart().await;
        }
        let spent = spent(&vault);
        assert_eq!(spent.len(), 2);
        assert_eq!(spent[0], spent[1]);
        // Rotation may begin at any time.
        vault.provider.behave();
        assert_eq!(after_an_hour(&vault).await.body["grant"]["generation"], 4);
        assert_eq!(after_an_hour(&vault).await.body["grant"]["generation"], 5);
        vault.stop().await;
    }
}

#[actix_web::test]
async fn a_refusal_asks_the_person_once_for_many_callers() {
    let (vault, _, grant) = connected().await;
    assert_eq!(vault.provider.end_grants("alice-at-practice"), 1);
    vault.clock.move_s(3601);
    let token = vault.token("alice");
    let answers = join_all((0..8).map(|_| vault.s1.ensure(&token))).await;
    for answer in &answers {
        assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    }
    assert_eq!(vault.provider.count("/token"), 1, "one refusal is enough");
    assert_eq!(vault.audited("refresh_refused", "invalid-grant"), 1);
    let seen = vault
        .s1
        .call(
            Method::GET,
            &format!("/v1/grants/{grant}"),
            &[("subject-token", &token)],
            None,
        )
        .await;
    assert_eq!(seen.text("/status"), "needs_reconnect");
    assert_eq!(vault.s1.ensure(&token).await.text("/status"), "elicit");
    assert_eq!(
        vault.provider.count("/token"),
        1,
        "a dead refresh token is not sent again"
    );
    vault.clock.move_s(120);
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "connected"
    );
    assert_eq!(
        after_an_hour(&vault).await.text("/status"),
        "connected",
        "and the new one refreshes"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn scopes_can_only_become_fewer_in_a_refresh() {
    let vault = TestVault::start().await;
    let both = json!({ "scopes": ["notes.read", "notes.write"] });
    let asked = vault
        .s1
        .ensure_with(&vault.token("alice"), both.clone())
        .await;
    let mut browser = Browser::new();
    let consent = vault
        .sign_in(
            &mut browser,
            asked.text("/elicitation/connect_url"),
            "alice",
        )
        .await;
    let confirm = vault
        .consent(&mut browser, &consent, "alice-at-practice")
        .await;
    browser
        .press(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    assert_eq!(
        vault
            .s1
            .ensure_with(&vault.token("alice"), both.clone())
            .await
            .text("/status"),
        "connected"
    );
    vault.provider.misbehave(Misbehaviour {
        scope: Some("notes.read".into()),
        ..Misbehaviour::default()
    });
    let narrower = after_an_hour(&vault).await;
    assert_eq!(
        narrower.body["credential"]["scopes"],
        json!(["notes.read"]),
        "{}",
        narrower.body
    );
    assert_eq!(
        vault
            .s1
            .ensure_with(&vault.token("alice"), both.clone())
            .await
            .text("/status"),
        "elicit"
    );
    // An answer that names more than the grant has does not make it larger, and its token is given to nobody.
    vault.provider.misbehave(Misbehaviour {
        scope: Some("notes.read notes.write".into()),
        ..Misbehaviour::default()
    });
    let wider = after_an_hour(&vault).await;
    assert_eq!(wider.text("/status"), "elicit", "{}", wider.body);
    assert_eq!(vault.audited("refresh_refused", "wider-scopes"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn a_caller_that_goes_away_does_not_take_the_refresh_along() {
    for moment in [Moment::BeforeActing, Moment::BeforeAnswering] {
        let (vault, first, _) = connected().await;
        vault.clock.move_s(3601);
        let gate = vault.provider.hold("/token", moment);
        let (server, token): (McpServer, String) = (vault.s1.clone(), vault.token("alice"));
        let caller = spawn(async move { server.ensure(&token).await.status });
        gate.arrived(1).await;
        caller.abort();
        assert!(
            caller.await.is_err_and(|error| error.is_cancelled()),
            "the caller is gone, its connection with it"
        );
        gate.open();
        let answer = vault.s1.ensure(&vault.token("alice")).await;
        assert_eq!(answer.body["grant"]["generation"], 2, "{}", answer.body);
        assert_ne!(header_value(&answer), first);
        assert_eq!(vault.provider.count("/token"), 1, "{moment:?}");
        assert_eq!(
            after_an_hour(&vault).await.body["grant"]["generation"],
            3,
            "the rotated token was kept"
        );
        vault.stop().await;
    }
}

#[actix_web::test]
async fn an_aging_token_is_given_at_once_and_refreshed_behind() {
    let (vault, first, _) = connected().await;
    vault.clock.move_s(3600 - 200);
    let gate = vault.provider.hold("/token", Moment::BeforeActing);
    let token = vault.token("alice");
    let answers = join_all((0..8).map(|_| vault.s1.ensure(&token))).await;
    assert!(
        answers.iter().all(|answer| header_value(answer) == first),
        "nobody waits for the provider"
    );
    gate.arrived(1).await;
    gate.open();
    let mut generation = json!(1);
    for _ in 0..2_000 {
        generation = vault.s1.ensure(&token).await.body["grant"]["generation"].clone();
        if generation == 2 {
            break;
        }
    }
    assert_eq!(generation, 2);
    assert_eq!(vault.provider.count("/token"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn a_lease_held_by_another_replica_is_waited_for_and_ends_by_itself() {
    let (vault, first, grant) = connected().await;
    vault.clock.move_s(3601);
    let id = grant.strip_prefix("gr_").unwrap();
    let id = (0..16).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap());
    let name: Vec<u8> = b"refresh/".iter().copied().chain(id).collect();
    let claim = vault
        .store
        .claim(&name, Holder([9; 16]), vault.clock.now().as_ms(), 45_000)
        .await
        .unwrap();
    assert!(matches!(claim, Claim::Held(_)));
    let busy = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!((busy.status, problem(&busy)), (503, "busy"));
    assert!(busy.headers.contains_key("retry-after"));
    assert_eq!(
        vault.provider.count("/token"),
        0,
        "a refresh token is spent under the lease alone"
    );
    vault.clock.move_s(46);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_ne!(header_value(&answer), first);
    assert_eq!(vault.provider.count("/token"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn people_do_not_wait_for_each_other() {
    let (vault, _, _) = connected().await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    vault.clock.move_s(3601);
    vault.provider.clear();
    let gate = vault.provider.hold("/token", Moment::BeforeActing);
    let (alice, bob) = (vault.token("alice"), vault.token("bob"));
    let both = async { tokio::join!(vault.s1.ensure(&alice), vault.s1.ensure(&bob)) };
    let ((alice, bob), ()) = tokio::join!(both, async {
        gate.arrived(2).await; // both are at the provider at the same time
        gate.open();
    });
    assert_ne!(header_value(&alice), header_value(&bob));
    vault.stop().await;
}
