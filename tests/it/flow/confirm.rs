//! The confirm page: tokens are pending until the right person says that the account is theirs (C12).

use lab::Misbehaviour;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{CONFIRM, DECLINED, DONE, ask, ask_as, grants, has_code, is_gone, state, to_confirm};
use crate::support::{Browser, RESOURCE, TestVault};

#[actix_web::test]
async fn at_023_nothing_is_released_before_the_confirm_page() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    for _ in 0..3 {
        let resolved = vault
            .s1
            .resolve(&asked.token, &asked.state, json!({}))
            .await;
        assert_eq!(resolved.text("/state"), "consented");
        let answer = vault
            .s1
            .ensure_with(&asked.token, json!({ "request_state": asked.state }))
            .await;
        assert_eq!(answer.text("/status"), "waiting");
        assert!(answer.body.get("credential").is_none());
        assert_eq!(grants(&vault, &asked.token).await, 0);
    }

    // Posts that are not the click on this page.
    let other = ask(&vault, "alice").await;
    let other_confirm = to_confirm(&vault, &mut alice, &other, "alice").await;
    let (action, _) = confirm.form("/confirm").unwrap();
    let (_, mut foreign) = other_confirm.form("/confirm").unwrap();
    foreign.push(("mine".to_owned(), "yes".to_owned()));
    assert_eq!(
        alice.post(&action, &foreign).await.status,
        StatusCode::FORBIDDEN
    );
    let (_, mut decline) = confirm.form("/decline").unwrap();
    decline.push(("mine".to_owned(), "yes".to_owned()));
    assert_eq!(
        alice.post(&action, &decline).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        alice.visit(&action, "same-origin").await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    let unticked = alice.press_only(&confirm, "/confirm", &[]).await;
    assert_eq!(
        (unticked.status, unticked.h1().as_str()),
        (StatusCode::UNPROCESSABLE_ENTITY, CONFIRM)
    );
    let mut stranger = Browser::new();
    is_gone(
        &stranger
            .press_only(&confirm, "/confirm", &[("mine", "yes")])
            .await,
    );
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    assert_eq!(grants(&vault, &asked.token).await, 0);

    // The click, and the click once more.
    let done = alice.press(&unticked, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    let twice = alice
        .press_only(&confirm, "/confirm", &[("mine", "yes")])
        .await;
    assert_eq!(twice.status, StatusCode::FORBIDDEN);
    assert_eq!(vault.audited("grant_activated", "ok"), 1);
    assert_eq!(grants(&vault, &asked.token).await, 1);
    vault.stop().await;
}

#[actix_web::test]
async fn at_023_two_clicks_at_once_activate_once() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    let mut twin = Browser::new();
    twin.jar.clone_from(&alice.jar);
    let yes = [("mine", "yes")];
    let (one, two) = futures_util::join!(
        alice.press_only(&confirm, "/confirm", &yes),
        twin.press_only(&confirm, "/confirm", &yes)
    );
    assert!(
        one.status.is_redirection() || two.status.is_redirection(),
        "{} {}",
        one.status,
        two.status
    );
    // A click that came too late is taken back in the log.
    let activated = vault.audited("grant_activated", "ok");
    let taken_back = vault.audited("grant_activated", "not-done");
    assert_eq!(activated - taken_back, 1);
    assert_eq!(alice.open(confirm.url.as_str()).await.h1(), DONE);
    assert_eq!(
        vault.s1.ensure(&asked.token).await.text("/status"),
        "connected"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn a_changed_account_is_announced_and_replaces_only_after_a_yes() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    vault.walk(&mut alice, "alice", "alice-at-practice").await;
    let first = vault.s1.ensure(&vault.token("alice")).await;
    let old = first
        .text("/credential/header/value")
        .trim_start_matches("Bearer ")
        .to_owned();

    let asked = ask(&vault, "alice").await;
    let consent = alice.open(&asked.url).await;
    let confirm = super::connect_as(&vault, &mut alice, &consent, "bob-at-practice").await;
    assert!(
        confirm.body.contains("This is a different account."),
        "{}",
        confirm.body
    );
    assert!(confirm.body.contains("Alice at Practice") && confirm.body.contains("Bob at Practice"));
    assert!(vault.provider.is_active(&old));
    let before = vault.s1.ensure(&asked.token).await;
    assert_eq!(
        before.text("/credential/header/value"),
        first.text("/credential/header/value")
    );

    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    let after = vault.s1.ensure(&asked.token).await;
    assert_ne!(after.text("/grant/id"), first.text("/grant/id"));
    assert_eq!(grants(&vault, &asked.token).await, 1);
    let new = after
        .text("/credential/header/value")
        .trim_start_matches("Bearer ")
        .to_owned();
    assert!(vault.provider.is_active(&new));
    // Tokens of an account that is not connected any more do not stay valid at the provider.
    assert!(
        !vault.provider.is_active(&old),
        "the replaced tokens still work"
    );
    let people: Vec<String> = vault
        .provider
        .live_grants()
        .into_iter()
        .map(|grant| grant.person)
        .collect();
    assert_eq!(people, ["bob-at-practice"]);
    vault.stop().await;
}

#[actix_web::test]
async fn the_same_account_once_more_is_no_change_and_no_to_another_leaves_the_old_one() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    vault.walk(&mut alice, "alice", "alice-at-practice").await;
    let asked = ask(&vault, "alice").await;
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    assert!(!confirm.body.contains("This is a different account."));
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );

    let asked = ask(&vault, "alice").await;
    let consent = alice.open(&asked.url).await;
    let confirm = super::connect_as(&vault, &mut alice, &consent, "bob-at-practice").await;
    assert_eq!(alice.press(&confirm, "/decline", &[]).await.h1(), DECLINED);
    let kept = vault.s1.ensure(&asked.token).await;
    let token = kept
        .text("/credential/header/value")
        .trim_start_matches("Bearer ");
    assert!(vault.provider.is_active(token));
    assert!(
        vault
            .provider
            .live_grants()
            .iter()
            .all(|grant| grant.person == "alice-at-practice")
    );
    vault.stop().await;
}

#[actix_web::test]
async fn narrower_and_wider_scopes_are_shown_before_the_yes_and_kept_as_they_are() {
    let vault = TestVault::start().await;
    let both = json!({ "scopes": ["notes.read", "notes.write"] });
    for (granted, shown) in [
        ("notes.read", "Not allowed, though the server asked for it"),
        (
            "notes.read notes.write profile.read",
            "More than the server asked for",
        ),
    ] {
        let asked = ask_as(&vault.s1, vault.token("alice"), both.clone()).await;
        vault.provider.misbehave(Misbehaviour {
            scope: Some(granted.to_owned()),
            ..Misbehaviour::default()
        });
        let mut alice = Browser::new();
        let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
        assert!(confirm.body.contains(shown), "{}", confirm.body);
        assert_eq!(
            alice
                .press(&confirm, "/confirm", &[("mine", "yes")])
                .await
                .h1(),
            DONE
        );
        let list = vault
            .s1
            .call(
                Method::GET,
                "/v1/grants",
                &[("subject-token", &asked.token)],
                None,
            )
            .await;
        assert_eq!(
            list.body["grants"][0]["scopes"],
            json!(granted.split(' ').collect::<Vec<_>>()),
            "{}",
            list.body
        );
        let answer = vault.s1.ensure_with(&asked.token, both.clone()).await;
        let status = if granted.contains("write") {
            "connected"
        } else {
            "elicit"
        };
        assert_eq!(answer.text("/status"), status, "{}", answer.body);
        assert_eq!(
            vault.s1.ensure(&asked.token).await.text("/status"),
            "connected"
        );
    }
    vault.stop().await;
}

#[actix_web::test]
async fn an_elicitation_taken_back_at_the_last_moment_connects_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    let path = format!("/v1/elicitations/{}/cancel", asked.id);
    let cancelled = vault
        .s1
        .call(
            Method::POST,
            &path,
            &[],
            Some(json!({ "subject_token": asked.token })),
        )
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    // Once the tokens are destroyed, which goes on by itself, the page in front of her has a token of the past.
    let after = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    if after.status == 403 {
        has_code(&after, "form-refused");
    }
    is_gone(&alice.open(confirm.url.as_str()).await);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    vault.clock.move_s(10 * 60 + 1);
    vault.app.vault().sweep().await.unwrap();
    assert!(
        vault.provider.live_grants().is_empty(),
        "tokens that nobody confirmed still work at the provider"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn somebody_else_at_the_confirm_page_gets_nowhere() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let confirm = to_confirm(&vault, &mut alice, &asked, "alice").await;
    // The same browser, with Bob's session in place of Alice's.
    let bob = super::signed_in(&vault, "bob").await;
    let session = ("localhost".to_owned(), "__Host-sr_s".to_owned());
    alice.jar.insert(session.clone(), bob.jar[&session].clone());
    super::is_mismatch(&alice.open(confirm.url.as_str()).await);
    super::is_mismatch(&alice.press(&confirm, "/confirm", &[("mine", "yes")]).await);
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    let token = vault.token_for("bob", RESOURCE, &lab::JwtEdits::default());
    assert_eq!(grants(&vault, &token).await, 0);
    has_none(&vault, &asked).await;
    vault.stop().await;
}

async fn has_none(vault: &TestVault, asked: &super::Asked) {
    assert_eq!(grants(vault, &asked.token).await, 0);
    assert_eq!(state(vault, asked).await, "consented");
}
