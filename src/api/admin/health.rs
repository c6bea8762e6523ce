//! Health with detail, for operators.

use std::future::{Ready, ready};

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use serde::Serialize;

use super::Admin;
use crate::listener::{Asked, answer};
use crate::problem::Problem;

/// Health is known at once.
type Answered = Ready<Result<HttpResponse, Problem>>;

#[derive(Serialize)]
struct Health<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_dir: Option<&'a str>,
    store_writable: bool,
    commit: u64,
    audit_writable: bool,
    actors_replaced: u64,
    version: &'static str,
}

/// `GET /healthz`: 200 as long as the process answers.
pub(crate) fn healthz(admin: &Admin, _: Asked<'_>) -> Answered {
    ready(Ok(answer(StatusCode::OK, &health(admin, "ok", "ok"))))
}

/// `GET /readyz`: 503 when requests are not served; the same detail either way.
pub(crate) fn readyz(admin: &Admin, _: Asked<'_>) -> Answered {
    let body = health(admin, "ready", "not_ready");
    let status = if body.status == "ready" {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut response = answer(status, &body);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let soon = header::HeaderValue::from_static("2");
        response.headers_mut().insert(header::RETRY_AFTER, soon);
    }
    ready(Ok(response))
}

fn health<'a>(admin: &'a Admin, ready: &'static str, not_ready: &'static str) -> Health<'a> {
    let view = admin.door.health();
    Health {
        status: if view.ready { ready } else { not_ready },
        data_dir: admin.settings.data_dir(),
        store_writable: view.store_writable,
        commit: view.commit,
        audit_writable: view.audit_writable,
        actors_replaced: view.actors_replaced,
        version: view.version,
    }
}
