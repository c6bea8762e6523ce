//! Addresses for anybody: the description of the API and whether the vault is alive and ready, without detail.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use serde_json::json;

use super::Api;
use crate::listener::{answer, answer_bytes};
use crate::problem::{Kind, Problem};

/// The OpenAPI 3.1 document, kept exact by a test against the routes and the answers.
pub(crate) const OPENAPI: &str = include_str!("../openapi.json");

pub(crate) fn openapi(_: &Api) -> HttpResponse {
    answer_bytes(StatusCode::OK, Bytes::from_static(OPENAPI.as_bytes()))
}

/// The process answers.
pub(crate) fn healthz(_: &Api) -> HttpResponse {
    answer(StatusCode::OK, &json!({"status": "ok"}))
}

/// The vault serves requests.
pub(crate) fn readyz(api: &Api) -> Result<HttpResponse, Problem> {
    if api.door.ready() {
        Ok(answer(StatusCode::OK, &json!({"status": "ready"})))
    } else {
        Err(Problem::retry(Kind::Unavailable, Duration::from_secs(2)))
    }
}
