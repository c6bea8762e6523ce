//! Links bent, reused and fixated: nothing in an address but the ticket has a meaning, and a ticket has it once.

use reqwest::{Method, StatusCode, Url};

use super::{
    CONSENT, DECLINED, DONE, SIGN_IN, ask, come_back, grants, has_code, is_gone, parameter, rows,
    signed_in, state, still_usable, to_callback, to_confirm, with_query,
};
use crate::support::{Browser, Page, TestVault};

#[actix_web::test]
async fn at_011_parameters_of_a_link_are_refused() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let before = rows(&vault).await;
    let names = [
        "provider=other",
        "scope=notes.write",
        "server=s2",
        "user=bob",
        "return_to=https://evil.example",
        "prompt=none",
        "state=x",
        "nonce=x",
        "code_challenge=x",
        "redirect_uri=https://evil.example/cb",
        "",
        "x",
    ];
    for query in names {
        let mut browser = Browser::new();
        let page = browser.open(&format!("{}?{query}", asked.url)).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{query}");
        assert!(
            !page.body.contains("evil") && page.next().is_none(),
            "{query}"
        );
        assert!(browser.jar.is_empty(), "{query}");
    }
    assert_eq!(rows(&vault).await, before);
    assert!(vault.provider.recorded().is_empty());

    // On the pages behind the link a query means nothing either.
    let mut alice = Browser::new();
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    for query in ["scope=notes.write", "state=x&code_challenge=y"] {
        let page = alice.open(&format!("{}?{query}", consent.url)).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{query}");
    }
    let again = alice
        .open(&format!("{}#scope=notes.write", asked.url))
        .await;
    assert_eq!((again.h1().as_str(), &again.url), (CONSENT, &consent.url));
    assert!(again.body.contains("notes.read") && !again.body.contains("notes.write"));
    vault.stop().await;
}

#[actix_web::test]
async fn at_011_an_altered_ticket_looks_like_one_that_never_was() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let before = rows(&vault).await;
    let (base, ticket) = asked.url.rsplit_once('/').unwrap();
    let unknown = Browser::new()
        .open(&format!("{base}/{}", "A".repeat(ticket.len())))
        .await;
    is_gone(&unknown);
    let encoded = format!("%{:02x}{}", ticket.as_bytes()[0], &ticket[1..]);
    let mut bent: Vec<String> = [0, 1, ticket.len() / 2, ticket.len() - 1]
        .map(|at| format!("{base}/{}", other_at(ticket, at)))
        .to_vec();
    bent.extend(
        [
            encoded,
            format!("{ticket}/"),
            format!("{ticket}/consent"),
            format!("{ticket};jsessionid=1"),
            format!("{ticket}."),
        ]
        .map(|end| format!("{base}/{end}")),
    );
    bent.extend([
        format!("{base}//{ticket}"),
        asked.url.replace("/c/", "//c/"),
        asked.url.replace("/c/", "/C/"),
        asked.url.replace("/c/", "/%63/"),
    ]);
    bent.extend(
        [
            ticket[1..].to_owned(),
            ticket.to_lowercase() + "a",
            String::new(),
        ]
        .map(|end| format!("{base}/{end}")),
    );
    for url in bent {
        let page = Browser::new()
            .visit(&Url::parse(&url).unwrap(), "none")
            .await;
        is_gone(&page);
        assert_eq!(page.body, unknown.body, "{url}");
        assert_eq!(headers_of(&page), headers_of(&unknown), "{url}");
        assert!(page.headers.get("set-cookie").is_none(), "{url}");
    }
    assert_eq!(rows(&vault).await, before);
    still_usable(&vault, &asked, "alice").await;
    vault.stop().await;
}

/// The text with another letter of the same alphabet at one place.
fn other_at(text: &str, at: usize) -> String {
    let other = |letter| if letter == 'Q' { 'R' } else { 'Q' };
    text.chars()
        .enumerate()
        .map(|(place, letter)| if place == at { other(letter) } else { letter })
        .collect()
}

/// All headers but the date, and the referrer policy, which goes by the address and not by what is behind it.
fn headers_of(page: &Page) -> Vec<String> {
    let lines = page
        .headers
        .iter()
        .filter(|(name, _)| *name != "date" && *name != "referrer-policy")
        .map(|(name, value)| format!("{name}: {value:?}"));
    let sorted: std::collections::BTreeSet<String> = lines.collect();
    sorted.into_iter().collect()
}

#[actix_web::test]
async fn at_013_finished_links_are_no_longer_valid_for_anybody() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let mut links = Vec::new();

    let declined = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &declined.url, "alice").await;
    assert_eq!(alice.press(&consent, "/decline", &[]).await.h1(), DECLINED);
    assert_eq!(state(&vault, &declined).await, "declined");
    links.push(declined);

    let cancelled = ask(&vault, "alice").await;
    let path = format!("/v1/elicitations/{}/cancel", cancelled.id);
    let body = serde_json::json!({ "subject_token": cancelled.token });
    assert_eq!(
        vault
            .s1
            .call(Method::POST, &path, &[], Some(body))
            .await
            .status,
        200
    );
    links.push(cancelled);

    let completed = ask(&vault, "alice").await;
    let confirm = to_confirm(&vault, &mut alice, &completed, "alice").await;
    assert_eq!(
        alice
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        DONE
    );
    links.push(completed);

    let credential = vault
        .s1
        .ensure(&vault.token("alice"))
        .await
        .text("/credential/header/value")
        .to_owned();
    let mut bob = signed_in(&vault, "bob").await;
    let unknown = Browser::new()
        .open(&format!("{}/c/{}", vault.connect, "A".repeat(43)))
        .await;
    let (requests, before) = (vault.provider.recorded().len(), rows(&vault).await);
    for asked in &links {
        for browser in [&mut alice, &mut bob, &mut Browser::new()] {
            let cookies = browser.jar.clone();
            let page = browser.open(&asked.url).await;
            is_gone(&page);
            assert_eq!(page.body, unknown.body);
            assert_eq!(browser.jar, cookies, "a finished link makes no flow");
        }
    }
    assert_eq!(rows(&vault).await, before);
    assert_eq!(vault.provider.recorded().len(), requests);
    let after = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(after.text("/credential/header/value"), credential);
    vault.stop().await;
}

#[actix_web::test]
async fn at_013_a_poisoned_flow_stays_dead_and_its_link_starts_afresh() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let consent = vault.sign_in(&mut alice, &asked.url, "alice").await;
    let callback = to_callback(&vault, &mut alice, &consent, "alice-at-practice").await;
    let (state_of, code) = (parameter(&callback, "state"), parameter(&callback, "code"));
    let forged = with_query(
        &callback,
        &[
            ("state", &state_of),
            ("code", &code),
            ("iss", "https://evil.example"),
        ],
    );
    has_code(&come_back(&mut alice, &forged).await, "wrong-callback");
    is_gone(&come_back(&mut alice, &callback).await);
    has_code(&alice.open(consent.url.as_str()).await, "wrong-callback");
    assert_eq!(vault.provider.count("/token"), 0);
    assert_eq!(grants(&vault, &asked.token).await, 0);
    // The link is Alice's still; she gets a new flow, not the dead one.
    let fresh = alice.open(&asked.url).await;
    assert_eq!(fresh.h1(), CONSENT);
    assert_ne!(fresh.url, consent.url);
    vault.stop().await;
}

#[actix_web::test]
async fn at_008_doubled_cookies_and_session_ids_in_addresses() {
    let vault = TestVault::start().await;
    let bob = signed_in(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    let session = bob.jar[&("localhost".to_owned(), "__Host-sr_s".to_owned())].clone();
    let url = Url::parse(&asked.url).unwrap();
    let mut stranger = Browser::new();
    let before = rows(&vault).await;
    let navigation = [
        ("sec-fetch-site", "none"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    for cookies in [
        format!("__Host-sr_s={session}; __Host-sr_s={session}"),
        format!("__Host-sr_s={session}; __Host-sr_s=x"),
        format!("__Host-sr_s=x; other=1; __Host-sr_s={session}"),
        format!("__Host-sr_s; __Host-sr_s={session}"),
    ] {
        let headers = [&navigation[..], &[("cookie", cookies.as_str())]].concat();
        let page = stranger.send(Method::GET, &url, &headers, None).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{cookies}");
        assert!(page.headers.get("set-cookie").is_none());
    }
    let two = format!("__Host-sr_s={session}");
    let headers = [
        &navigation[..],
        &[("cookie", two.as_str()), ("cookie", "__Host-sr_s=y")],
    ]
    .concat();
    assert_eq!(
        stranger
            .send(Method::GET, &url, &headers, None)
            .await
            .status,
        StatusCode::BAD_REQUEST
    );

    assert_eq!(rows(&vault).await, before);

    let arrived = stranger.open(&asked.url).await;
    assert_eq!(arrived.h1(), SIGN_IN);
    for (tail, status) in [
        ("?sid=", StatusCode::BAD_REQUEST),
        ("?session=", StatusCode::BAD_REQUEST),
        (";jsessionid=", StatusCode::NOT_FOUND),
    ] {
        let page = stranger
            .open(&format!("{}{tail}{session}", arrived.url))
            .await;
        assert_eq!(page.status, status, "{tail}");
        assert!(!page.body.contains(&session));
    }
    assert_eq!(stranger.open(arrived.url.as_str()).await.h1(), SIGN_IN);
    vault.stop().await;
}

#[actix_web::test]
async fn at_008_a_login_makes_a_new_session_and_ends_what_was_before() {
    let vault = TestVault::start().await;
    let mut alice = Browser::new();
    let asked = ask(&vault, "alice").await;
    let key = |name: &str| ("localhost".to_owned(), name.to_owned());
    // Somebody planted a session id of their own choosing before the login.
    let planted = "A".repeat(43);
    alice.jar.insert(key("__Host-sr_s"), planted.clone());
    let first_tab = alice.open(&asked.url).await;
    assert_eq!(first_tab.h1(), SIGN_IN);
    let leaving = alice.press_only(&first_tab, "/login", &[]).await;
    let pre_login = alice.jar[&key("__Host-sr_l")].clone();
    let at_issuer = alice.follow(leaving).await;
    assert_eq!(
        vault.at_lab(&mut alice, at_issuer, "alice").await.h1(),
        CONSENT
    );
    let first = alice.jar[&key("__Host-sr_s")].clone();
    assert_ne!(first, planted);
    assert!(
        !alice.jar.contains_key(&key("__Host-sr_l")),
        "the pre-login cookie is used up"
    );

    // Its answer is worth nothing a second time, with the pre-login cookie brought back.
    let callback = alice
        .trail
        .iter()
        .find(|url| url.path().starts_with("/login/callback/"))
        .unwrap()
        .clone();
    let mut thief = Browser::new();
    thief.jar.insert(key("__Host-sr_l"), pre_login);
    let refused = come_back(&mut thief, &callback).await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    assert!(!thief.jar.contains_key(&key("__Host-sr_s")));

    // A second login in a second tab makes a second session, and the first is dead from then on.
    let at_issuer = alice.press(&first_tab, "/login", &[]).await;
    assert_eq!(
        vault.at_lab(&mut alice, at_issuer, "alice").await.h1(),
        CONSENT
    );
    assert_ne!(alice.jar[&key("__Host-sr_s")], first);
    let mut with_old = Browser::new();
    with_old.jar.clone_from(&alice.jar);
    with_old.jar.insert(key("__Host-sr_s"), first);
    assert_eq!(with_old.open(&asked.url).await.h1(), SIGN_IN);
    assert_eq!(alice.open(&asked.url).await.h1(), CONSENT);
    vault.stop().await;
}
