//! Rows that somebody who can write to the disk puts in the place of other rows: nothing is released on them.

use lab::JwtEdits;
use serde_json::{Value, json};
use storage::{Revision, Row, Table, Write};

use crate::flow::{CONSENT, SIGN_IN, ask, signed_in};
use crate::support::{Answered, Browser, Setup, TestVault};

const R2: &str = "https://s2.test/mcp";
const MORE: &str = r#"
[[provider]]
slug = "other"
name = "Other Notes"
client_id = "x"
client_secret = "file:{folder}/lab.secret"
authorization_url = "http://127.0.0.9:9/authorize"
token_url = "http://127.0.0.9:9/token"
allowed_hosts = ["other.test"]
account = { from = "unknown" }
scope = [{ name = "notes.read", effect = "see", words = "your other notes" }]

[[server]]
slug = "s2"
name = "Server Two"
resource = "https://s2.test/mcp"
issuer = "corp"
allow = [{ provider = "practice", scopes = ["notes.read"] }, { provider = "other", scopes = ["notes.read"] }]
"#;

async fn put(vault: &TestVault, table: Table, key: &[u8], body: &[u8]) {
    let before = vault.store.read(table, key).await.unwrap();
    let write = Write::Put {
        table,
        key: key.to_vec(),
        expected: before.map_or(Revision::NONE, |row| row.revision),
        body: body.to_vec(),
    };
    vault.store.commit(vec![write]).await.unwrap();
}

async fn only_row(vault: &TestVault, table: Table) -> Row {
    let rows = vault.store.scan(table, &[], None, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    rows.into_iter().next().unwrap()
}

/// A row key with one of its names, each of which has its length before it, changed.
fn with_name(key: &[u8], from: &str, to: &str) -> Vec<u8> {
    let named = |name: &str| [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    let from = named(from);
    let at = key
        .windows(from.len())
        .rposition(|window| window == from)
        .unwrap();
    [&key[..at], &named(to), &key[at + from.len()..]].concat()
}

fn nothing_released(answer: &Answered, what: &str) {
    assert_ne!(
        answer.body["status"], "connected",
        "{what}: {}",
        answer.body
    );
    assert!(
        answer.body["credential"].is_null(),
        "{what}: {}",
        answer.body
    );
}

#[actix_web::test]
async fn a_grant_row_in_another_grants_place_releases_nothing() {
    let vault = TestVault::start_with(Setup {
        more: MORE.to_owned(),
        ..Setup::default()
    })
    .await;
    let s2 = vault.server("s2").await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let row = only_row(&vault, Table::Grants).await;
    let bob_at_s2 = || vault.token_for("bob", R2, &JwtEdits::default());

    let stolen = with_name(&row.key, "s1", "s2");
    put(&vault, Table::Grants, &stolen, &row.body).await;
    nothing_released(&s2.ensure(&bob_at_s2()).await, "another server");

    let elsewhere = with_name(&stolen, "practice", "other");
    put(&vault, Table::Grants, &elsewhere, &row.body).await;
    let token = bob_at_s2();
    let answer = s2.ensure_with(&token, json!({ "provider": "other" }));
    nothing_released(&answer.await, "another provider");

    let work = with_name(&row.key, "default", "work");
    put(&vault, Table::Grants, &work, &row.body).await;
    let token = vault.token("bob");
    let answer = vault.s1.ensure_with(&token, json!({ "account": "work" }));
    nothing_released(&answer.await, "another account");
    // Neither does it help to make the row say what its new place says: its records are bound to what it said.
    for (key, member, value, server) in [
        (&stolen, "server", "s2", &s2),
        (&work, "alias", "work", &vault.s1),
    ] {
        let mut changed: Value = serde_json::from_slice(&row.body).unwrap();
        changed[member] = json!(value);
        put(&vault, Table::Grants, key, changed.to_string().as_bytes()).await;
        let (token, over) = match value {
            "work" => (vault.token("bob"), json!({ "account": "work" })),
            _ => (bob_at_s2(), json!({})),
        };
        nothing_released(&server.ensure_with(&token, over).await, member);
    }
    let token = vault.token("bob");
    assert_eq!(vault.s1.ensure(&token).await.body["status"], "connected");
    vault.stop().await;
}

#[actix_web::test]
async fn an_elicitation_in_the_place_of_another_is_shown_to_nobody() {
    let vault = TestVault::start().await;
    let bobs = ask(&vault, "bob").await;
    let own = only_row(&vault, Table::Elicitations).await;
    let alices = ask(&vault, "alice").await;
    let rows = vault.store.scan(Table::Elicitations, &[], None, 10).await;
    let other = rows.unwrap().into_iter().find(|row| row.key != own.key);
    put(&vault, Table::Elicitations, &own.key, &other.unwrap().body).await;
    let answer = vault.s1.resolve(&bobs.token, &bobs.state, json!({})).await;
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert!(!answer.body.to_string().contains(&alices.id));
    vault.stop().await;
}

#[actix_web::test]
async fn a_session_made_younger_on_the_disk_has_ended_all_the_same() {
    let vault = TestVault::start().await;
    let mut bob = signed_in(&vault, "bob").await;
    let row = only_row(&vault, Table::Sessions).await;
    for (hours, heading) in [(0, CONSENT), (1, SIGN_IN)] {
        vault.clock.move_s(hours * 3600);
        let mut body: Value = serde_json::from_slice(&row.body).unwrap();
        body["used"] = json!(i64::try_from(vault.clock.seconds()).unwrap() * 1000);
        put(
            &vault,
            Table::Sessions,
            &row.key,
            body.to_string().as_bytes(),
        )
        .await;
        let asked = ask(&vault, "bob").await;
        assert_eq!(bob.open(&asked.url).await.h1(), heading);
    }
    vault.stop().await;
}
