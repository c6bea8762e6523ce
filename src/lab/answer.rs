//! What a handler answers, before any wire fault is applied.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::{Map, Value};

/// An answer; JSON stays JSON so that its members can still be edited.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) enum Body {
    Json(Map<String, Value>),
    Html(String),
    Form(Vec<(String, String)>),
    Empty,
}

impl Answer {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        let members = match value {
            Value::Object(members) => members,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Self {
            status,
            headers: Vec::new(),
            body: Body::Json(members),
        }
    }

    pub(crate) fn html(status: u16, text: String) -> Self {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
        Self {
            status,
            headers: Vec::new(),
            body: Body::Html(text),
        }
        .header("content-security-policy", policy)
        .header("referrer-policy", "no-referrer")
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Empty,
        }
    }

    /// A redirect after a form or a silent answer; 303 turns a POST into a GET.
    pub(crate) fn redirect(location: &str) -> Self {
        Self::empty(303).header("location", location)
    }

    /// An OAuth error body (RFC 6749 section 5.2).
    pub(crate) fn error(status: u16, error: &str, description: &str) -> Self {
        Self::json(
            status,
            serde_json::json!({ "error": error, "error_description": description }),
        )
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The response on the wire; nothing of a lab may be cached (RFC 6749 section 5.1).
    pub(crate) fn into_response(self) -> HttpResponse {
        let mut builder = start(self.status);
        builder.insert_header(("cache-control", "no-store"));
        for (name, value) in self.headers {
            builder.append_header((name, value));
        }
        match self.body {
            Body::Json(members) => builder
                .content_type("application/json")
                .body(Value::Object(members).to_string()),
            Body::Form(pairs) => {
                let mut text = url::form_urlencoded::Serializer::new(String::new());
                let text = text.extend_pairs(pairs).finish();
                builder
                    .content_type("application/x-www-form-urlencoded")
                    .body(text)
            }
            Body::Html(text) => builder.content_type("text/html; charset=utf-8").body(text),
            Body::Empty => builder.finish(),
        }
    }
}

/// A response builder for a status that may come from a test's data; odd ones become 500.
pub(crate) fn start(status: u16) -> HttpResponseBuilder {
    HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}
