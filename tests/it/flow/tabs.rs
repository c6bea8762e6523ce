//! One person with several tabs and browsers, and one link in all of them.

use reqwest::StatusCode;

use super::{CONSENT, DONE, ask, state, to_confirm};
use crate::support::{Browser, TestVault};

#[actix_web::test]
async fn two_tabs_of_one_link_are_one_flow() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let first = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let cookies = alice.jar.clone();
    let second = alice.open(&asked.url).await;
    assert_eq!((second.h1().as_str(), &second.url), (CONSENT, &first.url));
    assert_eq!(alice.jar, cookies, "no second flow cookie");
    let callback = super::to_callback(&vault, &mut alice, &second, "alice-at-practice").await;
    // The first tab is stale: its buttons do nothing.
    for deed in ["/consent", "/decline"] {
        assert_eq!(
            alice.press_only(&first, deed, &[]).await.status,
            StatusCode::FORBIDDEN
        );
    }
    assert_eq!(state(&vault, &asked).await, "consented");
    let confirm = super::come_back(&mut alice, &callback).await;
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(alice.open(first.url.as_str()).await.h1(), DONE);
    vault.stop().await;
}

#[actix_web::test]
async fn two_requests_in_two_tabs_do_not_meet() {
    let vault = TestVault::start().await;
    let (one, two) = (ask(&vault, "alice").await, ask(&vault, "alice").await);
    let mut alice = Browser::new();
    let confirm_one = to_confirm(&vault, &mut alice, &one, "alice").await;
    let confirm_two = to_confirm(&vault, &mut alice, &two, "alice").await;
    assert_ne!(confirm_one.url, confirm_two.url);
    assert_eq!(
        alice
            .press(&confirm_two, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(
        (
            state(&vault, &one).await.as_str(),
            state(&vault, &two).await.as_str()
        ),
        ("consented", "completed")
    );
    assert_eq!(
        alice
            .press(&confirm_one, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(super::grants(&vault, &one.token).await, 1);
    assert_eq!(
        vault.s1.ensure(&one.token).await.text("/status"),
        "connected"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn a_second_browser_of_the_same_person_has_a_flow_of_its_own() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let (mut desk, mut phone) = (Browser::new(), Browser::new());
    let at_desk = to_confirm(&vault, &mut desk, &asked, "alice").await;
    let at_phone = vault.sign_in(&mut phone, &asked.url, "alice").await;
    assert_ne!(at_desk.url, at_phone.url);
    super::is_gone(&phone.open(at_desk.url.as_str()).await);
    assert_eq!(
        desk.press(&at_desk, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    super::is_gone(
        &phone
            .press(&at_phone, "/consent", &[("agree", "yes")])
            .await,
    );
    assert_eq!(vault.provider.count("/token"), 1);
    vault.stop().await;
}
