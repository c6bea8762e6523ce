//! Sample MCP servers on other SDKs than `mcp.rs`: each walks the whole way in every era that its SDK speaks.

use crate::installation::Installation;
use crate::peer::Peer;
use crate::sample::{Client, FASTMCP, Sample, TYPESCRIPT_1, TYPESCRIPT_2, start};

#[actix_web::test]
async fn typescript_2_connects_in_both_eras() {
    every_way(&TYPESCRIPT_2, Client::TypeScript).await;
}

#[actix_web::test]
async fn typescript_1_connects() {
    every_way(&TYPESCRIPT_1, Client::TypeScript).await;
}

#[actix_web::test]
async fn fastmcp_connects_in_both_eras() {
    every_way(&FASTMCP, Client::Python).await;
}

#[actix_web::test]
async fn clients_and_servers_of_different_sdks_understand_each_other() {
    let vault = Installation::start();
    for (number, (sample, client)) in [
        (&TYPESCRIPT_2, Client::Python),
        (&FASTMCP, Client::TypeScript),
    ]
    .into_iter()
    .enumerate()
    {
        let server = start(sample, &vault, &[]);
        for era in sample.eras {
            let person = format!("{era}-{number}");
            connects(&vault, &server, client, &person, era).await;
        }
    }
    vault.stop();
}

/// Every way of a sample: asked in the middle of a call, told by the error, pushed; then people who do not go there.
async fn every_way(sample: &Sample, client: Client) {
    let vault = Installation::start();
    let server = start(sample, &vault, &[]);
    for era in sample.eras {
        connects(&vault, &server, client, era, era).await;
        goes_nowhere(&vault, &server, client, era).await;
    }
    drop(server);
    let server = start(sample, &vault, &["--legacy", "elicit"]);
    let said = connects(&vault, &server, client, "pushed", "legacy").await;
    assert_eq!(said["completed"].as_array().unwrap().len(), 1, "{said}");
    vault.stop();
}

/// This person is asked once, connects, and is asked no more.
async fn connects(
    vault: &Installation,
    server: &Peer,
    client: Client,
    person: &str,
    era: &str,
) -> serde_json::Value {
    let said = client.call(vault, server, person, &["--era", era]).await;
    assert_eq!(said.code, 0, "{}\n{}", said.all, vault.log());
    assert_eq!(said.json["data"]["owner"], person, "{}", said.all);
    assert_eq!(said.json["prompts"].as_array().unwrap().len(), 1);
    let again = ["--era", era, "--answer", "none"];
    let second = client.call(vault, server, person, &again).await;
    assert_eq!(second.json["data"]["owner"], person, "{}", second.all);
    said.json
}

/// A client that cannot ask gets the link as text; an accept without a visit, a no and a cancel give nothing.
async fn goes_nowhere(vault: &Installation, server: &Peer, client: Client, era: &str) {
    for answer in ["none", "accept", "decline", "cancel"] {
        let person = &format!("{era}-{answer}"); // for one there is only so much to ask in a minute
        let arguments = ["--era", era, "--answer", answer];
        let said = client.call(vault, server, person, &arguments).await;
        assert_ne!(said.code, 0, "{}", said.all);
        assert!(said.json["data"].is_null(), "{}", said.all);
        if answer == "none" {
            assert_eq!(said.code, 3, "{}", said.all);
            let text = said.json["error"].as_str().unwrap();
            assert!(text.contains("/c/"), "{}", said.all);
        }
        assert_eq!(vault.status(person).await, "elicit");
    }
}
