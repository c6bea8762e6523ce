//! What is the same for everybody: stylesheet and icons, what problems mean, robots, health, and the answer to unknown
//! addresses.

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use pages::{Cause, Language, ProblemView};

use super::App;
use super::answer::{Early, Outcome, Visit};
use super::hardening::harden;
use crate::kind::Kind;

/// A file under a name that carries the hash of its bytes; it may be kept for good.
pub(crate) async fn asset(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    let visit = Visit::of(&request, &app);
    if !visit.metadata().is_own_asset() {
        return visit.error(StatusCode::FORBIDDEN, Cause::Generic, "not-our-page");
    }
    let Some(asset) = pages::assets()
        .iter()
        .find(|asset| asset.path == request.path())
    else {
        return visit.gone();
    };
    HttpResponse::Ok()
        .content_type(asset.content_type)
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(asset.bytes.as_slice())
}

/// What a problem of the other listeners means: their documents name this address as their type.
pub(crate) async fn problem(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    explain(&Visit::of(&request, &app)).unwrap_or_else(Early::answer)
}

fn explain(visit: &Visit<'_>) -> Outcome {
    visit.check_page()?;
    let kind = Kind::of_slug(visit.part("code")).ok_or_else(|| visit.gone())?;
    let (status, code, title, detail) = kind.facts();
    let (title, detail) = match visit.language() {
        Language::English => (title, detail),
        Language::Chinese => kind.in_chinese(),
    };
    let view = ProblemView {
        title,
        detail,
        code,
        status: status.into(),
    };
    Ok(visit.page(HttpResponse::Ok(), &view))
}

/// Nothing here is for search engines.
pub(crate) async fn robots() -> HttpResponse {
    text("User-agent: *\nDisallow: /\n")
}

/// Pages name their icon themselves.
pub(crate) async fn favicon() -> HttpResponse {
    HttpResponse::NotFound().finish()
}

/// The listener answers; it says no more than that.
pub(crate) async fn health() -> HttpResponse {
    text("ok\n")
}

/// An address that is none of ours looks like a link that is no longer valid.
pub(crate) async fn unknown(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    Visit::of(&request, &app).gone()
}

/// A target that is no path (`*`) passes no entrance, so it gets its headers here.
pub(crate) async fn no_path(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    let visit = Visit::of(&request, &app);
    let mut answer = visit.error(StatusCode::BAD_REQUEST, Cause::Generic, "not-a-path");
    harden(answer.headers_mut(), "", app.settings.is_https());
    answer
}

fn text(words: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .body(words)
}
