//! Everything asked with a token or about a token: userinfo, the small API, revocation,
//! introspection; and the metadata documents.

use serde_json::{Value, json};

use crate::LabError;
use crate::answer::Answer;
use crate::recorder::Recorded;
use crate::state::{Shared, State};
use crate::token::authenticate;

/// The metadata document (RFC 8414, and OpenID Connect Discovery when that is on).
pub(crate) fn metadata(shared: &Shared) -> Answer {
    let base = &shared.base;
    let mut document = json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "revocation_endpoint": format!("{base}/revoke"),
        "introspection_endpoint": format!("{base}/introspect"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported":
            ["none", "client_secret_post", "client_secret_basic"],
        "revocation_endpoint_auth_methods_supported":
            ["none", "client_secret_post", "client_secret_basic"],
        "scopes_supported": shared.config.scopes,
        "authorization_response_iss_parameter_supported": true,
    });
    if let Some(members) = document.as_object_mut().filter(|_| shared.config.openid) {
        let algorithms = if shared.config.rsa {
            json!(["ES256", "RS256"])
        } else {
            json!(["ES256"])
        };
        members.insert("jwks_uri".to_owned(), format!("{base}/jwks").into());
        members.insert(
            "userinfo_endpoint".to_owned(),
            format!("{base}/userinfo").into(),
        );
        members.insert("subject_types_supported".to_owned(), json!(["public"]));
        members.insert(
            "id_token_signing_alg_values_supported".to_owned(),
            algorithms,
        );
        let claims = [
            "iss",
            "sub",
            "aud",
            "exp",
            "iat",
            "nonce",
            "auth_time",
            "name",
            "email",
        ];
        members.insert("claims_supported".to_owned(), json!(claims));
    }
    Answer::json(200, document)
}

/// `GET /jwks`.
pub(crate) fn jwks(shared: &Shared) -> Result<Answer, LabError> {
    Ok(Answer::json(200, shared.lock().keys.jwks()?))
}

/// `GET` or `POST /userinfo` (OpenID Connect Core section 5.3).
pub(crate) fn userinfo(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let person = match bearer(shared, seen, "openid") {
        Ok(person) => person,
        Err(answer) => return Ok(answer),
    };
    let person = shared.person(&person)?;
    let document = json!({
        "sub": person.id, "name": person.name, "email": person.email,
        "email_verified": true, "preferred_username": person.username,
    });
    Ok(Answer::json(200, document))
}

/// `GET /api/me`: whose token this is. Any scope will do.
pub(crate) fn me(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let person = match bearer(shared, seen, "") {
        Ok(person) => person,
        Err(answer) => return Ok(answer),
    };
    let person = shared.person(&person)?;
    let document = json!({ "id": person.id, "name": person.name, "email": person.email });
    Ok(Answer::json(200, document))
}

/// `GET /api/notes`: needs scope `notes.read`.
pub(crate) fn notes(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let person = match bearer(shared, seen, "notes.read") {
        Ok(person) => person,
        Err(answer) => return Ok(answer),
    };
    let person = shared.person(&person)?;
    let numbered = person.notes.iter().zip(1..);
    let notes: Vec<Value> = numbered
        .map(|(text, id): (_, u32)| json!({ "id": id, "text": text }))
        .collect();
    Ok(Answer::json(
        200,
        json!({ "account": person.id, "notes": notes }),
    ))
}

/// `POST /revoke` (RFC 7009): a refresh token ends the grant, an access token only itself.
pub(crate) fn revoke(shared: &Shared, seen: &Recorded) -> Answer {
    let mut state = shared.lock();
    let client = match authenticate(&state, seen) {
        Ok(client) => client,
        Err(answer) => return answer,
    };
    let Some(token) = seen.form_param("token") else {
        return Answer::error(400, "invalid_request", "token is missing");
    };
    let Some((grant, is_refresh)) = grant_behind(&state, &token) else {
        // An unknown token is as good as revoked (section 2.2).
        return Answer::empty(200);
    };
    if state
        .grants
        .get(&grant)
        .is_some_and(|grant| grant.client != client)
    {
        return Answer::error(400, "invalid_grant", "the token belongs to another client");
    }
    if state.misbehaviour.pretend_revocation {
        return Answer::empty(200);
    }
    if is_refresh {
        state.end_grant(&grant);
    } else if let Some(row) = state.access.get_mut(&token) {
        row.revoked = true;
    }
    Answer::empty(200)
}

/// `POST /introspect` (RFC 7662), for any authenticated client.
pub(crate) fn introspect(shared: &Shared, seen: &Recorded) -> Answer {
    let now = shared.now();
    let state = shared.lock();
    if let Err(answer) = authenticate(&state, seen) {
        return answer;
    }
    let token = seen.form_param("token").unwrap_or_default();
    let document = if let Some((row, grant)) = state.good_access(&token, now) {
        json!({
            "active": true, "token_type": "Bearer", "iss": shared.base, "sub": grant.person,
            "client_id": grant.client, "scope": row.scope, "aud": row.audience,
            "iat": row.issued, "exp": row.expires,
        })
    } else if let Some((row, grant)) = state.good_refresh(&token, now) {
        json!({
            "active": true, "iss": shared.base, "sub": grant.person,
            "client_id": grant.client, "scope": grant.scope, "exp": row.expires,
        })
    } else {
        json!({ "active": false })
    };
    Answer::json(200, document)
}

fn grant_behind(state: &State, token: &str) -> Option<(String, bool)> {
    let refresh = state
        .refresh
        .get(token)
        .map(|row| (row.grant.clone(), true));
    refresh.or_else(|| {
        state
            .access
            .get(token)
            .map(|row| (row.grant.clone(), false))
    })
}

/// The person behind a good bearer token that has `scope` (RFC 6750; an empty scope asks for none).
fn bearer(shared: &Shared, seen: &Recorded, scope: &str) -> Result<String, Answer> {
    let sent = seen
        .header("authorization")
        .and_then(|line| line.split_once(' '));
    let Some((_, token)) = sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(Answer::empty(401).header("www-authenticate", "Bearer realm=\"lab\""));
    };
    let now = shared.now();
    let state = shared.lock();
    if let Some(person) = state.api_keys.get(token.trim()) {
        return Ok(person.clone());
    }
    let Some((row, grant)) = state.good_access(token.trim(), now) else {
        let line = "Bearer realm=\"lab\", error=\"invalid_token\"";
        let answer = Answer::error(
            401,
            "invalid_token",
            "the access token is expired or revoked",
        );
        return Err(answer.header("www-authenticate", line));
    };
    if !scope.is_empty() && !row.scope.split_whitespace().any(|word| word == scope) {
        let line = format!("Bearer realm=\"lab\", error=\"insufficient_scope\", scope=\"{scope}\"");
        let answer = Answer::error(403, "insufficient_scope", "the access token lacks a scope");
        return Err(answer.header("www-authenticate", line));
    }
    Ok(grant.person.clone())
}
