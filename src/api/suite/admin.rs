//! The admin listener behind a scripted door.

use std::sync::{Arc, Mutex};

use actix_web::http::Method;
use actix_web::test::TestRequest;
use actors::doors::*;
use domain::*;
use secret::{KeyClass, OsEntropy, Reveal as _, ServerKeyText};
use serde_json::json;
use zeroize::Zeroizing;

use super::door::{ctx, receipt};
use super::{Answered, PUBLIC, send};
use crate::admin::ROUTES;
use crate::{AdminAuth, AdminSettings, admin_app};

/// A door for operators that remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Operator(Arc<(ServerKeyText, Mutex<Vec<String>>)>);

impl Operator {
    pub(crate) fn new() -> Self {
        let key = ServerKeyText::generate(KeyClass::Admin, &OsEntropy);
        Self(Arc::new((key, Mutex::default())))
    }

    fn note<T: Send + 'static>(
        &self,
        call: String,
        answer: Result<T, Refusal>,
    ) -> Answer<'static, T> {
        self.0.1.lock().unwrap().push(call);
        Box::pin(std::future::ready(answer))
    }

    fn calls(&self) -> Vec<String> {
        self.0.1.lock().unwrap().clone()
    }

    fn keyed(&self, method: Method, path: &str) -> TestRequest {
        let bearer = format!("Bearer {}", self.0.0.reveal());
        TestRequest::with_uri(path)
            .method(method)
            .insert_header(("Authorization", bearer))
    }

    async fn ask(&self, request: TestRequest) -> Answered {
        let settings = AdminSettings::new(PUBLIC, AdminAuth::Key);
        send(admin_app(Arc::new(self.clone()), settings), request).await
    }
}

impl AdminDoor for Operator {
    fn begin(&self) -> Ctx {
        ctx()
    }

    fn authenticate<'a>(&'a self, _: Ctx, key: &'a str) -> Answer<'a, ()> {
        let known = key == self.0.0.reveal();
        Box::pin(std::future::ready(if known {
            Ok(())
        } else {
            Err(Refusal::Caller)
        }))
    }

    fn servers(&self, _: Ctx) -> Answer<'_, Vec<ServerView>> {
        let view = ServerView {
            slug: ServerSlug::parse("notes").unwrap(),
            tenant: TenantSlug::parse("default").unwrap(),
            name: "Notes".into(),
            issuer: IssuerSlug::parse("corp").unwrap(),
            subject_mode: SubjectMode::Token,
            providers: vec![ProviderSlug::parse("acme-files").unwrap()],
            disabled: false,
            keys: vec![key_view()],
        };
        self.note("servers".into(), Ok(vec![view]))
    }

    fn new_key<'a>(&'a self, _: Ctx, server: &'a ServerSlug) -> Answer<'a, NewKey> {
        let answer = if server.as_str() == "notes" {
            let text = Zeroizing::new("shown once".into());
            Ok(NewKey {
                view: key_view(),
                text,
            })
        } else {
            Err(Refusal::NotFound)
        };
        self.note(format!("new_key {server}"), answer)
    }

    fn new_admin_key<'a>(&'a self, _: Ctx, _: Option<&'a str>) -> Answer<'a, NewKey> {
        let text = Zeroizing::new("shown once".into());
        let view = key_view();
        self.note("new_admin_key".into(), Ok(NewKey { view, text }))
    }

    fn revoke_key<'a>(&'a self, _: Ctx, key: &'a str) -> Answer<'a, KeyView> {
        let revoked = Some(Timestamp::from_seconds(60));
        self.note(
            format!("revoke_key {key}"),
            Ok(KeyView {
                revoked,
                ..key_view()
            }),
        )
    }

    fn set_disabled<'a>(
        &'a self,
        _: Ctx,
        server: &'a ServerSlug,
        disabled: bool,
    ) -> Answer<'a, ()> {
        self.note(format!("set_disabled {server} {disabled}"), Ok(()))
    }

    fn grants(&self, _: Ctx, after: Option<GrantId>, limit: usize) -> Answer<'_, AdminGrantPage> {
        let grant = |n| AdminGrantView {
            id: GrantId::from_bytes([n; 16]),
            tenant: TenantSlug::parse("default").unwrap(),
            server: ServerSlug::parse("notes").unwrap(),
            provider: ProviderSlug::parse("acme-files").unwrap(),
            user: "0123456789abcdef".into(),
            status: GrantStatus::NeedsReconnect,
            created: Timestamp::from_seconds(0),
        };
        let all = [1, 2, 3].map(grant).into_iter();
        let mut grants: Vec<AdminGrantView> = all
            .filter(|grant| after.is_none_or(|after| grant.id > after))
            .collect();
        let more = grants.len() > limit;
        grants.truncate(limit);
        let next = grants.last().filter(|_| more).map(|last| last.id);
        // The second one went away after its place in the index was read.
        grants.retain(|grant| grant.id != GrantId::from_bytes([2; 16]));
        self.note(
            format!("grants {limit}"),
            Ok(AdminGrantPage { grants, next }),
        )
    }

    fn revoke_grant(&self, _: Ctx, id: GrantId) -> Answer<'_, RevocationReceipt> {
        self.note(format!("revoke_grant {id}"), Ok(receipt()))
    }

    fn health(&self) -> HealthView {
        HealthView {
            ready: false,
            store_writable: true,
            commit: 7,
            audit_writable: false,
            actors_replaced: 1,
            version: "0.1.0",
        }
    }
}

fn key_view() -> KeyView {
    KeyView {
        id: "0123456789ab".into(),
        created: Timestamp::from_seconds(0),
        revoked: None,
    }
}

fn address(pattern: &str) -> String {
    let id = if pattern.contains("keys") {
        "0123456789ab".into()
    } else {
        format!("gr_{}", "02".repeat(16))
    };
    pattern.replace("{slug}", "notes").replace("{id}", &id)
}

#[actix_web::test]
async fn every_route_needs_an_admin_key_on_tcp() {
    let operator = Operator::new();
    let server_key = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
    let other = ServerKeyText::generate(KeyClass::Admin, &OsEntropy);
    for route in ROUTES {
        let path = address(route.path);
        for wrong in ["", "Bearer x", server_key.reveal(), other.reveal()] {
            let bearer = format!("Bearer {wrong}");
            let request = TestRequest::with_uri(&path)
                .method(route.method.clone())
                .insert_header(("Authorization", bearer));
            assert_eq!(
                operator.ask(request).await.code(),
                "unauthenticated",
                "{path}"
            );
        }
        assert!(operator.calls().is_empty());
    }
    for route in ROUTES {
        let served = operator
            .ask(operator.keyed(route.method.clone(), &address(route.path)))
            .await;
        let good = served.status.is_success() || route.path == "/readyz";
        assert!(good, "{} {}", route.path, served.text);
    }
}

#[actix_web::test]
async fn without_our_own_socket_nobody_is_a_checked_peer() {
    let settings = AdminSettings::new(PUBLIC, AdminAuth::PeerChecked);
    let operator = Operator::new();
    let app = admin_app(Arc::new(operator.clone()), settings);
    let answer = send(app, operator.keyed(Method::GET, "/v1/servers")).await;
    assert_eq!(answer.code(), "unauthenticated");
    assert!(operator.calls().is_empty());
}

#[actix_web::test]
async fn answers_read_as_operators_expect() {
    let operator = Operator::new();
    let key =
        json!({"id": "0123456789ab", "created_at": "1970-01-01T00:00:00Z", "revoked_at": null});
    let servers = operator
        .ask(operator.keyed(Method::GET, "/v1/servers"))
        .await
        .json();
    assert_eq!(
        servers,
        json!({"servers": [{
            "slug": "notes", "tenant": "default", "name": "Notes", "issuer": "corp", "subject_mode": "token",
            "providers": ["acme-files"], "disabled": false, "keys": [key],
        }]})
    );
    let fresh = operator
        .ask(operator.keyed(Method::POST, "/v1/servers/notes/keys"))
        .await;
    assert_eq!(fresh.status, 201);
    assert_eq!(fresh.json(), json!({"key": key, "secret": "shown once"}));
    let revoked = operator
        .ask(operator.keyed(Method::DELETE, "/v1/keys/0123456789ab"))
        .await
        .json();
    assert_eq!(revoked["revoked_at"], "1970-01-01T00:01:00Z");
    for (verb, disabled) in [("disable", true), ("enable", false)] {
        let path = format!("/v1/servers/notes/{verb}");
        let answer = operator
            .ask(operator.keyed(Method::POST, &path).set_payload("{}"))
            .await;
        assert_eq!(
            answer.json(),
            json!({"server": "notes", "disabled": disabled})
        );
    }
    let ready = operator.ask(operator.keyed(Method::GET, "/readyz")).await;
    assert_eq!(
        (ready.status.as_u16(), ready.header("Retry-After")),
        (503, "2")
    );
    assert_eq!(
        ready.json(),
        json!({
            "status": "not_ready", "store_writable": true, "commit": 7, "audit_writable": false,
            "actors_replaced": 1, "version": "0.1.0",
        })
    );
}

#[actix_web::test]
async fn grants_come_page_by_page() {
    let operator = Operator::new();
    let mut path = String::from("/v1/grants?limit=2");
    let mut pages = Vec::new();
    loop {
        let page = operator
            .ask(operator.keyed(Method::GET, &path))
            .await
            .json();
        pages.push(page["grants"].as_array().unwrap().len());
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/v1/grants?limit=2&after={next}");
    }
    assert_eq!(pages, [1, 1], "a page that is short by one is not the last");
    for query in [
        "limit=0",
        "limit=-1",
        "limit=1001",
        "limit=1e3",
        "limit=",
        "after=x",
        "after=",
        "sort=user",
        "limit=1&limit=1",
    ] {
        let answer = operator
            .ask(operator.keyed(Method::GET, &format!("/v1/grants?{query}")))
            .await;
        assert_eq!(answer.code(), "invalid-request", "{query}");
    }
}

#[actix_web::test]
async fn names_that_cannot_be_are_not_found_and_bodies_are_empty() {
    let operator = Operator::new();
    for (method, path) in [
        (Method::DELETE, "/v1/keys/short"),
        (Method::DELETE, "/v1/keys/0123456789%2F"),
        (Method::DELETE, "/v1/grants/el_1"),
        (Method::POST, "/v1/servers/Notes/keys"),
        (Method::POST, "/v1/servers/other/keys"),
        (Method::GET, "/v1/ensure"),
    ] {
        assert_eq!(
            operator.ask(operator.keyed(method, path)).await.code(),
            "not-found",
            "{path}"
        );
    }
    let body = operator
        .keyed(Method::POST, "/v1/servers/notes/disable")
        .set_payload(r#"{"disabled":false}"#);
    assert_eq!(operator.ask(body).await.code(), "invalid-request");
    let origin = operator
        .keyed(Method::GET, "/v1/servers")
        .insert_header(("Origin", "http://127.0.0.1"));
    assert_eq!(operator.ask(origin).await.code(), "browser-request");
    assert!(
        operator.calls().iter().all(|call| call == "new_key other"),
        "{:?}",
        operator.calls()
    );
}

#[actix_web::test]
async fn a_key_is_not_made_with_an_idempotency_key_that_would_be_ignored() {
    let operator = Operator::new();
    let request = operator
        .keyed(Method::POST, "/v1/servers/notes/keys")
        .insert_header(("Idempotency-Key", "again"));
    let answer = operator.ask(request).await;
    assert_eq!(answer.code(), "invalid-request");
    assert_eq!(answer.places(), ["Idempotency-Key"]);
    assert!(operator.calls().is_empty());
}
