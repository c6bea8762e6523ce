//! The api listener: what MCP servers may ask, version 1.

mod credential;
mod elicitations;
mod ensure;
mod grants;
mod mcp;
mod open;
mod payloads;
mod subject;
mod views;
mod wanted;
mod words;

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::web::ServiceConfig;
use actors::doors::{Ctx, ServerDoor};
use domain::AuthenticatedServer;

use crate::authn::bearer;
use crate::listener::{Answering, Asked, Listener, Route, install};
use crate::problem::Problem;
use crate::settings::ApiSettings;

#[cfg(test)]
pub(crate) use open::OPENAPI;
pub(crate) use views::{Receipt, grant_status};

macro_rules! routes {
    ($($how:ident $method:ident $path:literal [$($query:literal)*] => $handler:path;)+) => {
        &[$(Route {
            method: Method::$method,
            path: $path,
            query: &[$($query),*],
            serve: routes!($how $handler),
        }),+]
    };
    (open $handler:path) => { Serve::Open(|api| Ok($handler(api))) };
    (gate $handler:path) => { Serve::Open($handler) };
    (keyed $handler:path) => { Serve::Keyed(|api, call| Box::pin($handler(api, call))) };
}

/// Every address of the api listener and the query parameters it knows. `keyed` ones need the key of a live server; `open`
/// ones are for anybody, and so is the `gate`, which may say no. `resolve` stands before `{id}`, which would take it.
pub(crate) static ROUTES: &[Route<Serve>] = routes! {
    keyed POST   "/v1/ensure" [] => ensure::ensure;
    keyed POST   "/v1/elicitations" [] => elicitations::create;
    keyed POST   "/v1/elicitations/resolve" [] => elicitations::resolve;
    keyed GET    "/v1/elicitations/{id}" ["wait"] => elicitations::get;
    keyed POST   "/v1/elicitations/{id}/cancel" [] => elicitations::cancel;
    keyed GET    "/v1/grants" [] => grants::list;
    keyed GET    "/v1/grants/{id}" [] => grants::get;
    keyed DELETE "/v1/grants/{id}" [] => grants::delete;
    open  GET    "/openapi.json" [] => open::openapi;
    open  GET    "/healthz" [] => open::healthz;
    gate  GET    "/readyz" [] => open::readyz;
};

/// How a route is served.
pub(crate) enum Serve {
    /// For anybody; tells nothing about anybody.
    Open(fn(&Api) -> Result<HttpResponse, Problem>),
    /// For servers with a live key.
    Keyed(for<'a> fn(&'a Api, Call<'a>) -> Answering<'a>),
}

/// The listener: its door and its settings.
pub(crate) struct Api {
    pub(crate) door: Arc<dyn ServerDoor>,
    pub(crate) settings: ApiSettings,
}

/// A request of a server that proved itself (C1).
pub(crate) struct Call<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) caller: AuthenticatedServer,
}

/// The app of the api listener, for `App::configure` or [`crate::serve_tcp`].
pub fn server_app(
    door: Arc<dyn ServerDoor>,
    settings: ApiSettings,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + Sync + 'static {
    let api = Arc::new(Api { door, settings });
    move |config: &mut ServiceConfig| install(&api, config)
}

impl Listener for Api {
    type Serve = Serve;

    fn routes() -> &'static [Route<Serve>] {
        ROUTES
    }

    fn begin(&self) -> Ctx {
        self.door.begin()
    }

    fn public(&self) -> &str {
        self.settings.public()
    }

    fn serve<'a>(&'a self, serve: &'static Serve, asked: Asked<'a>) -> Answering<'a> {
        Box::pin(async move {
            match serve {
                Serve::Open(handler) => handler(self),
                Serve::Keyed(handler) => {
                    let key = bearer(asked.request);
                    let caller = self.door.authenticate(asked.ctx, key).await?;
                    handler(self, Call { asked, caller }).await
                }
            }
        })
    }
}
