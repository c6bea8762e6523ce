//! AT-014: a clock that is set back while the process is down revives nothing, and one that is far behind is refused.

use std::sync::Arc;

use secret::OsEntropy;
use strongroom::foundation::{Foundation, FoundationError, Hands};

use crate::flow::{Asked, ask, is_gone, state};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn at_014_what_was_refused_as_late_stays_late_after_a_restart_with_the_clock_set_back() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    vault.clock.move_s(15 * 60 + 1);
    let mut late = Browser::new();
    is_gone(&late.visit(&asked.url.parse().unwrap(), "none").await);
    // Nobody sweeps: that it ended stands nowhere but in the time itself.
    let vault = vault.restart_later(-600).await;
    is_gone(&Browser::new().open(&asked.url).await);
    vault.clock.move_s(600);
    let fresh = Asked {
        token: vault.token("alice"),
        ..asked
    };
    assert_eq!(state(&vault, &fresh).await, "expired");
    assert_eq!(vault.audited("link_opened", "ok"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn at_014_time_goes_on_from_the_last_sweep_of_a_killed_process() {
    let vault = TestVault::start().await;
    vault.clock.move_s(14 * 60);
    vault.app.vault().sweep().await.unwrap();
    ask(&vault, "alice").await;
    let image = vault.image();
    // It is killed, and the clock is set back while nothing runs.
    vault.clock.move_s(-600);
    let vault = vault.restart_from(&image).await;
    let entries = vault.audit();
    let times = entries.iter().map(|entry| entry["time"].as_str().unwrap());
    assert!(times.is_sorted(), "{entries:#?}");
    assert_eq!(entries.last().unwrap()["action"], "vault_started");
    vault.stop().await;
}

#[actix_web::test]
async fn a_clock_that_is_far_behind_is_refused_until_an_operator_takes_it() {
    let vault = TestVault::start().await;
    vault.clock.move_s(2 * 60 * 60);
    let clock = vault.clock.clone();
    let (config, folder) = vault.stop_keeping().await;
    let hands = Hands {
        clock: Arc::new(clock.clone()),
        entropy: Arc::new(OsEntropy),
    };
    clock.move_s(-61 * 60);
    let refused = Foundation::open(&config, &hands).await.err().unwrap();
    assert!(
        matches!(refused, FoundationError::ClockBehind { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("accept-rollback"), "{refused}");
    clock.move_s(2 * 60);
    let opened = Foundation::open(&config, &hands).await.unwrap();
    opened.store.close().await.unwrap();
    clock.move_s(-2 * 60);
    let taken = Foundation::accept_rollback(&config, &hands).await.unwrap();
    taken.store.close().await.unwrap();
    drop(taken);
    let opened = Foundation::open(&config, &hands).await.unwrap();
    opened.store.close().await.unwrap();
    drop(folder);
}
