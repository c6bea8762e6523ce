//! Answers: one request and the ways to end it. The only map from refusals of the door to status codes and error pages.

use std::cell::Cell;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::doors::{Ctx, Onward, Refusal, reference};
use domain::{BrowserFlowId, Locale};
use pages::{ArrivalView, Cause, ErrorView, ExpiredView, Href, Language, Page, Switch};

use super::App;
use super::cookies::{self, Jar};
use super::language;
use super::metadata::{Came, Metadata};
use crate::guard::REQUEST;

/// An answer, or an answer that ends the request early.
pub(crate) type Outcome = Result<HttpResponse, Early>;

/// An answer that ends the request early; boxed, because it is the rare way.
pub(crate) struct Early(Box<HttpResponse>);

impl Early {
    pub(crate) fn answer(self) -> HttpResponse {
        *self.0
    }
}

impl From<HttpResponse> for Early {
    fn from(answer: HttpResponse) -> Self {
        Self(Box::new(answer))
    }
}

/// One request on its way through the listener.
pub(crate) struct Visit<'a> {
    pub(crate) app: &'a App,
    pub(crate) request: &'a HttpRequest,
    pub(crate) ctx: Ctx,
    /// The person's own choice, which nothing overrides.
    chosen: Option<Language>,
    language: Cell<Language>,
}

impl<'a> Visit<'a> {
    /// The request, with the id and the time that the entrance gave it.
    pub(crate) fn of(request: &'a HttpRequest, app: &'a App) -> Self {
        let given = request.extensions().get::<Ctx>().copied();
        let ctx = given.unwrap_or_else(|| app.door.begin());
        Self::new(request, app, ctx)
    }

    /// A request whose pages are in the language that its person chose or its browser asks for, until a flow is known.
    pub(crate) fn new(request: &'a HttpRequest, app: &'a App, ctx: Ctx) -> Self {
        let chosen = cookies::chosen_language(request.headers());
        let accepted = chosen.or_else(|| language::accepted(request.headers()));
        Self {
            app,
            request,
            ctx,
            chosen,
            language: Cell::new(accepted.unwrap_or(Language::English)),
        }
    }

    /// The language of its pages.
    pub(crate) fn language(&self) -> Language {
        self.language.get()
    }

    /// From here on, pages are in the language that a server asked for, where we have it and the person chose none.
    pub(crate) fn speak(&self, locale: Option<&Locale>) {
        let asked = locale.and_then(language::of_locale);
        if let Some(language) = self.chosen.or(asked) {
            self.language.set(language);
        }
    }

    /// From here on, pages are in the language of this flow, if it is this browser's. A store that cannot say stops nobody:
    /// the next question to it is answered by a page.
    pub(crate) async fn about(&self, flow: BrowserFlowId, jar: &Jar) {
        if let Ok(locale) = self.app.door.locale(flow, &jar.cookies).await {
            self.speak(locale.as_ref());
        }
    }

    /// The same for wherever a login goes on.
    pub(crate) async fn about_onward(&self, onward: Option<Onward>, jar: &Jar) {
        if let Some(Onward::Flow(flow)) = onward {
            self.about(flow, jar).await;
        }
    }

    pub(crate) fn metadata(&self) -> Metadata<'a> {
        Metadata::of(self.request.headers())
    }

    /// Refuses whatever is not the opening of a whole page, and addresses with a query: nothing in ours has a meaning.
    ///
    /// # Errors
    /// The answer, 403 or 400.
    pub(crate) fn check_page(&self) -> Result<Came, Early> {
        if !self.metadata().is_navigation() {
            return Err(self
                .error(StatusCode::FORBIDDEN, Cause::Generic, "not-a-navigation")
                .into());
        }
        if self.request.uri().query().is_some() {
            return Err(self
                .error(StatusCode::BAD_REQUEST, Cause::Generic, "unexpected-query")
                .into());
        }
        Ok(self.metadata().came())
    }

    /// Our cookies.
    ///
    /// # Errors
    /// The answer, 400, when one came twice.
    pub(crate) fn jar(&self) -> Result<Jar, Early> {
        Jar::read(self.request.headers()).map_err(|_| {
            self.error(StatusCode::BAD_REQUEST, Cause::Browser, "double-cookie")
                .into()
        })
    }

    /// A part of the path. The entrance lets no percent-encoding through, so it is as it was sent.
    pub(crate) fn part(&self, name: &str) -> &'a str {
        self.request.match_info().get(name).unwrap_or("")
    }

    /// The flow of the path.
    ///
    /// # Errors
    /// The page of links that are no longer valid.
    pub(crate) fn flow(&self) -> Result<BrowserFlowId, Early> {
        self.part("flow").parse().map_err(|_| self.gone().into())
    }

    /// Draws a page.
    pub(crate) fn page(&self, answer: HttpResponseBuilder, view: &dyn Page) -> HttpResponse {
        self.draw(answer, view, Vec::new())
    }

    /// Draws a page that stands at a flow's address, with the way to its other languages.
    ///
    /// # Errors
    /// The answer, 500: an address of ours is always a link.
    pub(crate) fn page_of(
        &self,
        flow: BrowserFlowId,
        answer: HttpResponseBuilder,
        view: &dyn Page,
    ) -> Outcome {
        self.page_at(&flow_path(flow), answer, view)
    }

    /// Draws a page that stands at an address of its own, likewise.
    ///
    /// # Errors
    /// As [`Self::page_of`].
    pub(crate) fn page_at(
        &self,
        path: &str,
        answer: HttpResponseBuilder,
        view: &dyn Page,
    ) -> Outcome {
        let mut switches = Vec::new();
        for language in Language::ALL {
            if language != self.language() {
                let href = self.href(format!("{path}/in/{}", language.tag()))?;
                switches.push(Switch { language, href });
            }
        }
        Ok(self.draw(answer, view, switches))
    }

    fn draw(
        &self,
        mut answer: HttpResponseBuilder,
        view: &dyn Page,
        switches: Vec<Switch>,
    ) -> HttpResponse {
        let chrome = self.app.settings.chrome().in_language(self.language());
        let chrome = chrome.offering(switches);
        answer
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CONTENT_LANGUAGE, chrome.language.tag()))
            .insert_header((header::VARY, "Accept-Language, Cookie"))
            .body(view.html(&chrome))
    }

    /// Unknown, expired, used or somebody else's: the same bytes for all of them.
    pub(crate) fn gone(&self) -> HttpResponse {
        self.page(HttpResponse::NotFound(), &ExpiredView)
    }

    /// An error page without forms. `code` is from our own list.
    pub(crate) fn error(&self, status: StatusCode, cause: Cause, code: &str) -> HttpResponse {
        self.error_from(HttpResponse::build(status), cause, code)
    }

    fn error_from(&self, answer: HttpResponseBuilder, cause: Cause, code: &str) -> HttpResponse {
        let view = ErrorView {
            cause,
            code: code.to_owned(),
            reference: self.told(code),
            again: None,
            back: None,
            stop: None,
        };
        self.page(answer, &view)
    }

    /// The reference that a person is told with a code, and the log line by which the operator finds both.
    pub(crate) fn told(&self, code: &str) -> String {
        let reference = reference(self.ctx.request);
        tracing::info!({ REQUEST } = %self.ctx.request, reference, code, "an error page was shown");
        reference
    }

    /// Another method than the route has.
    pub(crate) fn not_allowed(&self, allow: &'static str) -> HttpResponse {
        let mut answer = HttpResponse::MethodNotAllowed();
        answer.insert_header((header::ALLOW, allow));
        self.error_from(answer, Cause::Generic, "method-not-allowed")
    }

    /// Not from a page of ours, or from one that has been acted on (a button pressed twice); nothing was changed. The way
    /// on is the flow's own page, which shows where things stand.
    pub(crate) fn form_refused(&self, flow: Option<BrowserFlowId>) -> HttpResponse {
        self.form_refused_at(flow.map(flow_path))
    }

    /// The same, where the way on is another address of ours.
    pub(crate) fn form_refused_at(&self, back: Option<String>) -> HttpResponse {
        let view = ErrorView {
            cause: Cause::Form,
            code: "form-refused".to_owned(),
            reference: self.told("form-refused"),
            again: None,
            back: back.and_then(|back| Href::new(back).ok()),
            stop: None,
        };
        self.page(HttpResponse::Forbidden(), &view)
    }

    /// Something that must not happen happened.
    pub(crate) fn internal(&self, what: &'static str) -> HttpResponse {
        tracing::error!({ REQUEST } = %self.ctx.request, what, "the connect listener failed");
        self.error(
            StatusCode::INTERNAL_SERVER_ERROR,
            Cause::Generic,
            "internal",
        )
    }

    /// The door did not take the request.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a refusal ends here; callers map errors with it"
    )]
    pub(crate) fn refused(&self, refusal: Refusal) -> HttpResponse {
        match refusal {
            Refusal::NotFound | Refusal::Gone => self.gone(),
            Refusal::Busy { retry_after } => {
                self.later(HttpResponse::ServiceUnavailable(), retry_after, "busy")
            }
            Refusal::TooMany { retry_after } => {
                self.later(HttpResponse::TooManyRequests(), retry_after, "too-many")
            }
            Refusal::Unavailable => self.error(
                StatusCode::SERVICE_UNAVAILABLE,
                Cause::Operator,
                "unavailable",
            ),
            Refusal::Internal => self.error(
                StatusCode::INTERNAL_SERVER_ERROR,
                Cause::Generic,
                "internal",
            ),
            Refusal::Caller
            | Refusal::Subject(_)
            | Refusal::NotPermitted(_)
            | Refusal::RequestState
            | Refusal::IdempotencyConflict
            | Refusal::KeyLimit => self.internal("a refusal that browsers never get"),
        }
    }

    fn later(&self, mut answer: HttpResponseBuilder, after: Duration, code: &str) -> HttpResponse {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        answer.insert_header((header::RETRY_AFTER, seconds.max(1).to_string()));
        self.error_from(answer, Cause::Busy, code)
    }

    /// A link target of ours.
    ///
    /// # Errors
    /// The answer, 500: an address of ours is always a link.
    pub(crate) fn href(&self, address: String) -> Result<Href, Early> {
        Href::new(address).map_err(|_| self.internal("an address that is no link").into())
    }

    /// A page that goes on to `next` by itself. It is a page and not a redirect, so that the next request is made by us and
    /// carries `Sec-Fetch-Site: same-origin`.
    pub(crate) fn arrive(&self, answer: HttpResponseBuilder, next: String) -> Outcome {
        let next = self.href(next)?;
        let mut response = self.page(answer, &ArrivalView { next: next.clone() });
        self.go_on(&mut response, &next)?;
        Ok(response)
    }

    /// Nobody of ours sent the browser here: a page that shows nothing and goes on by a click.
    pub(crate) fn landing(&self, next: String) -> Outcome {
        let next = self.href(next)?;
        Ok(self.page(HttpResponse::Ok(), &ArrivalView { next }))
    }

    /// Makes a page go on at once. A timed wait is never used (WCAG 2.2.1).
    ///
    /// # Errors
    /// The answer, 500, when `next` is no header value.
    pub(crate) fn go_on(&self, response: &mut HttpResponse, next: &Href) -> Result<(), Early> {
        let mut value = HeaderValue::from_str(&format!("0; url={next}"))
            .map_err(|_| self.internal("an address that is no header value"))?;
        value.set_sensitive(true); // it may carry `state`
        response.headers_mut().insert(header::REFRESH, value);
        Ok(())
    }
}

/// After a post: the page that shows what came of it.
pub(crate) fn see_other(mut answer: HttpResponseBuilder, path: &str) -> HttpResponse {
    answer.insert_header((header::LOCATION, path)).finish()
}

/// Where a login goes on.
pub(crate) fn onward_path(onward: Onward) -> String {
    match onward {
        Onward::Flow(flow) => flow_path(flow),
        Onward::OwnPage => OWN_PAGE.to_owned(),
    }
}

/// Address of a person's own page.
pub(crate) const OWN_PAGE: &str = "/me";

/// Address of a flow's page.
pub(crate) fn flow_path(flow: BrowserFlowId) -> String {
    format!("/f/{flow}")
}
