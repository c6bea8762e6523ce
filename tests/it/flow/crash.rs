//! The process dies between taking the code and keeping the tokens.

use lab::Moment;

use super::{CONSENT, DONE, ask, come_back, grants, has_code, to_callback};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn a_process_killed_during_the_exchange_leaves_a_flow_that_can_be_tried_again() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let mut twin = Browser::new();
    twin.jar.clone_from(&alice.jar);
    let cut = async {
        gate.arrived(1).await;
        let working = twin.open(consent.url.as_str()).await;
        assert_eq!(working.h1(), "One more step", "the exchange is under way");
        let image = vault.image();
        gate.open();
        image
    };
    // What is on the disk while the provider works is what a killed process leaves behind.
    let (_, image) = futures_util::join!(alice.visit(&callback, "cross-site"), cut);
    let vault = vault.restart_from(&image).await;

    assert_eq!(alice.open(consent.url.as_str()).await.h1(), "One more step");
    vault.clock.move_s(61);
    let interrupted = alice.open(consent.url.as_str()).await;
    has_code(&interrupted, "interrupted");
    super::is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(
        vault.provider.count("/token"),
        1,
        "the code is not used again"
    );
    assert_eq!(grants(&vault, &asked.token).await, 0);

    let consent = alice.press(&interrupted, "/again", &[]).await;
    assert_eq!(consent.h1(), CONSENT);
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "connected"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn a_browser_that_goes_away_during_the_exchange_finds_the_tokens_pending() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let gate = vault.provider.hold("/api/me", Moment::BeforeAnswering);
    let mut twin = Browser::new();
    twin.jar.clone_from(&alice.jar);
    {
        let leaving = std::pin::pin!(twin.visit(&callback, "cross-site"));
        let arrived = std::pin::pin!(gate.arrived(1));
        futures_util::future::select(leaving, arrived).await;
    }
    drop(twin); // the request is gone, its connection with it
    gate.open();
    let mut page = alice.open(consent.url.as_str()).await;
    for _ in 0..1000 {
        if page.h1() != "One more step" {
            break;
        }
        tokio::task::yield_now().await;
        page = alice.open(consent.url.as_str()).await;
    }
    assert_eq!(page.h1(), super::CONFIRM);
    assert_eq!(
        alice
            .press(&page, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    vault.stop().await;
}

#[actix_web::test]
async fn a_no_during_the_exchange_keeps_nothing_that_comes_afterwards() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let mut twin = Browser::new();
    twin.jar.clone_from(&alice.jar);
    let cancel = async {
        gate.arrived(1).await;
        vault.clock.move_s(61);
        let interrupted = twin.open(consent.url.as_str()).await;
        has_code(&interrupted, "interrupted");
        let declined = twin.press(&interrupted, "/decline", &[]).await;
        gate.open();
        declined
    };
    let (late, declined) = futures_util::join!(alice.visit(&callback, "cross-site"), cancel);
    assert_eq!(declined.h1(), super::DECLINED);
    assert!(
        late.status == 503 || late.status.is_success() || late.status == 404,
        "{}",
        late.status
    );
    assert_eq!(vault.provider.count("/revoke"), 1);
    assert!(vault.provider.live_grants().is_empty());
    assert_eq!(grants(&vault, &vault.token("alice")).await, 0);
    vault.stop().await;
}
