//! AT-155 in small: canaries in every place where a secret stands, a full walk with refresh, revocation and failures, and
//! then a search: everything on disk, everything logged, everything that was answered. Each secret may stand in the one
//! place where it belongs and nowhere else, in no encoding.

use std::collections::BTreeSet;
use std::path::Path;

use lab::{JwtEdits, Misbehaviour, Reply};
use reqwest::Method;
use serde_json::json;

use super::{header_value, send};
use crate::canary::{Canary, SHORTEST, Search};
use crate::lab_remains::{Role, secrets};
use crate::remains;
use crate::support::{Answered, Browser, RESOURCE, SECRET, TestVault, cookie_value, log};

/// What was answered to servers and browsers, and the secrets that were seen on the way.
#[derive(Default)]
struct Trace {
    api: Vec<Answered>,
    browsers: Vec<Browser>,
    canaries: Vec<Canary>,
}

impl Trace {
    fn note(&mut self, what: &'static str, text: &str) {
        assert!(
            text.len() >= SHORTEST,
            "{what} is too short to be looked for"
        );
        remains::secret(what, text);
        self.canaries.push(Canary::new(what, text));
    }
}

/// Everything goes well: link, walk, release, refresh.
async fn good_days(vault: &TestVault, trace: &mut Trace) {
    let token = vault.token("alice");
    trace.note("subject token", &token);
    let asked = vault.s1.ensure(&token).await;
    trace.note(
        "ticket",
        asked
            .text("/elicitation/connect_url")
            .rsplit('/')
            .next()
            .unwrap(),
    );
    let mut browser = Browser::new();
    let consent = vault
        .sign_in(
            &mut browser,
            asked.text("/elicitation/connect_url"),
            "alice",
        )
        .await;
    let confirm = vault
        .consent(&mut browser, &consent, "alice-at-practice")
        .await;
    assert_eq!(
        browser
            .press(&confirm, "/confirm", &[("mine", "yes")])
            .await
            .h1(),
        "Connected"
    );
    trace.browsers.push(browser);
    trace.api.push(asked);
    for _ in 0..3 {
        let token = vault.token("alice");
        trace.note("subject token", &token);
        let answer = vault.s1.ensure(&token).await;
        trace.note(
            "access token",
            header_value(&answer).trim_start_matches("Bearer "),
        );
        trace.api.push(answer);
        vault.clock.move_s(3601);
    }
}

/// The provider answers with canaries in every way that is wrong.
async fn bad_days(vault: &TestVault, trace: &mut Trace) {
    let canary = "canary-in-a-provider-answer-8c1f";
    trace.note("provider's words", canary);
    let oauth = |status, error: &str| Reply::OauthError {
        status,
        error: error.into(),
        description: Some(canary.into()),
    };
    let html = |status| Reply::Raw {
        status,
        content_type: "text/html".into(),
        headers: vec![("x-note".into(), canary.into())],
        body: format!("<h1>{canary}</h1>"),
    };
    for reply in [
        oauth(400, "made_up"),
        oauth(401, "invalid_client"),
        html(500),
        html(200),
        Reply::Redirect {
            status: 302,
            location: format!("https://evil.test/{canary}"),
        },
        Reply::Cut,
    ] {
        vault
            .provider
            .misbehave(Misbehaviour::default().reply("/token", None, reply));
        trace.api.push(vault.s1.ensure(&vault.token("alice")).await);
    }
    vault
        .provider
        .misbehave(Misbehaviour::default().reply("/token", Some(1), html(500)));
}

/// Wrong people open links, and a code exchange fails.
async fn wrong_people(vault: &TestVault, trace: &mut Trace) {
    for (person, account) in [("bob", "bob-at-practice"), ("bob", "bob-at-practice")] {
        let asked = vault.s1.ensure(&vault.token(person)).await;
        let mut browser = Browser::new();
        let url = asked.text("/elicitation/connect_url").to_owned();
        trace.note("ticket", url.rsplit('/').next().unwrap());
        vault.sign_in(&mut browser, &url, "alice").await;
        let mut browser_of_bob = Browser::new();
        let consent = vault.sign_in(&mut browser_of_bob, &url, person).await;
        let after = vault.consent(&mut browser_of_bob, &consent, account).await;
        if after.form("/deny").is_some() {
            browser_of_bob.press(&after, "/deny", &[]).await;
        }
        trace.browsers.extend([browser, browser_of_bob]);
        trace.api.push(asked);
    }
    vault.provider.behave();
}

/// Requests with secrets where they do not belong.
async fn wrong_requests(vault: &TestVault, trace: &mut Trace) {
    let bad = vault.token_for("alice", RESOURCE, &JwtEdits::claim("exp", 5));
    trace.note("subject token", &bad);
    trace.api.push(vault.s1.ensure(&bad).await);
    let key = &vault.s1.key;
    let headers = [("authorization", key.as_str())];
    trace.api.push(
        send(
            vault,
            Method::GET,
            &format!("/v1/grants?key={key}"),
            &headers,
            None,
        )
        .await,
    );
    let body = json!({ "provider": key, "scopes": [key], "subject_token": bad })
        .to_string()
        .into_bytes();
    let bearer = format!("Bearer {key}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    trace
        .api
        .push(send(vault, Method::POST, "/v1/ensure", &headers, Some(body)).await);
    trace.api.push(
        vault
            .s1
            .resolve(&vault.token("alice"), "srs1.nonsense", json!({}))
            .await,
    );
}

/// The end: a new key, the grant revoked.
async fn last_day(vault: &TestVault, trace: &mut Trace) {
    let token = vault.token("alice");
    let answer = vault.s1.ensure(&token).await;
    trace.note(
        "access token",
        header_value(&answer).trim_start_matches("Bearer "),
    );
    let path = format!("/v1/grants/{}", answer.text("/grant/id"));
    trace.api.push(answer);
    trace.api.push(
        vault
            .s1
            .call(Method::DELETE, &path, &[("subject-token", &token)], None)
            .await,
    );
}

fn collect(vault: &TestVault, trace: &mut Trace) {
    trace.note("client secret", SECRET);
    trace.note("server key", &vault.s1.key);
    trace.note("server key's secret", &vault.s1.key[17..]);
    for (role, lab) in [
        (Role::Issuer, &vault.issuer),
        (Role::Provider, &vault.provider),
    ] {
        trace.canaries.extend(secrets(role, lab));
    }
    for (url, headers, _) in trace.browsers.iter().flat_map(|browser| &browser.heard) {
        let lines = headers.get_all("set-cookie").iter();
        let values = lines.filter_map(|line| cookie_value(line.to_str().ok()?));
        let ours = url.host_str() == Some("localhost");
        trace.canaries.extend(
            values
                .filter(|value| ours && value.len() >= SHORTEST)
                .map(|value| Canary::new("cookie", value)),
        );
    }
    let kinds: BTreeSet<&str> = trace
        .canaries
        .iter()
        .map(|canary| canary.what.as_str())
        .collect();
    assert_eq!(kinds.len(), 17, "every kind of secret was seen: {kinds:?}");
}

/// Searches every file below a folder.
fn search_files(search: &Search, folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search_files(search, &path, found, files);
        } else if path.is_file() && !path.ends_with("lab.secret") {
            *files += 1;
            let (bytes, place) = (std::fs::read(&path).unwrap(), path.display().to_string());
            found.extend(told(search, &bytes, &place, &[]));
        }
    }
}

fn told(search: &Search, hay: &[u8], place: &str, allowed: &[&str]) -> Vec<String> {
    let found = search.hits(hay, allowed);
    found
        .keys()
        .map(|what| format!("{what} in {place}"))
        .collect()
}

fn search_answers(search: &Search, vault: &TestVault, trace: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    for answer in &trace.api {
        let mut body = answer.body.clone();
        // The place for a credential; links stand in several payloads, so tickets are not looked for here at all.
        if let Some(value) = body.pointer_mut("/credential/header/value") {
            *value = json!(null);
        }
        let hay = format!("{:?}\n{body}", answer.headers);
        found.extend(told(
            search,
            hay.as_bytes(),
            "an answer of the api listener",
            &["ticket"],
        ));
    }
    for (url, headers, body) in trace.browsers.iter().flat_map(|browser| &browser.heard) {
        if !url.as_str().starts_with(&vault.connect) {
            continue; // a lab's page
        }
        let place = format!(
            "{:?}",
            url.path_segments().and_then(|mut parts| parts.next())
        );
        let leads_on = [
            "login state",
            "provider state",
            "login nonce",
            "provider nonce",
        ];
        found.extend(told(
            search,
            body.as_bytes(),
            &format!("a page under {place}"),
            &leads_on,
        ));
        for (name, value) in headers {
            let allowed: &[&str] = match name.as_str() {
                "set-cookie" => &["cookie"],
                "location" | "refresh" => &leads_on,
                _ => &[],
            };
            let place = format!("header {name} under {place}");
            found.extend(told(search, value.as_bytes(), &place, allowed));
        }
    }
    found
}

#[actix_web::test]
async fn at_155_no_secret_stands_anywhere_but_in_its_place() {
    let log = log();
    let vault = TestVault::start().await;
    let mut trace = Trace::default();
    vault.issuer.misbehave(Misbehaviour {
        id_token: JwtEdits::claim("canary", "canary-in-an-id-token-51e0"),
        ..Misbehaviour::default()
    });
    trace.note("ID token", "canary-in-an-id-token-51e0");
    good_days(&vault, &mut trace).await;
    bad_days(&vault, &mut trace).await;
    wrong_people(&vault, &mut trace).await;
    wrong_requests(&vault, &mut trace).await;
    last_day(&vault, &mut trace).await;
    vault.app.vault().sweep().await.unwrap();
    let vault = vault.restart().await;
    collect(&vault, &mut trace);
    let search = Search::new(&trace.canaries);
    let (mut found, mut files) = (Vec::new(), 0);
    search_files(&search, &vault.folder(), &mut found, &mut files);
    assert!(
        files >= 4,
        "store, sidecar, audit log and key file were searched: {files}"
    );
    let written = log.written();
    let logged = String::from_utf8_lossy(&written);
    assert!(
        logged.contains("answered") && logged.contains("refused"),
        "something was logged"
    );
    found.extend(told(&search, &written, "the log", &[]));
    found.extend(search_answers(&search, &vault, &trace));
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{found:#?}");
    vault.stop().await;
}
