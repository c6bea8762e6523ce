//! An MCP server as the vault sees it: a key, a subject, JSON.

use reqwest::Method;
use serde_json::{Value, json};

use crate::remains;

/// A caller of the api listener.
#[derive(Clone)]
pub(crate) struct McpServer {
    client: reqwest::Client,
    base: String,
    /// Its key.
    pub(crate) key: String,
}

/// An answer of the api listener.
pub(crate) struct Answered {
    /// Status code.
    pub(crate) status: u16,
    /// Headers.
    pub(crate) headers: reqwest::header::HeaderMap,
    /// JSON body; null when there is none.
    pub(crate) body: Value,
}

impl Answered {
    /// Reads an answer to its end; a body that is no JSON is given as text.
    pub(crate) async fn read(answer: reqwest::Response) -> Self {
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let text = answer.text().await.unwrap();
        let body = match serde_json::from_str(&text) {
            Ok(body) => body,
            Err(_) if text.is_empty() => Value::Null,
            Err(_) => Value::String(text),
        };
        remains::answer(&headers, &body);
        Self {
            status,
            headers,
            body,
        }
    }

    /// A text inside the body by JSON pointer; panics with the whole body when it is not there.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no {pointer} in {}", self.body))
    }

    /// The `code` of a problem.
    pub(crate) fn code(&self) -> &str {
        self.text("/code")
    }
}

impl McpServer {
    /// A server that calls `base` with `key`.
    pub(crate) fn new(base: &str, key: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        remains::secret("server key", key);
        Self {
            client,
            base: base.to_owned(),
            key: key.to_owned(),
        }
    }

    /// One call with this server's key.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answered {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        Answered::read(request.send().await.unwrap()).await
    }

    /// `POST /v1/ensure` for one scope of the practice provider.
    pub(crate) async fn ensure(&self, token: &str) -> Answered {
        self.ensure_with(token, json!({})).await
    }

    /// The same with other members laid over the body.
    pub(crate) async fn ensure_with(&self, token: &str, over: Value) -> Answered {
        let mut body =
            json!({ "provider": "practice", "scopes": ["notes.read"], "subject_token": token });
        lay_over(&mut body, over);
        self.call(Method::POST, "/v1/ensure", &[], Some(body)).await
    }

    /// `POST /v1/elicitations/resolve`.
    pub(crate) async fn resolve(&self, token: &str, state: &str, over: Value) -> Answered {
        let mut body = json!({ "request_state": state, "subject_token": token });
        lay_over(&mut body, over);
        self.call(Method::POST, "/v1/elicitations/resolve", &[], Some(body))
            .await
    }
}

fn lay_over(body: &mut Value, over: Value) {
    let (Value::Object(body), Value::Object(over)) = (body, over) else {
        panic!("not objects")
    };
    body.extend(over);
}
