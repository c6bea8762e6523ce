//! Tokens of an honest issuer that were never meant as access tokens, or that say who their client is in a way we cannot read.

use lab::JwtEdits;
use serde_json::{Value, json};

use crate::access::tokens::{accepted, refused};
use crate::access::world::{R3, World};
use crate::support::RESOURCE;

#[actix_web::test]
async fn a_token_of_another_type_is_no_access_token_even_where_no_type_is_demanded() {
    let world = World::start().await;
    let vault = &world.vault;
    for typ in [
        "logout+jwt",
        "secevent+jwt",
        "token-introspection+jwt",
        "dpop+jwt",
        "oauth-authz-req+jwt",
        "id_token+jwt",
        "application/secevent+jwt",
        "",
    ] {
        let edits = JwtEdits::default().and_header("typ", typ);
        let token = vault.token_for("alice", R3, &edits);
        refused(vault, &world.s3, &token, "not-an-access-token").await;
    }
    let logout = json!({ "http://schemas.openid.net/event/backchannel-logout": {} });
    for (mark, value) in [
        ("events", logout),
        ("s_hash", json!("x")),
        ("token_introspection", json!({ "active": false })),
    ] {
        let edits = JwtEdits::claim(mark, value).and_header("typ", Value::Null);
        let token = vault.token_for("alice", R3, &edits);
        refused(vault, &world.s3, &token, "not-an-access-token").await;
    }
    world.stop().await;
}

#[actix_web::test]
async fn a_client_that_is_no_text_is_not_taken_for_none() {
    let world = World::start().await;
    let vault = &world.vault;
    let header = r#"{"alg":"ES256","kid":"lab-ec-1","typ":"at+jwt"}"#;
    let now = vault.clock.seconds();
    let token = |clients: &str| {
        let claims = format!(
            r#"{{"iss":"{}","sub":"alice","aud":"{RESOURCE}","iat":{now},"exp":{}{clients}}}"#,
            vault.issuer.base_url(),
            now + 60
        );
        vault.issuer.sign(header, &claims).unwrap()
    };
    for wrong in [
        r#","client_id":7,"azp":"desk""#,
        r#","client_id":null,"azp":"desk""#,
        r#","client_id":["desk"]"#,
        r#","client_id":"desk","azp":{}"#,
        r#","azp":true"#,
    ] {
        refused(vault, &vault.s1, &token(wrong), "client").await;
    }
    for good in [
        "",
        r#","client_id":"desk""#,
        r#","azp":"desk""#,
        r#","client_id":"desk","azp":"other""#,
    ] {
        accepted(&vault.s1, &token(good), good).await;
    }
    world.stop().await;
}
