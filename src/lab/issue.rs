//! Makes what the token endpoint hands out: access tokens, refresh tokens and ID tokens.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::config::AccessTokenForm;
use crate::jwt;
use crate::state::{AccessToken, Grant, RefreshToken, Shared, State, fresh};

/// Makes a refresh token of this grant.
pub(crate) fn new_refresh(
    shared: &Shared,
    state: &mut State,
    grant: &str,
) -> Result<String, LabError> {
    let token = fresh("prac_rt_")?;
    let expires = shared
        .now()
        .saturating_add(shared.config.refresh_token_life);
    let row = RefreshToken {
        grant: grant.to_owned(),
        expires,
        used: None,
    };
    state.refresh.insert(token.clone(), row);
    Ok(token)
}

/// Makes an access token and the reply around it.
pub(crate) fn access_reply(
    shared: &Shared,
    state: &mut State,
    (id, grant): (&str, &Grant),
    (scope, resources): (&str, Vec<String>),
) -> Result<Map<String, Value>, LabError> {
    let issued = shared.now();
    let life = shared.config.access_token_life;
    let expires = issued.saturating_add(life);
    let audience = if resources.is_empty() {
        vec![shared.config.audience.clone()]
    } else {
        resources
    };
    let token = match shared.config.access_tokens {
        AccessTokenForm::Opaque => fresh("prac_at_")?,
        AccessTokenForm::Jwt => {
            let mut claims = access_claims(shared, &grant.person, &audience)?;
            claims.insert("client_id".to_owned(), grant.client.as_str().into());
            claims.insert("scope".to_owned(), scope.into());
            claims.insert("auth_time".to_owned(), grant.auth_time.into());
            state
                .keys
                .token("at+jwt", claims, &state.misbehaviour.access_token)?
        }
    };
    let row = AccessToken {
        grant: id.to_owned(),
        scope: scope.to_owned(),
        audience,
        issued,
        expires,
        revoked: false,
    };
    state.access.insert(token.clone(), row);
    let reply = json!({
        "access_token": token, "token_type": "Bearer", "expires_in": life, "scope": scope,
    });
    Ok(members(reply))
}

/// The claims every access token has (RFC 9068 section 2.2), without client, scope and login time.
pub(crate) fn access_claims(
    shared: &Shared,
    person: &str,
    audience: &[String],
) -> Result<Map<String, Value>, LabError> {
    let now = shared.now();
    let aud = match audience {
        [one] => Value::from(one.as_str()),
        many => Value::from(many.to_vec()),
    };
    Ok(members(json!({
        "iss": shared.base, "sub": person, "aud": aud, "iat": now, "jti": fresh("")?,
        "exp": now.saturating_add(shared.config.access_token_life),
    })))
}

/// Adds the ID token if OpenID Connect is on and was asked for (OpenID Connect Core section 2).
pub(crate) fn add_id_token(
    shared: &Shared,
    state: &State,
    grant: &Grant,
    nonce: Option<String>,
    reply: &mut Map<String, Value>,
) -> Result<(), LabError> {
    let asked = grant.scope.split_whitespace().any(|word| word == "openid");
    if !shared.config.openid || !asked || state.misbehaviour.omit_id_token {
        return Ok(());
    }
    let now = shared.now();
    let person = shared.person(&grant.person)?;
    let access = reply
        .get("access_token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // at_hash is the left half of the digest (OpenID Connect Core section 3.1.3.6).
    let half = Sha256::digest(access.as_bytes())
        .iter()
        .copied()
        .take(16)
        .collect::<Vec<u8>>();
    let mut claims = members(json!({
        "iss": shared.base, "sub": person.id, "aud": grant.client, "iat": now,
        "exp": now.saturating_add(shared.config.id_token_life), "auth_time": grant.auth_time,
        "at_hash": jwt::encode(&half), "name": person.name, "email": person.email,
        "email_verified": true, "preferred_username": person.username,
    }));
    claims.extend(nonce.map(|nonce| ("nonce".to_owned(), nonce.into())));
    let token = state
        .keys
        .token("JWT", claims, &state.misbehaviour.id_token)?;
    reply.insert("id_token".to_owned(), token.into());
    Ok(())
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
