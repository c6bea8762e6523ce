//! The janitor gets past what it cannot read.

use storage::Table;

use crate::access::rows::put;
use crate::flow::{ask, to_confirm};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn an_entry_that_nobody_can_read_does_not_keep_tokens_from_being_revoked() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    to_confirm(&vault, &mut Browser::new(), &asked, "alice").await;
    assert_eq!(vault.provider.live_grants().len(), 1);
    // Due long ago: an entry too short to be one, one of a kind that there is not, and one whose row has no form.
    let no_such_kind = [[0; 8].as_slice(), &[99], &[7; 16]].concat();
    let flow = [9; 16];
    let no_form = [[0; 8].as_slice(), &[2], &flow].concat();
    put(&vault, Table::BrowserFlows, &flow, b"not JSON".to_vec()).await;
    for key in [vec![0, 0, 0], no_such_kind, no_form] {
        put(&vault, Table::Expiry, &key, b"null".to_vec()).await;
    }
    vault.clock.move_s(10 * 60 + 1);
    for _ in 0..2 {
        vault.app.vault().sweep().await.unwrap();
        assert_eq!(vault.provider.count("/revoke"), 1);
    }
    assert!(vault.provider.live_grants().is_empty());
    vault.stop().await;
}
