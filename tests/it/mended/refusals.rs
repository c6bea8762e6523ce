//! Every refused identity check is in the audit log, whatever else is thrown at it.

use actors::doors::AdminDoor as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::access::world::{R2, R3, World};
use crate::access::{audited_for, grants, problem, send};
use crate::flow::{ask, come_back, to_callback};
use crate::support::{Answered, Browser, McpServer, TestVault};

async fn flood(vault: &TestVault, path: &str) {
    let mut stranger = Browser::new();
    let url = format!("{}{path}", vault.connect).parse().unwrap();
    for _ in 0..125 {
        stranger.visit(&url, "cross-site").await;
    }
}

#[actix_web::test]
async fn a_flood_of_junk_hides_neither_a_poisoned_flow_nor_a_refused_key() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;

    flood(&vault, "/cb/practice?state=x&code=y").await;
    flood(&vault, "/login/callback/corp?state=x&code=y").await;
    for _ in 0..125 {
        let headers = [("authorization", "Bearer srk_junk")];
        send(&vault, Method::GET, "/v1/grants", &headers, None).await;
    }
    assert_eq!(vault.audited("callback_refused", "unknown-state"), 120);
    assert_eq!(vault.audited("login_refused", "not-started-here"), 120);
    assert_eq!(vault.audited("caller_refused", "malformed-key"), 120);

    // Now the attack: somebody else brings the provider's answer, and a key of ours that is no longer good is tried.
    come_back(&mut Browser::new(), &callback).await;
    assert_eq!(vault.audited("flow_poisoned", "other-browser"), 1);
    let id = vault.s1.key[4..16].to_owned();
    let door = vault.app.vault();
    door.revoke_key(door.begin(), &id).await.unwrap();
    for _ in 0..125 {
        assert_eq!(grants(&vault.s1, "x").await.status, 401);
    }
    // Its own hundred and twenty a minute, whatever others do; the rest is counted.
    assert_eq!(vault.audited("caller_refused", "revoked-key"), 120);
    vault.stop().await;
}

async fn at_grant(server: &McpServer, method: Method, token: &str, id: &str) -> Answered {
    let path = format!("/v1/grants/{id}");
    let answer = server
        .call(method, &path, &[("subject-token", token)], None)
        .await;
    assert_eq!((answer.status, problem(&answer)), (404, "not-found"));
    answer
}

#[actix_web::test]
async fn a_look_at_anothers_grant_is_in_the_log() {
    let world = World::start().await;
    let vault = &world.vault;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let connected = vault.s1.ensure(&vault.token("alice")).await;
    let id = connected.text("/grant/id");
    let nobodys = format!("gr_{}", "0".repeat(32));
    for method in [Method::GET, Method::DELETE] {
        let nothing = at_grant(&vault.s1, method.clone(), &vault.token("bob"), &nobodys).await;
        assert_eq!(audited_for(vault, &nothing), [] as [Value; 0]);
        for (server, token, outcome, another) in [
            (&vault.s1, vault.token("bob"), "other-principal", true),
            (
                &world.s2,
                world.token("alice", R2),
                "other-principal",
                false,
            ),
            (&world.s3, world.token("alice", R3), "other-tenant", false),
        ] {
            let answer = at_grant(server, method.clone(), &token, id).await;
            let entries = audited_for(vault, &answer);
            assert_eq!(entries.len(), 1, "{entries:?}");
            let entry = &entries[0];
            assert_eq!(
                (&entry["action"], &entry["outcome"], &entry["grant"]),
                (&json!("grant_refused"), &json!(outcome), &json!(id))
            );
            assert_eq!(entry["other_user"].is_string(), another, "{entry}");
        }
    }
    assert_eq!(vault.s1.ensure(&vault.token("alice")).await.status, 200);
    world.stop().await;
}

#[actix_web::test]
async fn the_type_of_a_problem_can_be_opened_and_says_the_same() {
    let vault = TestVault::start().await;
    let answer = send(&vault, Method::GET, "/v1/grants", &[], None).await;
    assert_eq!(problem(&answer), "unauthenticated");
    let page = Browser::new().open(answer.text("/type")).await;
    assert_eq!(
        (page.status.as_u16(), page.h1()),
        (200, answer.text("/title").into())
    );
    vault.stop().await;
}
