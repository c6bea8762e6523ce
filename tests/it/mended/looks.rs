//! Looking: it is counted, judged before anybody waits, and makes nothing; and rows in a wrong place are not looked at.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use storage::{Row, Table};

use crate::access::problem;
use crate::access::rows::put;
use crate::access::world::World;
use crate::flow::{Asked, CONFIRM, ask, count, is_gone, is_mismatch, signed_in, state, to_confirm};
use crate::support::{Answered, Browser, TestVault, log};

async fn look(vault: &TestVault, asked: &Asked, wait: &str) -> Answered {
    let path = format!("/v1/elicitations/{}{wait}", asked.id);
    let headers = [("subject-token", asked.token.as_str())];
    vault.s1.call(Method::GET, &path, &headers, None).await
}

#[actix_web::test]
async fn a_look_that_would_have_waited_is_counted_like_any_other() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let body = json!({ "subject_token": asked.token });
    let path = format!("/v1/elicitations/{}/cancel", asked.id);
    vault.s1.call(Method::POST, &path, &[], Some(body)).await;
    for number in 0..60 {
        let wait = ["", "?wait=1", "?wait=55"][number % 3];
        assert_eq!(look(&vault, &asked, wait).await.status, 200);
    }
    for wait in ["", "?wait=1", "?wait=55"] {
        let answer = look(&vault, &asked, wait).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (429, "too-many-requests")
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn a_wait_ends_in_its_time_although_the_vaults_clock_stands_still() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let answer = look(&vault, &asked, "?wait=1").await;
    assert_eq!(answer.text("/state"), "issued");
    vault.stop().await;
}

async fn elicitation_row(vault: &TestVault, asked: &Asked) -> Row {
    let rows = vault.store.scan(Table::Elicitations, &[], None, 9).await;
    let mut rows = rows.unwrap().into_iter();
    rows.find(|row| String::from_utf8_lossy(&row.body).contains(&asked.id))
        .unwrap()
}

#[actix_web::test]
async fn a_row_in_anothers_place_is_a_fault_and_nothing_is_decided_from_it() {
    let vault = TestVault::start().await;
    let (alices, bobs) = (ask(&vault, "alice").await, ask(&vault, "bob").await);
    let (a, b) = (
        elicitation_row(&vault, &alices).await,
        elicitation_row(&vault, &bobs).await,
    );
    put(&vault, Table::Elicitations, &b.key, a.body.clone()).await;
    let resolved = vault.s1.resolve(&bobs.token, &bobs.state, json!({})).await;
    assert_eq!((resolved.status, problem(&resolved)), (500, "internal"));
    let over = json!({
        "request_state": bobs.state,
        "input_responses": { "connect:practice": { "action": "decline" } },
    });
    let no = vault.s1.ensure_with(&bobs.token, over).await;
    assert_eq!((no.status, problem(&no)), (500, "internal"));
    let opened = Browser::new()
        .visit(&bobs.url.parse().unwrap(), "none")
        .await;
    assert_eq!(opened.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(state(&vault, &alices).await, "issued");

    // The right id with another owner's name: the state was Bob's, the row is not.
    let mut swapped: Value = serde_json::from_slice(&b.body).unwrap();
    let other: Value = serde_json::from_slice(&a.body).unwrap();
    swapped["pseudonym"] = other["pseudonym"].clone();
    let body = swapped.to_string().into_bytes();
    put(&vault, Table::Elicitations, &b.key, body).await;
    let resolved = vault.s1.resolve(&bobs.token, &bobs.state, json!({})).await;
    assert_eq!(
        (resolved.status, problem(&resolved)),
        (400, "request-state-invalid")
    );
    put(&vault, Table::Elicitations, &b.key, b.body).await;
    let resolved = vault.s1.resolve(&bobs.token, &bobs.state, json!({})).await;
    assert_eq!(resolved.text("/state"), "issued");
    vault.stop().await;
}

#[actix_web::test]
async fn neither_a_look_nor_an_end_makes_a_person() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    assert_eq!(confirm.h1(), CONFIRM);
    let people = vault.store.scan(Table::Users, &[], None, 9).await.unwrap();
    let gone = storage::Write::Delete {
        table: Table::Users,
        key: people[0].key.clone(),
        expected: people[0].revision,
    };
    vault.store.commit(vec![gone]).await.unwrap();
    // Without the person nothing opens; the page says that it failed, and makes nobody in their place.
    let page = alice.open(confirm.url.as_str()).await;
    assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(count(&vault, Table::Users).await, 0);
    alice.press(&confirm, "/decline", &[]).await;
    assert_eq!(state(&vault, &asked).await, "declined");
    assert_eq!(count(&vault, Table::Users).await, 0);
    vault.stop().await;
}

/// The cancellation is in the audit log, and the operator's log warns of it.
fn is_told(vault: &TestVault, asked: &Asked) {
    let entries: Vec<Value> = vault.audit();
    let mine = entries
        .iter()
        .filter(|entry| entry["elicitation"] == asked.id.as_str());
    let cancelled: Vec<&Value> = mine
        .filter(|entry| entry["action"] == "elicitation_cancelled")
        .collect();
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    assert_eq!(
        (&cancelled[0]["class"], &cancelled[0]["outcome"]),
        (&json!("link"), &json!("mismatch"))
    );
    assert!(cancelled[0]["other_user"].is_string() && cancelled[0]["server"] == "s1");
    let written = String::from_utf8(log().written()).unwrap();
    let warned = |line: &str| line.contains("WARN") && line.contains(&asked.id);
    assert!(written.lines().any(warned));
}

#[actix_web::test]
async fn at_001_a_link_that_three_wrong_people_opened_ends_with_an_entry_and_a_warning() {
    log();
    let vault = TestVault::start().await;
    let mut bob = signed_in(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    is_mismatch(&bob.open(&asked.url).await);
    is_mismatch(&bob.open(&asked.url).await);
    assert_eq!(vault.audited("elicitation_cancelled", "mismatch"), 0);
    is_gone(&bob.open(&asked.url).await);
    is_told(&vault, &asked);

    // The same when they come without a session and sign in on the way.
    let asked = ask(&vault, "alice").await;
    for _ in 0..3 {
        vault.sign_in(&mut Browser::new(), &asked.url, "bob").await;
    }
    assert_eq!(state(&vault, &asked).await, "cancelled");
    is_told(&vault, &asked);
    vault.stop().await;
}

#[actix_web::test]
async fn a_server_makes_a_hundred_elicitations_in_a_second_and_no_more() {
    let world = World::start().await;
    let vault = &world.vault;
    let iss = vault.issuer.base_url().to_owned();
    let create = async |person: String| {
        let body = json!({
            "provider": "practice",
            "scopes": ["notes.read"],
            "subject": { "iss": iss, "sub": person },
        });
        let path = "/v1/elicitations";
        world.s2.call(Method::POST, path, &[], Some(body)).await
    };
    for number in 0..100 {
        let answer = create(format!("person-{number}")).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let refused = create("one-more".to_owned()).await;
    assert_eq!(
        (refused.status, problem(&refused)),
        (429, "too-many-requests")
    );
    assert_eq!(refused.headers["retry-after"], "1");
    ask(vault, "alice").await; // another server is not held up
    vault.clock.move_s(1);
    assert_eq!(create("one-more".to_owned()).await.status, 201);
    world.stop().await;
}
