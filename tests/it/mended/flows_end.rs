//! What was begun ends: a process that stops waits for its flows, and a code that was taken is exchanged whatever becomes
//! of the browser.

use std::future::poll_fn;
use std::task::Poll;

use actix_rt::spawn;
use actors::doors::{BrowserDoor, Cookies};
use futures_util::FutureExt as _;
use futures_util::future::{join, select};
use lab::Moment;
use reqwest::Url;
use secret::{BrowserCookie, SessionCookie};
use strongroom::app::Addresses;
use tokio::net::{TcpStream, UnixStream};

use crate::flow::{CONFIRM, CONSENT, DONE, ask, come_back, to_callback};
use crate::support::{Browser, Page, TestVault};

/// Comes back when nobody listens any more: the stop is under way.
async fn silence(at: Addresses) {
    while TcpStream::connect(at.api).await.is_ok()
        || TcpStream::connect(at.connect).await.is_ok()
        || UnixStream::connect(&at.admin_socket).await.is_ok()
    {
        tokio::task::yield_now().await;
    }
}

/// Looks at a flow until its exchange has ended.
async fn settled(browser: &mut Browser, flow: &Url) -> Page {
    for _ in 0..5_000 {
        let page = browser.open(flow.as_str()).await;
        if page.h1() != "One more step" {
            return page;
        }
        tokio::task::yield_now().await;
    }
    panic!("the code was taken and never exchanged");
}

#[actix_web::test]
async fn a_refresh_that_was_begun_is_kept_by_a_process_that_stops() {
    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    vault.clock.move_s(3601);
    vault.provider.clear();
    // The provider has rotated the refresh token: what it is about to answer is the only one that works from here on.
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let (server, token) = (vault.s1.clone(), vault.token("alice"));
    let caller = spawn(async move { server.ensure(&token).await.status });
    gate.arrived(1).await;
    caller.abort();
    assert!(caller.await.is_err_and(|error| error.is_cancelled()));

    let at = vault.app.addresses().clone();
    let late = async {
        silence(at).await;
        gate.open();
    };
    let (vault, ()) = join(vault.restart(), late).await;

    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
    assert_eq!(answer.body["grant"]["generation"], 2, "{}", answer.body);
    assert_eq!(vault.provider.count("/token"), 1);
    vault.clock.move_s(3601);
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(answer.body["grant"]["generation"], 3, "{}", answer.body);
    assert_eq!(vault.audited("refresh_refused", "invalid-grant"), 0);
    assert_eq!(vault.audited("tokens_refreshed", "ok"), 2);
    vault.stop().await;
}

#[actix_web::test]
async fn a_browser_that_goes_away_while_the_provider_thinks_comes_to_the_confirm_page() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
    let mut gone = Browser::new();
    gone.jar.clone_from(&alice.jar);
    {
        let leaving = std::pin::pin!(gone.visit(&callback, "cross-site"));
        let arrived = std::pin::pin!(gate.arrived(1));
        select(leaving, arrived).await;
    }
    drop(gone); // the request is gone, its connection with it
    gate.open();
    let confirm = settled(&mut alice, &consent.url).await;
    assert_eq!(confirm.h1(), CONFIRM);
    let done = alice.press(&confirm, "/confirm", &[("mine", "yes")]).await;
    assert_eq!(done.h1(), DONE);
    vault.stop().await;
}

#[actix_web::test]
async fn a_callback_dropped_at_any_moment_loses_no_code() {
    let vault = TestVault::start().await;
    for polls in 1..=6 {
        let asked = ask(&vault, "alice").await;
        let mut alice = Browser::new();
        let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
        assert_eq!(consent.h1(), CONSENT);
        let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
        let gate = vault.provider.hold("/token", Moment::BeforeAnswering);
        {
            let mine = cookies(&alice);
            let leaving = std::pin::pin!(drop_after(polls, &vault, ("practice", &callback), &mine));
            let arrived = std::pin::pin!(gate.arrived(1));
            select(leaving, arrived).await;
        }
        gate.open();
        // Either the `state` is still there, and the callback can come again, or its code is being exchanged.
        let page = come_back(&mut alice, &callback).await;
        let page = if page.h1() == CONFIRM {
            page
        } else {
            settled(&mut alice, &consent.url).await
        };
        assert_eq!(page.h1(), CONFIRM, "after {polls} polls");
        let done = alice.press(&page, "/confirm", &[("mine", "yes")]).await;
        assert_eq!(done.h1(), DONE);
        vault.clock.move_s(120);
    }
    vault.stop().await;
}

/// Hands the callback to the door itself and drops it after so many polls, unless it has ended.
pub(super) async fn drop_after(
    polls: u32,
    vault: &TestVault,
    (provider, callback): (&str, &Url),
    cookies: &Cookies,
) {
    let door = vault.app.vault();
    let query = callback.query().unwrap_or_default();
    let mut answer = BrowserDoor::callback(
        door,
        BrowserDoor::begin(door),
        provider,
        query,
        (true, cookies),
    );
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 || answer.poll_unpin(context).is_ready() {
            return Poll::Ready(());
        }
        left -= 1;
        if left == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// The vault's cookies of this browser.
pub(super) fn cookies(browser: &Browser) -> Cookies {
    let mut cookies = Cookies::default();
    for ((_, name), value) in &browser.jar {
        if name == "__Host-sr_s" {
            cookies.session = SessionCookie::parse(value).ok();
        } else if let Some(digits) = name.strip_prefix("__Host-sr_f_") {
            let value = BrowserCookie::parse(value).unwrap();
            cookies.flows.push((digits.into(), value));
        }
    }
    cookies
}
