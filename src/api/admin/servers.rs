//! Servers and their keys.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actors::doors::{self, KeyView, ServerView};
use domain::{ProviderSlug, ServerSlug, SubjectMode};
use serde::Serialize;
use zeroize::Zeroizing;

use super::Admin;
use crate::authn::bearer;
use crate::headers::IDEMPOTENCY_KEY;
use crate::listener::{Asked, answer, answer_bytes};
use crate::problem::{Kind, Problem};
use crate::settings::AdminAuth;

#[derive(Serialize)]
struct Servers<'a> {
    servers: Vec<Server<'a>>,
}

#[derive(Serialize)]
struct Server<'a> {
    slug: &'a str,
    tenant: &'a str,
    name: &'a str,
    issuer: &'a str,
    subject_mode: &'static str,
    providers: Vec<&'a str>,
    disabled: bool,
    keys: Vec<Key<'a>>,
}

#[derive(Serialize)]
struct Key<'a> {
    id: &'a str,
    created_at: String,
    revoked_at: Option<String>,
}

/// A fresh key; its text is shown this once.
#[derive(Serialize)]
struct NewKey<'a> {
    key: Key<'a>,
    secret: &'a str,
}

#[derive(Serialize)]
struct Switched<'a> {
    server: &'a str,
    disabled: bool,
}

/// `GET /v1/servers`.
pub(crate) async fn list(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    let servers = admin.door.servers(asked.ctx).await?;
    let servers = servers.iter().map(server).collect();
    Ok(answer(StatusCode::OK, &Servers { servers }))
}

/// `POST /v1/servers/{slug}/keys`. Cannot be repeated safely, and says so.
pub(crate) async fn new_key(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    let slug: ServerSlug = asked.in_path("slug")?;
    let ctx = asked.ctx;
    refuse_idempotency_key(&asked)?;
    asked.no_body().await?;
    let fresh = admin.door.new_key(ctx, &slug).await?;
    shown_once(&fresh)
}

/// `POST /v1/admin-keys`. Every earlier admin key is revoked, the one that was sent with this request included.
pub(crate) async fn new_admin_key(
    admin: &Admin,
    asked: Asked<'_>,
) -> Result<HttpResponse, Problem> {
    let ctx = asked.ctx;
    refuse_idempotency_key(&asked)?;
    let sent = match admin.settings.auth() {
        AdminAuth::Key => Some(bearer(asked.request)),
        AdminAuth::PeerChecked => None,
    };
    asked.no_body().await?;
    let fresh = admin.door.new_admin_key(ctx, sent).await?;
    shown_once(&fresh)
}

/// A key is shown once, so the same answer cannot be given again; and ignoring the header would make a second key.
fn refuse_idempotency_key(asked: &Asked<'_>) -> Result<(), Problem> {
    if asked.request.headers().contains_key(IDEMPOTENCY_KEY) {
        let message = "not here: each request makes a new key. After a failure list the servers, and revoke a key that \
             you did not receive";
        return Err(Problem::header(IDEMPOTENCY_KEY, message));
    }
    Ok(())
}

/// The answer with a fresh key. The body is wiped when it has been sent.
fn shown_once(fresh: &doors::NewKey) -> Result<HttpResponse, Problem> {
    let shown = NewKey {
        key: key(&fresh.view),
        secret: &fresh.text,
    };
    let mut body = Zeroizing::new(Vec::with_capacity(1024));
    serde_json::to_writer(&mut *body, &shown).map_err(|_| Problem::from(Kind::Internal))?;
    Ok(answer_bytes(StatusCode::CREATED, Bytes::from_owner(body)))
}

/// `DELETE /v1/keys/{id}`.
pub(crate) async fn revoke_key(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    let id: String = asked.in_path("id")?;
    if id.len() != 12 || !id.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(Kind::NotFound.into());
    }
    let view = admin.door.revoke_key(asked.ctx, &id).await?;
    Ok(answer(StatusCode::OK, &key(&view)))
}

/// `POST /v1/servers/{slug}/disable`.
pub(crate) async fn disable(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    switch(admin, asked, true).await
}

/// `POST /v1/servers/{slug}/enable`.
pub(crate) async fn enable(admin: &Admin, asked: Asked<'_>) -> Result<HttpResponse, Problem> {
    switch(admin, asked, false).await
}

async fn switch(admin: &Admin, asked: Asked<'_>, disabled: bool) -> Result<HttpResponse, Problem> {
    let slug: ServerSlug = asked.in_path("slug")?;
    let ctx = asked.ctx;
    asked.no_body().await?;
    admin.door.set_disabled(ctx, &slug, disabled).await?;
    let server = slug.as_str();
    Ok(answer(StatusCode::OK, &Switched { server, disabled }))
}

fn server(view: &ServerView) -> Server<'_> {
    Server {
        slug: view.slug.as_str(),
        tenant: view.tenant.as_str(),
        name: &view.name,
        issuer: view.issuer.as_str(),
        subject_mode: match view.subject_mode {
            SubjectMode::Token => "token",
            SubjectMode::Asserted => "asserted",
        },
        providers: view.providers.iter().map(ProviderSlug::as_str).collect(),
        disabled: view.disabled,
        keys: view.keys.iter().map(key).collect(),
    }
}

fn key(view: &KeyView) -> Key<'_> {
    Key {
        id: &view.id,
        created_at: view.created.rfc3339(),
        revoked_at: view.revoked.map(domain::Timestamp::rfc3339),
    }
}
