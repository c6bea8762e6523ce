//! Problem documents (RFC 9457): how a refusal is written. Which ones there are is in `kind.rs`.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;
use serde::Serialize;

pub(crate) use crate::kind::Kind;

/// One thing that is wrong with a request, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// Where a fault stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// JSON Pointer into the body (RFC 6901).
    Pointer(String),
    /// Name of a header.
    Header(&'static str),
    /// Name of a query parameter.
    Parameter(String),
}

/// A refusal on its way out.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) faults: Vec<Fault>,
    pub(crate) missing: Vec<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) allow: Option<String>,
    /// Public id of a key that was found where none belongs: for the log, never for the answer.
    pub(crate) misplaced: Option<Box<str>>,
}

/// The document as it is written.
#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    request_id: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [Fault],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [String],
}

impl From<Kind> for Problem {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            faults: Vec::new(),
            missing: Vec::new(),
            retry_after: None,
            allow: None,
            misplaced: None,
        }
    }
}

impl Problem {
    /// `invalid-request` with its faults.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        Self {
            faults,
            ..Self::from(Kind::InvalidRequest)
        }
    }

    /// `invalid-request` for one header.
    pub(crate) fn header(name: &'static str, message: &str) -> Self {
        Self::invalid(vec![Fault {
            place: Place::Header(name),
            message: message.into(),
        }])
    }

    /// `invalid-request` for one query parameter.
    pub(crate) fn parameter(name: &str, message: &str) -> Self {
        Self::invalid(vec![Fault {
            place: Place::Parameter(name.into()),
            message: message.into(),
        }])
    }

    /// `key-misplaced`, for the key with this public id.
    pub(crate) fn misplaced(key: Box<str>) -> Self {
        Self {
            misplaced: Some(key),
            ..Self::from(Kind::KeyMisplaced)
        }
    }

    /// A problem that says when to try again.
    pub(crate) fn retry(kind: Kind, after: Duration) -> Self {
        Self {
            retry_after: Some(after),
            ..Self::from(kind)
        }
    }

    /// The slug.
    pub(crate) fn code(&self) -> &'static str {
        self.kind.facts().1
    }

    /// Writes the document. `public` is the origin under which problem types live.
    pub(crate) fn respond(&self, public: &str, request: domain::RequestId) -> HttpResponse {
        let (status, code, title, detail) = self.kind.facts();
        let document = Document {
            r#type: format!("{public}/problems/{code}"),
            title,
            status,
            code,
            detail,
            request_id: request.to_string(),
            errors: &self.faults,
            missing: &self.missing,
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = HttpResponse::build(status);
        response.insert_header((header::CONTENT_TYPE, "application/problem+json"));
        if self.kind == Kind::Unauthenticated {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            response.insert_header((header::RETRY_AFTER, seconds.max(1).to_string()));
        }
        if let Some(allow) = &self.allow {
            response.insert_header((header::ALLOW, allow.as_str()));
        }
        // The document has only strings and numbers; it always serialises.
        response.body(serde_json::to_vec(&document).unwrap_or_default())
    }
}
