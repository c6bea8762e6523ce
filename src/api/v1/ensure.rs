//! `POST /v1/ensure`, the one call: a credential, a link for the user, or how it ended, always with status 200 and a
//! `status` member.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::doors::{ClientAnswer, ConnectLink, ElicitationView, Ensure, Ensured, SubjectInput};
use domain::{ElicitationState, FailureCode};
use serde::Serialize;
use serde_json::{Map, Value};

use super::mcp::{self, Client};
use super::payloads::{self, Payloads};
use super::words::{Saying, Voice};
use super::{Api, Call, credential, subject, views, wanted};
use crate::fields::{Faults, Fields};
use crate::listener::answer;
use crate::problem::Problem;

/// Every answer but `connected`.
#[derive(Serialize)]
struct NotConnected<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation: Option<views::Elicitation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a str>,
    /// Seconds after which it is worth trying again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// What the operator has to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_code: Option<&'static str>,
    recommended: &'static str,
    payloads: Map<String, Value>,
}

pub(crate) async fn ensure(api: &Api, call: Call<'_>) -> Result<HttpResponse, Problem> {
    let claims = subject::claims(api, &call);
    let Call { asked, caller } = call;
    let ctx = asked.ctx;
    let (input, request, client) = read(asked.json().await?, claims)?;
    let wanted = &request.wanted;
    let (provider, locale) = (wanted.provider.clone(), wanted.locale.clone());
    let subject = api.door.subject(ctx, &caller, input).await?;
    let ensured = api.door.ensure(ctx, &caller, &subject, request).await?;
    match &ensured {
        Ensured::Connected { credential, grant } => credential::connected(credential, grant),
        Ensured::Elicit(link) => Ok(elicit(StatusCode::OK, client, link)),
        Ensured::Waiting {
            view,
            request_state,
        } => {
            let Payloads {
                recommended,
                payloads,
            } = payloads::for_waiting(client, view, request_state);
            Ok(answer(
                StatusCode::OK,
                &NotConnected {
                    status: "waiting",
                    elicitation: Some(views::Elicitation::new(view, None)),
                    request_state: Some(request_state),
                    retry_after: None,
                    failure_code: None,
                    recommended,
                    payloads,
                },
            ))
        }
        Ensured::Ended(view) => {
            let (status, text) = ending(view);
            let code = match view.state {
                ElicitationState::Failed { code } if status == "needs_operator" => Some(code),
                _ => None,
            };
            let again = (status == "provider_down").then_some(AGAIN_SECONDS);
            Ok(without_credential(status, &text, Some(view), (again, code)))
        }
        Ensured::ProviderDown { retry_after } => {
            let voice = Voice::new(locale.as_ref(), provider.as_str());
            let text = voice.say(Saying::Down);
            let seconds = retry_after.as_secs().max(1);
            Ok(without_credential(
                "provider_down",
                &text,
                None,
                (Some(seconds), None),
            ))
        }
        Ensured::NeedsOperator { code } => {
            let voice = Voice::new(locale.as_ref(), provider.as_str());
            let text = voice.operator(code.as_str());
            Ok(without_credential(
                "needs_operator",
                &text,
                None,
                (None, Some(*code)),
            ))
        }
    }
}

/// The `elicit` answer; `POST /v1/elicitations` gives the same.
pub(crate) fn elicit(status: StatusCode, client: Client, link: &ConnectLink) -> HttpResponse {
    let Payloads {
        recommended,
        payloads,
    } = payloads::for_link(client, link);
    answer(
        status,
        &NotConnected {
            status: "elicit",
            elicitation: Some(views::Elicitation::new(&link.view, Some(&link.url))),
            request_state: Some(&link.request_state),
            retry_after: None,
            failure_code: None,
            recommended,
            payloads,
        },
    )
}

fn without_credential(
    status: &'static str,
    text: &str,
    view: Option<&ElicitationView>,
    (retry_after, code): (Option<u64>, Option<FailureCode>),
) -> HttpResponse {
    let Payloads {
        recommended,
        payloads,
    } = payloads::for_end(text);
    answer(
        StatusCode::OK,
        &NotConnected {
            status,
            elicitation: view.map(|view| views::Elicitation::new(view, None)),
            request_state: None,
            retry_after,
            failure_code: code.map(FailureCode::as_str),
            recommended,
            payloads,
        },
    )
}

/// Reads the body.
fn read(
    members: Map<String, Value>,
    claims: &[Box<str>],
) -> Result<(SubjectInput, Ensure, Client), Problem> {
    let mut fields = Fields::new(members);
    let mut faults = Faults::default();
    let mcp = mcp::from_body(&mut fields, &mut faults);
    let input = subject::from_body(&mut fields, claims, mcp.client_id, &mut faults);
    let wanted = wanted::from_body(&mut fields, mcp.digest, &mut faults);
    let request_state = fields.text("request_state", &mut faults);
    let responses = fields.object("input_responses", &mut faults);
    fields.finish(&mut faults);
    let client_answer = responses
        .zip(wanted.as_ref())
        .and_then(|(responses, wanted)| {
            client_answer(responses, wanted.provider.as_str(), &mut faults)
        });
    let read = input.zip(wanted).map(|(input, wanted)| {
        let request_state = request_state.map(Into::into);
        (
            input,
            Ensure {
                wanted,
                request_state,
                client_answer,
            },
            mcp.client,
        )
    });
    faults.settle(read)
}

/// The client's answer to our own question. Answers to others' questions are ignored (R51), and `content` is never read:
/// URL mode has none, and whatever a client puts there did not come over the browser.
fn client_answer(
    mut responses: Fields,
    provider: &str,
    faults: &mut Faults,
) -> Option<ClientAnswer> {
    let mut response = responses.object(&format!("connect:{provider}"), faults)?;
    response.require("action", faults);
    let must = "this must be accept, decline or cancel";
    response.read("action", must, faults, |action| match action {
        "accept" => Some(ClientAnswer::Accept),
        "decline" => Some(ClientAnswer::Decline),
        "cancel" => Some(ClientAnswer::Cancel),
        _ => None,
    })
}

/// Status and explanation of an elicitation that ended without a usable grant.
fn ending(view: &ElicitationView) -> (&'static str, String) {
    let voice = Voice::new(view.locale.as_ref(), &view.provider_name);
    match view.state {
        ElicitationState::Declined => ("declined", voice.say(Saying::Declined)),
        ElicitationState::Cancelled if view.mismatched => {
            ("mismatch", voice.and_again(Saying::Mismatched))
        }
        ElicitationState::Cancelled => ("cancelled", voice.and_again(Saying::Cancelled)),
        ElicitationState::Failed { code } => failed(code, voice),
        ElicitationState::Completed { .. } => ("expired", voice.and_again(Saying::Ended)),
        ElicitationState::Expired
        | ElicitationState::Issued
        | ElicitationState::SignedIn
        | ElicitationState::Consented => ("expired", voice.and_again(Saying::Unused)),
    }
}

fn failed(code: FailureCode, voice: Voice<'_>) -> (&'static str, String) {
    match code {
        FailureCode::WrongBrowser => ("mismatch", voice.and_again(Saying::WrongBrowser)),
        FailureCode::WrongCallback => ("cancelled", voice.and_again(Saying::WrongCallback)),
        FailureCode::ProviderRefused | FailureCode::KeyRefused => {
            ("declined", voice.and_again(Saying::Refused))
        }
        FailureCode::ProviderUnreachable => ("provider_down", voice.say(Saying::Down)),
        FailureCode::ProviderUnreadable | FailureCode::ProviderMisconfigured => {
            ("needs_operator", voice.operator(code.as_str()))
        }
        FailureCode::Interrupted => ("expired", voice.and_again(Saying::Interrupted)),
        FailureCode::NotConfirmed => ("expired", voice.and_again(Saying::NotConfirmed)),
    }
}

/// When it is worth asking again for a provider that did not answer while somebody was connecting it.
const AGAIN_SECONDS: u64 = 60;
