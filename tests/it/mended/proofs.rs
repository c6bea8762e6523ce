//! Proofs that are compared: who may sign a browser out, what a login anew must show, and flows of servers that the operator
//! has taken out of service.

use actors::doors::AdminDoor;
use lab::{JwtEdits, Misbehaviour};
use reqwest::{Method, StatusCode, Url};

use crate::flow::{
    CONFIRM, CONSENT, DONE, SIGN_IN, ask, come_back, is_gone, is_mismatch, parameter, signed_in,
    state, to_callback,
};
use crate::support::{Browser, Page, TestVault, encode};

const SESSION: &str = "__Host-sr_s";

async fn post(browser: &mut Browser, url: &Url, site: &str, origin: &str, body: &str) -> Page {
    let headers = [
        ("sec-fetch-site", site),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
        ("origin", origin),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    browser
        .send(Method::POST, url, &headers, Some(body.to_owned()))
        .await
}

fn untouched(page: &Page, case: &str) {
    assert_eq!(page.status, StatusCode::FORBIDDEN, "{case}");
    assert_eq!(page.header("set-cookie"), None, "{case}");
    assert_eq!(page.header("clear-site-data"), None, "{case}");
}

#[actix_web::test]
async fn no_other_site_signs_anybody_out() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let (action, fields) = consent.form("/session/end").unwrap();
    let flow = fields.iter().find(|(name, _)| name == "flow").unwrap();
    let (whole, guess) = (encode(&fields), encode(std::slice::from_ref(flow)));
    let ours = vault.connect.clone();

    // A browser sends our cookies to nobody's cross-site form, and would still do what the answer says.
    for body in ["", "csrf=x", &guess, &whole] {
        for (site, origin) in [("cross-site", "https://evil.example"), ("none", &ours)] {
            let mut bare = Browser::new();
            untouched(&post(&mut bare, &action, site, origin, body).await, body);
            untouched(&post(&mut alice, &action, site, origin, body).await, body);
        }
    }
    // Nor does a form of our own origin that is not the page's own, or names no flow.
    let csrf = fields.iter().find(|(name, _)| name == "csrf").unwrap();
    let no_flow = encode(std::slice::from_ref(csrf));
    for body in ["", "csrf=x", &guess, &no_flow] {
        untouched(
            &post(&mut alice, &action, "same-origin", &ours, body).await,
            body,
        );
    }
    assert_eq!(alice.open(consent.url.as_str()).await.h1(), CONSENT);
    assert_eq!(vault.audited("signed_out", "ok"), 0);

    let out = alice.press(&consent, "/session/end", &[]).await;
    assert_eq!(out.h1(), SIGN_IN);
    assert_eq!(vault.audited("signed_out", "ok"), 1);
    // Once more, from a tab that still shows the page: nobody is signed in, and that is what it says.
    let twice = alice.press(&consent, "/session/end", &[]).await;
    assert_eq!(twice.h1(), SIGN_IN);
    vault.stop().await;
}

fn signed_in_long_ago(vault: &TestVault) -> Misbehaviour {
    Misbehaviour {
        id_token: JwtEdits::claim("auth_time", vault.clock.seconds() - 24 * 60 * 60),
        ..Misbehaviour::default()
    }
}

#[actix_web::test]
async fn after_signing_out_the_issuer_must_show_that_somebody_signed_in_anew() {
    let vault = TestVault::start().await;
    // An ordinary login takes whoever is signed in at the issuer.
    vault.issuer.misbehave(signed_in_long_ago(&vault));
    let mut shared = signed_in(&vault, "bob").await;
    vault.issuer.behave();

    let asked = ask(&vault, "alice").await;
    let mismatch = shared.open(&asked.url).await;
    is_mismatch(&mismatch);
    let out = shared.press(&mismatch, "/session/end", &[]).await;
    assert_eq!(out.h1(), SIGN_IN);

    let no_auth_time = Misbehaviour {
        id_token: JwtEdits::claim("auth_time", serde_json::Value::Null),
        ..Misbehaviour::default()
    };
    for (number, bad) in [(1, signed_in_long_ago(&vault)), (2, no_auth_time)] {
        vault.issuer.misbehave(bad);
        let at_issuer = shared.press(&out, "/login", &[]).await;
        // Bob is signed in at the issuer, and is asked all the same.
        assert!(
            at_issuer.form("/authorize/account").is_some(),
            "{}",
            at_issuer.h1()
        );
        let sent = &at_issuer.url;
        assert_eq!(
            (parameter(sent, "prompt"), parameter(sent, "max_age")),
            ("login".to_owned(), "0".to_owned())
        );
        let refused = vault.at_lab(&mut shared, at_issuer, "alice").await;
        assert!(!refused.status.is_success(), "{}", refused.h1());
        assert_eq!(vault.audited("login_refused", "id-token"), number);
        assert!(
            !shared
                .jar
                .contains_key(&("localhost".to_owned(), SESSION.to_owned()))
        );
        vault.issuer.behave();
    }

    let at_issuer = shared.press(&out, "/login", &[]).await;
    let consent = vault.at_lab(&mut shared, at_issuer, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    vault.stop().await;
}

async fn disabled(vault: &TestVault, disabled: bool) {
    let door = vault.app.vault();
    door.set_disabled(AdminDoor::begin(door), &"s1".parse().unwrap(), disabled)
        .await
        .unwrap();
}

#[actix_web::test]
async fn a_flow_of_a_disabled_server_waits_until_the_server_is_enabled() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    disabled(&vault, true).await;
    is_gone(&alice.open(&asked.url).await);
    disabled(&vault, false).await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    assert_eq!(consent.h1(), CONSENT);
    let mut stuck = Browser::new();
    let waiting = vault.sign_in(&mut stuck, &asked.url, "alice").await;

    disabled(&vault, true).await;
    is_gone(&alice.open(consent.url.as_str()).await);
    is_gone(&alice.press(&consent, "/consent", &[("agree", "yes")]).await);
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    disabled(&vault, false).await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;

    disabled(&vault, true).await;
    is_gone(&come_back(&mut alice, &callback).await);
    assert_eq!(vault.provider.count("/token"), 0);
    disabled(&vault, false).await;
    let confirm = come_back(&mut alice, &callback).await;
    assert_eq!(confirm.h1(), CONFIRM);

    disabled(&vault, true).await;
    is_gone(&alice.press(&confirm, "/confirm", &[("mine", "yes")]).await);
    assert_eq!(vault.audited("grant_activated", "ok"), 0);
    // Whoever is stuck on a page can still leave.
    let left = stuck.press_only(&waiting, "/session/end", &[]).await;
    assert_eq!(left.status, StatusCode::SEE_OTHER);
    assert_eq!(vault.audited("signed_out", "ok"), 1);
    disabled(&vault, false).await;
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    assert_eq!(state(&vault, &asked).await, "completed");
    vault.stop().await;
}

#[actix_web::test]
async fn a_login_and_a_deed_in_another_tab_do_not_hinder_each_other() {
    let vault = TestVault::start().await;
    let mut tab = signed_in(&vault, "alice").await;
    for _ in 0..4 {
        // Two flows in one browser: one asks alice, the other one is signing in at the issuer.
        let asked = ask(&vault, "alice").await;
        let consent = tab.open(&asked.url).await;
        assert_eq!(consent.h1(), CONSENT);
        let mut login = Browser::new();
        let other = ask(&vault, "alice").await;
        let sign_in = login.open(&other.url).await;
        let at_issuer = login.press(&sign_in, "/login", &[]).await;
        let answer = to_answer(&vault, &mut login, &at_issuer).await;
        login.jar.extend(tab.jar.clone());

        let (arrival, _) = futures_util::join!(
            login.visit(&answer, "cross-site"),
            tab.press_only(&consent, "/consent", &[("agree", "yes")])
        );
        assert!(arrival.status.is_success(), "{}", arrival.h1());
        assert_eq!(login.follow(arrival).await.h1(), CONSENT);
        tab.jar.extend(login.jar);
    }
    assert_eq!(vault.audited("login_refused", "wrong-answer"), 0);
    vault.stop().await;
}

/// Signs in as alice at the issuer; gives the answer's address, which is not asked for.
async fn to_answer(vault: &TestVault, browser: &mut Browser, at_issuer: &Page) -> Url {
    let mut page = browser
        .press_only(at_issuer, "/authorize/account", &[("account", "alice")])
        .await;
    if page.form("/authorize/consent").is_some() {
        page = browser
            .press_only(&page, "/authorize/consent", &[("consent", "yes")])
            .await;
    }
    let back = format!("{}/login/callback/", vault.connect);
    browser.follow_until(page, &back).await
}
