//! AT-112, AT-113 and AT-116: a requestState selects a row and authorises nothing.

use lab::JwtEdits;
use reqwest::Method;
use serde_json::{Value, json};

use super::{audited_for, problem, without_id};
use crate::encoding::{base64url, from_base64url};
use crate::support::{Answered, McpServer, RESOURCE, TestVault};

const D1: &str = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
const D2: &str = "ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs";

/// Asks for an elicitation; gives its requestState and id.
async fn elicited(server: &McpServer, token: &str, over: Value) -> (String, String) {
    let answer = server.ensure_with(token, over).await;
    assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
    (
        answer.text("/request_state").to_owned(),
        answer.text("/elicitation/id").to_owned(),
    )
}

/// Checks that a state is refused in the one way with this reason in the audit log, and gives the audit entry.
fn refused(vault: &TestVault, answer: &Answered, reason: &str) -> Value {
    assert_eq!(
        (answer.status, problem(answer)),
        (400, "request-state-invalid"),
        "{reason}: {}",
        answer.body
    );
    let entries = audited_for(vault, answer);
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        (&entries[0]["action"], &entries[0]["outcome"]),
        (&json!("state_refused"), &json!(reason))
    );
    entries[0].clone()
}

async fn state_of(server: &McpServer, token: &str, id: &str) -> String {
    let answer = server
        .call(
            Method::GET,
            &format!("/v1/elicitations/{id}"),
            &[("subject-token", token)],
            None,
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.text("/state").to_owned()
}

/// Every text that differs from a good state by one accident or attack.
fn mutations(state: &str) -> Vec<String> {
    let body = state.strip_prefix("srs1.").unwrap();
    let bytes = from_base64url(body);
    let mut all = Vec::new();
    for at in 0..bytes.len() {
        // One bit of each byte, a different one each time; every bit of the header.
        let bits = if at < 8 { 0..8 } else { at % 8..at % 8 + 1 };
        for bit in bits {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            all.push(format!("srs1.{}", base64url(&flipped)));
        }
    }
    for at in (0..bytes.len()).step_by(5) {
        let mut without = bytes.clone();
        without.remove(at);
        let mut with = bytes.clone();
        with.insert(at, 0);
        all.extend(
            [&without, &with, &bytes[..at].to_vec()]
                .map(|bytes| format!("srs1.{}", base64url(bytes))),
        );
    }
    for at in 0..state.len() {
        if at % 7 == 0 {
            all.push(state[..at].to_owned());
        }
    }
    all.extend(
        ["=", "A", "AAAA", " ", "\n", ".", "%3D", "\u{0}"].map(|end| format!("{state}{end}")),
    );
    all.extend(
        ["", " ", "\u{feff}", "srs1."]
            .map(|start| format!("{start}{state}"))
            .into_iter()
            .skip(1),
    );
    all.extend(["srs2.", "SRS1.", "rs1.", "srs1", ""].map(|prefix| format!("{prefix}{body}")));
    all.push(format!("srs1.{}", body.replace('-', "+").replace('_', "/")));
    all.push(format!("srs1.{}", crate::encoding::base64(&bytes)));
    all.push(state.to_uppercase());
    all.push(format!("srs1.{}", crate::encoding::hex(&bytes)));
    all.push("x".repeat(60_000));
    all.push("\u{1f511}".repeat(100));
    all.retain(|text| text != state);
    // The last digit of base64url may carry bits that mean nothing; they must be zero.
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if !bytes.len().is_multiple_of(3) {
        let last = digits
            .iter()
            .position(|digit| *digit == state.as_bytes()[state.len() - 1])
            .unwrap();
        all.push(format!(
            "{}{}",
            &state[..state.len() - 1],
            char::from(digits[last ^ 1])
        ));
    }
    all
}

#[actix_web::test]
async fn at_112_a_state_with_any_change_is_refused_uniformly() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let (state, id) = elicited(&vault.s1, &token, json!({})).await;
    let lengths = [
        state.len(),
        elicited(
            &vault.s1,
            &token,
            json!({ "scopes": ["notes.read", "notes.write"] }),
        )
        .await
        .0
        .len(),
    ];
    assert_eq!(lengths[0], lengths[1], "the length says nothing");
    let all = mutations(&state);
    assert!(all.len() > 400, "{}", all.len());
    let audited = vault.audit().len();
    let commits = vault.store.commit_number();
    let mut body = None;
    for chunk in all.chunks(32) {
        let calls = chunk
            .iter()
            .map(|text| vault.s1.resolve(&token, text, json!({})));
        for (answer, text) in futures_util::future::join_all(calls)
            .await
            .into_iter()
            .zip(chunk)
        {
            assert_eq!(
                (answer.status, problem(&answer)),
                (400, "request-state-invalid"),
                "{text}"
            );
            let uniform = without_id(&answer);
            assert_eq!(
                body.get_or_insert_with(|| uniform.clone()),
                &uniform,
                "{text}"
            );
        }
    }
    // "Not ours" is said before any row is looked for.
    let entries = vault.audit().split_off(audited);
    assert_eq!(entries.len(), all.len());
    assert!(
        entries
            .iter()
            .all(|entry| entry["outcome"] == "not-ours" && entry.get("elicitation").is_none())
    );
    assert_eq!(vault.store.commit_number(), commits);
    // `ensure` refuses in the same way.
    for text in all.iter().step_by(97) {
        let answer = vault
            .s1
            .ensure_with(&token, json!({ "request_state": text }))
            .await;
        assert_eq!(without_id(&answer), *body.as_ref().unwrap());
    }
    let good = vault.s1.resolve(&token, &state, json!({})).await;
    assert_eq!((good.status, good.text("/id")), (200, id.as_str()));
    vault.stop().await;
}

#[actix_web::test]
async fn at_113_a_state_presented_by_another_person_is_refused() {
    let vault = TestVault::start().await;
    let (alice, bob) = (vault.token("alice"), vault.token("bob"));
    let (state, id) = elicited(&vault.s1, &alice, json!({})).await;
    let entry = refused(
        &vault,
        &vault.s1.resolve(&bob, &state, json!({})).await,
        "other-principal",
    );
    let created = vault
        .audit()
        .into_iter()
        .find(|entry| entry["action"] == "elicitation_created")
        .unwrap();
    assert_eq!(entry["user"], created["user"], "whose state it is");
    assert!(
        entry["other_user"].is_string() && entry["other_user"] != entry["user"],
        "who presented it: {entry}"
    );
    assert_eq!(entry["elicitation"], id);
    let in_ensure = vault
        .s1
        .ensure_with(&bob, json!({ "request_state": state }))
        .await;
    refused(&vault, &in_ensure, "other-principal");
    // Nor can Bob take it back or say no for Alice.
    let no = json!({ "request_state": state, "input_responses": { "connect:practice": { "action": "decline" } } });
    refused(
        &vault,
        &vault.s1.ensure_with(&bob, no).await,
        "other-principal",
    );
    assert_eq!(state_of(&vault.s1, &alice, &id).await, "issued");
    assert_eq!(
        vault
            .s1
            .resolve(&alice, &state, json!({}))
            .await
            .text("/id"),
        id
    );
    vault.stop().await;
}

#[actix_web::test]
async fn at_113_a_state_presented_through_another_client_or_provider_is_refused() {
    let world = super::world::World::start().await;
    let vault = &world.vault;
    let alice = vault.token("alice");
    let (state, id) = elicited(&vault.s1, &alice, json!({})).await;
    for client in [
        json!("another-client"),
        Value::Null,
        json!("Practice-Mcp-Client"),
    ] {
        let other = vault.token_for("alice", RESOURCE, &JwtEdits::claim("client_id", client));
        refused(
            vault,
            &vault.s1.resolve(&other, &state, json!({})).await,
            "other-principal",
        );
    }
    // `azp` is a client, too, but not this one.
    let azp = vault.token_for(
        "alice",
        RESOURCE,
        &JwtEdits::claim("client_id", Value::Null).and_claim("azp", "practice-mcp-client"),
    );
    assert_eq!(
        vault.s1.resolve(&azp, &state, json!({})).await.text("/id"),
        id,
        "the same client by its other name"
    );
    // Another server of the same tenant, and one of another: the state is sealed for one server.
    let s2 = world
        .s2
        .resolve(&world.token("alice", super::world::R2), &state, json!({}))
        .await;
    refused(vault, &s2, "not-ours");
    let s3 = world
        .s3
        .resolve(&world.token("alice", super::world::R3), &state, json!({}))
        .await;
    refused(vault, &s3, "not-ours");
    assert_eq!(state_of(&vault.s1, &alice, &id).await, "issued");
    world.stop().await;
}

#[actix_web::test]
async fn at_116_a_state_for_another_request_is_refused() {
    let vault = TestVault::start().await;
    let token = vault.token("alice");
    let digest = |digest: &str| json!({ "mcp": { "request_digest": digest } });
    let (bound, id) = elicited(&vault.s1, &token, digest(D1)).await;
    let (free, _) = elicited(&vault.s1, &token, json!({})).await;
    let longer = D1.replace('4', "5");
    for (state, over) in [
        (&bound, digest(D2)),
        (&bound, json!({})),
        (&bound, digest(&longer)),
        (&free, digest(D1)),
    ] {
        refused(
            &vault,
            &vault.s1.resolve(&token, state, over.clone()).await,
            "other-principal",
        );
        let mut with_state = over;
        with_state["request_state"] = state.as_str().into();
        refused(
            &vault,
            &vault.s1.ensure_with(&token, with_state).await,
            "other-principal",
        );
    }
    assert_eq!(
        vault
            .s1
            .resolve(&token, &bound, digest(D1))
            .await
            .text("/id"),
        id
    );
    assert_eq!(vault.s1.resolve(&token, &free, json!({})).await.status, 200);
    let mut again = digest(D1);
    again["request_state"] = bound.into();
    assert_eq!(
        vault.s1.ensure_with(&token, again).await.text("/status"),
        "waiting"
    );
    vault.stop().await;
}

#[actix_web::test]
async fn at_116_a_state_ends_with_its_elicitation() {
    let vault = TestVault::start().await;
    let (state, id) = elicited(&vault.s1, &vault.token("alice"), json!({})).await;
    vault.clock.move_s(16 * 60);
    let token = vault.token("alice");
    assert_eq!(
        vault
            .s1
            .resolve(&token, &state, json!({}))
            .await
            .text("/state"),
        "expired"
    );
    assert_eq!(state_of(&vault.s1, &token, &id).await, "expired");
    vault.clock.move_s(15 * 60);
    refused(
        &vault,
        &vault
            .s1
            .resolve(&vault.token("alice"), &state, json!({}))
            .await,
        "not-ours",
    );
    vault.stop().await;
}
