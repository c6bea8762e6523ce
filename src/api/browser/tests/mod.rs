//! Tests of the connect listener: real requests through the real route table, with a scripted door behind it.

mod cookies;
mod forms;
mod headers;
mod languages;
mod log;
mod logins;
mod metadata;
mod own_page;
mod pages;
mod problems;
mod routes;
mod samples;
mod script;
mod wire;

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, body::BoxBody, dev::ServiceResponse};
use url::Url;

use self::script::Script;
use super::{ConnectSettings, connect_app};

/// Our authority in these tests.
const HOST: &str = "connect.vault.example";
/// Our origin in these tests.
const ORIGIN: &str = "https://connect.vault.example";
/// A flow, as it stands in addresses.
const FLOW: &str = "bf_0102030405060708090a0b0c0d0e0f10";
/// A ticket, cookie or state: 32 zero bytes.
const WORD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// An answer, taken apart.
struct Got {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("text"))
    }

    fn cookies(&self) -> Vec<&str> {
        let lines = self.headers.get_all("set-cookie");
        lines.map(|value| value.to_str().expect("text")).collect()
    }
}

fn settings() -> ConnectSettings {
    let settings = ConnectSettings::new(&Url::parse(ORIGIN).expect("a URL")).expect("an origin");
    settings
        .operator(Some("Northwind"), Some("vault.example"))
        .support("https://help.northwind.example/")
        .expect("a link")
        .privacy("https://northwind.example/privacy?a&b")
        .expect("a link")
}

/// Asks the listener of `settings` as the request stands.
async fn ask_with(settings: ConnectSettings, script: &Arc<Script>, request: TestRequest) -> Got {
    log::listen();
    let configure = connect_app(script.clone(), Arc::new(settings));
    let app = init_service(App::new().configure(configure)).await;
    let response: ServiceResponse<BoxBody> = call_service(&app, request.to_request()).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = String::from_utf8(read_body(response).await.to_vec()).expect("UTF-8");
    Got {
        status,
        headers,
        body,
    }
}

/// Asks the usual listener, by its right name.
async fn ask(script: &Arc<Script>, request: TestRequest) -> Got {
    ask_with(settings(), script, request.insert_header(("host", HOST))).await
}

/// A click on a link or a typed address in a browser of today.
fn click(path: &str, site: &'static str) -> TestRequest {
    TestRequest::get()
        .uri(path)
        .insert_header(("sec-fetch-site", site))
        .insert_header(("sec-fetch-mode", "navigate"))
        .insert_header(("sec-fetch-dest", "document"))
}

/// A form of ours, sent from our page.
fn form(path: &str, body: &'static str) -> TestRequest {
    TestRequest::post()
        .uri(path)
        .insert_header(("sec-fetch-site", "same-origin"))
        .insert_header(("sec-fetch-mode", "navigate"))
        .insert_header(("sec-fetch-dest", "document"))
        .insert_header(("origin", ORIGIN))
        .insert_header(("content-type", "application/x-www-form-urlencoded"))
        .set_payload(body)
}
