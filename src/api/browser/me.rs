//! A person's own page: what they have connected, what waits for them, and how to end it.

use actix_web::http::header::HeaderName;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::doors::OwnPosted;

use super::App;
use super::answer::{Early, OWN_PAGE, Outcome, Visit, see_other};
use super::cookies;
use super::forms::Extra;
use super::language;
use super::metadata::Came;
use super::views;
use super::walk::{posted, read_any};

/// `GET /me`.
pub(crate) async fn page(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    look(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn look(visit: &Visit<'_>) -> Outcome {
    if visit.check_page()? == Came::Elsewhere {
        return visit.landing(OWN_PAGE.to_owned());
    }
    let jar = visit.jar()?;
    let page = visit.app.door.own_page(visit.ctx, &jar.cookies).await;
    let page = page.map_err(|refusal| visit.refused(refusal))?;
    let view = views::own_page(&page, visit.language());
    visit.page_at(OWN_PAGE, HttpResponse::Ok(), view.as_ref())
}

/// `GET /me/in/{language}`: as for the pages of a flow.
pub(crate) async fn switch(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    choose(&Visit::of(&request, &app)).unwrap_or_else(Early::answer)
}

fn choose(visit: &Visit<'_>) -> Outcome {
    let came = visit.check_page()?;
    let language = language::of_tag(visit.part("language")).ok_or_else(|| visit.gone())?;
    if came == Came::Elsewhere {
        return visit.landing(OWN_PAGE.to_owned());
    }
    let mut answer = HttpResponse::SeeOther();
    cookies::set_language(&mut answer, language);
    Ok(see_other(answer, OWN_PAGE))
}

/// `POST /me/login/{issuer}`.
pub(crate) async fn login(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    start(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn start(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (_, same_origin, fields) = read_any(visit, payload, Extra::Nothing).await?;
    let (door, form) = (&visit.app.door, posted(same_origin, fields));
    let started = door
        .start_own_login(visit.ctx, visit.part("issuer"), form)
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
        None => Ok(refused(visit)),
    }
}

/// `POST /me/end/{grant}`.
pub(crate) async fn end(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    end_one(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn end_one(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (jar, same_origin, fields) = read_any(visit, payload, Extra::Nothing).await?;
    let grant = visit.part("grant").parse().map_err(|_| visit.gone())?;
    let form = posted(same_origin, fields);
    let ended = visit
        .app
        .door
        .end(visit.ctx, grant, &jar.cookies, form)
        .await;
    match ended.map_err(|refusal| visit.refused(refusal))? {
        OwnPosted::Done(ended) => {
            let view =
                views::ended(&ended).map_err(|_| visit.internal("an address that is no link"))?;
            Ok(visit.page(HttpResponse::Ok(), &view))
        }
        other => Ok(otherwise(visit, &other)),
    }
}

/// `POST /me/decline/{elicitation}`.
pub(crate) async fn decline(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    say_no(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn say_no(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (jar, same_origin, fields) = read_any(visit, payload, Extra::Nothing).await?;
    let asked = visit.part("elicitation");
    let elicitation = asked.parse().map_err(|_| visit.gone())?;
    let form = posted(same_origin, fields);
    let door = &visit.app.door;
    let declined = door
        .decline_waiting(visit.ctx, elicitation, &jar.cookies, form)
        .await;
    let declined = declined.map_err(|refusal| visit.refused(refusal))?;
    Ok(otherwise(visit, &declined))
}

/// `POST /me/leave`.
pub(crate) async fn leave(
    request: HttpRequest,
    app: web::Data<App>,
    payload: Payload,
) -> HttpResponse {
    sign_out(&Visit::of(&request, &app), payload)
        .await
        .unwrap_or_else(Early::answer)
}

async fn sign_out(visit: &Visit<'_>, payload: Payload) -> Outcome {
    let (jar, same_origin, fields) = read_any(visit, payload, Extra::Nothing).await?;
    let form = posted(same_origin, fields);
    let door = &visit.app.door;
    let left = door.leave_own_page(visit.ctx, &jar.cookies, form).await;
    let left = left.map_err(|refusal| visit.refused(refusal))?;
    if !matches!(left, OwnPosted::Done(())) {
        return Ok(otherwise(visit, &left));
    }
    let mut answer = HttpResponse::SeeOther();
    cookies::leave_own_page(&mut answer);
    answer.insert_header((
        HeaderName::from_static("clear-site-data"),
        "\"cache\", \"storage\"",
    ));
    Ok(see_other(answer, OWN_PAGE))
}

/// The page shows where things stand, unless the form was not taken.
fn otherwise<T>(visit: &Visit<'_>, posted: &OwnPosted<T>) -> HttpResponse {
    match posted {
        OwnPosted::Done(_) | OwnPosted::SignedOut => see_other(HttpResponse::SeeOther(), OWN_PAGE),
        OwnPosted::Refused => refused(visit),
        OwnPosted::Gone => visit.gone(),
    }
}

fn refused(visit: &Visit<'_>) -> HttpResponse {
    visit.form_refused_at(Some(OWN_PAGE.to_owned()))
}
