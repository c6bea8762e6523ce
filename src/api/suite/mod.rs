//! Tests of both listeners through their whole app, against doors that answer as scripted.

mod admin;
mod answers;
mod bodies;
pub(crate) mod door;
mod heads;
mod openapi;
mod payloads;
mod problems;
mod schema;
mod wire;

use actix_web::App;
use actix_web::http::{Method, StatusCode, header::HeaderMap};
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::web::ServiceConfig;
use serde_json::Value;

use door::Script;

/// Origin of problem types in tests.
pub(crate) const PUBLIC: &str = "https://api.vault.test";

/// An answer, taken apart.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The code of a problem; empty for anything else.
    pub(crate) fn code(&self) -> String {
        let code = self.json();
        code["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A header's text; empty when absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Pointers, headers or parameters named in a problem, in order.
    pub(crate) fn places(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().cloned().unwrap_or_default();
        let place = |error: &Value| {
            ["pointer", "header", "parameter"]
                .iter()
                .find_map(|kind| Some(error.get(kind)?.as_str()?.to_owned()))
        };
        errors.iter().filter_map(place).collect()
    }
}

/// Sends one request to an app.
pub(crate) async fn send(
    configure: impl FnOnce(&mut ServiceConfig),
    request: TestRequest,
) -> Answered {
    let app = init_service(App::new().configure(configure)).await;
    let response = call_service(&app, request.to_request()).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let text = String::from_utf8(read_body(response).await.to_vec()).unwrap();
    Answered {
        status,
        headers,
        text,
    }
}

/// Sends one request to the api listener behind `script`.
pub(crate) async fn ask(script: &Script, request: TestRequest) -> Answered {
    send(script.app(), request).await
}

/// A request with the good key.
pub(crate) fn keyed(script: &Script, method: Method, path: &str) -> TestRequest {
    let bearer = format!("Bearer {}", script.key());
    TestRequest::with_uri(path)
        .method(method)
        .insert_header(("Authorization", bearer))
}

/// A GET or DELETE with the good key and a subject token.
pub(crate) fn about(script: &Script, method: Method, path: &str) -> TestRequest {
    keyed(script, method, path).insert_header(("Subject-Token", "a.b.c"))
}

/// A POST with the good key and a JSON body, as text.
pub(crate) fn post(script: &Script, path: &str, body: &str) -> TestRequest {
    keyed(script, Method::POST, path)
        .insert_header(("Content-Type", "application/json"))
        .set_payload(body.to_owned())
}
