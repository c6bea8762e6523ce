//! People read our pages in the language that their server asks for, or else their browser.

use reqwest::{Method, Url};
use serde_json::json;

use super::{ask, ask_as, create, still_usable};
use crate::support::{Answered, Browser, Page, TestVault};

const AMERICAN: Option<&str> = Some("en-US,en;q=0.9");
const MAINLAND: Option<&str> = Some("zh-CN,zh;q=0.9,en;q=0.8");

fn language(page: &Page) -> &str {
    page.header("content-language").unwrap_or("none")
}

/// The languages of all pages of ours that a browser saw, each once.
fn heard(vault: &TestVault, browser: &Browser) -> Vec<String> {
    let mut languages: Vec<String> = browser
        .heard
        .iter()
        .filter(|(url, head, _)| {
            url.as_str().starts_with(&vault.connect) && head.contains_key("content-type")
        })
        .map(|(_, head, body)| {
            let language = head["content-language"].to_str().unwrap().to_owned();
            assert!(body.contains(&format!("<html lang=\"{language}\">")));
            language
        })
        .collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

#[actix_web::test]
async fn a_whole_link_is_walked_in_chinese_over_a_restart() {
    let mut vault = TestVault::start().await;
    let over = json!({ "locale": "zh-CN", "reason": "整理您的笔记。" });
    let asked = ask_as(&vault.s1, vault.token("alice"), over).await;
    let mut alice = Browser::new();
    alice.language = AMERICAN;
    let sign_in = alice.open(&asked.url).await;
    assert_eq!(sign_in.h1(), "请先登录");
    vault = vault.restart().await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), "连接您的 Practice Notes 账号？");
    for words in [
        "<bdi>您的练习笔记</bdi>",
        "<blockquote lang=\"zh-CN\">“<bdi>整理您的笔记。</bdi>”",
    ] {
        assert!(consent.body.contains(words), "{words}: {}", consent.body);
    }
    let untouched = alice.press(&consent, "/consent", &[]).await;
    assert!(untouched.body.contains("<title>请检查：连接您的"));
    vault = vault.restart().await;
    let confirm = vault
        .consent(&mut alice, &untouched, "alice-at-practice")
        .await;
    assert_eq!(confirm.h1(), "是这个账号吗？");
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), "已连接");
    assert_eq!(heard(&vault, &alice), ["zh-Hans"]);
    vault.stop().await;
}

#[actix_web::test]
async fn without_a_locale_the_browser_decides_and_without_either_it_is_english() {
    let vault = TestVault::start().await;
    for (header, over, wanted) in [
        (MAINLAND, json!({}), "zh-Hans"),
        (AMERICAN, json!({}), "en"),
        (None, json!({}), "en"),
        (Some("*"), json!({}), "en"),
        (Some("zh-TW,zh;q=0.9,en;q=0.8"), json!({}), "zh-Hans"),
        // One that we do not have is not refused, and the browser's is the next best.
        (MAINLAND, json!({ "locale": "fr-CA" }), "zh-Hans"),
        (AMERICAN, json!({ "locale": "fr-CA" }), "en"),
        (MAINLAND, json!({ "locale": "EN-gb" }), "en"),
        (AMERICAN, json!({ "locale": "zh-Hant-TW" }), "zh-Hans"),
    ] {
        let asked = ask_as(&vault.s1, vault.token("alice"), over.clone()).await;
        let mut alice = Browser::new();
        alice.language = header;
        vault.sign_in(&mut alice, &asked.url, "alice").await;
        assert_eq!(heard(&vault, &alice), [wanted], "{header:?} {over}");
    }
    vault.stop().await;
}

#[actix_web::test]
async fn pages_that_belong_to_no_link_go_by_the_browser_and_tell_nothing_of_any() {
    let vault = TestVault::start().await;
    let over = json!({ "locale": "zh-Hans" });
    let asked = ask_as(&vault.s1, vault.token("alice"), over).await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    alice.press(&consent, "/decline", &[]).await;
    let unknown = format!("{}/c/{}", vault.connect, "A".repeat(43));
    for (header, wanted) in [(MAINLAND, "zh-Hans"), (AMERICAN, "en"), (None, "en")] {
        let mut stranger = Browser::new();
        stranger.language = header;
        let used = stranger.open(&asked.url).await;
        let never = stranger.open(&unknown).await;
        let flow = stranger.visit(&consent.url, "same-origin").await;
        for page in [&used, &never, &flow] {
            assert_eq!((language(page), page.status.as_u16()), (wanted, 404));
            assert_eq!(page.body, never.body);
        }
    }
    // Whoever walked it is told in the same language that it is over.
    alice.language = AMERICAN;
    let page = alice.visit(&consent.url, "same-origin").await;
    assert_eq!((page.h1().as_str(), language(&page)), ("未连接", "zh-Hans"));
    vault.stop().await;
}

#[actix_web::test]
async fn a_tag_that_is_none_is_refused_and_another_tag_is_no_other_request() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    for tag in ["zh_CN", "", "zh-CN,en", "en\u{0}"] {
        let answer = create(&vault.s1, &token, json!({ "locale": tag })).await;
        assert_eq!(answer.status, 400, "{tag:?}");
        assert_eq!(answer.text("/errors/0/pointer"), "/locale", "{tag:?}");
    }
    let keyed = async |tag| {
        let body = json!({
            "provider": "practice", "scopes": ["notes.read"], "subject_token": token, "locale": tag,
        });
        let key = [("idempotency-key", "one")];
        let answer = vault
            .s1
            .call(Method::POST, "/v1/elicitations", &key, Some(body))
            .await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.text("/elicitation/connect_url").to_owned()
    };
    let first = keyed("zh-Hans").await;
    assert_eq!(keyed("en").await, first);
    let page = Browser::new()
        .visit(&Url::parse(&first).unwrap(), "none")
        .await;
    assert_eq!(language(&page), "zh-Hans");

    // A requestState goes on meaning its link, whatever language is asked for with it.
    let asked = ask(&vault, "alice").await;
    let body = json!({
        "provider": "practice", "scopes": ["notes.read"], "subject_token": asked.token,
        "request_state": asked.state, "locale": "zh-Hans",
        "input_responses": { "connect:practice": { "action": "decline" } },
    });
    let answer = vault
        .s1
        .call(Method::POST, "/v1/ensure", &[], Some(body))
        .await;
    assert_eq!(answer.text("/status"), "declined", "{}", answer.body);
    // It is the link's language that counts, and this one named none.
    let told = answer.text("/payloads/tool_result/content/0/text");
    assert!(told.starts_with("You chose not to connect"), "{told}");
    let other = ask(&vault, "alice").await;
    still_usable(&vault, &other, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn who_cannot_read_the_language_of_a_server_reads_on_in_another() {
    let vault = TestVault::start().await;
    let over = json!({ "locale": "zh-Hans" });
    let asked = ask_as(&vault.s1, vault.token("alice"), over).await;
    let mut alice = Browser::new();
    let sign_in = alice.open(&asked.url).await;
    assert_eq!(language(&sign_in), "zh-Hans");
    let english = sign_in.url.join(&format!("{}/in/en", sign_in.url.path()));
    let page = alice.visit(&english.unwrap(), "same-origin").await;
    let sign_in = alice.follow(page).await;
    assert_eq!(
        (sign_in.h1().as_str(), language(&sign_in)),
        ("First, sign in", "en")
    );
    let seen = alice.heard.len();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let confirm = vault
        .consent(&mut alice, &consent, "alice-at-practice")
        .await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), "Connected");
    alice.heard.drain(..seen);
    assert_eq!(heard(&vault, &alice), ["en"]);
    vault.stop().await;
}

#[actix_web::test]
async fn messages_about_a_link_are_in_its_language_too() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let ensure = async |over: serde_json::Value| {
        let mut body = json!({
            "provider": "practice", "scopes": ["notes.read"], "subject_token": token, "locale": "zh-Hans",
        });
        let more = over.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        let answer = vault
            .s1
            .call(Method::POST, "/v1/ensure", &[], Some(body))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer
    };
    let told = |answer: &Answered| {
        let text = answer.text("/payloads/tool_result/content/0/text");
        (answer.text("/status").to_owned(), text.to_owned())
    };
    let link = ensure(json!({})).await;
    let url = link.text("/elicitation/connect_url");
    let words =
        format!("请连接您的 Practice Notes 账号以继续。请在浏览器中打开 {url} ，完成后再次提问。");
    assert_eq!(told(&link), ("elicit".to_owned(), words));
    let message = "请连接您的 Practice Notes 账号以继续。";
    assert_eq!(link.text("/payloads/elicitation_create/message"), message);

    let state = json!({ "request_state": link.text("/request_state") });
    let (status, words) = told(&ensure(state.clone()).await);
    assert_eq!(status, "waiting");
    assert!(
        words.starts_with("您的 Practice Notes 账号尚未连接。"),
        "{words}"
    );

    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, url, "alice").await;
    alice.press(&consent, "/decline", &[]).await;
    let (status, words) = told(&ensure(state).await);
    assert_eq!(status, "declined");
    assert!(
        words.starts_with("您选择了不连接您的 Practice Notes 账号"),
        "{words}"
    );
    vault.stop().await;
}
