//! What comes twice or at the same moment: one of them acts, the others see what became of it, and nobody is told that the
//! vault is busy.

use futures_util::future::join_all;
use lab::Misbehaviour;
use reqwest::Method;

use crate::flow::{CONFIRM, CONSENT, DONE, ask, to_confirm};
use crate::support::{Browser, Page, TestVault};

/// The same press of a button from several tabs of one browser, at once.
async fn presses(browser: &Browser, page: &Page, deed: &str, tick: &str) -> Vec<Page> {
    join_all((0..6).map(|_| async {
        let mut tab = Browser::new();
        tab.jar.clone_from(&browser.jar);
        tab.press_only(page, deed, &[(tick, "yes")]).await
    }))
    .await
}

/// Whoever comes while the first one is worked on is sent to the flow's page; whoever comes after it has a form of the past,
/// and a link to the same page. Nobody is told that the vault is busy.
fn shows_the_way(answer: &Page) -> String {
    let path = answer.url.path().rsplit_once('/').unwrap().0;
    let flow = answer.url.join(path).unwrap().to_string();
    if answer.status == 303 {
        assert!(answer.next().unwrap().as_str().starts_with(&flow));
    } else {
        assert_eq!(answer.status, 403, "{}: {}", answer.url, answer.h1());
        assert!(
            answer.body.contains(&format!("href=\"{path}\"")),
            "{}",
            answer.body
        );
    }
    flow
}

/// How often the log says that something happened, less how often it takes that back: an entry stands before its change, and
/// whoever was a moment too late takes it back.
fn really(vault: &TestVault, action: &str) -> usize {
    vault.audited(action, "ok") - vault.audited(action, "not-done")
}

#[actix_web::test]
async fn a_yes_that_is_sent_many_times_at_once_is_one_yes_and_no_failure() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut browser = Browser::new();
    let consent = vault.sign_in(&mut browser, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    for answer in presses(&browser, &consent, "/consent", "agree").await {
        shows_the_way(&answer);
    }
    let confirm = to_confirm(&vault, &mut browser, &asked, "alice").await;
    assert_eq!(confirm.h1(), CONFIRM);
    for answer in presses(&browser, &confirm, "/confirm", "mine").await {
        let next = shows_the_way(&answer);
        assert_eq!(browser.open(&next).await.h1(), DONE);
    }
    assert_eq!(really(&vault, "grant_activated"), 1);
    let token = vault.token("alice");
    assert_eq!(vault.s1.ensure(&token).await.body["status"], "connected");
    vault.stop().await;
}

#[actix_web::test]
async fn a_grant_is_ended_also_while_its_token_is_refreshed() {
    let vault = TestVault::start().await;
    vault.provider.misbehave(Misbehaviour {
        pretend_revocation: true,
        ..Misbehaviour::default()
    });
    for round in 0..8 {
        vault
            .walk(&mut Browser::new(), "alice", "alice-at-practice")
            .await;
        let token = vault.token("alice");
        let first = vault.s1.ensure(&token).await;
        let path = format!("/v1/grants/{}", first.text("/grant/id"));
        vault.clock.move_s(3590);
        let token = vault.token("alice");
        let subject = [("subject-token", token.as_str())];
        let end = || vault.s1.call(Method::DELETE, &path, &subject, None);
        let (_, one, other) = futures_util::join!(vault.s1.ensure(&token), end(), end());
        assert_eq!((one.status, other.status), (200, 200), "round {round}");
        let after = vault.s1.ensure(&token).await;
        assert_eq!(after.body["status"], "elicit", "round {round}");
        vault.clock.move_s(60);
    }
    assert_eq!(really(&vault, "grant_revoked"), 8);
    vault.stop().await;
}

#[actix_web::test]
async fn a_key_is_revoked_also_by_several_at_once() {
    use actors::doors::AdminDoor as _;
    let vault = TestVault::start().await;
    let id = vault.s1.key.split('_').nth(1).unwrap().to_owned();
    let door = vault.app.vault();
    let all = join_all((0..6).map(|_| door.revoke_key(door.begin(), &id))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(really(&vault, "server_key_revoked"), 1);
    assert_eq!(vault.audited("server_key_revoked", "already-revoked"), 5);
    vault.stop().await;
}
