//! The walk of one flow: its page, the leaving page and the forms.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::doors::{FlowPage, Posted, PostedForm};
use domain::{BrowserFlowId, KeyInputs};
use pages::{Cause, ErrorView};
use secret::KeyInput;

use super::App;
use super::answer::{Early, Outcome, Visit, flow_path, see_other};
use super::cookies::{self, Jar};
use super::forms::{self, Extra, Fields, FormFault};
use super::language;
use super::metadata::Came;
use super::settings::LeavingPage;
use super::views::{FlowView, Wrong, failure_cause};

/// `GET /f/{flow}`.
pub(crate) async fn page(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    look(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn look(visit: &Visit<'_>) -> Outcome {
    let came = visit.check_page()?;
    let flow = visit.flow()?;
    if came == Came::Elsewhere {
        return visit.landing(flow_path(flow));
    }
    let jar = visit.jar()?;
    visit.about(flow, &jar).await;
    let page = visit.app.door.page(visit.ctx, flow, &jar.cookies).await;
    show(
        visit,
        flow,
        page.map_err(|refusal| visit.refused(refusal))?,
        None,
    )
}

fn show(visit: &Visit<'_>, flow: BrowserFlowId, page: FlowPage, wrong: Option<Wrong>) -> Outcome {
    let view = FlowView::of((flow, visit.language()), page, wrong)
        .map_err(|_| visit.internal("an address that is no link"))?;
    let answer = HttpResponse::build(view.status);
    if view.status == StatusCode::NOT_FOUND {
        return Ok(visit.page(answer, view.page.as_ref())); // as for every flow that is not there
    }
    visit.page_of(flow, answer, view.page.as_ref())
}

/// `GET /f/{flow}/in/{language}`: the person would rather read another language. Nothing changes but the cookie that says so.
pub(crate) async fn switch(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    choose(&Visit::of(&request, &app)).unwrap_or_else(Early::answer)
}

fn choose(visit: &Visit<'_>) -> Outcome {
    let came = visit.check_page()?;
    let flow = visit.flow()?;
    let language = language::of_tag(visit.part("language")).ok_or_else(|| visit.gone())?;
    if came == Came::Elsewhere {
        return visit.landing(flow_path(flow)); // nobody else chooses for them
    }
    let mut answer = HttpResponse::SeeOther();
    cookies::set_language(&mut answer, language);
    Ok(see_other(answer, &flow_path(flow)))
}

/// `GET /f/{flow}/leaving`: the page between consent and the provider.
pub(crate) async fn leaving(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    leave(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn leave(visit: &Visit<'_>) -> Outcome {
    let came = visit.check_page()?;
    let flow = visit.flow()?;
    if came == Came::Elsewhere {
        return visit.landing(format!("{}/leaving", flow_path(flow)));
    }
    let jar = visit.jar()?;
    visit.about(flow, &jar).await;
    let leaving = visit.app.door.leaving(visit.ctx, flow, &jar.cookies).await;
    let leaving = match leaving.map_err(|refusal| visit.refused(refusal))? {
        Some(Ok(leaving)) => leaving,
        Some(Err(code)) => {
            let view = ErrorView {
                cause: failure_cause(code),
                code: code.as_str().to_owned(),
                reference: visit.told(code.as_str()),
                again: None,
                back: Some(visit.href(flow_path(flow))?),
                stop: None,
            };
            return Ok(visit.page(HttpResponse::Ok(), &view));
        }
        // Nobody is on the way to a provider here; the flow's own page says what is.
        None => return Ok(see_other(HttpResponse::SeeOther(), &flow_path(flow))),
    };
    let href = visit.href(leaving.url.as_str().to_owned())?;
    let back = visit.href(flow_path(flow))?;
    let view = super::views::leaving(&leaving, href.clone(), back);
    let mut response = visit.page(HttpResponse::Ok(), &view);
    if visit.app.settings.leaving_page() == LeavingPage::AtOnce {
        visit.go_on(&mut response, &href)?;
    }
    Ok(response)
}

/// A posted form, read and ready for the door.
struct Post {
    flow: BrowserFlowId,
    jar: Jar,
    form: PostedForm,
}

/// Reads a form of a flow's page.
async fn read(visit: &Visit<'_>, payload: Payload, extra: Extra) -> Result<Post, Early> {
    let (jar, same_origin, fields) = read_any(visit, payload, extra).await?;
    let form = posted(same_origin, fields);
    let flow = visit.flow()?;
    visit.about(flow, &jar).await;
    Ok(Post { flow, jar, form })
}

/// Reads a form of ours, whatever page it is on.
pub(crate) async fn read_any(
    visit: &Visit<'_>,
    payload: Payload,
    extra: Extra,
) -> Result<(Jar, bool, Fields), Early> {
    let same_origin = visit.metadata().is_own_form(visit.app.settings.origin());
    if visit.request.uri().query().is_some() {
        return Err(visit
            .error(StatusCode::BAD_REQUEST, Cause::Generic, "unexpected-query")
            .into());
    }
    let jar = visit.jar()?;
    let fields = forms::read(visit.request, payload, extra)
        .await
        .map_err(|fault| {
            if fault == FormFault::Type && !same_origin {
                return visit.form_refused(None);
            }
            let (status, code) = fault.answer();
            visit.error(status, Cause::Generic, code)
        })?;
    Ok((jar, same_origin, fields))
}

/// What the door is told of a form.
pub(crate) fn posted(same_origin: bool, fields: Fields) -> PostedForm {
    PostedForm {
        same_origin,
        csrf: fields.csrf,
        ticked: fields.ticked,
    }
}

/// F3: `POST /f/{flow}/login`.
pub(crate) async fn login(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    start_login(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn start_login(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let Post { flow, jar, form } = read(visit, payload, Extra::Nothing).await?;
    let same_origin = form.same_origin;
    let started = visit
        .app
        .door
        .start_login(visit.ctx, flow, &jar.cookies, form)
        .await;
    match started.map_err(|refusal| visit.refused(refusal))? {
        Some(started) => {
            let mut answer = HttpResponse::SeeOther();
            if !cookies::set_pre_login(&mut answer, &started.cookie) {
                return Ok(visit.internal("a pre-login cookie that is no cookie value"));
            }
            Ok(see_other(answer, "/login/go"))
        }
        None if same_origin => Ok(visit.gone()),
        None => Ok(visit.form_refused(Some(flow))),
    }
}

/// F5: `POST /f/{flow}/consent`.
pub(crate) async fn consent(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    post(&Visit::of(&request, &app), payload, Deed::Consent)
        .await
        .unwrap_or_else(Early::answer)
}

/// F5 where a key is typed in: `POST /f/{flow}/key`.
pub(crate) async fn key(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    give_key(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn give_key(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (jar, same_origin, mut fields) = read_any(visit, payload, Extra::Key).await?;
    let inputs = KeyInputs {
        login: fields.login.take(),
        // A field that is not there is as good as one that was left empty.
        key: (fields.key.take()).unwrap_or_else(|| KeyInput::new(String::new())),
    };
    let (flow, form) = (visit.flow()?, posted(same_origin, fields));
    let door = &visit.app.door;
    let answer = door
        .submit_key(visit.ctx, flow, &jar.cookies, (form, inputs))
        .await;
    after(
        visit,
        (flow, &jar),
        answer.map_err(|refusal| visit.refused(refusal))?,
    )
}

/// F9: `POST /f/{flow}/confirm`.
pub(crate) async fn confirm(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    post(&Visit::of(&request, &app), payload, Deed::Confirm)
        .await
        .unwrap_or_else(Early::answer)
}

/// No: `POST /f/{flow}/decline`.
pub(crate) async fn decline(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    post(&Visit::of(&request, &app), payload, Deed::Decline)
        .await
        .unwrap_or_else(Early::answer)
}

/// Once more: `POST /f/{flow}/again`.
pub(crate) async fn again(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    post(&Visit::of(&request, &app), payload, Deed::Again)
        .await
        .unwrap_or_else(Early::answer)
}

/// What a form of a flow's page asks for.
#[derive(Clone, Copy)]
enum Deed {
    Consent,
    Confirm,
    Decline,
    Again,
}

async fn post(visit: &Visit<'_>, payload: Payload, deed: Deed) -> Outcome {
    let extra = match deed {
        Deed::Consent => Extra::Agree,
        Deed::Confirm => Extra::Mine,
        Deed::Decline | Deed::Again => Extra::Nothing,
    };
    let Post { flow, jar, form } = read(visit, payload, extra).await?;
    let (door, cookies, ctx) = (&visit.app.door, &jar.cookies, visit.ctx);
    let answer = match deed {
        Deed::Consent => door.consent(ctx, flow, cookies, form).await,
        Deed::Confirm => door.confirm(ctx, flow, cookies, form).await,
        Deed::Decline => door.decline(ctx, flow, cookies, form).await,
        Deed::Again => door.again(ctx, flow, cookies, form).await,
    };
    after(
        visit,
        (flow, &jar),
        answer.map_err(|refusal| visit.refused(refusal))?,
    )
}

/// The answer to a form that the door has looked at.
fn after(visit: &Visit<'_>, (flow, jar): (BrowserFlowId, &Jar), posted: Posted) -> Outcome {
    let path = flow_path(flow);
    match posted {
        Posted::Page => Ok(see_other(HttpResponse::SeeOther(), &path)),
        Posted::Leaving => {
            let mut answer = HttpResponse::SeeOther();
            jar.renew_flow(&mut answer, flow);
            Ok(see_other(answer, &format!("{path}/leaving")))
        }
        Posted::TickMissing(page) => show(visit, flow, *page, Some(Wrong::Tick)),
        Posted::KeyWrong(page, fault) => show(visit, flow, *page, Some(Wrong::Key(fault))),
        Posted::Refused => Ok(visit.form_refused(Some(flow))),
        Posted::Gone => Ok(visit.gone()),
    }
}

/// `POST /session/end`.
pub(crate) async fn sign_out(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    end_session(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn end_session(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (jar, same_origin, fields) = read_any(visit, payload, Extra::Flow).await?;
    let Some(flow) = fields.flow else {
        // Every sign-out button of ours names the flow whose page it is on.
        return Ok(visit.form_refused(None));
    };
    visit.about(flow, &jar).await;
    let form = posted(same_origin, fields);
    let answer = visit
        .app
        .door
        .sign_out(visit.ctx, flow, &jar.cookies, form)
        .await;
    match answer.map_err(|refusal| visit.refused(refusal))? {
        Posted::Page => {}
        Posted::Gone => return Ok(visit.gone()),
        // Nothing of the browser's is touched for a form that was not taken.
        Posted::Refused | Posted::Leaving | Posted::TickMissing(_) | Posted::KeyWrong(..) => {
            return Ok(visit.form_refused(Some(flow)));
        }
    }
    let mut answer = HttpResponse::SeeOther();
    cookies::sign_out(&mut answer);
    // Not "cookies": that would clear the whole registrable domain, applications of others included.
    answer.insert_header((
        HeaderName::from_static("clear-site-data"),
        "\"cache\", \"storage\"",
    ));
    Ok(see_other(answer, &flow_path(flow)))
}
