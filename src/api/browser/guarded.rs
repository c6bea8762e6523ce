//! Handlers whose panic becomes the page for what went wrong, with all headers, and a line in the log.

use actix_web::body::BoxBody;
use actix_web::{Handler, HttpRequest, HttpResponse, Responder, web};
use futures_util::future::LocalBoxFuture;

use super::App;
use super::answer::Visit;
use crate::guard::guarded;

/// A handler, guarded.
#[derive(Clone)]
pub(crate) struct Guarded<F>(pub(crate) F);

/// What a guarded handler gave; `None` when it panicked.
pub(crate) struct Caught<R>(Option<R>);

impl<F, Args> Handler<Args> for Guarded<F>
where
    F: Handler<Args>,
    F::Output: Responder + 'static,
    Args: 'static,
{
    type Output = Caught<F::Output>;
    type Future = LocalBoxFuture<'static, Self::Output>;

    fn call(&self, args: Args) -> Self::Future {
        let handler = self.0.clone();
        Box::pin(async move { Caught(guarded(async move { handler.call(args).await }).await) })
    }
}

impl<R: Responder> Responder for Caught<R> {
    type Body = BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        if let Some(answer) = self.0 {
            return answer.respond_to(request).map_into_boxed_body();
        }
        match request.app_data::<web::Data<App>>() {
            Some(app) => Visit::of(request, app).internal("it panicked"),
            None => HttpResponse::InternalServerError().finish(), // every route of ours has it
        }
    }
}
