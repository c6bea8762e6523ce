//! AT-139: somebody who can write to the disk moves records of a running vault. What does not belong where it stands is
//! refused without a trace of what it holds.

use serde_json::{Value, json};
use storage::{Row, Table, Write};

use super::world::{R2, R3, World};
use super::{header_value, problem};
use crate::encoding::from_base64url;
use crate::support::{Answered, Browser, TestVault};

/// Kinds of records, as they stand in a row key after the grant's id.
pub(crate) const ACCESS: u8 = 1;
pub(crate) const REFRESH: u8 = 2;
const PROFILE: u8 = 14;

/// The row of a grant's record.
pub(crate) async fn record(vault: &TestVault, grant: &str, kind: u8) -> Row {
    let id = grant.strip_prefix("gr_").unwrap();
    let mut key: Vec<u8> = (0..16)
        .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    key.push(kind);
    let mut rows = vault
        .store
        .scan(Table::Records, &key, None, 2)
        .await
        .unwrap();
    assert_eq!(rows.len(), 1, "one record of kind {kind}");
    rows.remove(0)
}

/// Puts a body where another one is.
pub(crate) async fn put(vault: &TestVault, table: Table, key: &[u8], body: Vec<u8>) {
    let expected = vault
        .store
        .read(table, key)
        .await
        .unwrap()
        .map_or(storage::Revision::NONE, |row| row.revision);
    vault
        .store
        .commit(vec![Write::Put {
            table,
            key: key.to_vec(),
            expected,
            body,
        }])
        .await
        .unwrap();
}

/// Checks that an answer is the one that broken data gives, and that nothing of value stands in it.
pub(crate) fn internal(answer: &Answered, secrets: &[&str]) {
    assert_eq!(
        (answer.status, problem(answer)),
        (500, "internal"),
        "{}",
        answer.body
    );
    let text = answer.body.to_string();
    assert!(
        !secrets.iter().any(|secret| text.contains(secret)),
        "{text}"
    );
}

/// Asks and expects the uniform refusal, without a call to the provider and without a release in the audit log.
async fn not_released(vault: &TestVault, ask: impl AsyncFn() -> Answered, why: &str) {
    let released = vault.audited("credential_released", "ok");
    vault.provider.clear();
    let answer = ask().await;
    assert_eq!(answer.status, 500, "{why}: {}", answer.body);
    internal(&answer, &["prac_at_", "prac_rt_"]);
    assert_eq!(vault.provider.recorded().len(), 0, "{why}");
    assert_eq!(
        vault.audited("credential_released", "ok"),
        released,
        "{why}"
    );
}

#[actix_web::test]
async fn at_139_a_record_opens_only_where_it_was_sealed() {
    let world = World::start().await;
    let vault = &world.vault;
    // The first walk at `s1`, so that every record here has the same version; three more around it.
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let alice = vault.s1.ensure(&vault.token("alice")).await;
    let first = header_value(&alice);
    let mine = alice.text("/grant/id").to_owned();
    let bobs = vault
        .s1
        .ensure(&vault.token("bob"))
        .await
        .text("/grant/id")
        .to_owned();
    let at_s2 = world
        .connect(&world.s2, ("alice", "alice-at-practice"), R2)
        .await;
    let at_t2 = world
        .connect(&world.s3, ("alice", "alice-at-practice"), R3)
        .await;
    let own = record(vault, &mine, ACCESS).await;
    let token = vault.token("alice");
    let ask = async || vault.s1.ensure(&token).await;
    for (why, other) in [
        (
            "refresh token in the place of the access token",
            record(vault, &mine, REFRESH).await,
        ),
        (
            "account name in the place of the access token",
            record(vault, &mine, PROFILE).await,
        ),
        ("another person's", record(vault, &bobs, ACCESS).await),
        ("another server's", record(vault, &at_s2, ACCESS).await),
        ("another tenant's", record(vault, &at_t2, ACCESS).await),
    ] {
        put(vault, Table::Records, &own.key, other.body).await;
        not_released(vault, &ask, why).await;
    }
    put(vault, Table::Records, &own.key, own.body.clone()).await;
    assert_eq!(
        header_value(&vault.s1.ensure(&token).await),
        first,
        "back in its place it opens"
    );
    // The other way round: an access token where the refresh token was is never sent anywhere.
    let refresh = record(vault, &mine, REFRESH).await;
    vault.clock.move_s(3601);
    let token = vault.token("alice");
    let ask = async || vault.s1.ensure(&token).await;
    for other in [
        own.body.clone(),
        record(vault, &bobs, REFRESH).await.body,
        record(vault, &at_s2, REFRESH).await.body,
    ] {
        put(vault, Table::Records, &refresh.key, other).await;
        not_released(vault, &ask, "another record as refresh token").await;
    }
    put(vault, Table::Records, &refresh.key, refresh.body).await;
    assert_ne!(
        header_value(&vault.s1.ensure(&token).await),
        first,
        "back in its place it refreshes"
    );
    world.stop().await;
}

/// The grant row of a grant.
pub(crate) async fn grant_row(vault: &TestVault, grant: &str) -> (Row, Value) {
    let rows = vault
        .store
        .scan(Table::Grants, &[], None, 100)
        .await
        .unwrap();
    let parsed = rows.into_iter().map(|row| {
        let value = serde_json::from_slice(&row.body).unwrap();
        (row, value)
    });
    let mut found = parsed.filter(|(_, value): &(Row, Value)| value["id"] == grant);
    found.next().unwrap()
}

#[actix_web::test]
async fn at_139_facts_beside_a_record_are_bound_to_it() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let token = vault.token("alice");
    let id = vault.s1.ensure(&token).await.text("/grant/id").to_owned();
    let (row, facts) = grant_row(&vault, &id).await;
    let (_, other) = grant_row(
        &vault,
        vault.s1.ensure(&vault.token("bob")).await.text("/grant/id"),
    )
    .await;
    let ask = async || vault.s1.ensure(&token).await;
    let later = facts["slots"][0]["expires"]
        .as_i64()
        .map_or_else(|| json!("2030-01-01T00:00:00Z"), |at| json!(at + 1));
    let edits: Vec<(&str, Value)> = vec![
        ("/scopes", json!(["notes.read", "notes.write"])),
        ("/offline", json!(facts["offline"] != true)),
        ("/account", other["account"].clone()),
        ("/policy_version", json!(99)),
        (
            "/created",
            other["created"]
                .as_i64()
                .map_or(json!(1), |at| json!(at + 1)),
        ),
        ("/slots/0/expires", later),
    ];
    for (at, value) in edits {
        let mut changed = facts.clone();
        *changed
            .pointer_mut(at)
            .unwrap_or_else(|| panic!("no {at} in {facts}")) = value;
        assert_ne!(changed, facts, "{at} was not changed");
        put(
            &vault,
            Table::Grants,
            &row.key,
            changed.to_string().into_bytes(),
        )
        .await;
        not_released(&vault, &ask, at).await;
    }
    let mut unconfirmed = facts.clone();
    unconfirmed["confirmed"] = json!(false);
    put(
        &vault,
        Table::Grants,
        &row.key,
        unconfirmed.to_string().into_bytes(),
    )
    .await;
    assert_eq!(
        ask().await.text("/status"),
        "elicit",
        "what was not confirmed is not used"
    );
    // A whole row of somebody else in the place of hers names another person and another grant's records.
    put(
        &vault,
        Table::Grants,
        &row.key,
        other.to_string().into_bytes(),
    )
    .await;
    not_released(&vault, &ask, "bob's row").await;
    put(&vault, Table::Grants, &row.key, row.body).await;
    assert_eq!(vault.s1.ensure(&token).await.text("/status"), "connected");
    vault.stop().await;
}

/// The text at a member of this name, wherever it stands.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    match value {
        Value::Object(members) => {
            let own = members.get(name).and_then(Value::as_str);
            own.or_else(|| members.values().find_map(|inner| member(inner, name)))
        }
        Value::Array(items) => items.iter().find_map(|inner| member(inner, name)),
        _ => None,
    }
}

#[actix_web::test]
async fn at_139_pending_tokens_and_old_records_are_not_current_ones() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let first = vault.s1.ensure(&vault.token("alice")).await;
    let grant = first.text("/grant/id").to_owned();
    let yesterday = record(&vault, &grant, ACCESS).await;
    // Her second account, up to the question whether it is the right one.
    let work = json!({ "account": "work" });
    let asked = vault.s1.ensure_with(&vault.token("alice"), work).await;
    let mut browser = Browser::new();
    let url = asked.text("/elicitation/connect_url");
    let consent = vault.sign_in(&mut browser, url, "alice").await;
    vault
        .consent(&mut browser, &consent, "bob-at-practice")
        .await;
    let mut bundle = None;
    for table in [Table::BrowserFlows, Table::Elicitations] {
        for row in vault.store.scan(table, &[], None, 100).await.unwrap() {
            let facts: Value = serde_json::from_slice(&row.body).unwrap();
            bundle = bundle.or(member(&facts, "bundle").map(from_base64url));
        }
    }
    let token = vault.token("alice");
    let ask = async || vault.s1.ensure(&token).await;
    put(&vault, Table::Records, &yesterday.key, bundle.unwrap()).await;
    not_released(&vault, &ask, "pending tokens in the place of hers").await;
    put(
        &vault,
        Table::Records,
        &yesterday.key,
        yesterday.body.clone(),
    )
    .await;
    vault.clock.move_s(3601);
    let token = vault.token("alice");
    let fresh = header_value(&vault.s1.ensure(&token).await);
    assert_ne!(fresh, header_value(&first));
    let today = record(&vault, &grant, ACCESS).await;
    let ask = async || vault.s1.ensure(&token).await;
    put(&vault, Table::Records, &today.key, yesterday.body).await;
    not_released(&vault, &ask, "yesterday's record").await;
    put(&vault, Table::Records, &today.key, today.body).await;
    assert_eq!(header_value(&vault.s1.ensure(&token).await), fresh);
    vault.stop().await;
}
