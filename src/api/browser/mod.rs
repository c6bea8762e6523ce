//! The connect listener: what a person's browser may ask, and the pages it gets.
//!
//! Every request passes one entrance (`entrance.rs`): authority, size, HEAD and prefetch, response headers, access log; a
//! panic behind it is one failed request (`guarded.rs`). Then
//! Fetch Metadata and the address are judged, cookies and forms are read strictly, and the [`BrowserDoor`] decides; here
//! its answers only become pages. Nothing that came with a request is ever written into an answer.

mod answer;
mod arrive;
mod cookies;
mod entrance;
mod fixed;
mod forms;
mod guarded;
mod hardening;
mod language;
mod me;
mod metadata;
mod query;
mod settings;
#[cfg(test)]
mod tests;
mod views;
mod walk;

use std::sync::Arc;

use actix_web::middleware::from_fn;
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, web};
use actors::doors::BrowserDoor;

use guarded::Guarded;
pub(crate) use language::of_locale as language_of;
pub use settings::{BadConnectSettings, ConnectSettings, LeavingPage};

/// What every handler of this listener has.
pub(crate) struct App {
    pub(crate) door: Arc<dyn BrowserDoor>,
    pub(crate) settings: Arc<ConnectSettings>,
}

/// The routes of the connect listener with all that guards them, for `App::configure` (and so for `serve_tcp`). It brings
/// its own middleware and wants to be alone in its `App`.
pub fn connect_app(
    door: Arc<dyn BrowserDoor>,
    settings: Arc<ConnectSettings>,
) -> impl FnOnce(&mut web::ServiceConfig) + Clone + Send + 'static {
    let app = web::Data::new(App { door, settings });
    move |config: &mut web::ServiceConfig| {
        let at_entrance = app.clone();
        let entrance =
            from_fn(move |request, next| entrance::pass(at_entrance.clone(), request, next));
        let scope = web::scope("")
            .app_data(app.clone())
            .configure(routes)
            .default_service(web::to(Guarded(fixed::unknown)))
            .wrap(entrance);
        config.service(scope);
        config
            .app_data(app)
            .default_service(web::to(Guarded(fixed::no_path)));
    }
}

fn routes(config: &mut web::ServiceConfig) {
    config
        .service(get("/c/{ticket}", arrive::link))
        .service(get("/login/go", arrive::login_leaving))
        .service(get("/login/callback/{issuer}", arrive::login_callback))
        .service(get("/cb/{provider}", arrive::callback))
        .service(get("/f/{flow}", walk::page))
        .service(get("/f/{flow}/leaving", walk::leaving))
        .service(get("/f/{flow}/in/{language}", walk::switch))
        .service(post("/f/{flow}/login", walk::login))
        .service(post("/f/{flow}/consent", walk::consent))
        .service(post("/f/{flow}/key", walk::key))
        .service(post("/f/{flow}/confirm", walk::confirm))
        .service(post("/f/{flow}/decline", walk::decline))
        .service(post("/f/{flow}/again", walk::again))
        .service(post("/session/end", walk::sign_out))
        .service(get("/me", me::page))
        .service(get("/me/in/{language}", me::switch))
        .service(post("/me/login/{issuer}", me::login))
        .service(post("/me/end/{grant}", me::end))
        .service(post("/me/decline/{elicitation}", me::decline))
        .service(post("/me/leave", me::leave))
        .service(get("/problems/{code}", fixed::problem))
        .service(get("/assets/{file}", fixed::asset))
        .service(get("/robots.txt", fixed::robots))
        .service(get("/favicon.ico", fixed::favicon))
        .service(get("/healthz", fixed::health));
}

/// GET and nothing else; HEAD was answered at the entrance.
fn get<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let other = |request: HttpRequest, app: web::Data<App>| async move {
        not_allowed(&request, &app, "GET, HEAD")
    };
    web::resource(path)
        .get(Guarded(handler))
        .default_service(web::to(Guarded(other)))
}

/// POST and nothing else.
fn post<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let other = |request: HttpRequest, app: web::Data<App>| async move {
        not_allowed(&request, &app, "POST")
    };
    web::resource(path)
        .post(Guarded(handler))
        .default_service(web::to(Guarded(other)))
}

fn not_allowed(request: &HttpRequest, app: &App, allow: &'static str) -> HttpResponse {
    answer::Visit::of(request, app).not_allowed(allow)
}
