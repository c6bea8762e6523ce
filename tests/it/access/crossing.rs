//! AT-121: somebody else's ids on every route that the API description names.

use std::collections::BTreeMap;

use actors::doors::AdminDoor;
use lab::JwtEdits;
use reqwest::Method;
use serde_json::{Value, json};
use storage::Table;

use super::world::{R2, R3, R4, World};
use super::{problem, send, without_id};
use crate::support::{Answered, Browser, RESOURCE, TestVault};

/// One operation of the API description.
struct Operation {
    method: Method,
    path: String,
    open: bool,
}

async fn operations(vault: &TestVault) -> Vec<Operation> {
    let description = send(vault, Method::GET, "/openapi.json", &[], None).await;
    let paths = description.body["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, operations)| {
        operations
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, facts)| (path, method, facts))
    });
    each.filter_map(|(path, method, facts)| {
        let method: Method = method.to_uppercase().parse().ok()?;
        Some(Operation {
            method,
            path: path.clone(),
            open: facts["security"] == json!([]),
        })
    })
    .collect()
}

/// What Alice and `s1` have, and what others want of it.
struct Spoils {
    elicitation: String,
    grant: String,
    state: String,
}

/// A complete and well-formed request of an operation about somebody's ids; `None` where there are none to speak of.
fn request(
    operation: &Operation,
    spoils: &Spoils,
    provider: &str,
    token: &str,
) -> (String, Option<Value>) {
    let id = if operation.path.contains("elicitations") {
        &spoils.elicitation
    } else {
        &spoils.grant
    };
    let path = operation.path.replace("{id}", id);
    let about = |members: Value| {
        let mut body = members;
        body["subject_token"] = token.into();
        Some(body)
    };
    let body = match operation.path.as_str() {
        "/v1/ensure" => about(
            json!({ "provider": provider, "scopes": ["notes.read"], "request_state": spoils.state }),
        ),
        "/v1/elicitations" => about(json!({ "provider": provider, "scopes": ["notes.read"] })),
        "/v1/elicitations/resolve" => about(json!({ "request_state": spoils.state })),
        "/v1/elicitations/{id}/cancel" => about(json!({})),
        "/v1/elicitations/{id}" | "/v1/grants" | "/v1/grants/{id}" => None,
        new => panic!("{new} is new in the API description: say here how it is called"),
    };
    (path, body)
}

async fn call(
    vault: &TestVault,
    operation: &Operation,
    spoils: &Spoils,
    who: (&Option<String>, &str, &str),
) -> Answered {
    let (key, provider, token) = who;
    let (path, body) = request(operation, spoils, provider, token);
    let bearer = key.as_ref().map(|key| format!("Bearer {key}"));
    let mut headers: Vec<(&str, &str)> = bearer
        .iter()
        .map(|bearer| ("authorization", bearer.as_str()))
        .collect();
    match body {
        Some(_) => headers.push(("content-type", "application/json")),
        None => headers.push(("subject-token", token)),
    }
    send(
        vault,
        operation.method.clone(),
        &path,
        &headers,
        body.map(|body| body.to_string().into_bytes()),
    )
    .await
}

/// Every row there is.
async fn everything(vault: &TestVault) -> BTreeMap<(u8, Vec<u8>), (u64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    // What the vault notes about itself, such as the time, changes with every sweep.
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Meta) {
        let rows = vault
            .store
            .scan(table, &[], None, storage::SCAN_MAX)
            .await
            .unwrap();
        all.extend(
            rows.into_iter()
                .map(|row| ((table.number(), row.key), (row.revision.0, row.body))),
        );
    }
    all
}

/// Names and values of headers that may tell something. Whether the connection is kept depends on the request alone.
fn telling(answer: &Answered) -> BTreeMap<String, String> {
    let all = answer
        .headers
        .iter()
        .filter(|(name, _)| *name != "date" && *name != "connection");
    all.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect()
}

async fn spoils(vault: &TestVault) -> Spoils {
    let asked = vault
        .s1
        .ensure_with(
            &vault.token("alice"),
            json!({ "scopes": ["notes.read", "notes.write"] }),
        )
        .await;
    Spoils {
        elicitation: asked.text("/elicitation/id").to_owned(),
        state: asked.text("/request_state").to_owned(),
        grant: vault
            .s1
            .ensure(&vault.token("alice"))
            .await
            .text("/grant/id")
            .to_owned(),
    }
}

#[actix_web::test]
async fn at_121_no_route_opens_without_a_live_key() {
    let world = World::start().await;
    let vault = &world.vault;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let spoils = spoils(vault).await;
    let door = vault.app.vault();
    let revoked = vault.server("s1").await.key;
    door.revoke_key(AdminDoor::begin(door), &revoked[4..16])
        .await
        .unwrap();
    door.set_disabled(AdminDoor::begin(door), &"s4".parse().unwrap(), true)
        .await
        .unwrap();
    let before = everything(vault).await;
    let keys = [
        None,
        Some("srk_nonsense".into()),
        Some(vault.s1.key[..65].into()),
        Some(revoked),
        Some(world.s4.key.clone()),
    ];
    let mut seen: Option<(Value, BTreeMap<String, String>)> = None;
    let operations = operations(vault).await;
    assert_eq!(operations.len(), 11);
    for operation in operations.iter().filter(|operation| !operation.open) {
        for key in &keys {
            let answer = call(
                vault,
                operation,
                &spoils,
                (key, "practice", &vault.token("alice")),
            )
            .await;
            assert_eq!(
                (answer.status, problem(&answer)),
                (401, "unauthenticated"),
                "{} {}",
                operation.method,
                operation.path
            );
            let now = (without_id(&answer), telling(&answer));
            assert_eq!(
                *seen.get_or_insert_with(|| now.clone()),
                now,
                "one answer for every wrong key on every route"
            );
        }
    }
    for operation in operations.iter().filter(|operation| operation.open) {
        let answer = send(vault, operation.method.clone(), &operation.path, &[], None).await;
        assert_eq!(answer.status, 200, "{}", operation.path);
        let text = answer.body.to_string();
        assert!(
            ![&spoils.grant, &spoils.elicitation]
                .iter()
                .any(|id| text.contains(id.as_str()))
        );
    }
    assert_eq!(everything(vault).await, before, "no row was touched");
    for (reason, at_least) in [("revoked-key", 8), ("server-disabled", 8)] {
        assert_eq!(
            vault.audited("caller_refused", reason),
            at_least,
            "{reason}"
        );
    }
    world.stop().await;
}

#[actix_web::test]
async fn at_121_other_peoples_ids_are_like_ids_that_do_not_exist() {
    let world = World::start().await;
    let vault = &world.vault;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let mine = spoils(vault).await;
    let other_client = vault.token_for(
        "alice",
        RESOURCE,
        &JwtEdits::claim("client_id", "another-client"),
    );
    let attackers = [
        (
            "another tenant, same issuer",
            world.s3.key.clone(),
            "practice2",
            world.token("alice", R3),
        ),
        (
            "another tenant, same name at another issuer",
            world.s4.key.clone(),
            "practice2",
            world.token("alice", R4),
        ),
        (
            "another server of the tenant",
            world.s2.key.clone(),
            "practice",
            world.token("alice", R2),
        ),
        (
            "another person",
            vault.s1.key.clone(),
            "practice",
            vault.token("bob"),
        ),
        (
            "another MCP client",
            vault.s1.key.clone(),
            "practice",
            other_client,
        ),
    ];
    let nobody = Spoils {
        elicitation: format!("el_{}", "a".repeat(32)),
        grant: format!("gr_{}", "a".repeat(32)),
        state: "srs1.x".into(),
    };
    for (name, key, provider, token) in attackers {
        let key = Some(key);
        for operation in operations(vault)
            .await
            .iter()
            .filter(|operation| !operation.open)
        {
            // Grants belong to person and server; which client asks makes no difference (product.md, "The subject of a call").
            if name == "another MCP client"
                && (operation.path.starts_with("/v1/grants") || operation.path == "/v1/ensure")
            {
                continue;
            }
            let before = everything(vault).await;
            let answer = call(vault, operation, &mine, (&key, provider, &token)).await;
            let text = answer.body.to_string();
            assert!(
                ![&mine.grant, &mine.elicitation, &mine.state]
                    .iter()
                    .any(|id| text.contains(id.as_str())),
                "{name}: {text}"
            );
            let expected = match operation.path.as_str() {
                "/v1/elicitations" => 201,
                "/v1/grants" => 200,
                "/v1/ensure" | "/v1/elicitations/resolve" => 400,
                _ => 404,
            };
            assert_eq!(
                answer.status, expected,
                "{name}: {} {}: {text}",
                operation.method, operation.path
            );
            if expected < 400 {
                continue;
            }
            let missing = call(vault, operation, &nobody, (&key, provider, &token)).await;
            assert_eq!(
                (without_id(&answer), telling(&answer)),
                (without_id(&missing), telling(&missing)),
                "{name}"
            );
            assert_eq!(
                everything(vault).await,
                before,
                "{name}: {} {}",
                operation.method,
                operation.path
            );
        }
    }
    // Everything is still Alice's.
    let token = vault.token("alice");
    assert_eq!(
        vault
            .s1
            .resolve(&token, &mine.state, json!({}))
            .await
            .text("/state"),
        "issued"
    );
    assert_eq!(vault.s1.ensure(&token).await.text("/grant/id"), mine.grant);
    world.stop().await;
}

#[actix_web::test]
async fn at_121_ids_that_are_no_ids_are_not_found() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let mut seen = None;
    let hex = "0123456789abcdef0123456789abcdef";
    let texts = [
        "x",
        "gr_",
        "el_00",
        "..%2f..",
        "%00",
        "%F0%9F%94%91",
        "gr_%20",
    ]
    .map(String::from)
    .into_iter();
    let close = [
        format!("gr_{hex}0"),
        format!("gr_{}", hex.to_uppercase()),
        format!("GR_{hex}"),
        format!("wh_{hex}"),
        format!("gr_{hex}"),
        format!("el_{hex}"),
        hex.into(),
    ];
    for id in texts.chain(close) {
        for path in [format!("/v1/grants/{id}"), format!("/v1/elicitations/{id}")] {
            let answer = vault
                .s1
                .call(Method::GET, &path, &[("subject-token", &token)], None)
                .await;
            assert_eq!(
                (answer.status, problem(&answer)),
                (404, "not-found"),
                "{path}"
            );
            let now = without_id(&answer);
            assert_eq!(*seen.get_or_insert_with(|| now.clone()), now);
        }
    }
    vault.stop().await;
}
