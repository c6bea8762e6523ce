//! `server` and `grants`: through the admin socket of the running vault, or, when none runs, through the same door served
//! for the time of the command. The store belongs to one process, so there is no third way.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use actix_rt::System;
use reqwest::Method;
use serde_json::Value;

use super::args::{Grants, Server};
use super::output::say_surely;
use super::{CommandError, hands, say};
use crate::app::{IoRuntime, build_vault, serve_admin_only};
use crate::config::Config;
use crate::foundation::Foundation;

/// `strongroom server …`.
pub(super) fn server(config: &Config, what: Server) -> Result<(), CommandError> {
    let (method, path) = match &what {
        Server::List => (Method::GET, String::from("/v1/servers")),
        Server::NewKey { server } => (Method::POST, format!("/v1/servers/{}/keys", slug(server)?)),
        Server::RevokeKey { key } => (Method::DELETE, format!("/v1/keys/{}", key_id(key)?)),
        Server::Disable { server } => (
            Method::POST,
            format!("/v1/servers/{}/disable", slug(server)?),
        ),
        Server::Enable { server } => (
            Method::POST,
            format!("/v1/servers/{}/enable", slug(server)?),
        ),
    };
    let answer = ask(config, &method, &path)?;
    match what {
        Server::List => list_servers(&answer),
        Server::NewKey { server } => {
            say(&format!(
                "A key for `{server}`, shown this once. Give it to the MCP server as a secret:"
            ));
            if say_surely(&format!("  {}", text(&answer, "/secret"))).is_err() {
                return give_back(config, text(&answer, "/key/id"));
            }
        }
        Server::RevokeKey { key } => say(&format!(
            "Key {key} is revoked; requests with it are refused from now on."
        )),
        Server::Disable { server } => say(&format!(
            "Server `{server}` is disabled; its keys are refused from now on."
        )),
        Server::Enable { server } => say(&format!("Server `{server}` is enabled.")),
    }
    Ok(())
}

/// A key that could not be shown is nobody's key: it is revoked at once.
fn give_back(config: &Config, id: &str) -> Result<(), CommandError> {
    ask(config, &Method::DELETE, &format!("/v1/keys/{id}"))?;
    Err(CommandError::Other(String::from(
        "the key could not be printed, so it was revoked; run the command again",
    )))
}

/// `strongroom grants …`.
pub(super) fn grants(config: &Config, what: Grants) -> Result<(), CommandError> {
    match what {
        Grants::List => {
            let mut after: Option<String> = None;
            loop {
                let path = after.map_or_else(
                    || String::from("/v1/grants"),
                    |after| format!("/v1/grants?after={after}"),
                );
                let answer = ask(config, &Method::GET, &path)?;
                list_grants(&answer);
                after = answer
                    .pointer("/next")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                if after.is_none() {
                    return Ok(());
                }
            }
        }
        Grants::Revoke { grant } => {
            let id: domain::GrantId = grant.parse().map_err(|_| {
                CommandError::Usage(format!("`{grant}` is not a grant id; they begin with gr_"))
            })?;
            let answer = ask(config, &Method::DELETE, &format!("/v1/grants/{id}"))?;
            say(&serde_json::to_string_pretty(&answer).unwrap_or_default());
            Ok(())
        }
    }
}

fn slug(text: &str) -> Result<domain::ServerSlug, CommandError> {
    text.parse().map_err(|_| {
        CommandError::Usage(format!(
            "`{text}` is not a server's slug; see `strongroom server list`"
        ))
    })
}

/// Twelve letters and digits; a whole key is refused, so that no secret ends up in a path.
fn key_id(text: &str) -> Result<&str, CommandError> {
    let plain = text.len() == 12 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then_some(text).ok_or_else(|| {
        CommandError::Usage(String::from(
            "a key id has twelve letters and digits: those between `srk_` and the next `_`",
        ))
    })
}

/// Asks whoever serves the admin door.
fn ask(config: &Config, method: &Method, path: &str) -> Result<Value, CommandError> {
    let socket = &config.listen.admin_socket;
    System::new().block_on(async {
        if UnixStream::connect(socket).is_ok() {
            return call(socket, method, path).await;
        }
        let hands = hands()?;
        let foundation = Foundation::open(config, &hands).await?;
        let io = IoRuntime::start()?;
        let (vault, arbiters) = build_vault(config, foundation, &hands, &io)?;
        let own: PathBuf = config.data_dir.join("command.sock");
        let served = serve_admin_only(&vault, &config.public_origin(), &own)?;
        let answer = call(&own, method, path).await;
        served.stop(true).await;
        std::fs::remove_file(&own).ok();
        vault
            .close()
            .await
            .map_err(|error| CommandError::Other(error.to_string()))?;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        drop(io);
        answer
    })
}

async fn call(socket: &Path, method: &Method, path: &str) -> Result<Value, CommandError> {
    let unreachable = |_| {
        CommandError::Refused(String::from(
            "the admin socket does not answer; see the log of `strongroom serve`",
        ))
    };
    let client = reqwest::Client::builder()
        .unix_socket(socket)
        .no_proxy()
        .build()
        .map_err(unreachable)?;
    let answer = client
        .request(method.clone(), format!("http://admin{path}"))
        .send()
        .await
        .map_err(unreachable)?;
    let good = answer.status().is_success();
    let body = answer.bytes().await.map_err(unreachable)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if good {
        Ok(body)
    } else {
        Err(CommandError::Refused(problem(&body)))
    }
}

fn problem(body: &Value) -> String {
    let (title, detail) = (text(body, "/title"), text(body, "/detail"));
    format!(
        "{title}: {detail} (code {}, request {})",
        text(body, "/code"),
        text(body, "/request_id")
    )
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or("-")
}

fn rows<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn list_servers(answer: &Value) {
    for server in rows(answer, "servers") {
        let disabled = server
            .get("disabled")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let state = if disabled { "disabled" } else { "enabled" };
        say(&format!(
            "{}  tenant {}  issuer {}  {state}  {}",
            text(server, "/slug"),
            text(server, "/tenant"),
            text(server, "/issuer"),
            text(server, "/name")
        ));
        for key in rows(server, "keys") {
            let revoked = key.get("revoked_at").and_then(Value::as_str);
            let state = revoked.map_or_else(|| String::from("live"), |at| format!("revoked {at}"));
            say(&format!(
                "  key {}  made {}  {state}",
                text(key, "/id"),
                text(key, "/created_at")
            ));
        }
    }
}

fn list_grants(answer: &Value) {
    for grant in rows(answer, "grants") {
        say(&format!(
            "{}  {}  server {}  provider {}  user {}  since {}",
            text(grant, "/id"),
            text(grant, "/status"),
            text(grant, "/server"),
            text(grant, "/provider"),
            text(grant, "/user"),
            text(grant, "/created_at"),
        ));
    }
}
