//! One request to a token or revocation endpoint through the `oauth2` crate, sent to the pinned address by our own client.
//!
//! The crate drops the status and wants every answer to be JSON with status 200; this wrapper keeps what it drops and
//! brings what providers send into that form first.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{ClientAuth, OauthClient};
use http::header::RETRY_AFTER;
use http::{HeaderMap, Response, StatusCode};
use oauth2::basic::BasicTokenIntrospectionResponse;
use oauth2::{
    AuthType, ClientId, ClientSecret, EndpointNotSet, HttpRequest, HttpResponse,
    StandardRevocableToken,
};
use secret::{Reveal as _, SecretBytes};
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};

use crate::outbound::{Answer, CallFailure, CallKind, Outbound};
use crate::token_reply::{ErrorReply, TokenReply};

/// Longest `Retry-After` that is believed.
const LONGEST_RETRY: Duration = Duration::from_secs(3600);

/// The crate's client with our answer types.
pub(crate) type LibraryClient<Revocation = EndpointNotSet, Token = EndpointNotSet> = oauth2::Client<
    ErrorReply,
    TokenReply,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    ErrorReply,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    Revocation,
    Token,
>;

/// The error of a request with our types. Never format one: it may carry the whole answer.
pub(crate) type LibraryError = oauth2::RequestTokenError<CallFailure, ErrorReply>;

/// Our registration as the crate wants it (RFC 6749 section 2.3.1).
pub(crate) fn library_client(ours: &OauthClient) -> LibraryClient {
    let client = LibraryClient::new(ClientId::new(ours.id.to_string()));
    let secret = |secret: &secret::ClientSecret| ClientSecret::new(secret.reveal().to_owned());
    match &ours.auth {
        ClientAuth::Public => client.set_auth_type(AuthType::RequestBody),
        ClientAuth::Post(word) => client
            .set_auth_type(AuthType::RequestBody)
            .set_client_secret(secret(word)),
        ClientAuth::Basic(word) => client
            .set_auth_type(AuthType::BasicAuth)
            .set_client_secret(secret(word)),
    }
}

/// What the crate does not tell.
pub(crate) struct Seen {
    /// The status as it came.
    pub(crate) status: StatusCode,
    /// `Retry-After` in seconds.
    pub(crate) retry_after: Option<Duration>,
    /// The body as it came.
    pub(crate) body: SecretBytes,
}

/// A client for one request.
pub(crate) struct PinnedCall<'a> {
    outbound: &'a Outbound,
    kind: CallKind,
    url: &'a Url,
    seen: Mutex<Option<Seen>>,
}

impl<'a> PinnedCall<'a> {
    /// A client that sends to `url`, whatever the request says.
    pub(crate) fn new(outbound: &'a Outbound, kind: CallKind, url: &'a Url) -> Self {
        Self {
            outbound,
            kind,
            url,
            seen: Mutex::new(None),
        }
    }

    /// What came back, if anything did.
    pub(crate) fn into_seen(self) -> Option<Seen> {
        self.seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, CallFailure> {
        let answer = self.outbound.call(self.kind, self.url, request).await?;
        let presented = present(&answer);
        let seen = Seen {
            status: answer.status,
            retry_after: retry_after(&answer.headers),
            body: answer.body,
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        Ok(presented)
    }
}

impl<'c> oauth2::AsyncHttpClient<'c> for PinnedCall<'_> {
    type Error = CallFailure;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, CallFailure>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

/// The answer in the one form that the crate reads: 200 for success, JSON, no content type.
fn present(answer: &Answer) -> HttpResponse {
    let text = answer.body.expose();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text); // byte order mark
    let mut status = answer.status;
    let mut body = text.to_vec();
    if status.is_success() {
        status = StatusCode::OK;
        match fields_of(text) {
            // Some providers say "error" with status 200.
            Some((fields, _))
                if fields.contains_key("error") && !fields.contains_key("access_token") =>
            {
                status = StatusCode::BAD_REQUEST;
            }
            Some((fields, Form::UrlEncoded)) => {
                body = Value::Object(fields).to_string().into_bytes();
            }
            _ => {}
        }
    }
    let mut presented = Response::new(body);
    *presented.status_mut() = status;
    presented
}

enum Form {
    Json,
    UrlEncoded,
}

/// The fields of a JSON object, or of a form-encoded body that has the one field that matters. A form with a field that stands
/// there twice is no answer (RFC 6749 section 3.2); the same in JSON is refused where the fields are read.
fn fields_of(text: &[u8]) -> Option<(Map<String, Value>, Form)> {
    if let Ok(fields) = serde_json::from_slice(text) {
        return Some((fields, Form::Json));
    }
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(text) {
        if fields
            .insert(name.into_owned(), value.into_owned().into())
            .is_some()
        {
            return None;
        }
    }
    let telling = fields.contains_key("access_token") || fields.contains_key("error");
    telling.then_some((fields, Form::UrlEncoded))
}

/// `Retry-After` as seconds (RFC 9110 section 10.2.3); dates are not read.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY))
}
