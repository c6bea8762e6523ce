//! Grants of the whole installation, page by page; people appear as keyed pseudonyms.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::doors::AdminGrantView;
use domain::GrantId;
use serde::Serialize;

use super::Admin;
use crate::limits::PAGE;
use crate::listener::{Asked, answer};
use crate::problem::Problem;
use crate::v1::{Receipt, grant_status};

#[derive(Serialize)]
struct Page<'a> {
    grants: Vec<Grant<'a>>,
    /// `after` of the next page; null on the last.
    next: Option<String>,
}

#[derive(Serialize)]
struct Grant<'a> {
    id: String,
    tenant: &'a str,
    server: &'a str,
    provider: &'a str,
    user: &'a str,
    status: &'static str,
    created_at: String,
}

/// `GET /v1/grants?after=&limit=`.
pub(crate) async fn list(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    let after = match asked.query.get("after") {
        None => None,
        Some(text) => Some(text.parse::<GrantId>().map_err(|_| {
            Problem::parameter("after", "this must be the id of a grant, as `next` gave it")
        })?),
    };
    let limit = limit(asked.query.get("limit").map(String::as_str))?;
    let page = admin.door.grants(asked.ctx, after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    let grants = page.grants.iter().map(grant).collect();
    Ok(answer(StatusCode::OK, &Page { grants, next }))
}

/// `DELETE /v1/grants/{id}`.
pub(crate) async fn delete(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    let id: GrantId = asked.in_path("id")?;
    let receipt = admin.door.revoke_grant(asked.ctx, id).await?;
    Ok(answer(StatusCode::OK, &Receipt::from(receipt)))
}

fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let (default, most) = PAGE;
    let Some(text) = text else {
        return Ok(default);
    };
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|limit| digits && (1..=most).contains(limit))
        .ok_or_else(|| Problem::parameter("limit", "this must be a whole number from 1 to 1000"))
}

fn grant(view: &AdminGrantView) -> Grant<'_> {
    Grant {
        id: view.id.to_string(),
        tenant: view.tenant.as_str(),
        server: view.server.as_str(),
        provider: view.provider.as_str(),
        user: &view.user,
        status: grant_status(view.status),
        created_at: view.created.rfc3339(),
    }
}
