//! The entrance of the api and admin listeners: every request comes through here, in this order, and every answer leaves
//! through here.
//!
//! A listener has one route table; the app is built from it and tests compare the OpenAPI document with it. Addresses that
//! are not in it, and methods that do not fit, are answered by the same entrance, so that no text of the framework reaches
//! a caller.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{Handler, HttpRequest, HttpResponse};
use actors::doors::Ctx;
use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::guard::{REQUEST, guarded};
use crate::problem::{Fault, Kind, Place, Problem};
use crate::{body, headers, json};

/// What a handler gives.
pub(crate) type Answering<'a> = LocalBoxFuture<'a, Result<HttpResponse, Problem>>;

/// A listener: its routes, and how one of them is served.
pub(crate) trait Listener: Send + Sync + 'static {
    /// How a route is served, the caller's credential included.
    type Serve: Sync + 'static;

    /// All routes; the more exact address stands first.
    fn routes() -> &'static [Route<Self::Serve>];

    /// A new request.
    fn begin(&self) -> Ctx;

    /// The origin under which problem types live.
    fn public(&self) -> &str;

    /// Serves a request whose head was found good.
    fn serve<'a>(&'a self, serve: &'static Self::Serve, asked: Asked<'a>) -> Answering<'a>;
}

/// A line of a route table.
pub(crate) struct Route<S> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Query parameters it knows; any other is refused.
    pub(crate) query: &'static [&'static str],
    pub(crate) serve: S,
}

/// A request whose head was found good.
pub(crate) struct Asked<'a> {
    pub(crate) ctx: Ctx,
    pub(crate) request: &'a HttpRequest,
    pub(crate) query: BTreeMap<String, String>,
    payload: Payload,
}

impl Asked<'_> {
    /// The id or slug in the path. One that cannot exist is answered like one that does not.
    pub(crate) fn in_path<T: FromStr>(&self, name: &str) -> Result<T, Problem> {
        self.request
            .match_info()
            .get(name)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Kind::NotFound.into())
    }

    /// Reads the body as one JSON object.
    pub(crate) async fn json(self) -> Result<Map<String, Value>, Problem> {
        headers::check_subject_is_in_body(self.request)?;
        headers::check_content_type(self.request)?;
        let body = body::read(self.request, self.payload).await?;
        json::parse_object(&body)
    }

    /// For a POST that says everything in its address: the body is empty or `{}`.
    pub(crate) async fn no_body(self) -> Result<(), Problem> {
        let body = body::read(self.request, self.payload).await?;
        if body.is_empty() || json::parse_object(&body)?.is_empty() {
            return Ok(());
        }
        let place = Place::Pointer(String::new());
        let message = "this address takes no body".into();
        Err(Problem::invalid(vec![Fault { place, message }]))
    }
}

/// A JSON answer.
pub(crate) fn answer(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    match serde_json::to_vec(body) {
        Ok(bytes) => answer_bytes(status, bytes.into()),
        Err(_) => HttpResponse::InternalServerError().finish(), // our own types have text keys only
    }
}

/// A JSON answer that is already written.
pub(crate) fn answer_bytes(status: StatusCode, body: web::Bytes) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .body(body)
}

/// Adds a listener's routes to an app.
pub(crate) fn install<L: Listener>(listener: &Arc<L>, config: &mut ServiceConfig) {
    let routes = L::routes();
    for (at, first) in routes.iter().enumerate() {
        let known = routes.iter().take(at).any(|route| route.path == first.path);
        if known {
            continue;
        }
        let here = || routes.iter().filter(|route| route.path == first.path);
        let methods: Vec<&str> = here().map(|route| route.method.as_str()).collect();
        let resource = here().fold(web::resource(first.path), |resource, route| {
            let enter = entrance(listener, Found::Route(route));
            resource.route(web::method(route.method.clone()).to(enter))
        });
        let wrong = entrance(listener, Found::WrongMethod(methods.join(", ")));
        config.service(resource.default_service(web::to(wrong)));
    }
    config.default_service(web::to(entrance(listener, Found::Nothing)));
}

/// What the route table says about a request.
enum Found<S: 'static> {
    Route(&'static Route<S>),
    WrongMethod(String),
    Nothing,
}

fn entrance<L: Listener>(
    listener: &Arc<L>,
    found: Found<L::Serve>,
) -> impl Handler<(HttpRequest, Payload), Output = HttpResponse> {
    let listener = Arc::clone(listener);
    let found = std::rc::Rc::new(found);
    move |request: HttpRequest, payload: Payload| {
        let (listener, found) = (Arc::clone(&listener), std::rc::Rc::clone(&found));
        async move { enter(&*listener, &found, &request, payload).await }
    }
}

/// One request from head to answer. A panic in it is one failed request, not a lost connection.
async fn enter<L: Listener>(
    listener: &L,
    found: &Found<L::Serve>,
    request: &HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let ctx = listener.begin();
    let served = guarded(serve(listener, found, (ctx, request), payload)).await;
    let served = served.unwrap_or_else(|| Err(Kind::Internal.into()));
    log(ctx, request, &served);
    let mut response =
        served.unwrap_or_else(|problem| problem.respond(listener.public(), ctx.request));
    headers::harden(response.headers_mut());
    response
}

async fn serve<L: Listener>(
    listener: &L,
    found: &Found<L::Serve>,
    (ctx, request): (Ctx, &HttpRequest),
    payload: Payload,
) -> Result<HttpResponse, Problem> {
    headers::check_head(request)?;
    let route = match found {
        Found::Route(route) => route,
        Found::Nothing => return Err(Kind::NotFound.into()),
        Found::WrongMethod(allow) => {
            return Err(Problem {
                allow: Some(allow.clone()),
                ..Problem::from(Kind::MethodNotAllowed)
            });
        }
    };
    let query = read_query(request.query_string(), route.query)?;
    let asked = Asked {
        ctx,
        request,
        query,
        payload,
    };
    listener.serve(&route.serve, asked).await
}

fn read_query(text: &str, known: &[&str]) -> Result<BTreeMap<String, String>, Problem> {
    let mut query = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
        if !known.contains(&&*name) {
            let short: String = name.chars().take(64).collect();
            return Err(Problem::parameter(
                &short,
                "this parameter is not known here",
            ));
        }
        if query.insert(name.to_string(), value.into()).is_some() {
            return Err(Problem::parameter(&name, "send this parameter once"));
        }
    }
    Ok(query)
}

/// One line for each request. Never the address itself: its pattern says enough.
fn log(ctx: Ctx, request: &HttpRequest, served: &Result<HttpResponse, Problem>) {
    let route = request.match_pattern().unwrap_or_default();
    let method = request.method().as_str();
    match served {
        Ok(response) => {
            let status = response.status().as_u16();
            tracing::info!({ REQUEST } = %ctx.request, method, route, status, "answered");
        }
        Err(Problem {
            kind,
            misplaced: Some(key),
            ..
        }) => {
            let (status, problem, ..) = kind.facts();
            // The operator revokes the key with this id; where it was, others may have read it.
            tracing::warn!({ REQUEST } = %ctx.request, method, route, status, problem, %key, "refused");
        }
        Err(problem) => {
            let status = problem.kind.facts().0;
            let problem = problem.code();
            if matches!(problem, "internal" | "unavailable") {
                tracing::warn!({ REQUEST } = %ctx.request, method, route, status, problem, "refused");
            } else {
                tracing::info!({ REQUEST } = %ctx.request, method, route, status, problem, "refused");
            }
        }
    }
}
