//! Keys belong to their server, an `Idempotency-Key` to one elicitation, and what has ended leaves nothing behind.

use actors::doors::{AdminDoor as _, Refusal};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use storage::Table;

use crate::access::rows::put;
use crate::access::world::{R2, R3, World};
use crate::access::{audited_for, grants, problem, without_id};
use crate::flow::{ask, is_gone};
use crate::support::{Answered, Browser, McpServer, Setup, TestVault};

async fn sweep(vault: &TestVault) {
    vault.app.vault().sweep().await.unwrap();
}

async fn count(vault: &TestVault, table: Table) -> usize {
    let rows = vault.store.scan(table, &[], None, 100).await;
    rows.unwrap().len()
}

#[actix_web::test]
async fn a_key_row_that_is_moved_to_another_server_opens_nothing() {
    let world = World::start().await;
    let vault = &world.vault;
    let id = &vault.s1.key[4..16];
    let row = vault
        .store
        .read(Table::ServerKeys, id.as_bytes())
        .await
        .unwrap()
        .unwrap();
    let honest: Value = serde_json::from_slice(&row.body).unwrap();
    assert_eq!(honest["server"], "s1");
    for (slug, resource) in [("s2", R2), ("s3", R3)] {
        let mut moved = honest.clone();
        moved["server"] = json!(slug);
        let body = moved.to_string().into_bytes();
        put(vault, Table::ServerKeys, id.as_bytes(), body).await;
        let answer = grants(&vault.s1, &world.token("alice", resource)).await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (401, "unauthenticated"),
            "{slug}"
        );
        let entries = audited_for(vault, &answer);
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(
            (&entries[0]["action"], &entries[0]["outcome"]),
            (&json!("caller_refused"), &json!("unknown-key"))
        );
    }
    put(vault, Table::ServerKeys, id.as_bytes(), row.body).await;
    let answer = grants(&vault.s1, &vault.token("alice")).await;
    assert_eq!(answer.status, 200, "back in its place it opens");
    world.stop().await;
}

const S9: &str = r#"
[[server]]
slug = "s9"
name = "Server Nine"
resource = "https://s9.test/mcp"
issuer = "corp"
allow = [{ provider = "practice", scopes = ["notes.read"] }]
"#;

#[actix_web::test]
async fn of_five_keys_made_at_once_two_live() {
    let vault = TestVault::start_with(Setup {
        more: S9.into(),
        ..Setup::default()
    })
    .await;
    let (door, slug) = (vault.app.vault(), "s9".parse().unwrap());
    // The server's row stays what it is: one that is disabled does not wake up because of a key.
    door.set_disabled(door.begin(), &slug, true).await.unwrap();
    let calls = (0..5).map(|_| door.new_key(door.begin(), &slug));
    let mut made = Vec::new();
    for answer in join_all(calls).await {
        match answer {
            Ok(key) => made.push(key),
            Err(refusal) => assert!(matches!(refusal, Refusal::KeyLimit), "{refusal:?}"),
        }
    }
    assert_eq!(made.len(), 2);
    let servers = door.servers(door.begin()).await.unwrap();
    let s9 = servers.iter().find(|server| server.slug == slug).unwrap();
    assert_eq!((s9.keys.len(), s9.disabled), (2, true));
    door.revoke_key(door.begin(), &made[0].view.id)
        .await
        .unwrap();
    door.new_key(door.begin(), &slug).await.unwrap();
    door.set_disabled(door.begin(), &slug, false).await.unwrap();
    let subject = vault.token_for("alice", "https://s9.test/mcp", &lab::JwtEdits::default());
    let working = McpServer::new(&vault.api, made[1].text.as_str());
    assert_eq!(grants(&working, &subject).await.status, 200);
    vault.stop().await;
}

/// `POST /v1/elicitations` with the same `Idempotency-Key` every time.
async fn create(vault: &TestVault, over: Value) -> Answered {
    let token = vault.token("alice");
    let mut body =
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
    body.as_object_mut()
        .unwrap()
        .extend(over.as_object().unwrap().clone());
    let headers = [("idempotency-key", "the-one-key")];
    vault
        .s1
        .call(Method::POST, "/v1/elicitations", &headers, Some(body))
        .await
}

fn link(answer: &Answered) -> (String, String) {
    assert_eq!(answer.status, 201, "{}", answer.body);
    let text = |pointer| answer.text(pointer).to_owned();
    (text("/elicitation/id"), text("/elicitation/connect_url"))
}

fn is_refused(answer: &Answered, status: u16, code: &str) {
    assert_eq!(
        (answer.status, problem(answer)),
        (status, code),
        "{}",
        answer.body
    );
}

async fn is_dead(url: &str) {
    is_gone(&Browser::new().visit(&url.parse().unwrap(), "none").await);
}

const DAY: i64 = 24 * 60 * 60;

#[actix_web::test]
async fn an_idempotency_key_never_revives_a_link() {
    let vault = TestVault::start().await;
    let (id, url) = link(&create(&vault, json!({})).await);
    assert_eq!(
        link(&create(&vault, json!({})).await),
        (id.clone(), url.clone())
    );
    let kept = vault.store.scan(Table::Idempotency, &[], None, 9).await;
    let kept = kept.unwrap();
    assert_eq!(kept.len(), 1);
    let ticket = url.rsplit('/').next().unwrap();
    assert!(!String::from_utf8_lossy(&kept[0].body).contains(ticket));
    vault.clock.move_s(15 * 60 + 1);
    is_refused(&create(&vault, json!({})).await, 410, "elicitation-gone");
    is_refused(
        &create(&vault, json!({ "account": "work" })).await,
        422,
        "idempotency-conflict",
    );
    sweep(&vault).await;
    vault.clock.move_s(DAY - 15 * 60 - 2);
    sweep(&vault).await;
    is_refused(&create(&vault, json!({})).await, 410, "elicitation-gone");
    // A day after the first request the key is free, swept or not, and what it makes is new.
    vault.clock.move_s(1);
    let (next_id, next_url) = link(&create(&vault, json!({})).await);
    assert!(next_id != id && next_url != url);
    is_dead(&url).await;
    sweep(&vault).await;
    assert_eq!(
        link(&create(&vault, json!({})).await),
        (next_id.clone(), next_url.clone()),
        "the sweep of the old one leaves the new one"
    );
    vault.clock.move_s(DAY);
    sweep(&vault).await;
    assert_eq!(count(&vault, Table::Idempotency).await, 0);
    vault.clock.move_s(DAY);
    sweep(&vault).await;
    assert_eq!(count(&vault, Table::Elicitations).await, 0);
    let (last_id, last_url) = link(&create(&vault, json!({})).await);
    assert!(![id, next_id].contains(&last_id) && ![&url, &next_url].contains(&&last_url));
    is_dead(&url).await;
    is_dead(&next_url).await;
    vault.stop().await;
}

#[actix_web::test]
async fn a_key_whose_elicitation_was_taken_back_is_gone() {
    let vault = TestVault::start().await;
    let (id, _) = link(&create(&vault, json!({})).await);
    let body = json!({ "subject_token": vault.token("alice") });
    let path = format!("/v1/elicitations/{id}/cancel");
    let answer = vault.s1.call(Method::POST, &path, &[], Some(body)).await;
    assert_eq!(answer.text("/state"), "cancelled", "{}", answer.body);
    is_refused(&create(&vault, json!({})).await, 410, "elicitation-gone");
    vault.stop().await;
}

#[actix_web::test]
async fn lists_of_live_elicitations_end_with_them() {
    let vault = TestVault::start().await;
    ask(&vault, "alice").await;
    vault.clock.move_s(10 * 60);
    ask(&vault, "alice").await;
    ask(&vault, "bob").await;
    assert_eq!(count(&vault, Table::LiveElicitations).await, 2);
    vault.clock.move_s(5 * 60 + 1);
    sweep(&vault).await;
    let rows = vault.store.scan(Table::LiveElicitations, &[], None, 9);
    let lengths: Vec<usize> = rows
        .await
        .unwrap()
        .iter()
        .map(|row| {
            let list: Value = serde_json::from_slice(&row.body).unwrap();
            list["elicitations"].as_array().unwrap().len()
        })
        .collect();
    assert_eq!(lengths, [1, 1], "hers is shorter by one");
    vault.clock.move_s(10 * 60);
    sweep(&vault).await;
    assert_eq!(count(&vault, Table::LiveElicitations).await, 0);
    vault.stop().await;
}

async fn look(server: &McpServer, token: &str, id: &str) -> Answered {
    let path = format!("/v1/elicitations/{id}");
    let answer = server
        .call(Method::GET, &path, &[("subject-token", token)], None)
        .await;
    is_refused(&answer, 404, "not-found");
    answer
}

#[actix_web::test]
async fn a_look_at_anothers_elicitation_is_in_the_log() {
    let world = World::start().await;
    let vault = &world.vault;
    let asked = ask(vault, "alice").await;
    let nothing = look(&vault.s1, &asked.token, &format!("el_{}", "0".repeat(32))).await;
    assert_eq!(audited_for(vault, &nothing).len(), 0);
    let bob = look(&vault.s1, &vault.token("bob"), &asked.id).await;
    let s2 = look(&world.s2, &world.token("alice", R2), &asked.id).await;
    let s3 = look(&world.s3, &world.token("alice", R3), &asked.id).await;
    for (answer, server, another) in [(&bob, "s1", true), (&s2, "s2", false)] {
        assert_eq!(without_id(answer), without_id(&nothing));
        let entries = audited_for(vault, answer);
        assert_eq!(entries.len(), 1, "{entries:?}");
        let entry = &entries[0];
        assert_eq!(
            (&entry["action"], &entry["outcome"], &entry["elicitation"]),
            (
                &json!("state_refused"),
                &json!("other-principal"),
                &json!(asked.id)
            )
        );
        assert_eq!(entry["principal"]["id"], server);
        assert!(entry["user"].is_string());
        assert_eq!(entry["other_user"].is_string(), another);
        assert_ne!(entry["other_user"], entry["user"]);
    }
    // What another tenant's server guesses is in the log, and says nothing about this one.
    assert_eq!(without_id(&s3), without_id(&nothing));
    let entries = audited_for(vault, &s3);
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        (&entries[0]["outcome"], &entries[0]["tenant"]),
        (&json!("other-tenant"), &json!("t2"))
    );
    assert_eq!(entries[0]["principal"]["id"], "s3");
    world.stop().await;
}

#[actix_web::test]
async fn a_no_in_the_client_is_a_no_in_the_log() {
    let vault = TestVault::start().await;
    for (action, status, expected) in [
        ("decline", "declined", (1, 0)),
        ("cancel", "cancelled", (1, 1)),
    ] {
        let token = vault.token("alice");
        let first = vault.s1.ensure(&token).await;
        let over = json!({
            "mcp": {
                "protocol_version": "2026-07-28",
                "client_capabilities": { "elicitation": { "url": {} } },
                "method": "tools/call",
            },
            "request_state": first.text("/request_state"),
            "input_responses": { "connect:practice": { "action": action } },
        });
        let ended = vault.s1.ensure_with(&token, over).await;
        assert_eq!(ended.text("/status"), status, "{}", ended.body);
        assert_eq!(
            (
                vault.audited("declined", "ok"),
                vault.audited("elicitation_cancelled", "ok")
            ),
            expected
        );
    }
    vault.stop().await;
}
