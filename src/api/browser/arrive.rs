//! Arrivals from elsewhere: the link, the issuer's answer and the provider's answer; and the way to the issuer.
//!
//! Each arrival is answered with a page that goes on to a clean address of ours, so that tickets, codes and states stay in
//! no history and the next request comes from our own origin.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::doors::{LoginFailed, Onward, Opened};
use domain::{IssuerSlug, LoginRefused, ProviderSlug};
use pages::{Address, Cause, ErrorView, Href, SigningInView};
use secret::ConnectTicket;

use super::App;
use super::answer::{Early, Outcome, Visit, flow_path, onward_path};
use super::cookies;
use super::metadata::Came;
use super::query::is_malformed;
use super::views::{login_failure, origin_of};

/// F2: `GET /c/{ticket}`.
pub(crate) async fn link(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    open(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn open(visit: &Visit<'_>) -> Outcome {
    visit.check_page()?;
    let ticket = ConnectTicket::parse(visit.part("ticket")).map_err(|_| visit.gone())?;
    let jar = visit.jar()?;
    let opened = visit
        .app
        .door
        .open_link(visit.ctx, &ticket, &jar.cookies)
        .await;
    let opened = opened.map_err(|refusal| visit.refused(refusal))?;
    let opened = opened.ok_or_else(|| visit.gone())?;
    let Opened::Flow {
        flow,
        cookie,
        forget,
        locale,
    } = opened
    else {
        let status = StatusCode::TOO_MANY_REQUESTS;
        return Ok(visit.error(status, Cause::Crowded, "too-many-open-requests"));
    };
    let mut answer = HttpResponse::Ok();
    if let Some(cookie) = &cookie {
        jar.set_flow(&mut answer, (flow, cookie), &forget);
    }
    visit.speak(locale.as_ref());
    visit.arrive(answer, flow_path(flow))
}

/// `GET /login/go`: the page between our form and the issuer.
pub(crate) async fn login_leaving(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    go(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn go(visit: &Visit<'_>) -> Outcome {
    if visit.check_page()? == Came::Elsewhere {
        return visit.landing("/login/go".to_owned());
    }
    let jar = visit.jar()?;
    let leaving = visit.app.door.login_leaving(visit.ctx, &jar.cookies).await;
    let leaving = leaving.map_err(|refusal| visit.refused(refusal))?;
    let leaving = leaving.ok_or_else(|| visit.gone())?;
    let onward = match &leaving {
        Ok(leaving) => Some(leaving.onward),
        Err(failed) => failed.onward,
    };
    visit.about_onward(onward, &jar).await;
    let leaving = leaving.map_err(|failed| login_failed(visit, &failed, false))?;
    let href = visit.href(leaving.url.as_str().to_owned())?;
    let issuer = Address {
        text: origin_of(leaving.url.as_str()),
        site: leaving.issuer.site.as_deref().map(Into::into),
    };
    let view = SigningInView {
        issuer,
        href: href.clone(),
    };
    let mut response = visit.page(HttpResponse::Ok(), &view);
    visit.go_on(&mut response, &href)?;
    Ok(response)
}

/// C5: `GET /login/callback/{issuer}`.
pub(crate) async fn login_callback(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    sign_in(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn sign_in(visit: &Visit<'_>) -> Outcome {
    let issuer = IssuerSlug::parse(visit.part("issuer")).map_err(|_| visit.gone())?;
    let jar = visit.jar()?;
    let query = visit.request.uri().query().unwrap_or("");
    let arrival = (visit.metadata().is_navigation(), &jar.cookies);
    let door = &visit.app.door;
    let signed_in = door
        .finish_login(visit.ctx, issuer.as_str(), query, arrival)
        .await;
    let signed_in = signed_in.map_err(|refusal| visit.refused(refusal))?;
    let onward = match &signed_in {
        Ok(signed_in) => Some(signed_in.onward),
        Err(failed) => failed.onward,
    };
    visit.about_onward(onward, &jar).await;
    let signed_in = signed_in.map_err(|failed| login_failed(visit, &failed, true))?;
    let mut answer = HttpResponse::Ok();
    match signed_in.onward {
        Onward::Flow(flow) => {
            cookies::sign_in(&mut answer, &signed_in.cookie);
            jar.renew_flow(&mut answer, flow);
        }
        Onward::OwnPage => cookies::enter_own_page(&mut answer, &signed_in.cookie),
    }
    visit.arrive(answer, onward_path(signed_in.onward))
}

/// The page for a login that did not work. An answer that belonged to this browser's login has used it up; one that did not
/// must not end it, or any page elsewhere could.
fn login_failed(visit: &Visit<'_>, failed: &LoginFailed, answered: bool) -> HttpResponse {
    let (status, cause, code) = login_failure(failed.reason);
    let malformed = answered && is_malformed(visit.request.uri().query().unwrap_or(""));
    let status = match status {
        _ if answered && !visit.metadata().is_navigation() => StatusCode::FORBIDDEN,
        _ if malformed => StatusCode::BAD_REQUEST,
        status => status,
    };
    let mut answer = HttpResponse::build(status);
    let foreign = matches!(
        failed.reason,
        LoginRefused::NotStartedHere | LoginRefused::WrongAnswer
    );
    if answered && !foreign {
        cookies::remove_pre_login(&mut answer);
    }
    let view = ErrorView {
        cause,
        code: code.to_owned(),
        reference: failed.reference.as_ref().into(),
        again: None,
        // A link, not a form: this page stands at a callback address.
        back: failed
            .onward
            .and_then(|onward| Href::new(onward_path(onward)).ok()),
        stop: None,
    };
    visit.page(answer, &view)
}

/// F7: `GET /cb/{provider}`.
pub(crate) async fn callback(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    come_back(&Visit::of(&request, &app))
        .await
        .unwrap_or_else(Early::answer)
}

async fn come_back(visit: &Visit<'_>) -> Outcome {
    let provider = ProviderSlug::parse(visit.part("provider")).map_err(|_| visit.gone())?;
    let jar = visit.jar()?;
    let query = visit.request.uri().query().unwrap_or("");
    let navigation = visit.metadata().is_navigation();
    let arrival = (navigation, &jar.cookies);
    let door = &visit.app.door;
    let flow = door
        .callback(visit.ctx, provider.as_str(), query, arrival)
        .await;
    match flow.map_err(|refusal| visit.refused(refusal))? {
        Some(flow) => {
            let mut answer = HttpResponse::Ok();
            jar.renew_flow(&mut answer, flow);
            visit.about(flow, &jar).await;
            visit.arrive(answer, flow_path(flow))
        }
        None if !navigation => {
            Ok(visit.error(StatusCode::FORBIDDEN, Cause::Generic, "not-a-navigation"))
        }
        None if is_malformed(query) => Ok(visit.error(
            StatusCode::BAD_REQUEST,
            Cause::Generic,
            "callback-unreadable",
        )),
        None => Ok(visit.gone()),
    }
}
