//! Forms that were not sent from our own page by this person for this deed (C7).

use reqwest::{Method, StatusCode, Url};

use super::{CONSENT, SIGN_IN, ask, is_mismatch, rows, state};
use crate::support::{Browser, Page, TestVault, encode};

const FORM: &str = "application/x-www-form-urlencoded";

/// Headers of a post, as a browser or nobody's browser would send them.
struct Post<'a> {
    site: Option<&'a str>,
    origin: Option<&'a str>,
    kind: &'a str,
}

impl Post<'_> {
    async fn send(&self, browser: &mut Browser, url: &Url, body: &str) -> Page {
        let mut headers = vec![("content-type", self.kind)];
        if let Some(site) = self.site {
            headers.extend([
                ("sec-fetch-site", site),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ]);
        }
        headers.extend(self.origin.map(|origin| ("origin", origin)));
        browser
            .send(Method::POST, url, &headers, Some(body.to_owned()))
            .await
    }
}

#[actix_web::test]
async fn at_058_consent_is_not_given_by_other_sites() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "bob").await;
    let mut bob = Browser::new();
    let consent = vault.sign_in(&mut bob, &asked.url, "bob").await;
    let (action, mut fields) = consent.form("/consent").unwrap();
    fields.push(("agree".to_owned(), "yes".to_owned()));
    let (good, ours) = (encode(&fields), vault.connect.clone());
    let ours = Some(ours.as_str());
    let evil = Some("https://evil.example");
    let posts = [
        Post {
            site: Some("cross-site"),
            origin: evil,
            kind: FORM,
        },
        Post {
            site: Some("cross-site"),
            origin: ours,
            kind: FORM,
        },
        Post {
            site: Some("same-site"),
            origin: Some("http://evil.localhost"),
            kind: FORM,
        },
        Post {
            site: Some("same-site"),
            origin: ours,
            kind: FORM,
        },
        Post {
            site: Some("none"),
            origin: None,
            kind: FORM,
        },
        Post {
            site: Some("same-origin"),
            origin: evil,
            kind: FORM,
        },
        Post {
            site: Some("same-origin"),
            origin: Some("null"),
            kind: FORM,
        },
        Post {
            site: None,
            origin: Some("null"),
            kind: FORM,
        },
        Post {
            site: None,
            origin: evil,
            kind: FORM,
        },
        Post {
            site: None,
            origin: None,
            kind: FORM,
        },
        Post {
            site: Some("cross-site"),
            origin: evil,
            kind: "text/plain",
        },
    ];
    let before = rows(&vault).await;
    for post in posts {
        let page = post.send(&mut bob, &action, &good).await;
        assert_eq!(
            page.status,
            StatusCode::FORBIDDEN,
            "{:?} {:?}",
            post.site,
            post.origin
        );
        assert!(page.next().is_none());
    }
    assert_eq!(rows(&vault).await, before);
    assert!(vault.audited("form_refused", "other-origin") >= 10);
    untouched(&vault, &asked, &mut bob, &consent).await;

    // An old browser that says only where it is from is believed.
    let old = Post {
        site: None,
        origin: ours,
        kind: FORM,
    }
    .send(&mut bob, &action, &good)
    .await;
    assert_eq!(old.status, StatusCode::SEE_OTHER);
    vault.stop().await;
}

#[actix_web::test]
async fn at_058_consent_is_not_given_by_other_forms() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "bob").await;
    let mut bob = Browser::new();
    let consent = vault.sign_in(&mut bob, &asked.url, "bob").await;
    let (action, _) = consent.form("/consent").unwrap();
    let other = ask(&vault, "bob").await;
    let other_flow = bob.open(&other.url).await;
    let mut elsewhere = Browser::new();
    let other_session = vault.sign_in(&mut elsewhere, &asked.url, "bob").await;
    let token = |page: &Page, deed: &str| {
        page.form(deed)
            .unwrap()
            .1
            .into_iter()
            .find(|(name, _)| name == "csrf")
            .unwrap()
            .1
    };
    let foreign = [
        String::new(),
        "A".repeat(43),
        token(&other_flow, "/consent"),
        token(&other_session, "/consent"),
        token(&consent, "/decline"),
        token(&consent, "/session/end"),
    ];
    let ours = vault.connect.clone();
    let own = Post {
        site: Some("same-origin"),
        origin: Some(&ours),
        kind: FORM,
    };
    let before = rows(&vault).await;
    for csrf in foreign {
        let page = own
            .send(&mut bob, &action, &format!("csrf={csrf}&agree=yes"))
            .await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{csrf}");
    }
    assert_eq!(
        own.send(&mut bob, &action, "agree=yes").await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(vault.audited("form_refused", "form-token"), 7);

    // Forms that no page of ours has.
    let csrf = token(&consent, "/consent");
    for (kind, body, status) in [
        ("text/plain", format!("csrf={csrf}&agree=yes"), 415),
        (
            "application/json",
            format!("{{\"csrf\":\"{csrf}\",\"agree\":\"yes\"}}"),
            415,
        ),
        (
            "multipart/form-data; boundary=x",
            format!("--x\r\n\r\n{csrf}\r\n--x--"),
            415,
        ),
        (FORM, format!("csrf={csrf}&agree=yes&_method=PUT"), 400),
        (FORM, format!("csrf={csrf}&csrf={csrf}&agree=yes"), 400),
        (
            FORM,
            format!("csrf={csrf}&agree=yes&scope=notes.write"),
            400,
        ),
    ] {
        let page = Post {
            site: Some("same-origin"),
            origin: Some(&ours),
            kind,
        }
        .send(&mut bob, &action, &body)
        .await;
        assert_eq!(page.status.as_u16(), status, "{body}");
    }
    let query: Url = format!("{action}?csrf={csrf}&agree=yes").parse().unwrap();
    assert_eq!(
        own.send(&mut bob, &query, "").await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        bob.visit(&action, "same-origin").await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(rows(&vault).await, before);
    untouched(&vault, &asked, &mut bob, &consent).await;

    // The right one works once.
    let good = format!("csrf={csrf}&agree=yes");
    assert_eq!(
        own.send(&mut bob, &action, &good).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        own.send(&mut bob, &action, &good).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(vault.audited("consent_given", "ok"), 1);
    vault.stop().await;
}

/// Nothing has happened to the elicitation, and the page is still the question.
async fn untouched(vault: &TestVault, asked: &super::Asked, browser: &mut Browser, consent: &Page) {
    assert_eq!(state(vault, asked).await, "signed_in");
    assert_eq!(vault.audited("consent_given", "ok"), 0);
    assert!(vault.provider.recorded().is_empty());
    let page = browser.open(consent.url.as_str()).await;
    assert_eq!(
        (page.h1().as_str(), page.form("/consent")),
        (CONSENT, consent.form("/consent"))
    );
}

#[actix_web::test]
async fn a_login_is_not_started_by_other_sites_or_other_browsers() {
    let vault = TestVault::start().await;
    let asked = ask(&vault, "alice").await;
    let mut alice = Browser::new();
    let page = alice.open(&asked.url).await;
    let (action, fields) = page.form("/login").unwrap();
    let evil = Post {
        site: Some("cross-site"),
        origin: Some("https://evil.example"),
        kind: FORM,
    };
    assert_eq!(
        evil.send(&mut alice, &action, &encode(&fields))
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    let own = Post {
        site: Some("same-origin"),
        origin: Some(&vault.connect),
        kind: FORM,
    };
    let mut stranger = Browser::new();
    super::is_gone(&own.send(&mut stranger, &action, &encode(&fields)).await);
    assert!(
        own.send(&mut alice, &action, "csrf=AAAA")
            .await
            .status
            .is_client_error()
    );
    assert!(
        !alice
            .jar
            .keys()
            .chain(stranger.jar.keys())
            .any(|(_, name)| name == "__Host-sr_l")
    );
    assert_eq!(vault.issuer.count("/authorize"), 0);
    vault.stop().await;
}

#[actix_web::test]
async fn signing_out_ends_the_session_and_the_flow_goes_on_with_somebody_else() {
    let vault = TestVault::start().await;
    let mut shared = super::signed_in(&vault, "bob").await;
    let asked = ask(&vault, "alice").await;
    let mismatch = shared.open(&asked.url).await;
    is_mismatch(&mismatch);
    let key = ("localhost".to_owned(), "__Host-sr_s".to_owned());
    let bobs = shared.jar[&key].clone();
    let out = shared.press(&mismatch, "/session/end", &[]).await;
    assert_eq!(out.h1(), SIGN_IN);
    assert!(!shared.jar.contains_key(&key));
    assert_eq!(vault.audited("signed_out", "ok"), 1);
    shared.jar.insert(key.clone(), bobs);
    assert_eq!(
        shared.open(out.url.as_str()).await.h1(),
        SIGN_IN,
        "the old session is dead"
    );
    shared.jar.remove(&key);
    shared
        .open(&format!("{}/logout", vault.issuer.base_url()))
        .await;
    let at_issuer = shared.press(&out, "/login", &[]).await;
    assert_eq!(
        vault.at_lab(&mut shared, at_issuer, "alice").await.h1(),
        CONSENT
    );

    // Not by a form of another site, and not by one of another page.
    let consent = shared.open(out.url.as_str()).await;
    let (action, fields) = consent.form("/session/end").unwrap();
    let evil = Post {
        site: Some("cross-site"),
        origin: Some("https://evil.example"),
        kind: FORM,
    };
    assert_eq!(
        evil.send(&mut shared, &action, &encode(&fields))
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    let own = Post {
        site: Some("same-origin"),
        origin: Some(&vault.connect),
        kind: FORM,
    };
    assert_eq!(
        own.send(&mut shared, &action, "").await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(shared.open(out.url.as_str()).await.h1(), CONSENT);
    vault.stop().await;
}
