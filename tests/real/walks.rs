//! People in a real browser: yes, and each way of saying no.

use serde_json::Value;

use crate::installation::{Installation, KEY};
use crate::peer::tests;

#[actix_web::test]
async fn a_person_connects_in_chromium_and_every_page_is_sound() {
    let vault = Installation::start();
    let (url, elicitation) = vault.elicit("alice").await;
    let shots = tests().join("real/out/connect").display().to_string();
    let walk = vault.walk(&url, &["--axe", "--shots", &shots]).await;
    assert_eq!(steps(&walk), ["signin", "consent", "confirm", "done"]);
    assert_eq!(vault.state("alice", &elicitation).await, "completed");
    assert_eq!(vault.notes("alice").await["owner"], "alice");
    assert_eq!(vault.status("bob").await, "elicit");
    vault.stop();
}

#[actix_web::test]
async fn a_person_connects_in_chinese_in_a_browser_that_asks_for_it() {
    let vault = Installation::start();
    let (url, elicitation) = vault.elicit("alice").await;
    let shots = tests().join("real/out/chinese").display().to_string();
    let chinese = ["--language", "zh-CN", "--axe", "--shots", &shots];
    let walk = vault.walk(&url, &chinese).await;
    assert_eq!(steps(&walk), ["signin", "consent", "confirm", "done"]);
    for page in walk["pages"].as_array().unwrap() {
        assert_eq!(page["lang"], "zh-Hans", "{page}");
    }
    assert_eq!(vault.state("alice", &elicitation).await, "completed");
    vault.stop();
}

#[actix_web::test]
async fn a_person_pastes_a_key_in_either_language_and_a_wrong_one_is_told_apart() {
    let vault = Installation::start();
    let first = vault.ensure_key().await;
    let url = first.text("/elicitation/connect_url");
    let shots = tests().join("real/out/key").display().to_string();
    // A key that the provider does not let in leads to a page that says so; the link stays good.
    let wrong = [
        "--key",
        "arc_nobody-has-this-one",
        "--expect",
        "error",
        "--axe",
        "--shots",
        &shots,
    ];
    let walk = vault.walk(url, &wrong).await;
    assert_eq!(steps(&walk), ["signin", "key", "error"]);
    let right = ["--key", KEY, "--axe", "--shots", &shots];
    let walk = vault.walk(url, &right).await;
    assert_eq!(steps(&walk), ["signin", "key", "confirm", "done"]);
    let got = vault.ensure_key().await;
    let header = got.text("/credential/header/value");
    assert_eq!(header, format!("Bearer {KEY}"));
    vault.stop();

    let vault = Installation::start();
    let first = vault.ensure_key().await;
    let url = first.text("/elicitation/connect_url");
    let shots = tests().join("real/out/key-chinese").display().to_string();
    let chinese = [
        "--key",
        KEY,
        "--language",
        "zh-CN",
        "--axe",
        "--shots",
        &shots,
    ];
    let walk = vault.walk(url, &chinese).await;
    assert_eq!(steps(&walk), ["signin", "key", "confirm", "done"]);
    for page in walk["pages"].as_array().unwrap() {
        assert_eq!(page["lang"], "zh-Hans", "{page}");
    }
    assert_eq!(vault.ensure_key().await.text("/status"), "connected");
    vault.stop();
}

#[actix_web::test]
async fn whoever_is_signed_in_is_not_asked_again_and_a_second_account_can_be_connected() {
    let vault = Installation::start();
    let state = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::remove_file(&state).unwrap();
    let state = state.display().to_string();
    let (url, _) = vault.elicit("alice").await;
    vault
        .walk(&url, &["--state", &state, "--stop-at", "consent"])
        .await;
    let (url, _) = vault.elicit("alice").await;
    let walk = vault
        .walk(
            &url,
            &["--state", &state, "--at-provider", "alices-other-account"],
        )
        .await;
    assert_eq!(steps(&walk), ["consent", "confirm", "done"]);
    assert_eq!(vault.notes("alice").await["owner"], "alices-other-account");
    std::fs::remove_file(&state).ok();
    vault.stop();
}

#[actix_web::test]
async fn each_way_of_saying_no_ends_without_a_grant() {
    let vault = Installation::start();
    let shots = |name: &str| tests().join("real/out").join(name).display().to_string();
    for page in ["consent", "confirm"] {
        let (url, elicitation) = vault.elicit("alice").await;
        let shots = shots(&format!("declined-{page}"));
        vault
            .walk(&url, &["--decline", page, "--axe", "--shots", &shots])
            .await;
        assert_eq!(
            vault.state("alice", &elicitation).await,
            "declined",
            "{page}"
        );
        assert_eq!(vault.status("alice").await, "elicit", "{page}");
    }
    // The tokens of the account that was not confirmed were given back.
    assert_eq!(vault.provider_count("authorization_code ok").await, 1);
    assert_eq!(vault.provider_count("grant revoked").await, 1);
    // Who says no at the provider may change their mind while the link is good.
    let (url, _) = vault.elicit("alice").await;
    vault
        .walk(
            &url,
            &[
                "--deny-at",
                "provider",
                "--expect",
                "error",
                "--axe",
                "--shots",
                &shots("denied-at-provider"),
            ],
        )
        .await;
    assert_eq!(vault.status("alice").await, "elicit");
    vault.walk(&url, &[]).await;
    assert_eq!(vault.status("alice").await, "connected");
    vault.stop();
}

fn steps(walk: &Value) -> Vec<&str> {
    walk["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["step"].as_str().unwrap())
        .collect()
}
