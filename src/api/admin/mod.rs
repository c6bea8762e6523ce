//! The admin listener: what operators do while the vault runs. The command line uses it over the Unix socket.

mod grants;
mod health;
mod servers;

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::web::ServiceConfig;
use actors::doors::{AdminDoor, Ctx};

use crate::authn::{NO_KEY, bearer};
use crate::listener::{Answering, Asked, Listener, Route, install};
use crate::problem::{Kind, Problem};
use crate::serve::PeerAllowed;
use crate::settings::{AdminAuth, AdminSettings};

macro_rules! routes {
    ($($method:ident $path:literal [$($query:literal)*] => $handler:path;)+) => {
        &[$(Route {
            method: Method::$method,
            path: $path,
            query: &[$($query),*],
            serve: |admin, asked| Box::pin($handler(admin, asked)),
        }),+]
    };
}

/// Every address of the admin listener and the query parameters it knows. All of them need an operator, health included:
/// it has details.
pub(crate) static ROUTES: &[Route<Serve>] = routes! {
    GET    "/v1/servers" [] => servers::list;
    POST   "/v1/servers/{slug}/keys" [] => servers::new_key;
    DELETE "/v1/keys/{id}" [] => servers::revoke_key;
    POST   "/v1/admin-keys" [] => servers::new_admin_key;
    POST   "/v1/servers/{slug}/disable" [] => servers::disable;
    POST   "/v1/servers/{slug}/enable" [] => servers::enable;
    GET    "/v1/grants" ["after" "limit"] => grants::list;
    DELETE "/v1/grants/{id}" [] => grants::delete;
    GET    "/healthz" [] => health::healthz;
    GET    "/readyz" [] => health::readyz;
};

/// How a route is served.
pub(crate) type Serve = for<'a> fn(&'a Admin, Asked<'a>) -> Answering<'a>;

/// The listener: its door and its settings.
pub(crate) struct Admin {
    door: Arc<dyn AdminDoor>,
    settings: AdminSettings,
}

/// The app of the admin listener, for [`crate::serve_unix`] ([`AdminAuth::PeerChecked`]) or [`crate::serve_tcp`] on
/// loopback ([`AdminAuth::Key`]).
pub fn admin_app(
    door: Arc<dyn AdminDoor>,
    settings: AdminSettings,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + Sync + 'static {
    let admin = Arc::new(Admin { door, settings });
    move |config: &mut ServiceConfig| install(&admin, config)
}

impl Listener for Admin {
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
            self.check_operator(&asked).await?;
            serve(self, asked).await
        })
    }
}

impl Admin {
    async fn check_operator(&self, asked: &Asked<'_>) -> Result<(), Problem> {
        match self.settings.auth() {
            AdminAuth::Key => {
                let key = bearer(asked.request);
                Ok(self.door.authenticate(asked.ctx, key).await?)
            }
            // Whoever serves this app over anything but our own Unix socket gets 401, not an open door.
            AdminAuth::PeerChecked => {
                let peer = asked.request.conn_data::<PeerAllowed>();
                if peer.is_some_and(|peer| peer.0) {
                    return Ok(());
                }
                // Nobody comes with a key here; the door writes that somebody was refused.
                self.door.authenticate(asked.ctx, NO_KEY).await?;
                Err(Kind::Unauthenticated.into())
            }
        }
    }
}
