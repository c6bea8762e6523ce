//! What a person has connected to the calling server: list, look at, end.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use domain::GrantId;
use serde::Serialize;

use super::{Api, Call, subject, views};
use crate::listener::answer;
use crate::problem::Problem;

#[derive(Serialize)]
struct Grants<'a> {
    grants: Vec<views::Grant<'a>>,
}

/// `GET /v1/grants`.
pub(crate) async fn list(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let subject = subject::of_head(api, &call).await?;
    let grants = api.door.grants(call.asked.ctx, &call.caller, &subject);
    let grants = grants.await?;
    let grants = grants.iter().map(views::Grant::from).collect();
    Ok(answer(StatusCode::OK, &Grants { grants }))
}

/// `GET /v1/grants/{id}`.
pub(crate) async fn get(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let id: GrantId = call.asked.in_path("id")?;
    let subject = subject::of_head(api, &call).await?;
    let grant = api.door.grant(call.asked.ctx, &call.caller, &subject, id);
    Ok(answer(StatusCode::OK, &views::Grant::from(&grant.await?)))
}

/// `DELETE /v1/grants/{id}`: answers with a receipt, whatever the provider says.
pub(crate) async fn delete(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let id: GrantId = call.asked.in_path("id")?;
    let subject = subject::of_head(api, &call).await?;
    let receipt = api
        .door
        .revoke_grant(call.asked.ctx, &call.caller, &subject, id);
    Ok(answer(
        StatusCode::OK,
        &views::Receipt::from(receipt.await?),
    ))
}
