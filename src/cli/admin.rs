//! `server`, `grants` and `admin-key`: what operators do while the vault runs, or while it does not.

use reqwest::Method;
use serde_json::Value;

use super::args::{AdminKey, Grants, Server};
use super::door::{Door, Told, at_door, text};
use super::output::say_surely;
use super::{CommandError, say};
use crate::config::Config;

/// `strongroom server …`.
pub(super) fn server(config: &Config, what: Server) -> Result<(), CommandError> {
    match what {
        Server::List => at_door(config, async |door: &Door| {
            list_servers(&door.ask(Method::GET, "/v1/servers").await??);
            Ok(())
        }),
        Server::NewKey { server } => {
            let path = format!("/v1/servers/{}/keys", slug(&server)?);
            at_door(config, async |door: &Door| {
                let answer = known_server(door.ask(Method::POST, &path).await, &server)?;
                let line = format!(
                    "A key for `{server}`, shown this once. Give it to the MCP server as a secret:"
                );
                show_key(door, &line, &answer).await
            })
        }
        Server::RevokeKey { key } => {
            let path = format!("/v1/keys/{}", key_id(&key)?);
            at_door(config, async |door: &Door| {
                let told = door.ask(Method::DELETE, &path).await?;
                told.map_err(|problem| match problem.code.as_str() {
                    "not-found" => CommandError::Refused(format!(
                        "there is no key `{key}`; `strongroom server list` shows the ids"
                    )),
                    _ => problem.into(),
                })?;
                say(&format!(
                    "Key {key} is revoked; requests with it are refused from now on."
                ));
                Ok(())
            })
        }
        Server::Disable { server } => {
            switch(config, &server, "disable")?;
            say(&format!(
                "Server `{server}` is disabled; its keys are refused from now on."
            ));
            Ok(())
        }
        Server::Enable { server } => {
            switch(config, &server, "enable")?;
            say(&format!("Server `{server}` is enabled."));
            Ok(())
        }
    }
}

fn switch(config: &Config, server: &str, how: &str) -> Result<(), CommandError> {
    let path = format!("/v1/servers/{}/{how}", slug(server)?);
    at_door(config, async |door: &Door| {
        known_server(door.ask(Method::POST, &path).await, server)?;
        Ok(())
    })
}

/// The answer, or that the configuration has no such server.
fn known_server(told: Told, server: &str) -> Result<Value, CommandError> {
    told?.map_err(|problem| match problem.code.as_str() {
        "not-found" => CommandError::Refused(format!(
            "the configuration declares no server `{server}`; see `strongroom server list`"
        )),
        _ => problem.into(),
    })
}

/// Shows a key. One that could not be shown is nobody's key: it is revoked at once.
async fn show_key(door: &Door, line: &str, answer: &Value) -> Result<(), CommandError> {
    say(line);
    if say_surely(&format!("  {}", text(answer, "/secret"))).is_ok() {
        return Ok(());
    }
    let path = format!("/v1/keys/{}", text(answer, "/key/id"));
    door.ask(Method::DELETE, &path).await??;
    Err(CommandError::Other(String::from(
        "the key could not be printed, so it was revoked; run the command again",
    )))
}

/// `strongroom admin-key …`.
pub(super) fn admin_key(config: &Config, what: &AdminKey) -> Result<(), CommandError> {
    match what {
        AdminKey::New => at_door(config, async |door: &Door| {
            let answer = door.ask(Method::POST, "/v1/admin-keys").await??;
            let line = "The admin key, shown this once. Every earlier one is revoked (needed only for the admin listener on TCP):";
            show_key(door, line, &answer).await
        }),
    }
}

/// `strongroom grants …`.
pub(super) fn grants(config: &Config, what: Grants) -> Result<(), CommandError> {
    match what {
        Grants::List => at_door(config, async |door: &Door| {
            let mut path = String::from("/v1/grants");
            loop {
                let answer = door.ask(Method::GET, &path).await??;
                list_grants(&answer);
                match answer.pointer("/next").and_then(Value::as_str) {
                    Some(after) => path = format!("/v1/grants?after={after}"),
                    None => return Ok(()),
                }
            }
        }),
        Grants::Revoke { grant } => {
            let id: domain::GrantId = grant.parse().map_err(|_| {
                CommandError::Usage(format!("`{grant}` is not a grant id; they begin with gr_"))
            })?;
            at_door(config, async |door: &Door| {
                let told = door
                    .ask(Method::DELETE, &format!("/v1/grants/{id}"))
                    .await?;
                let answer = told.map_err(|problem| match problem.code.as_str() {
                    "not-found" => CommandError::Refused(format!(
                        "there is no grant `{id}`; `strongroom grants list` shows the ids"
                    )),
                    _ => problem.into(),
                })?;
                say(&serde_json::to_string_pretty(&answer).unwrap_or_default());
                Ok(())
            })
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
