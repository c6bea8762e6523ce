//! The flow from link to grant, attacked and walked. An attack test is named after its number in the catalogue of attacks;
//! the others are named after what people and servers see.

mod catalogue;
mod confirm;
mod crash;
mod doubles;
mod expiry;
mod forms;
mod goback;
mod injection;
mod key;
mod languages;
mod limits;
mod links;
mod login;
mod me;
mod no;
mod phishing;
mod previews;
mod provider;
mod tabs;
mod waiting;

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use storage::{Revision, Table};

use crate::support::{Answered, Browser, McpServer, Page, TestVault};

/// An elicitation as its server knows it.
pub(crate) struct Asked {
    /// The connect URL.
    pub(crate) url: String,
    /// Its id.
    pub(crate) id: String,
    /// Its requestState.
    pub(crate) state: String,
    /// The subject token it was asked for with.
    pub(crate) token: String,
}

/// Asks for one more elicitation of `person` at `s1`, whether there is a grant or not.
pub(crate) async fn ask(vault: &TestVault, person: &str) -> Asked {
    ask_as(&vault.s1, vault.token(person), json!({})).await
}

/// The same at any server, with other members laid over the body.
pub(crate) async fn ask_as(server: &McpServer, token: String, over: Value) -> Asked {
    let answer = create(server, &token, over).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let text = |pointer| answer.text(pointer).to_owned();
    Asked {
        url: text("/elicitation/connect_url"),
        id: text("/elicitation/id"),
        state: text("/request_state"),
        token,
    }
}

/// `POST /v1/elicitations`.
pub(crate) async fn create(server: &McpServer, token: &str, over: Value) -> Answered {
    let mut body =
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
    if let (Value::Object(body), Value::Object(over)) = (&mut body, over) {
        body.extend(over);
    }
    server
        .call(Method::POST, "/v1/elicitations", &[], Some(body))
        .await
}

/// The elicitation as its server sees it.
pub(crate) async fn seen(vault: &TestVault, asked: &Asked) -> Value {
    let path = format!("/v1/elicitations/{}", asked.id);
    let answer = vault
        .s1
        .call(Method::GET, &path, &[("subject-token", &asked.token)], None)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// Where it stands.
pub(crate) async fn state(vault: &TestVault, asked: &Asked) -> String {
    let body = seen(vault, asked).await;
    body["state"]
        .as_str()
        .unwrap_or_else(|| panic!("no state in {body}"))
        .to_owned()
}

/// How many connections `person` has at `s1`.
pub(crate) async fn grants(vault: &TestVault, token: &str) -> usize {
    let answer = vault
        .s1
        .call(Method::GET, "/v1/grants", &[("subject-token", token)], None)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let list = answer.body.get("grants").unwrap_or(&answer.body);
    let list = list
        .as_array()
        .unwrap_or_else(|| panic!("no list in {}", answer.body));
    list.iter()
        .filter(|grant| grant["status"] != "revoked")
        .count()
}

/// A browser in which `person` is signed in, by a link of their own.
pub(crate) async fn signed_in(vault: &TestVault, person: &str) -> Browser {
    let mut browser = Browser::new();
    let own = ask(vault, person).await;
    let consent = vault.sign_in(&mut browser, &own.url, person).await;
    assert_eq!(consent.h1(), CONSENT);
    browser
}

/// Says yes and gives the provider's address with our `state`; the provider is not asked yet.
pub(crate) async fn authorize_url(vault: &TestVault, browser: &mut Browser, consent: &Page) -> Url {
    let posted = browser
        .press_only(consent, "/consent", &[("agree", "yes")])
        .await;
    browser
        .follow_until(posted, vault.provider.base_url())
        .await
}

/// Picks an account and says yes at a provider; gives the callback address, which is not asked for.
pub(crate) async fn approve(
    vault: &TestVault,
    browser: &mut Browser,
    at_provider: &Page,
    account: &str,
) -> Url {
    let chosen = choose(browser, at_provider, account).await;
    let answered = browser
        .press_only(&chosen, "/authorize/consent", &[("consent", "yes")])
        .await;
    browser
        .follow_until(answered, &format!("{}/cb/", vault.connect))
        .await
}

/// Picks an account on a provider's pages, also when somebody is signed in there already; gives its consent page.
pub(crate) async fn choose(browser: &mut Browser, page: &Page, account: &str) -> Page {
    if page.form("/authorize/account").is_some() {
        return browser
            .press(page, "/authorize/account", &[("account", account)])
            .await;
    }
    let page = browser
        .press(page, "/authorize/consent", &[("consent", "other")])
        .await;
    browser
        .press(&page, "/authorize/account", &[("account", account)])
        .await
}

/// From the consent page to the confirm page, with this account at the provider.
pub(crate) async fn connect_as(
    vault: &TestVault,
    browser: &mut Browser,
    consent: &Page,
    account: &str,
) -> Page {
    let callback = to_callback(vault, browser, consent, account).await;
    come_back(browser, &callback).await
}

/// From the consent page to the callback address, which is not asked for.
pub(crate) async fn to_callback(
    vault: &TestVault,
    browser: &mut Browser,
    consent: &Page,
    account: &str,
) -> Url {
    let at_provider = browser
        .press(consent, "/consent", &[("agree", "yes")])
        .await;
    approve(vault, browser, &at_provider, account).await
}

/// Opens a link, signs in and comes to the confirm page.
pub(crate) async fn to_confirm(
    vault: &TestVault,
    browser: &mut Browser,
    asked: &Asked,
    person: &str,
) -> Page {
    let consent = vault.sign_in(browser, &asked.url, person).await;
    assert_eq!(consent.h1(), CONSENT);
    let confirm = connect_as(vault, browser, &consent, &format!("{person}-at-practice")).await;
    assert_eq!(confirm.h1(), CONFIRM, "{}", confirm.body);
    confirm
}

/// Comes back from a provider, as a browser does: the callback, then whatever it leads to.
pub(crate) async fn come_back(browser: &mut Browser, callback: &Url) -> Page {
    let arrival = browser.visit(callback, "cross-site").await;
    browser.follow(arrival).await
}

/// One parameter of an address.
pub(crate) fn parameter(url: &Url, name: &str) -> String {
    let found = url.query_pairs().find(|(key, _)| key == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {url}"))
        .1
        .into_owned()
}

/// The same address with another query, given as pairs.
pub(crate) fn with_query(url: &Url, pairs: &[(&str, &str)]) -> Url {
    let mut url = url.clone();
    url.query_pairs_mut().clear().extend_pairs(pairs);
    url
}

/// The person that `asked` was made for can still connect, from a browser that never was here.
pub(crate) async fn still_usable(vault: &TestVault, asked: &Asked, person: &str) {
    let mut browser = Browser::new();
    let confirm = to_confirm(vault, &mut browser, asked, person).await;
    assert_eq!(
        browser
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    assert_eq!(state(vault, asked).await, "completed");
}

/// The page for links that are no longer valid, whatever the reason.
pub(crate) fn is_gone(page: &Page) {
    assert_eq!(page.status, StatusCode::NOT_FOUND, "{}", page.url);
    assert_eq!(page.h1(), GONE);
    hardened(page);
}

/// The page for another person: it names nobody and nothing, and offers nothing but to sign out.
pub(crate) fn is_mismatch(page: &Page) {
    assert_eq!(page.status, StatusCode::FORBIDDEN, "{}", page.url);
    assert_eq!(page.h1(), MISMATCH);
    assert!(
        page.form("/consent").is_none()
            && page.form("/confirm").is_none()
            && page.form("/decline").is_none()
    );
    names_nobody(page);
    hardened(page);
}

/// Neither people nor server nor provider nor account stand on the page.
pub(crate) fn names_nobody(page: &Page) {
    // Random values of hidden fields and addresses may spell anything.
    let shown = page
        .body
        .split('<')
        .map(|tag| tag.split_once('>').map_or(tag, |(_, text)| text));
    let text = shown.collect::<String>().to_lowercase();
    for name in ["alice", "bob", "practice", "server one", "notes"] {
        assert!(
            !text.contains(name),
            "{name} stands on {}: {}",
            page.url,
            page.body
        );
    }
}

/// An answer that nobody stores, and that leads nowhere else.
pub(crate) fn hardened(page: &Page) {
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.next(), None);
}

/// The page of a failed flow shows this code.
pub(crate) fn has_code(page: &Page, code: &str) {
    assert_eq!(page.h1(), FAILED, "{}", page.body);
    assert!(
        page.body.contains(code),
        "no {code} on {}: {}",
        page.url,
        page.body
    );
}

/// The last audit entry of an action.
pub(crate) fn entry(vault: &TestVault, action: &str) -> Value {
    let found = vault
        .audit()
        .into_iter()
        .rev()
        .find(|entry| entry["action"] == action);
    found.unwrap_or_else(|| panic!("nothing audited as {action}"))
}

/// Every row of the store with its revision: the same before and after when nothing was changed.
pub(crate) async fn rows(vault: &TestVault) -> BTreeMap<(String, Vec<u8>), Revision> {
    let mut all = BTreeMap::new();
    // What the vault notes about itself, such as the time, changes with every sweep and is about nobody.
    let about_people = Table::ALL.into_iter().filter(|table| *table != Table::Meta);
    for table in about_people {
        let found = vault
            .store
            .scan(table, &[], None, storage::SCAN_MAX)
            .await
            .unwrap();
        assert!(
            found.len() < storage::SCAN_MAX,
            "more rows than this looks at"
        );
        all.extend(
            found
                .into_iter()
                .map(|row| ((format!("{table:?}"), row.key), row.revision)),
        );
    }
    all
}

/// How many rows a table has.
pub(crate) async fn count(vault: &TestVault, table: Table) -> usize {
    vault
        .store
        .scan(table, &[], None, storage::SCAN_MAX)
        .await
        .unwrap()
        .len()
}

/// Headings of our pages.
pub(crate) const SIGN_IN: &str = "First, sign in";
pub(crate) const CONSENT: &str = "Connect your Practice Notes account?";
pub(crate) const CONFIRM: &str = "Is this the right account?";
pub(crate) const DONE: &str = "Connected";
pub(crate) const DECLINED: &str = "Not connected";
pub(crate) const GONE: &str = "This link is no longer valid";
pub(crate) const MISMATCH: &str = "This link was made for another account";
pub(crate) const FAILED: &str = "This did not work";
