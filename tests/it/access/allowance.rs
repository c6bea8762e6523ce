//! C3 and asserted subjects: a server gets what its operator allowed it, and names people only where it may.

use reqwest::Method;
use serde_json::{Value, json};

use super::world::{R2, R3, World};
use super::{audited_for, grants, problem, without_id};
use crate::encoding::base64url;
use crate::support::{Answered, Browser, McpServer, Setup, TestVault};

fn not_permitted(vault: &TestVault, answer: &Answered, code: &str, outcome: &str) {
    assert_eq!(
        (answer.status, problem(answer)),
        (403, code),
        "{}",
        answer.body
    );
    let entries = audited_for(vault, answer);
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        (&entries[0]["action"], &entries[0]["outcome"]),
        (&json!("request_not_permitted"), &json!(outcome))
    );
    assert!(entries[0]["user"].is_string());
}

#[actix_web::test]
async fn a_server_gets_only_the_providers_and_scopes_it_is_allowed() {
    let world = World::start().await;
    let (vault, s1) = (&world.vault, &world.vault.s1);
    let token = vault.token("alice");
    let asked = |over: Value| {
        let token = token.clone();
        async move { s1.ensure_with(&token, over).await }
    };
    // A provider of another tenant looks like one that does not exist.
    let foreign = asked(json!({ "provider": "practice2" })).await;
    let missing = asked(json!({ "provider": "no-such-provider" })).await;
    not_permitted(vault, &foreign, "provider-not-permitted", "provider");
    not_permitted(vault, &missing, "provider-not-permitted", "provider");
    assert_eq!(without_id(&foreign), without_id(&missing));
    // The same on the call that only makes an elicitation.
    let body = json!({ "provider": "practice2", "scopes": ["notes.read"], "subject_token": token });
    let made = s1
        .call(Method::POST, "/v1/elicitations", &[], Some(body))
        .await;
    not_permitted(vault, &made, "provider-not-permitted", "provider");
    // `s2` has a smaller allowance than `s1` at the same provider; case matters.
    for scopes in [
        json!(["notes.write"]),
        json!(["notes.read", "notes.write"]),
        json!(["NOTES.READ"]),
        json!(["notes.*"]),
    ] {
        let answer = world
            .s2
            .ensure_with(&world.token("alice", R2), json!({ "scopes": scopes }))
            .await;
        not_permitted(vault, &answer, "scopes-not-permitted", "scopes");
        assert!(
            !answer.body["missing"]
                .as_array()
                .unwrap()
                .contains(&json!("notes.read")),
            "{}",
            answer.body
        );
    }
    // Allowed there, but never at `s3`, which has another provider for the same thing.
    let s3 = world
        .s3
        .ensure_with(&world.token("alice", R3), json!({ "provider": "practice" }))
        .await;
    not_permitted(vault, &s3, "provider-not-permitted", "provider");
    assert_eq!(vault.audited("elicitation_created", "ok"), 0);
    world.stop().await;
}

#[actix_web::test]
async fn one_servers_grant_is_of_no_use_to_another() {
    let world = World::start().await;
    let vault = &world.vault;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let s2 = world.s2.ensure(&world.token("alice", R2)).await;
    assert_eq!(
        s2.text("/status"),
        "elicit",
        "same person, same provider, another server"
    );
    assert_eq!(
        grants(&world.s2, &world.token("alice", R2)).await.body,
        json!({ "grants": [] })
    );
    assert_eq!(
        grants(&vault.s1, &vault.token("bob")).await.body,
        json!({ "grants": [] })
    );
    assert_eq!(
        vault.s1.ensure(&vault.token("bob")).await.text("/status"),
        "elicit"
    );
    // More than was granted asks the person again, for both together.
    let more = vault
        .s1
        .ensure_with(&vault.token("alice"), json!({ "scopes": ["notes.write"] }))
        .await;
    assert_eq!(more.text("/status"), "elicit");
    assert_eq!(
        more.body["elicitation"]["scopes"],
        json!(["notes.read", "notes.write"])
    );
    assert_eq!(
        vault.s1.ensure(&vault.token("alice")).await.text("/status"),
        "connected",
        "the grant goes on meanwhile"
    );
    world.stop().await;
}

fn assertion(vault: &TestVault, iss: &str, sub: &str) -> Value {
    let iss = if iss.is_empty() {
        vault.issuer.base_url()
    } else {
        iss
    };
    json!({ "iss": iss, "sub": sub })
}

async fn ensure_about(server: &McpServer, subject: Value, client: &str) -> Answered {
    let body = json!({ "provider": "practice", "scopes": ["notes.read"], "subject": subject, "mcp": { "client_id": client } });
    server
        .call(Method::POST, "/v1/ensure", &[], Some(body))
        .await
}

#[actix_web::test]
async fn subjects_are_asserted_only_where_the_operator_allowed_it() {
    let world = World::start().await;
    let vault = &world.vault;
    // `s1` may not, in body or head, and hears the same as for a bad token.
    let answer = ensure_about(&vault.s1, assertion(vault, "", "alice"), "c").await;
    assert_eq!(
        (answer.status, problem(&answer)),
        (403, "subject-token-invalid")
    );
    assert_eq!(audited_for(vault, &answer)[0]["outcome"], "assertion");
    let head = base64url(assertion(vault, "", "alice").to_string().as_bytes());
    let answer = vault
        .s1
        .call(
            Method::GET,
            "/v1/grants",
            &[("subject-assertion", &head)],
            None,
        )
        .await;
    assert_eq!(
        (answer.status, problem(&answer)),
        (403, "subject-token-invalid")
    );
    // `s2` may, about people of its issuer.
    let asked = ensure_about(&world.s2, assertion(vault, "", "alice"), "c").await;
    assert_eq!(asked.text("/status"), "elicit", "{}", asked.body);
    let created = vault
        .audit()
        .into_iter()
        .rev()
        .find(|entry| entry["action"] == "elicitation_created")
        .unwrap();
    assert_eq!(created["server"], "s2");
    for iss in [
        world.j.base_url(),
        "https://evil.test",
        &format!("{}/", vault.issuer.base_url()),
    ] {
        let answer = ensure_about(&world.s2, assertion(vault, iss, "alice"), "c").await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (403, "subject-token-invalid"),
            "{iss}"
        );
    }
    // Both at once, none at all, and members that nobody asked for are faults of the request.
    let token = world.token("alice", R2);
    let both = json!({ "provider": "practice", "scopes": ["notes.read"], "subject": assertion(vault, "", "alice"), "subject_token": token });
    let wrong = [
        both,
        json!({ "provider": "practice", "scopes": ["notes.read"] }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject": { "iss": "x" } }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject": { "iss": "x", "sub": "a", "email": "a@b.c" } }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject": { "iss": "x", "sub": 1 } }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject": { "iss": "x", "sub": "" } }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject": { "iss": "x", "sub": "a".repeat(256) } }),
        json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token, "mcp": { "client_id": "c" } }),
    ];
    for body in wrong {
        let answer = world
            .s2
            .call(Method::POST, "/v1/ensure", &[], Some(body.clone()))
            .await;
        assert_eq!(
            (answer.status, problem(&answer)),
            (400, "invalid-request"),
            "{body}"
        );
    }
    world.stop().await;
}

#[actix_web::test]
async fn asserted_releases_are_marked_and_name_the_same_person() {
    let world = World::start_with(Setup::default()).await;
    let vault = &world.vault;
    let id = world
        .connect(&world.s2, ("alice", "alice-at-practice"), R2)
        .await;
    let got = ensure_about(&world.s2, assertion(vault, "", "alice"), "c").await;
    assert_eq!(
        (got.text("/status"), got.text("/grant/id")),
        ("connected", id.as_str()),
        "{}",
        got.body
    );
    let released: Vec<Value> = vault
        .audit()
        .into_iter()
        .filter(|entry| entry["action"] == "credential_released")
        .collect();
    let evidence: Vec<&str> = released
        .iter()
        .filter_map(|entry| entry["evidence"].as_str())
        .collect();
    assert_eq!(evidence, ["token", "asserted"]);
    assert_eq!(released[0]["user"], released[1]["user"]);
    assert_eq!(
        ensure_about(&world.s2, assertion(vault, "", "bob"), "c")
            .await
            .text("/status"),
        "elicit"
    );
    // Another client of the same person sees her grants (they are hers and the server's) but not the other's elicitations.
    let asked = ensure_about(&world.s2, assertion(vault, "", "bob"), "client-one").await;
    let path = format!("/v1/elicitations/{}", asked.text("/elicitation/id"));
    for (client, status) in [("client-one", 200), ("client-two", 404)] {
        let about = json!({ "iss": vault.issuer.base_url(), "sub": "bob", "client_id": client })
            .to_string();
        let head = base64url(about.as_bytes());
        let answer = world
            .s2
            .call(Method::GET, &path, &[("subject-assertion", &head)], None)
            .await;
        assert_eq!(answer.status, status, "{client}: {}", answer.body);
    }
    world.stop().await;
}
