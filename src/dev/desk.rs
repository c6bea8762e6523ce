//! A tiny listener on loopback that gives out subject tokens of practice people, as the MCP authorization server of a real
//! installation would. It exists under `strongroom dev` only.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};
use lab::{JwtEdits, Lab};

use super::practice::RESOURCE;
use crate::cli::{CommandError, say};

/// The running desk.
pub(super) struct Desk {
    handle: ServerHandle,
    address: SocketAddr,
}

impl Desk {
    /// Starts it.
    pub(super) fn start(port: u16, issuer: Lab) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let issuer = web::Data::new(issuer);
        let app = move || {
            App::new()
                .app_data(issuer.clone())
                .route("/token/{person}", web::get().to(token))
        };
        let server = HttpServer::new(app)
            .workers(1)
            .disable_signals()
            .listen(listener)?
            .run();
        let handle = server.handle();
        drop(actix_rt::spawn(server));
        Ok(Self { handle, address })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it.
    pub(super) async fn stop(&self) {
        self.handle.stop(false).await;
    }
}

async fn token(issuer: web::Data<Lab>, person: web::Path<String>) -> HttpResponse {
    match issuer.mint_access_token(&person, RESOURCE, &JwtEdits::default()) {
        Ok(token) => HttpResponse::Ok().content_type("text/plain").body(token),
        Err(_) => HttpResponse::NotFound()
            .content_type("text/plain")
            .body("There are alice and bob."),
    }
}

/// `strongroom dev token PERSON`.
pub(super) async fn print_token(port: u16, person: &str) -> Result<(), CommandError> {
    let desk = super::Ports::from(port).desk;
    let unreachable = |_| {
        CommandError::Other(format!(
            "no practice vault answers on port {desk}; start one with `strongroom dev`"
        ))
    };
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(super::PATIENCE)
        .build()
        .map_err(unreachable)?;
    let mut url = url::Url::parse(&format!("http://127.0.0.1:{desk}/token/"))
        .map_err(|error| CommandError::Other(error.to_string()))?;
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push(person);
    }
    let answer = client.get(url).send().await.map_err(unreachable)?;
    let good = answer.status().is_success();
    let text = answer.text().await.map_err(unreachable)?;
    if good {
        say(&text);
        Ok(())
    } else {
        Err(CommandError::Other(text))
    }
}
