//! A new admin key puts out whoever holds an earlier one, also when several are made at once.

use actors::doors::{AdminDoor as _, NewKey, Refusal};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::{Value, json};
use storage::{Table, Write};

use crate::access::rows::put;
use crate::support::TestVault;

async fn works(vault: &TestVault, key: &NewKey) -> bool {
    let door = vault.app.vault();
    door.authenticate(door.begin(), &key.text).await.is_ok()
}

async fn make(vault: &TestVault) -> NewKey {
    let door = vault.app.vault();
    door.new_admin_key(door.begin(), None).await.unwrap()
}

/// How many admin keys have rows that are not revoked.
async fn live_rows(vault: &TestVault) -> usize {
    let rows = vault.store.scan(Table::ServerKeys, &[], None, 100).await;
    let rows = rows.unwrap();
    let values = rows
        .iter()
        .map(|row| serde_json::from_slice::<Value>(&row.body).unwrap());
    values
        .filter(|row| row["server"].is_null() && row["revoked"].is_null())
        .count()
}

/// An entry stands before its change, and whoever was a moment too late takes it back.
fn really(vault: &TestVault, action: &str) -> usize {
    vault.audited(action, "ok") - vault.audited(action, "not-done")
}

#[actix_web::test]
async fn of_admin_keys_made_at_once_one_lives() {
    let vault = TestVault::start().await;
    let before = really(&vault, "server_key_created");
    let door = vault.app.vault();
    let made = join_all((0..6).map(|_| door.new_admin_key(door.begin(), None))).await;
    let made: Vec<NewKey> = made.into_iter().map(Result::unwrap).collect();
    let mut living = 0;
    for key in &made {
        living += usize::from(works(&vault, key).await);
    }
    assert_eq!((living, live_rows(&vault).await), (1, 1));
    assert_eq!(really(&vault, "server_key_created") - before, 6);
    assert_eq!(really(&vault, "server_key_revoked"), 5);
    vault.stop().await;
}

#[actix_web::test]
async fn whoever_holds_a_replaced_admin_key_keeps_nothing() {
    let vault = TestVault::start().await;
    let door = vault.app.vault();
    for round in 0..4 {
        let stolen = make(&vault).await;
        // All of them were let in with the stolen key, the operator by the socket.
        let thief = || door.new_admin_key(door.begin(), Some(&stolen.text));
        let (one, operator, other) =
            futures_util::join!(thief(), door.new_admin_key(door.begin(), None), thief());
        assert!(
            one.is_err() || other.is_err(),
            "round {round}: one key, used twice"
        );
        let operator = operator.unwrap();
        assert!(works(&vault, &operator).await, "round {round}");
        assert_eq!(live_rows(&vault).await, 1, "round {round}");
        for kept in [one, other].into_iter().flatten().chain([stolen]) {
            assert!(!works(&vault, &kept).await, "round {round}");
        }
    }
    // And a request that was let in before the replacement, and acts after it.
    let stolen = make(&vault).await;
    let operator = make(&vault).await;
    let late = door.new_admin_key(door.begin(), Some(&stolen.text)).await;
    assert!(matches!(late, Err(Refusal::Caller)));
    assert!(works(&vault, &operator).await);
    vault.stop().await;
}

#[actix_web::test]
async fn a_replacement_goes_on_when_whoever_asked_is_gone() {
    let vault = TestVault::start().await;
    let first = make(&vault).await;
    let door = vault.app.vault();
    let asked = door.new_admin_key(door.begin(), None).now_or_never();
    assert!(asked.is_none(), "it waits for the disk");
    let vault = vault.restart().await;
    assert!(!works(&vault, &first).await);
    assert_eq!(live_rows(&vault).await, 1);
    assert_eq!(really(&vault, "server_key_revoked"), 1);
    vault.stop().await;
}

#[actix_web::test]
async fn an_installation_without_the_row_keeps_its_admin_keys_until_the_first_replacement() {
    let vault = TestVault::start().await;
    let (first, second) = (make(&vault).await, make(&vault).await);
    let at = (Table::Meta, b"admin-key".to_vec());
    let named = vault.store.read(at.0, &at.1).await.unwrap().unwrap();
    let forget = Write::Delete {
        table: at.0,
        key: at.1,
        expected: named.revision,
    };
    vault.store.commit(vec![forget]).await.unwrap();
    revive(&vault, &first).await;
    assert!(works(&vault, &first).await && works(&vault, &second).await);
    let third = make(&vault).await;
    assert!(!works(&vault, &first).await && !works(&vault, &second).await);
    // From now on the row decides, whatever a key's own row says.
    revive(&vault, &first).await;
    assert!(!works(&vault, &first).await && works(&vault, &third).await);
    vault.stop().await;
}

async fn revive(vault: &TestVault, key: &NewKey) {
    let id = key.view.id.as_bytes();
    let row = vault.store.read(Table::ServerKeys, id).await;
    let mut value: Value = serde_json::from_slice(&row.unwrap().unwrap().body).unwrap();
    value["revoked"] = json!(null);
    let body = value.to_string().into_bytes();
    put(vault, Table::ServerKeys, id, body).await;
}
