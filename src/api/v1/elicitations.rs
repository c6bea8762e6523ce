//! Elicitations one by one: make, look at (also waiting), take back, and find by requestState.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use actors::doors::{ElicitationView, SubjectInput};
use domain::ElicitationId;
use serde_json::{Map, Value};

use super::mcp::{self, Mcp};
use super::{Api, Call, ensure, subject, views, wanted};
use crate::fields::{Faults, Fields};
use crate::headers::{IDEMPOTENCY_KEY, text_of};
use crate::limits::{MAX_IDEMPOTENCY_KEY, MAX_WAIT_S};
use crate::listener::answer;
use crate::problem::Problem;

/// `POST /v1/elicitations`. The same Idempotency-Key with the same request gives the same answer again, 201 included.
pub(crate) async fn create(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let claims = subject::claims(api, &call);
    let Call { asked, caller } = call;
    let ctx = asked.ctx;
    let key = idempotency_key(asked.request)?;
    let mut fields = Fields::new(asked.json().await?);
    let mut faults = Faults::default();
    let mcp = mcp::from_body(&mut fields, &mut faults);
    let input = subject::from_body(&mut fields, claims, mcp.client_id, &mut faults);
    let wanted = wanted::from_body(&mut fields, mcp.digest, &mut faults);
    fields.finish(&mut faults);
    let (input, wanted) = faults.settle(input.zip(wanted))?;
    let subject = api.door.subject(ctx, &caller, input).await?;
    let link = api
        .door
        .create_elicitation(ctx, &caller, &subject, (wanted, key));
    let link = link.await?;
    let mut response = ensure::elicit(StatusCode::CREATED, mcp.client, &link);
    let place = format!("/v1/elicitations/{}", link.view.id);
    if let Ok(place) = header::HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// `GET /v1/elicitations/{id}?wait=`: the future is dropped, and the wait with it, when the client goes away.
pub(crate) async fn get(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let id: ElicitationId = call.asked.in_path("id")?;
    let wait = wait(call.asked.query.get("wait").map(String::as_str))?;
    let subject = subject::of_head(api, &call).await?;
    let view = api
        .door
        .elicitation(call.asked.ctx, &call.caller, &subject, (id, wait));
    Ok(shown(&view.await?))
}

/// `POST /v1/elicitations/{id}/cancel`.
pub(crate) async fn cancel(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let claims = subject::claims(api, &call);
    let Call { asked, caller } = call;
    let ctx = asked.ctx;
    let id: ElicitationId = asked.in_path("id")?;
    let mut faults = Faults::default();
    let (fields, input, _) = about(asked.json().await?, claims, &mut faults);
    fields.finish(&mut faults);
    let input = faults.settle(input)?;
    let subject = api.door.subject(ctx, &caller, input).await?;
    let view = api.door.cancel_elicitation(ctx, &caller, &subject, id);
    Ok(shown(&view.await?))
}

/// `POST /v1/elicitations/resolve` (C13). A requestState of any length and alphabet that is not good gets one answer.
pub(crate) async fn resolve(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let claims = subject::claims(api, &call);
    let Call { asked, caller } = call;
    let ctx = asked.ctx;
    let mut faults = Faults::default();
    let (mut fields, input, mcp) = about(asked.json().await?, claims, &mut faults);
    fields.require("request_state", &mut faults);
    let state = fields.text("request_state", &mut faults);
    fields.finish(&mut faults);
    let (input, state) = faults.settle(input.zip(state))?;
    let subject = api.door.subject(ctx, &caller, input).await?;
    let view = api
        .door
        .resolve(ctx, &caller, &subject, (state.into(), mcp.digest));
    Ok(shown(&view.await?))
}

/// Takes the members that say whom and which MCP request a call is about.
fn about(
    members: Map<String, Value>,
    claims: &[Box<str>],
    faults: &mut Faults,
) -> (Fields, Option<SubjectInput>, Mcp) {
    let mut fields = Fields::new(members);
    let mut mcp = mcp::from_body(&mut fields, faults);
    let input = subject::from_body(&mut fields, claims, mcp.client_id.take(), faults);
    (fields, input, mcp)
}

fn shown(view: &ElicitationView) -> HttpResponse {
    answer(StatusCode::OK, &views::Elicitation::new(view, None))
}

fn idempotency_key(request: &actix_web::HttpRequest) -> Result<Option<Box<str>>, Problem> {
    match text_of(request, IDEMPOTENCY_KEY)? {
        Some(key) if key.len() > MAX_IDEMPOTENCY_KEY => Err(Problem::header(
            IDEMPOTENCY_KEY,
            "this may have 128 characters",
        )),
        key => Ok(key.map(Into::into)),
    }
}

fn wait(text: Option<&str>) -> Result<Duration, Problem> {
    let Some(text) = text else {
        return Ok(Duration::ZERO);
    };
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|seconds| digits && *seconds <= MAX_WAIT_S)
        .map(Duration::from_secs)
        .ok_or_else(|| Problem::parameter("wait", "this must be whole seconds from 0 to 55"))
}
