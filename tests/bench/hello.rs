//! The server that everything is measured against: the same framework, as many workers, nothing to do.

use std::net::{Ipv4Addr, TcpListener};

use actix_web::{App, HttpResponse, HttpServer, web};

/// Serves until it is killed; its port is the first line that it prints.
pub(crate) async fn serve() -> Result<(), crate::Fault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    let app = || {
        App::new().route(
            "/",
            web::get().to(|| async { HttpResponse::Ok().body("hello") }),
        )
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let server = HttpServer::new(app).workers(workers).listen(listener)?;
    Ok(server.run().await?)
}
