//! The token endpoint: codes, refresh tokens with rotation, and client authentication.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::answer::Answer;
use crate::config::ClientAuth;
use crate::issue::{access_reply, add_id_token, new_refresh};
use crate::jwt;
use crate::misbehave::RefreshRule;
use crate::recorder::{Recorded, first};
use crate::state::{Grant, Shared, State, fresh};

/// `POST /token`.
pub(crate) fn token(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let mut state = shared.lock();
    let form = seen.form_params();
    let client = match authenticate(&state, seen) {
        Ok(client) => client,
        Err(answer) => return Ok(answer),
    };
    match first(form.clone(), "grant_type").as_deref() {
        Some("authorization_code") => redeem(shared, &mut state, &client, &form),
        Some("refresh_token") => refresh(shared, &mut state, &client, &form),
        Some(_) => Ok(Answer::error(
            400,
            "unsupported_grant_type",
            "code and refresh only",
        )),
        None => Ok(Answer::error(
            400,
            "invalid_request",
            "grant_type is missing",
        )),
    }
}

/// Proves the client and returns its id (RFC 6749 section 2.3).
pub(crate) fn authenticate(state: &State, seen: &Recorded) -> Result<String, Answer> {
    let form = seen.form_params();
    let in_body = (
        first(form.clone(), "client_id"),
        first(form, "client_secret"),
    );
    let basic = seen
        .header("authorization")
        .and_then(|line| line.strip_prefix("Basic "));
    let (id, secret, way) = match (basic.map(read_basic), in_body) {
        (Some(_), (_, Some(_))) => {
            return Err(Answer::error(
                400,
                "invalid_request",
                "two ways of client authentication",
            ));
        }
        (Some(Some((id, secret))), (body_id, None))
            if body_id.as_ref().is_none_or(|b| *b == id) =>
        {
            (id, Some(secret), ClientAuth::SecretBasic)
        }
        (None, (Some(id), Some(secret))) => (id, Some(secret), ClientAuth::SecretPost),
        (None, (Some(id), None)) => (id, None, ClientAuth::None),
        _ => return Err(not_that_client()),
    };
    let client = state
        .client(&id)
        .filter(|client| client.auth == way)
        .ok_or_else(not_that_client)?;
    let same = match (&client.secret, &secret) {
        (Some(known), Some(sent)) => {
            verify_slices_are_equal(known.as_bytes(), sent.as_bytes()).is_ok()
        }
        (_, None) => way == ClientAuth::None,
        (None, Some(_)) => false,
    };
    if same { Ok(id) } else { Err(not_that_client()) }
}

fn not_that_client() -> Answer {
    Answer::error(401, "invalid_client", "client authentication failed")
        .header("www-authenticate", "Basic realm=\"lab\"")
}

/// Both halves are form-encoded before base64 (RFC 6749 section 2.3.1).
fn read_basic(encoded: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let plain = |half: &str| {
        let whole = format!("v={}", half.replace('&', "%26"));
        url::form_urlencoded::parse(whole.as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
    };
    Some((plain(id)?, plain(secret)?))
}

fn invalid_grant(why: &str) -> Answer {
    Answer::error(400, "invalid_grant", why)
}

fn redeem(
    shared: &Shared,
    state: &mut State,
    client: &str,
    form: &[(String, String)],
) -> Result<Answer, LabError> {
    let code = first(form.to_vec(), "code").unwrap_or_default();
    let (grant, nonce) = match check_code(shared, state, client, form) {
        Ok(good) => good,
        Err(answer) => return Ok(answer),
    };
    let Some(resources) = narrow_resources(form, &grant.resources) else {
        return Ok(Answer::error(
            400,
            "invalid_target",
            "this resource was not authorized",
        ));
    };
    let id = fresh("grant-")?;
    if let Some(row) = state.codes.get_mut(&code) {
        row.grant = Some(id.clone());
    }
    state.grants.insert(id.clone(), grant.clone());
    let mut reply = access_reply(shared, state, (&id, &grant), (&grant.scope, resources))?;
    if shared.config.refresh_tokens {
        let token = new_refresh(shared, state, &id)?;
        reply.insert("refresh_token".to_owned(), token.into());
    }
    add_id_token(shared, state, &grant, nonce, &mut reply)?;
    Ok(Answer::json(200, Value::Object(reply)))
}

/// The grant and nonce behind a code that may be redeemed now.
fn check_code(
    shared: &Shared,
    state: &mut State,
    client: &str,
    form: &[(String, String)],
) -> Result<(Grant, Option<String>), Answer> {
    let get = |name: &str| first(form.to_vec(), name).unwrap_or_default();
    let row = state
        .codes
        .get(&get("code"))
        .ok_or_else(|| invalid_grant("unknown code"))?;
    let ask = row.ask.clone();
    if ask.client != client || get("redirect_uri") != ask.redirect_uri {
        return Err(invalid_grant(
            "the code belongs to another client or redirect URI",
        ));
    }
    let grant = Grant {
        client: ask.client,
        person: row.person.clone(),
        scope: state.misbehaviour.scope.clone().unwrap_or(ask.scope),
        resources: ask.resources,
        auth_time: row.auth_time,
        live: true,
    };
    let too_old = row.expires <= shared.now();
    // A second use ends what the first use began (RFC 6749 section 4.1.2).
    if let Some(begun) = row
        .grant
        .clone()
        .filter(|_| !state.misbehaviour.accept_used_codes)
    {
        state.end_grant(&begun);
        return Err(invalid_grant("the code was already used"));
    }
    if too_old {
        return Err(invalid_grant("the code is too old"));
    }
    let proof = jwt::encode(&Sha256::digest(get("code_verifier").as_bytes()));
    if proof != ask.challenge && !state.misbehaviour.ignore_pkce {
        return Err(invalid_grant("code_verifier does not match"));
    }
    Ok((grant, ask.nonce))
}

fn refresh(
    shared: &Shared,
    state: &mut State,
    client: &str,
    form: &[(String, String)],
) -> Result<Answer, LabError> {
    let token = first(form.to_vec(), "refresh_token").unwrap_or_default();
    let (id, mut grant) = match check_refresh(shared, state, client, &token) {
        Ok(good) => good,
        Err(answer) => return Ok(answer),
    };
    let asked = first(form.to_vec(), "scope").unwrap_or_else(|| grant.scope.clone());
    if asked
        .split_whitespace()
        .any(|word| !grant.scope.split_whitespace().any(|had| had == word))
    {
        return Ok(Answer::error(
            400,
            "invalid_scope",
            "a refresh cannot widen the scope",
        ));
    }
    let Some(resources) = narrow_resources(form, &grant.resources) else {
        return Ok(Answer::error(
            400,
            "invalid_target",
            "this resource was not authorized",
        ));
    };
    let scope = state.misbehaviour.scope.clone().unwrap_or(asked);
    if state.misbehaviour.refresh_ends_access {
        state.end_access(&id);
    }
    let mut reply = access_reply(shared, state, (&id, &grant), (&scope, resources))?;
    let sent = match state.misbehaviour.refresh {
        RefreshRule::Rotate => {
            if let Some(row) = state.refresh.get_mut(&token) {
                row.used.get_or_insert(shared.now());
            }
            Some(new_refresh(shared, state, &id)?)
        }
        RefreshRule::SameToken => Some(token),
        RefreshRule::Silent => None,
    };
    reply.extend(sent.map(|token| ("refresh_token".to_owned(), token.into())));
    grant.scope = scope;
    add_id_token(shared, state, &grant, None, &mut reply)?;
    Ok(Answer::json(200, Value::Object(reply)))
}

/// The grant behind a refresh token that may be used now.
fn check_refresh(
    shared: &Shared,
    state: &mut State,
    client: &str,
    token: &str,
) -> Result<(String, Grant), Answer> {
    let row = state
        .refresh
        .get(token)
        .ok_or_else(|| invalid_grant("unknown refresh token"))?;
    let (id, used) = (row.grant.clone(), row.used);
    let too_old = row.expires <= shared.now();
    let grant = state
        .grant_of(&id)
        .filter(|grant| grant.client == client)
        .cloned();
    let Some(grant) = grant else {
        return Err(invalid_grant(
            "the grant is over or belongs to another client",
        ));
    };
    // Reuse of a rotated token: somebody has a copy (RFC 9700 section 4.14.2).
    let grace = state.misbehaviour.reuse_grace;
    if used.is_some_and(|at| at.saturating_add(grace) <= shared.now()) {
        state.end_grant(&id);
        return Err(invalid_grant(
            "the refresh token was already used; the grant is over",
        ));
    }
    if too_old {
        return Err(invalid_grant("the refresh token is too old"));
    }
    Ok((id, grant))
}

/// The resources of this token: those asked for now, if authorized, else all authorized ones.
fn narrow_resources(form: &[(String, String)], authorized: &[String]) -> Option<Vec<String>> {
    let asked = form
        .iter()
        .filter(|(name, _)| name == "resource")
        .map(|(_, value)| value);
    let asked: Vec<String> = asked.cloned().collect();
    if asked.is_empty() {
        return Some(authorized.to_vec());
    }
    asked
        .iter()
        .all(|one| authorized.contains(one))
        .then_some(asked)
}
