//! The listener: records each request, holds it at gates, applies wire faults, and dispatches.

use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{Server, ServerHandle};
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use serde_json::json;

use crate::answer::{self, Answer, Body};
use crate::gate::{GatePost, Moment};
use crate::misbehave::{Reply, lay_over};
use crate::recorder::Recorded;
use crate::shape::shaped;
use crate::state::Shared;
use crate::{LabError, api, authorize, html, token};

/// Largest request body taken, bytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// Starts the server on `listener`; the caller polls the returned future.
pub(crate) fn serve(
    shared: web::Data<Shared>,
    listener: TcpListener,
) -> Result<(Server, ServerHandle), LabError> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .app_data(web::PayloadConfig::new(BODY_LIMIT))
            .default_service(web::to(handle))
    })
    .workers(1)
    .disable_signals()
    .listen(listener)
    .map_err(LabError::Bind)?
    .run();
    let handle = server.handle();
    Ok((server, handle))
}

pub(crate) async fn handle(
    request: HttpRequest,
    body: Bytes,
    shared: web::Data<Shared>,
) -> HttpResponse {
    let seen = record(&request, &body);
    shared.lock().recorder.push(seen.clone());
    hold(&shared, &seen.path, Moment::BeforeActing).await;
    let fault = shared.lock().misbehaviour.take_reply(&seen.path);
    let response = match fault {
        Some(fault) if !fault.acts => replaced(&fault.reply),
        Some(fault) => {
            drop(act(&shared, &seen));
            replaced(&fault.reply)
        }
        None => act(&shared, &seen).into_response(),
    };
    hold(&shared, &seen.path, Moment::BeforeAnswering).await;
    response
}

fn record(request: &HttpRequest, body: &Bytes) -> Recorded {
    let headers = request.headers().iter().map(|(name, value)| {
        (
            name.as_str().to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    });
    Recorded {
        method: request.method().as_str().to_owned(),
        path: request.uri().path().to_owned(),
        query: request.query_string().to_owned(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(body).into_owned(),
    }
}

async fn hold(shared: &Shared, path: &str, moment: Moment) {
    let posts: Vec<GatePost> = {
        let mut state = shared.lock();
        state.gates.retain(GatePost::is_shut);
        state
            .gates
            .iter()
            .filter(|post| post.stands_at(path, moment))
            .cloned()
            .collect()
    };
    for post in posts {
        post.pass().await;
    }
}

/// Does what the endpoint does, and edits a good JSON answer as switched on.
fn act(shared: &Shared, seen: &Recorded) -> Answer {
    let mut answer = match dispatch(shared, seen) {
        Ok(answer) => answer,
        Err(error) => Answer::error(500, "server_error", &error.to_string()),
    };
    if let (200..=299, Body::Json(members)) = (answer.status, &mut answer.body) {
        let state = shared.lock();
        if let Some(over) = state.misbehaviour.members.get(&seen.path) {
            lay_over(members, over);
        }
        if seen.path == "/token" {
            answer.body = shaped(std::mem::take(members), &state.misbehaviour.token_shape);
        }
    }
    answer
}

fn dispatch(shared: &Shared, seen: &Recorded) -> Result<Answer, LabError> {
    let (openid, api_on) = (shared.config.openid, shared.config.api);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/") => Ok(front_page(shared)),
        ("GET", "/.well-known/oauth-authorization-server") => Ok(api::metadata(shared)),
        ("GET", "/.well-known/openid-configuration") if openid => Ok(api::metadata(shared)),
        ("GET", "/jwks") if openid => api::jwks(shared),
        ("GET" | "POST", "/userinfo") if openid => api::userinfo(shared, seen),
        ("GET", "/authorize") => authorize::start(shared, seen),
        ("POST", "/authorize/account") => authorize::account(shared, seen),
        ("POST", "/authorize/consent") => authorize::consent(shared, seen),
        ("GET", "/logout") => Ok(authorize::logout(shared, seen)),
        ("POST", "/token") => token::token(shared, seen),
        ("POST", "/revoke") => Ok(api::revoke(shared, seen)),
        ("POST", "/introspect") => Ok(api::introspect(shared, seen)),
        ("GET", "/api/me") if api_on => api::me(shared, seen),
        ("GET", "/api/notes") if api_on => api::notes(shared, seen),
        _ => Ok(Answer::error(404, "not_found", "there is nothing here")),
    }
}

fn front_page(shared: &Shared) -> Answer {
    let text = "This server stands in for a real one while you try things out. \
                It has no passwords: on its login page you pick who you want to be.";
    Answer::html(
        200,
        html::notice(&shared.config.name, "What is this?", text),
    )
}

/// The wrong answer a test asked for.
fn replaced(reply: &Reply) -> HttpResponse {
    match reply {
        Reply::Raw {
            status,
            content_type,
            headers,
            body,
        } => {
            let mut builder = answer::start(*status);
            builder.insert_header(("content-type", content_type.as_str()));
            for (name, value) in headers {
                builder.append_header((name.as_str(), value.as_str()));
            }
            builder.body(body.clone())
        }
        Reply::OauthError {
            status,
            error,
            description,
        } => {
            let mut document = json!({ "error": error });
            if let (Some(text), Some(members)) = (description, document.as_object_mut()) {
                members.insert("error_description".to_owned(), text.as_str().into());
            }
            Answer::json(*status, document).into_response()
        }
        Reply::Redirect { status, location } => Answer::empty(*status)
            .header("location", location.as_str())
            .into_response(),
        Reply::Huge {
            bytes,
            declared: true,
        } => odd(BodySize::Sized(*bytes), *bytes, Ending::Proper),
        Reply::Huge {
            bytes,
            declared: false,
        } => odd(BodySize::Stream, *bytes, Ending::Proper),
        Reply::Cut => odd(BodySize::Sized(4096), 64, Ending::Break),
        Reply::Stall => odd(BodySize::Sized(4096), 64, Ending::Never),
    }
}

fn odd(size: BodySize, left: u64, ending: Ending) -> HttpResponse {
    let body = OddBody {
        size,
        first: true,
        left,
        ending,
    };
    answer::start(200)
        .content_type("application/json")
        .body(body)
}

/// How an odd body ends.
enum Ending {
    Proper,
    Break,
    Never,
}

/// A body that opens like JSON, goes on for `left` bytes, and ends in one way or another.
struct OddBody {
    size: BodySize,
    first: bool,
    left: u64,
    ending: Ending,
}

impl MessageBody for OddBody {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, io::Error>>> {
        const CHUNK: usize = 16 * 1024;
        let this = self.get_mut();
        if this.left == 0 {
            return match this.ending {
                Ending::Proper => Poll::Ready(None),
                Ending::Break => {
                    Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::ConnectionAborted))))
                }
                // Nobody will wake it: the connection ends with the client or the lab.
                Ending::Never => Poll::Pending,
            };
        }
        let size = usize::try_from(this.left).map_or(CHUNK, |left| left.min(CHUNK));
        this.left -= size as u64;
        let mut chunk = if this.first {
            b"{\"pad\":\"".to_vec()
        } else {
            Vec::new()
        };
        chunk.resize(size, b'a');
        this.first = false;
        Poll::Ready(Some(Ok(Bytes::from(chunk))))
    }
}
