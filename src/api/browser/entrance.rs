//! The entrance: what every request of this listener passes, whatever its route, and what every answer carries.

use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest, HttpResponse, web};
use actors::doors::{Ctx, reference};
use pages::Cause;

use super::App;
use super::answer::Visit;
use super::hardening::harden;
use super::metadata::looks_ahead;
use crate::guard::REQUEST;
use crate::headers::{asks_for_websocket, misplaced_key};
use crate::limits::{MAX_HEAD, MAX_HEADERS, MAX_URL};

/// Lets a request in or answers it at once; hardens and logs the answer either way.
///
/// # Errors
/// None of its own.
pub(crate) async fn pass<B: MessageBody + 'static>(
    app: web::Data<App>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut ctx = None;
    let early = turn_away(request.request(), &app, &mut ctx);
    let mut response = if let Some(answer) = early {
        request.into_response(answer)
    } else {
        let given = *ctx.get_or_insert_with(|| app.door.begin());
        request.extensions_mut().insert(given);
        next.call(request).await?.map_into_boxed_body()
    };
    let path = response.request().path().to_owned();
    harden(response.headers_mut(), &path, app.settings.is_https());
    log(&response, ctx);
    if let Some(key) = misplaced_key(response.request()) {
        // No page here takes a key, so the request is answered as it is; but the operator revokes this one.
        let request = ctx.map(|ctx| tracing::field::display(ctx.request));
        tracing::warn!(listener = "connect", { REQUEST } = request, %key, "a server key was shown to the connect listener");
    }
    Ok(response)
}

/// The answer to a request that goes no further.
fn turn_away(request: &HttpRequest, app: &App, ctx: &mut Option<Ctx>) -> Option<HttpResponse> {
    let fault = fault(request, app);
    if fault.is_none() && (request.method() == Method::HEAD || looks_ahead(request.headers())) {
        return Some(HttpResponse::NoContent().finish()); // nobody has clicked: nothing is asked of the door
    }
    // None of our addresses needs percent-encoding, so an encoded one was never ours.
    let encoded = request.path().contains('%');
    if fault.is_none() && !encoded {
        return None;
    }
    let ctx = *ctx.get_or_insert_with(|| app.door.begin());
    let visit = Visit::new(request, app, ctx);
    Some(match fault {
        Some((status, cause, code)) => visit.error(status, cause, code),
        None => visit.gone(),
    })
}

fn fault(request: &HttpRequest, app: &App) -> Option<(StatusCode, Cause, &'static str)> {
    let headers = request.headers();
    let url = request
        .uri()
        .path_and_query()
        .map_or(0, |text| text.as_str().len());
    let head: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if !is_ours(request, app) {
        tell_of_proxy(app);
        Some((
            StatusCode::MISDIRECTED_REQUEST,
            Cause::Operator,
            "wrong-host",
        ))
    } else if url > MAX_URL {
        Some((StatusCode::URI_TOO_LONG, Cause::Generic, "address-too-long"))
    } else if headers.len() > MAX_HEADERS || head > MAX_HEAD {
        Some((
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Cause::Generic,
            "head-too-large",
        ))
    } else if asks_for_websocket(headers) {
        Some((StatusCode::BAD_REQUEST, Cause::Generic, "no-websocket"))
    } else {
        None
    }
}

/// Behind a proxy that changes `Host` nothing works, and every request says so; the operator is told now and then.
fn tell_of_proxy(app: &App) {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    if TOLD.fetch_add(1, Ordering::Relaxed).is_multiple_of(1000) {
        let expected = app.settings.authority();
        tracing::warn!(
            expected,
            "a request names another host than public_url; if it came through a proxy, let it pass Host through, or send \
             X-Forwarded-Host and declare it in listen.trusted_proxy"
        );
    }
}

/// Whether the request is for our authority, spelt as in our origin: exactly one `Host`, and the same in an absolute-form
/// target (RFC 9112 section 3.2). A declared proxy may say in one `X-Forwarded-Host` which host it was asked for.
fn is_ours(request: &HttpRequest, app: &App) -> bool {
    let ours = app.settings.authority();
    let host = only(request.headers(), header::HOST.as_str());
    let target = request
        .uri()
        .authority()
        .is_none_or(|target| target.as_str() == ours);
    let peer = request.peer_addr().map(|peer| peer.ip());
    let forwarded =
        request.headers().contains_key("x-forwarded-host") && app.settings.believes(peer);
    if forwarded {
        host.is_some() && only(request.headers(), "x-forwarded-host") == Some(ours)
    } else {
        target && host == Some(ours)
    }
}

/// The header, if it came exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// One line for each request: never its path, query or anything else that came with it.
fn log(response: &ServiceResponse<BoxBody>, ctx: Option<Ctx>) {
    let request = response.request();
    let route = request.match_pattern().unwrap_or_default();
    let method = match *request.method() {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    };
    tracing::info!(
        listener = "connect",
        method,
        route = if route.is_empty() {
            "none"
        } else {
            route.as_str()
        },
        status = response.status().as_u16(),
        { REQUEST } = ctx.map(|ctx| tracing::field::display(ctx.request)),
        // What pages tell people to quote.
        reference = ctx.map(|ctx| reference(ctx.request)),
        "answered"
    );
}
