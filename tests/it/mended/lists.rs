//! Lists go on to their end, whatever is missing in the middle and however long they are.

use reqwest::Method;
use serde_json::{Value, json};
use storage::{Revision, Table, Write};

use crate::access::admin::admin;
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn a_grant_that_is_missing_ends_no_list_of_the_operator() {
    let vault = TestVault::start().await;
    for person in ["alice", "bob"] {
        let account = format!("{person}-at-practice");
        vault.walk(&mut Browser::new(), person, &account).await;
    }
    // The first one's row is gone, its place in the index is not.
    let index = vault.store.scan(Table::GrantIds, &[], None, 9).await;
    let first = index.unwrap().remove(0);
    let row = vault.store.read(Table::Grants, &first.body).await;
    let gone = Write::Delete {
        table: Table::Grants,
        key: first.body,
        expected: row.unwrap().unwrap().revision,
    };
    vault.store.commit(vec![gone]).await.unwrap();
    let page = admin(&vault, Method::GET, "/v1/grants?limit=1").await;
    assert_eq!(page.body["grants"].as_array().unwrap().len(), 0);
    let next = format!("/v1/grants?limit=1&after={}", page.text("/next"));
    let page = admin(&vault, Method::GET, &next).await;
    assert_eq!(page.body["grants"].as_array().unwrap().len(), 1);
    assert!(page.body["next"].is_null(), "{}", page.body);
    vault.stop().await;
}

#[actix_web::test]
async fn a_server_sees_all_grants_of_a_person_however_many() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let rows = vault.store.scan(Table::Grants, &[], None, 9).await;
    let row = rows.unwrap().remove(0);
    let many = storage::SCAN_MAX + 3;
    let (rest, alias) = row.key.split_at(row.key.len() - b"\x07default".len());
    assert_eq!(alias, b"\x07default");
    let mut facts: Value = serde_json::from_slice(&row.body).unwrap();
    let mut copies = Vec::new();
    for n in 1..many {
        let alias = format!("a{n:06}");
        facts["alias"] = json!(alias);
        copies.push(Write::Put {
            table: Table::Grants,
            key: [rest, &[7], alias.as_bytes()].concat(),
            expected: Revision::NONE,
            body: facts.to_string().into_bytes(),
        });
    }
    for some in copies.chunks(storage::WRITES_MAX) {
        vault.store.commit(some.to_vec()).await.unwrap();
    }
    let token = vault.token("alice");
    let subject = [("subject-token", token.as_str())];
    let all = vault
        .s1
        .call(Method::GET, "/v1/grants", &subject, None)
        .await;
    assert_eq!(all.body["grants"].as_array().unwrap().len(), many);
    vault.stop().await;
}
