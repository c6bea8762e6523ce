//! AT-104: whose word counts, and what happens while the issuer cannot be asked.

use lab::{JwtEdits, Misbehaviour, Signing};
use reqwest::Method;
use serde_json::{Value, json};
use storage::{Table, Write};

use super::tokens::{accepted, refused};
use super::world::{R3, R4, World};
use super::{audited_for, problem};
use crate::support::{Browser, RESOURCE, TestVault};

/// Makes the vault believe that its issuer had another address when it was set up.
async fn remember_other_address(vault: &TestVault) {
    let row = vault.store.read(Table::Meta, b"issuer/corp").await.unwrap();
    let row = row.unwrap();
    let mut body: Value = serde_json::from_slice(&row.body).unwrap();
    body["url"] = json!("https://typo.test");
    let write = Write::Put {
        table: Table::Meta,
        key: row.key,
        expected: row.revision,
        body: body.to_string().into_bytes(),
    };
    vault.store.commit(vec![write]).await.unwrap();
}

#[actix_web::test]
async fn an_issuer_may_be_corrected_until_somebody_is_known_by_it() {
    let vault = TestVault::start().await;
    remember_other_address(&vault).await;
    assert_eq!(vault.reopen().await, Ok(()));

    let vault = TestVault::start().await;
    vault
        .walk(&mut Browser::new(), "alice", "alice-at-practice")
        .await;
    let now = vault.issuer.base_url().to_owned();
    remember_other_address(&vault).await;
    let complaint = vault.reopen().await.unwrap_err();
    for said in ["`corp`", "https://typo.test", now.as_str(), "another slug"] {
        assert!(complaint.contains(said), "{said} is not in {complaint}");
    }
}

#[actix_web::test]
async fn at_104_the_issuer_is_compared_exactly_and_never_discovered() {
    let world = World::start().await;
    let vault = &world.vault;
    let base = vault.issuer.base_url().to_owned();
    let port = base.rsplit(':').next().unwrap();
    let wrong = [
        json!(format!("{base}/")),
        json!(base.to_uppercase()),
        json!(base.replace("http://", "https://")),
        json!(base.replace("http://", "HTTP://")),
        json!(base.replace(&format!(":{port}"), "")),
        json!(format!("{base}/.well-known")),
        json!(base.replace('.', "\u{3002}")),
        json!(format!("http://localhost:{port}")),
        json!(format!("{base}.evil.test")),
        json!(format!("http://evil.test/{base}")),
        json!(vault.provider.base_url()),
        json!(world.j.base_url()),
        json!([base]),
        json!({ "url": base }),
        json!(""),
        Value::Null,
    ];
    for iss in wrong {
        refused(
            vault,
            &vault.s1,
            &vault.token_for("alice", RESOURCE, &JwtEdits::claim("iss", iss.clone())),
            "issuer",
        )
        .await;
        refused(
            vault,
            &world.s3,
            &vault.token_for("alice", R3, &JwtEdits::claim("iss", iss)),
            "issuer",
        )
        .await;
    }
    // Tokens of the other tenant's issuer, honest there, and ours at theirs: another key under the same key id.
    vault.issuer.clear();
    world.j.clear();
    let theirs = world
        .j
        .mint_access_token("alice", RESOURCE, &JwtEdits::default())
        .unwrap();
    refused(vault, &vault.s1, &theirs, "signature").await;
    assert_eq!(
        world.j.recorded().len(),
        0,
        "no issuer is discovered from a token"
    );
    let ours = vault.token_for("alice", R4, &JwtEdits::claim("iss", world.j.base_url()));
    refused(vault, &world.s4, &ours, "signature").await;
    accepted(&world.s4, &world.token("alice", R4), "their own").await;
    assert_eq!(vault.provider.recorded().len(), 0);
    world.stop().await;
}

#[actix_web::test]
async fn at_104_keys_that_cannot_be_had_are_not_the_tokens_fault() {
    let vault = TestVault::start().await;
    let down = lab::Reply::Raw {
        status: 500,
        content_type: "text/html".into(),
        headers: vec![],
        body: "<h1>down".into(),
    };
    let all = [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/jwks",
    ];
    vault
        .issuer
        .misbehave(all.iter().fold(Misbehaviour::default(), |bad, path| {
            bad.reply(path, None, down.clone())
        }));
    let answer = vault.s1.ensure(&vault.token("alice")).await;
    assert_eq!(
        (answer.status, problem(&answer)),
        (503, "issuer-unavailable")
    );
    assert!(answer.headers.contains_key("retry-after"));
    assert_eq!(
        audited_for(&vault, &answer)[0]["outcome"],
        "keys-unavailable"
    );
    vault.issuer.behave();
    vault.clock.move_s(60);
    accepted(&vault.s1, &vault.token("alice"), "the issuer is back").await;
    let edits = JwtEdits::default().signed(Signing::Foreign);
    refused(
        &vault,
        &vault.s1,
        &vault.token_for("alice", RESOURCE, &edits),
        "signature",
    )
    .await;
    let gone = vault.s1.call(Method::GET, "/v1/grants", &[], None).await;
    assert_eq!(
        (gone.status, problem(&gone)),
        (400, "invalid-request"),
        "no subject at all is a fault of the request"
    );
    vault.stop().await;
}
