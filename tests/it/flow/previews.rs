//! Links that chat programs, mail scanners and browsers look at before a person does.

use futures_util::future::join_all;
use reqwest::{Method, StatusCode, Url};

use storage::Table;

use super::{SIGN_IN, ask, count, rows, seen, state, still_usable};
use crate::support::{Browser, Page, TestVault};

#[actix_web::test]
async fn at_016_head_and_prefetch_do_nothing() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let (before, entries) = (rows(&vault).await, vault.audit().len());
    let url = Url::parse(&asked.url).unwrap();
    let navigation = [
        ("sec-fetch-site", "none"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let mut browser = Browser::new();
    let mut looked = vec![
        browser.send(Method::HEAD, &url, &[], None).await,
        browser.send(Method::HEAD, &url, &navigation, None).await,
    ];
    for ahead in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-moz", "prefetch"),
        ("x-purpose", "preview"),
    ] {
        looked.push(
            browser
                .send(
                    Method::GET,
                    &url,
                    &[&navigation[..], &[ahead]].concat(),
                    None,
                )
                .await,
        );
    }
    for page in looked {
        assert_eq!(page.status, StatusCode::NO_CONTENT);
        assert!(
            page.body.is_empty()
                && page.headers.get("set-cookie").is_none()
                && page.next().is_none()
        );
    }
    // What is fetched as an image or by a script is no visit either.
    for (mode, dest) in [
        ("no-cors", "image"),
        ("cors", "empty"),
        ("navigate", "iframe"),
    ] {
        let headers = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", mode),
            ("sec-fetch-dest", dest),
        ];
        let page = browser.send(Method::GET, &url, &headers, None).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{dest}");
        assert!(page.headers.get("set-cookie").is_none());
    }
    assert_eq!(rows(&vault).await, before);
    assert_eq!(count(&vault, Table::BrowserFlows).await, 0);
    assert_eq!(vault.audit().len(), entries, "nobody opened the link");
    still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn at_016_previews_and_fifty_parallel_opens_leave_room_for_the_real_click() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let before = seen(&vault, &asked).await;
    let url = Url::parse(&asked.url).unwrap();
    for agent in [
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "Mozilla/5.0 (compatible; Discordbot/2.0)",
        "WhatsApp/2.23",
    ] {
        let page = Browser::new()
            .send(Method::GET, &url, &[("user-agent", agent)], None)
            .await;
        assert_eq!(page.status, StatusCode::OK, "{agent}");
    }
    let opens = (0..50).map(|_| {
        let url = url.clone();
        async move {
            let mut browser = Browser::new();
            let page = browser.visit(&url, "none").await;
            (browser, page)
        }
    });
    let opened: Vec<(Browser, Page)> = join_all(opens).await;
    let good = |page: &Page| {
        matches!(
            page.status,
            StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE
        )
    };
    assert!(opened.iter().all(|(_, page)| good(page)));
    let mut alive = 0;
    for (mut browser, page) in opened
        .into_iter()
        .filter(|(_, page)| page.status == StatusCode::OK)
    {
        alive += usize::from(browser.follow(page).await.h1() == SIGN_IN);
    }
    assert!(
        (1..=5).contains(&alive),
        "{alive} flows of one link are alive"
    );
    assert!(count(&vault, Table::BrowserFlows).await <= 5);
    assert_eq!(seen(&vault, &asked).await, before);
    assert_eq!(state(&vault, &asked).await, "issued");
    still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

#[actix_web::test]
async fn previews_do_not_push_out_a_person_who_is_at_the_provider() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = super::to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    for _ in 0..10 {
        assert_eq!(Browser::new().open(&asked.url).await.h1(), SIGN_IN);
    }
    let confirm = super::come_back(&mut alice, &callback).await;
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        super::DONE
    );
    vault.stop().await;
}
