//! The authorization endpoint (RFC 6749 section 4.1, RFC 7636, RFC 8707, RFC 9207) and its pages.

use std::collections::HashSet;

use url::Url;

use crate::LabError;
use crate::answer::Answer;
use crate::config::ConsentRule;
use crate::html;
use crate::recorder::{Recorded, first};
use crate::state::{Ask, Code, Pending, Session, Shared, State, fresh};

/// `GET /authorize`.
pub(crate) fn start(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let now = shared.now();
    let mut state = shared.lock();
    state.prune(now);
    let params = seen.query_params();
    let (client, redirect_uri) = match known_target(&state, &params) {
        Ok(target) => target,
        Err(why) => return Ok(refused(shared, why)),
    };
    let ask = match validate(shared, &params, client, redirect_uri.clone()) {
        Ok(ask) => ask,
        Err((error, text)) => {
            let echoed = first(params, "state");
            return send_error(shared, &state, (&redirect_uri, echoed), error, text);
        }
    };
    if let Some(person) = state.auto.clone() {
        return send_code(shared, &mut state, ask, (person, now));
    }
    let prompt = first(params.clone(), "prompt").unwrap_or_default();
    let again = prompt
        .split(' ')
        .any(|word| word == "login" || word == "select_account");
    let max_age = first(params, "max_age").and_then(|text| text.parse::<u64>().ok());
    let session = seen
        .cookie(&shared.cookie)
        .and_then(|cookie| state.sessions.get(cookie));
    let young = |since: u64| max_age.is_none_or(|age| now.saturating_sub(since) <= age);
    let signed_in = session
        .filter(|session| !again && young(session.since))
        .map(|session| (session.person.clone(), session.since));
    if prompt == "none" {
        return without_pages(shared, &mut state, ask, signed_in, seen);
    }
    let transaction = fresh("")?;
    let pending = Pending {
        ask,
        person: signed_in,
        since: now,
    };
    state.pending.insert(transaction.clone(), pending);
    next_page(shared, &mut state, &transaction, seen)
}

/// `prompt=none`: an answer at once or an error (OpenID Connect Core section 3.1.2.6).
fn without_pages(
    shared: &Shared,
    state: &mut State,
    ask: Ask,
    signed_in: Option<(String, u64)>,
    seen: &Recorded,
) -> Result<Answer, LabError> {
    let target = (ask.redirect_uri.as_str(), ask.state.clone());
    let Some(person) = signed_in else {
        return send_error(
            shared,
            state,
            target,
            "login_required",
            "nobody is signed in",
        );
    };
    if must_ask(shared, state, &ask, seen) {
        return send_error(
            shared,
            state,
            target,
            "consent_required",
            "nobody agreed yet",
        );
    }
    send_code(shared, state, ask, person)
}

/// `POST /authorize/account`: somebody was picked on the login page.
pub(crate) fn account(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let now = shared.now();
    let mut state = shared.lock();
    let transaction = seen.form_param("transaction").unwrap_or_default();
    let person = seen.form_param("account").unwrap_or_default();
    if shared.person(&person).is_err() {
        return Ok(refused(shared, "There is no such account here."));
    }
    let Some(pending) = state.pending.get_mut(&transaction) else {
        return Ok(refused(shared, STALE));
    };
    pending.person = Some((person.clone(), now));
    let cookie = fresh("")?;
    let session = Session {
        person,
        since: now,
        agreed: HashSet::new(),
    };
    state.sessions.insert(cookie.clone(), session);
    let answer = next_page(shared, &mut state, &transaction, seen)?;
    let line = format!("{}={cookie}; Path=/; HttpOnly; SameSite=Lax", shared.cookie);
    Ok(answer.header("set-cookie", line))
}

/// `POST /authorize/consent`: yes, no, or another account.
pub(crate) fn consent(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let mut state = shared.lock();
    let transaction = seen.form_param("transaction").unwrap_or_default();
    let choice = seen.form_param("consent").unwrap_or_default();
    if choice == "other" {
        let Some(pending) = state.pending.get_mut(&transaction) else {
            return Ok(refused(shared, STALE));
        };
        pending.person = None;
        return next_page(shared, &mut state, &transaction, seen);
    }
    let Some(Pending {
        ask,
        person: Some(person),
        ..
    }) = state.pending.remove(&transaction)
    else {
        return Ok(refused(shared, STALE));
    };
    if choice != "yes" {
        let target = (ask.redirect_uri.as_str(), ask.state.clone());
        return send_error(
            shared,
            &state,
            target,
            "access_denied",
            "the person said no",
        );
    }
    if let Some(session) = seen
        .cookie(&shared.cookie)
        .and_then(|key| state.sessions.get_mut(key))
    {
        session
            .agreed
            .insert((ask.client.clone(), ask.scope.clone()));
    }
    send_code(shared, &mut state, ask, person)
}

/// `GET /logout`: forgets who is signed in.
pub(crate) fn logout(shared: &Shared, seen: &Recorded) -> Answer {
    if let Some(cookie) = seen.cookie(&shared.cookie) {
        shared.lock().sessions.remove(cookie);
    }
    let line = format!(
        "{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax",
        shared.cookie
    );
    let text = "The next visit starts with the login page.";
    Answer::html(200, html::notice(&shared.config.name, "Signed out", text))
        .header("set-cookie", line)
}

const STALE: &str = "This page is too old or was already used. Go back to where you started.";

/// Client and redirect URI; until both are known nothing may be redirected (section 4.1.2.1).
fn known_target(
    state: &State,
    params: &[(String, String)],
) -> Result<(String, String), &'static str> {
    let mut names = HashSet::new();
    if params
        .iter()
        .any(|(name, _)| name != "resource" && !names.insert(name))
    {
        return Err("A parameter was sent twice.");
    }
    let id = first(params.to_vec(), "client_id").ok_or("client_id is missing.")?;
    let client = state.client(&id).ok_or("This client is not known here.")?;
    let uri = first(params.to_vec(), "redirect_uri").ok_or("redirect_uri is missing.")?;
    if !client.redirect_uris.contains(&uri) || Url::parse(&uri).is_err() {
        return Err("This redirect URI does not belong to the client.");
    }
    Ok((id, uri))
}

fn validate(
    shared: &Shared,
    params: &[(String, String)],
    client: String,
    redirect_uri: String,
) -> Result<Ask, (&'static str, &'static str)> {
    let get = |name: &str| first(params.to_vec(), name);
    if get("response_type").as_deref() != Some("code") {
        return Err((
            "unsupported_response_type",
            "only response_type=code is supported",
        ));
    }
    let challenge = get("code_challenge").unwrap_or_default();
    if get("code_challenge_method").as_deref() != Some("S256") || challenge.len() != 43 {
        return Err(("invalid_request", "PKCE with S256 is required"));
    }
    let scope = get("scope").filter(|scope| !scope.trim().is_empty());
    let scope = scope.unwrap_or_else(|| shared.config.scopes.join(" "));
    if scope
        .split_whitespace()
        .any(|word| !shared.config.scopes.iter().any(|known| known == word))
    {
        return Err(("invalid_scope", "a scope is not known here"));
    }
    let resources: Vec<String> = params
        .iter()
        .filter(|(name, _)| name == "resource")
        .map(|(_, value)| value.clone())
        .collect();
    let plain = |text: &String| Url::parse(text).is_ok_and(|url| url.fragment().is_none());
    if !resources.iter().all(plain) {
        return Err((
            "invalid_target",
            "a resource is not an absolute URI without fragment",
        ));
    }
    let force_consent =
        get("prompt").is_some_and(|prompt| prompt.split(' ').any(|w| w == "consent"));
    let (state, nonce) = (get("state"), get("nonce"));
    Ok(Ask {
        client,
        redirect_uri,
        state,
        scope,
        nonce,
        challenge,
        resources,
        force_consent,
    })
}

/// Login page, consent page or straight back, whatever the transaction needs next.
fn next_page(
    shared: &Shared,
    state: &mut State,
    transaction: &str,
    seen: &Recorded,
) -> Result<Answer, LabError> {
    let name = &shared.config.name;
    let Some(pending) = state.pending.get(transaction) else {
        return Ok(refused(shared, STALE));
    };
    let Some((person, since)) = pending.person.clone() else {
        return Ok(Answer::html(
            200,
            html::login(name, transaction, &shared.config.people),
        ));
    };
    let ask = pending.ask.clone();
    if must_ask(shared, state, &ask, seen) {
        let person = shared.person(&person)?;
        let page = html::Consent {
            transaction,
            client: &ask.client,
            person,
            scope: &ask.scope,
        };
        return Ok(Answer::html(200, html::consent(name, &page)));
    }
    state.pending.remove(transaction);
    send_code(shared, state, ask, (person, since))
}

fn must_ask(shared: &Shared, state: &State, ask: &Ask, seen: &Recorded) -> bool {
    let session = seen
        .cookie(&shared.cookie)
        .and_then(|cookie| state.sessions.get(cookie));
    let agreed = |session: &Session| {
        session
            .agreed
            .contains(&(ask.client.clone(), ask.scope.clone()))
    };
    match shared.config.consent {
        _ if ask.force_consent => true,
        ConsentRule::Always => true,
        ConsentRule::Once => !session.is_some_and(agreed),
        ConsentRule::Never => false,
    }
}

fn send_code(
    shared: &Shared,
    state: &mut State,
    ask: Ask,
    (person, auth_time): (String, u64),
) -> Result<Answer, LabError> {
    let code = fresh("prac_code_")?;
    let target = (ask.redirect_uri.clone(), ask.state.clone());
    let expires = shared.now().saturating_add(shared.config.code_life);
    state.codes.insert(
        code.clone(),
        Code {
            ask,
            person,
            auth_time,
            expires,
            grant: None,
        },
    );
    send_back(
        shared,
        state,
        (&target.0, target.1),
        vec![("code".to_owned(), code)],
    )
}

fn send_error(
    shared: &Shared,
    state: &State,
    target: (&str, Option<String>),
    error: &str,
    text: &str,
) -> Result<Answer, LabError> {
    let params = [("error", error), ("error_description", text)];
    let params = params.map(|(name, value)| (name.to_owned(), value.to_owned()));
    send_back(shared, state, target, params.to_vec())
}

/// The redirect to the client, with `state` and `iss` and whatever edits are switched on.
fn send_back(
    shared: &Shared,
    state: &State,
    (redirect_uri, echoed): (&str, Option<String>),
    mut params: Vec<(String, String)>,
) -> Result<Answer, LabError> {
    params.extend(echoed.map(|value| ("state".to_owned(), value)));
    params.push(("iss".to_owned(), shared.base.clone()));
    let edits = &state.misbehaviour.callback;
    let target = edits.target.as_deref().unwrap_or(redirect_uri);
    let mut url = Url::parse(target).map_err(|_| LabError::Address(target.to_owned()))?;
    let params = edits.apply(params);
    if edits.form_post {
        let page = html::form_post(&shared.config.name, url.as_str(), &params);
        return Ok(Answer::html(200, page));
    }
    url.query_pairs_mut().extend_pairs(params);
    Ok(Answer::redirect(url.as_str()))
}

fn refused(shared: &Shared, why: &str) -> Answer {
    Answer::html(
        400,
        html::notice(&shared.config.name, "This cannot go on", why),
    )
}
