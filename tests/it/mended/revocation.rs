//! Ending things at providers: nothing in use ends with what is not wanted, nothing that nobody holds stays alive, and what
//! the operator took away is not handed out.

use actix_rt::spawn;
use lab::{Misbehaviour, Moment, Reply, ReplyFault};
use reqwest::Method;
use serde_json::json;
use storage::{Table, Write};

use crate::flow::{DECLINED, DONE, ask, to_confirm};
use crate::support::{Answered, Browser, McpServer, Setup, TestVault};

const R2: &str = "https://s2.test/mcp";

const SECOND_SERVER: &str = r#"
[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{ provider = "practice", scopes = ["notes.read"] }]
"#;

fn bearer(answer: &Answered) -> String {
    answer
        .text("/credential/header/value")
        .trim_start_matches("Bearer ")
        .to_owned()
}

async fn end(server: &McpServer, token: &str, grant: &str) -> Answered {
    let path = format!("/v1/grants/{grant}");
    let head = [("subject-token", token)];
    let receipt = server.call(Method::DELETE, &path, &head, None).await;
    assert_eq!(receipt.status, 200, "{}", receipt.body);
    receipt
}

/// Alice connects the same account to another server.
async fn connect_second(vault: &TestVault, s2: &McpServer) -> Answered {
    let token = vault.token_for("alice", R2, &lab::JwtEdits::default());
    let asked = s2.ensure(&token).await;
    let url = asked.text("/elicitation/connect_url").to_owned();
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &url, "alice").await;
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    s2.ensure(&token).await
}

#[actix_web::test]
async fn a_no_to_the_same_account_leaves_the_connection_that_is_there() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    vault.walk(&mut alice, "alice", "alice-at-practice").await;
    let first = bearer(&vault.s1.ensure(&vault.token("alice")).await);
    let asked = ask(&vault, "alice").await;
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    assert_eq!(alice.press(&confirm, "/decline", &[]).await.h1(), DECLINED);
    assert_eq!(vault.provider.count("/revoke"), 0);
    assert!(vault.provider.is_active(&first));
    assert_eq!(
        vault.audited("pending_destroyed", "kept-for-other-grant"),
        1
    );
    vault.clock.move_s(3601);
    let later = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(later.body["grant"]["generation"], 2, "{}", later.body);
    vault.stop().await;
}

#[actix_web::test]
async fn an_end_at_one_server_leaves_the_same_account_at_another() {
    let vault = TestVault::start_with(Setup {
        more: SECOND_SERVER.to_owned(),
        ..Setup::default()
    })
    .await;
    let s2 = vault.server("s2").await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let token = vault.token("alice");
    let first = vault.s1.ensure(&token).await;
    let second = connect_second(&vault, &s2).await;
    let receipt = end(&vault.s1, &token, first.text("/grant/id")).await;
    assert_eq!(
        receipt.text("/provider_revocation"),
        "kept_for_other_grant",
        "{}",
        receipt.body
    );
    assert_eq!(vault.provider.count("/revoke"), 0);
    assert_eq!(vault.audited("grant_revoked", "kept-for-other-grant"), 1);
    assert_eq!(vault.s1.ensure(&token).await.text("/status"), "elicit");
    assert!(vault.provider.is_active(&bearer(&second)));
    let token2 = vault.token_for("alice", R2, &lab::JwtEdits::default());
    assert_eq!(s2.ensure(&token2).await.text("/status"), "connected");

    // The second one is the last, so now the provider is told; and once it has ended there is nothing left to say.
    let (id, told) = (second.text("/grant/id"), "/provider_revocation");
    assert_eq!(end(&s2, &token2, id).await.text(told), "revoked");
    assert!(!vault.provider.is_active(&bearer(&second)));
    assert_eq!(end(&s2, &token2, id).await.text(told), "nothing_to_revoke");
    vault.stop().await;
}

#[actix_web::test]
async fn tokens_that_come_back_for_a_grant_that_has_ended_do_not_stay_alive() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = vault.s1.ensure(&vault.token("alice")).await;
    vault.clock.move_s(3601);
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let (s1, token) = (vault.s1.clone(), vault.token("alice"));
    let refreshing = spawn(async move { s1.ensure(&token).await });
    gate.arrived(1).await;
    end(&vault.s1, &vault.token("alice"), first.text("/grant/id")).await;
    vault.provider.clear();
    gate.open();
    let answer = refreshing.await.unwrap();
    assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    assert_eq!(
        vault.provider.count("/revoke"),
        1,
        "the new tokens are revoked too"
    );
    assert!(vault.provider.live_grants().is_empty());
    vault.stop().await;
}

#[actix_web::test]
async fn a_token_with_life_left_is_handed_out_though_our_registration_is_refused() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = bearer(&vault.s1.ensure(&vault.token("alice")).await);
    vault.provider.misbehave(Misbehaviour {
        replies: vec![ReplyFault {
            path: "/token".to_owned(),
            times: None,
            acts: false,
            reply: Reply::OauthError {
                status: 401,
                error: "invalid_client".to_owned(),
                description: None,
            },
        }],
        ..Misbehaviour::default()
    });
    vault.clock.move_s(3600 - 30);
    let still = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(still.text("/status"), "connected", "{}", still.body);
    assert_eq!(bearer(&still), first);
    vault.clock.move_s(31);
    let over = vault.s1.ensure(&vault.token("alice")).await;
    assert!(over.body.get("credential").is_none(), "{}", over.body);
    vault.stop().await;
}

/// Overwrites every row of a table with what `change` makes of it.
async fn spoil(vault: &TestVault, table: Table, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    for row in vault.store.scan(table, &[], None, 64).await.unwrap() {
        let write = Write::Put {
            table,
            key: row.key,
            expected: row.revision,
            body: change(row.body),
        };
        vault.store.commit(vec![write]).await.unwrap();
    }
}

fn flipped(mut body: Vec<u8>) -> Vec<u8> {
    if let Some(last) = body.last_mut() {
        *last ^= 1;
    }
    body
}

#[actix_web::test]
async fn records_that_do_not_open_stand_in_the_way_of_neither_a_new_account_nor_an_end() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    vault.walk(&mut alice, "alice", "alice-at-practice").await;
    spoil(&vault, Table::Records, flipped).await;
    let asked = ask(&vault, "alice").await;
    let consent = alice.open(&asked.url).await;
    let confirm = crate::flow::connect_as(&vault, &mut alice, &consent, "bob-at-practice").await;
    assert!(confirm.body.contains("This is a different account."));
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    let grant = vault.s1.ensure(&asked.token).await;
    spoil(&vault, Table::Records, flipped).await;
    let receipt = end(&vault.s1, &asked.token, grant.text("/grant/id")).await;
    assert_eq!(receipt.text("/provider_revocation"), "nothing_to_revoke");
    assert_eq!(
        vault.s1.ensure(&asked.token).await.text("/status"),
        "elicit"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn pending_tokens_that_do_not_open_are_erased_in_time() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    to_confirm(&vault, &mut alice, &asked, "alice").await;
    spoil(&vault, Table::Users, |body| {
        let mut row: serde_json::Value = serde_json::from_slice(&body).unwrap();
        row["data_key"]["sealed"] = row["profile"].clone();
        row.to_string().into_bytes()
    })
    .await;
    vault.clock.move_s(10 * 60 + 1);
    vault.app.vault().sweep().await.unwrap();
    assert_eq!(vault.audited("pending_destroyed", "nothing-to-revoke"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn scopes_that_were_taken_away_are_not_handed_out() {
    let vault = TestVault::start_with(Setup {
        more: SECOND_SERVER.to_owned(),
        ..Setup::default()
    })
    .await;
    let s2 = vault.server("s2").await;
    connect_second(&vault, &s2).await;
    // As if `s2` had been allowed to write when Alice connected it: the same grant, one scope wider.
    spoil(&vault, Table::Grants, |body| {
        let mut row: serde_json::Value = serde_json::from_slice(&body).unwrap();
        row["scopes"] = json!(["notes.read", "notes.write"]);
        row.to_string().into_bytes()
    })
    .await;
    let token = vault.token_for("alice", R2, &lab::JwtEdits::default());
    let asked = s2.ensure(&token).await;
    assert_eq!(asked.text("/status"), "elicit", "{}", asked.body);
    assert_eq!(asked.body["elicitation"]["scopes"], json!(["notes.read"]));
    vault.stop().await;
}
