//! A real MCP server whose tool needs a credential, driven by the SDK's own client in both protocol eras.

use crate::installation::Installation;
use crate::peer::Peer;
use crate::sample::{Client, PYTHON, start};

#[actix_web::test]
async fn the_modern_era_connects_in_the_middle_of_a_tool_call() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &[]);
    let said = Client::Python
        .call(&vault, &server, "alice", &["--era", "modern"])
        .await;
    assert_eq!(said.code, 0, "{}\n{}", said.all, vault.log());
    assert_eq!(said.json["protocol_version"], "2026-07-28");
    assert_eq!(said.json["data"]["owner"], "alice");
    assert_eq!(said.json["prompts"].as_array().unwrap().len(), 1);
    // A second call asks nobody anything, even a client that could not be asked.
    let said = Client::Python
        .call(
            &vault,
            &server,
            "alice",
            &["--era", "modern", "--answer", "none"],
        )
        .await;
    assert_eq!(said.json["data"]["owner"], "alice", "{}", said.all);
    vault.stop();
}

#[actix_web::test]
async fn the_legacy_era_connects_by_the_error_that_asks_for_a_url() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &["--legacy", "raise"]);
    let said = Client::Python
        .call(&vault, &server, "alice", &["--era", "legacy"])
        .await;
    assert_eq!(said.code, 0, "{}\n{}", said.all, vault.log());
    assert_eq!(said.json["protocol_version"], "2025-11-25");
    assert_eq!(said.json["data"]["owner"], "alice");
    vault.stop();
}

#[actix_web::test]
async fn the_legacy_era_connects_by_a_pushed_elicitation_and_is_told_of_its_end() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &["--legacy", "elicit"]);
    let said = Client::Python
        .call(&vault, &server, "alice", &["--era", "legacy"])
        .await;
    assert_eq!(said.code, 0, "{}\n{}", said.all, vault.log());
    assert_eq!(said.json["data"]["owner"], "alice");
    assert_eq!(
        said.json["completed"].as_array().unwrap().len(),
        1,
        "{}",
        said.all
    );
    vault.stop();
}

#[actix_web::test]
async fn a_client_that_cannot_be_asked_gets_the_link_as_text() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &[]);
    for era in ["modern", "legacy"] {
        let said = Client::Python
            .call(
                &vault,
                &server,
                "alice",
                &["--era", era, "--answer", "none"],
            )
            .await;
        assert_eq!(said.code, 3, "{}", said.all);
        assert!(
            said.json["error"].as_str().unwrap().contains("/c/"),
            "{}",
            said.all
        );
    }
    vault.stop();
}

#[actix_web::test]
async fn at_017_accept_without_any_browser_visit_gives_nothing() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &[]);
    for era in ["modern", "legacy"] {
        let said = Client::Python
            .call(
                &vault,
                &server,
                "alice",
                &["--era", era, "--answer", "accept"],
            )
            .await;
        assert_ne!(said.code, 0, "{}", said.all);
        assert!(said.json["data"].is_null(), "{}", said.all);
        assert_eq!(vault.status("alice").await, "elicit");
    }
    assert_eq!(vault.provider_count("authorization_code ok").await, 0);
    vault.stop();
}

#[actix_web::test]
async fn declining_and_cancelling_in_the_client_end_the_call() {
    let vault = Installation::start();
    let server = mcp_server(&vault, &[]);
    for (era, answer) in [
        ("modern", "decline"),
        ("modern", "cancel"),
        ("legacy", "decline"),
        ("legacy", "cancel"),
    ] {
        let said = Client::Python
            .call(
                &vault,
                &server,
                "alice",
                &["--era", era, "--answer", answer],
            )
            .await;
        assert_ne!(said.code, 0, "{}", said.all);
        assert!(said.json["data"].is_null(), "{}", said.all);
    }
    vault.stop();
}

fn mcp_server(vault: &Installation, more: &[&str]) -> Peer {
    start(&PYTHON, vault, more)
}
