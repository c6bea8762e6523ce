//! AT-142: somebody who can write to the disk breaks records and rows of a running vault. What cannot be read is one clear
//! failure, and everybody else's grants go on.

use reqwest::Method;
use serde_json::{Value, json};
use storage::Table;

use super::rows::{ACCESS, REFRESH, grant_row, internal, put, record};
use super::{header_value, without_id};
use crate::encoding::from_base64url;
use crate::support::{Answered, Browser, McpServer, TestVault};

/// A record with one thing wrong.
fn broken(body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![
        ("empty".to_owned(), Vec::new()),
        ("one byte".to_owned(), vec![b'S']),
    ];
    // Every field of the header, then the ciphertext here and there, and the tag.
    let places = (0..104)
        .chain((104..body.len()).step_by(29))
        .chain(body.len() - 16..body.len());
    for at in places {
        let mut flipped = body.to_vec();
        flipped[at] ^= 1 << (at % 8);
        all.push((format!("bit of byte {at}"), flipped));
    }
    for length in [
        4,
        20,
        103,
        104,
        105,
        119,
        120,
        body.len() - 256,
        body.len() - 16,
        body.len() - 1,
    ] {
        all.push((format!("cut to {length}"), body[..length].to_vec()));
    }
    for more in [1, 16, 256] {
        all.push((format!("{more} more"), [body, &vec![0; more]].concat()));
    }
    for (at, value, what) in [
        (2, 0, "version 0"),
        (2, 2, "version 2"),
        (2, 255, "version 255"),
        (3, 0, "suite 0"),
        (3, 2, "suite 2"),
        (3, 255, "suite 255"),
    ] {
        let mut other = body.to_vec();
        other[at] = value;
        all.push((what.to_owned(), other));
    }
    all.push(("twice".to_owned(), body.repeat(2)));
    all.push(("zeros".to_owned(), vec![0; body.len()]));
    all
}

#[actix_web::test]
async fn at_142_a_broken_record_is_one_clear_failure() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let (alice, bob) = (vault.token("alice"), vault.token("bob"));
    let id = vault.s1.ensure(&alice).await.text("/grant/id").to_owned();
    let own = record(&vault, &id, ACCESS).await;
    let mut uniform = None;
    for (why, body) in broken(&own.body) {
        put(&vault, Table::Records, &own.key, body).await;
        let answer = vault.s1.ensure(&alice).await;
        assert_eq!(answer.status, 500, "{why}: {}", answer.body);
        internal(&answer, &["prac_at_"]);
        let now = without_id(&answer);
        assert_eq!(*uniform.get_or_insert_with(|| now.clone()), now, "{why}");
    }
    assert_eq!(
        vault.s1.ensure(&bob).await.text("/status"),
        "connected",
        "others go on"
    );
    put(&vault, Table::Records, &own.key, own.body).await;
    assert_eq!(
        vault.s1.ensure(&alice).await.text("/status"),
        "connected",
        "and so does she once it is repaired"
    );
    // The same for the refresh token: never spent, never lost.
    let refresh = record(&vault, &id, REFRESH).await;
    vault.clock.move_s(3601);
    vault.provider.clear();
    let alice = vault.token("alice");
    for (why, body) in broken(&refresh.body).into_iter().step_by(11) {
        put(&vault, Table::Records, &refresh.key, body).await;
        let answer = vault.s1.ensure(&alice).await;
        assert_eq!(
            (answer.status, Some(without_id(&answer))),
            (500, uniform.clone()),
            "{why}"
        );
    }
    assert_eq!(vault.provider.count("/token"), 0);
    put(&vault, Table::Records, &refresh.key, refresh.body).await;
    assert_eq!(vault.s1.ensure(&alice).await.text("/status"), "connected");
    vault.stop().await;
}

/// Every call that needs a row of this table; one that changes something only where the broken row stops it.
async fn each_call(
    server: &McpServer,
    table: Table,
    token: &str,
    (ids, state): ((&str, &str), &str),
) -> Vec<(&'static str, Answered)> {
    let head = [("subject-token", token)];
    let elicitation = format!("/v1/elicitations/{}", ids.1);
    if table == Table::Elicitations {
        let cancel = server
            .call(
                Method::POST,
                &format!("{elicitation}/cancel"),
                &[],
                Some(json!({ "subject_token": token })),
            )
            .await;
        return vec![
            ("resolve", server.resolve(token, state, json!({})).await),
            (
                "elicitation",
                server.call(Method::GET, &elicitation, &head, None).await,
            ),
            ("cancel", cancel),
        ];
    }
    vec![
        ("ensure", server.ensure(token).await),
        (
            "grants",
            server.call(Method::GET, "/v1/grants", &head, None).await,
        ),
        (
            "grant",
            server
                .call(Method::GET, &format!("/v1/grants/{}", ids.0), &head, None)
                .await,
        ),
        (
            "end",
            server
                .call(
                    Method::DELETE,
                    &format!("/v1/grants/{}", ids.0),
                    &head,
                    None,
                )
                .await,
        ),
    ]
}

#[actix_web::test]
async fn at_142_rows_that_are_no_rows_are_one_clear_failure() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let alice = vault.token("alice");
    let asked = vault
        .s1
        .ensure_with(&alice, json!({ "scopes": ["notes.read", "notes.write"] }))
        .await;
    let state = asked.text("/request_state").to_owned();
    let grant = vault.s1.ensure(&alice).await.text("/grant/id").to_owned();
    let ids = (grant.as_str(), asked.text("/elicitation/id"));
    let elicitations = vault
        .store
        .scan(Table::Elicitations, &[], None, 100)
        .await
        .unwrap();
    let live = elicitations
        .into_iter()
        .find(|row| String::from_utf8_lossy(&row.body).contains(ids.1))
        .unwrap();
    let (grant_row, facts) = grant_row(&vault, &grant).await;
    let users = vault
        .store
        .scan(Table::Users, &[], None, 100)
        .await
        .unwrap();
    let hers = users
        .into_iter()
        .find(|row| String::from_utf8_lossy(&row.body).contains(facts["user"].as_str().unwrap()))
        .unwrap();
    let keys = vault
        .store
        .read(Table::ServerKeys, &vault.s1.key.as_bytes()[4..16])
        .await
        .unwrap()
        .unwrap();
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{\"id\":1}",
        b"\"text\"",
        &[b'['; 5000],
    ];
    for (table, row) in [
        (Table::Grants, &grant_row),
        (Table::Elicitations, &live),
        (Table::Users, &hers),
        (Table::ServerKeys, &keys),
    ] {
        let mut failed = std::collections::BTreeSet::new();
        for body in bodies {
            put(&vault, table, &row.key, body.to_vec()).await;
            for (what, answer) in each_call(&vault.s1, table, &alice, (ids, &state)).await {
                assert_eq!(answer.status, 500, "{table:?} {what}: {}", answer.body);
                internal(&answer, &["prac_at_"]);
                failed.insert(what);
            }
            if table != Table::ServerKeys {
                assert_eq!(
                    vault.s1.ensure(&vault.token("bob")).await.text("/status"),
                    "connected",
                    "others go on"
                );
            }
        }
        assert!(failed.len() >= 2, "{table:?}: {failed:?}");
        put(&vault, table, &row.key, row.body.clone()).await;
    }
    let after = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(after.text("/grant/id"), grant, "repaired");
    assert_eq!(
        vault.provider.count("/revoke"),
        0,
        "what cannot be read is not ended by accident"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn at_142_a_broken_profile_or_key_is_one_clear_failure() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault
        .walk(&mut Browser::new(), "bob", "bob-at-practice")
        .await;
    let alice = vault.token("alice");
    let users = vault
        .store
        .scan(Table::Users, &[], None, 100)
        .await
        .unwrap();
    let first = header_value(&vault.s1.ensure(&alice).await);
    for row in &users {
        let facts: Value = serde_json::from_slice(&row.body).unwrap();
        let sealed = facts["data_key"]["sealed"].as_str().unwrap().to_owned();
        assert!(
            from_base64url(&sealed).starts_with(b"SR"),
            "the data key is wrapped"
        );
        for (at, value) in [
            (
                "/data_key/sealed",
                json!(sealed.replacen(&sealed[60..64], "AAAA", 1)),
            ),
            ("/data_key/purpose", json!(1)),
            ("/data_key/state", json!(77)),
        ] {
            let mut changed = facts.clone();
            *changed.pointer_mut(at).unwrap() = value;
            put(
                &vault,
                Table::Users,
                &row.key,
                changed.to_string().into_bytes(),
            )
            .await;
            let answers = [
                vault.s1.ensure(&alice).await,
                vault.s1.ensure(&vault.token("bob")).await,
            ];
            let failed: Vec<&Answered> = answers
                .iter()
                .filter(|answer| answer.status == 500)
                .collect();
            assert_eq!(failed.len(), 1, "{at}: one person is hit, and one alone");
            internal(failed[0], &["prac_at_"]);
        }
        put(&vault, Table::Users, &row.key, row.body.clone()).await;
    }
    assert_eq!(header_value(&vault.s1.ensure(&alice).await), first);
    vault.stop().await;
}
