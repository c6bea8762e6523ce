//! Whom a call is about, as the caller presents it (C2): in bodies as members, on GET and DELETE in a header, never in a
//! URL.

use actix_web::HttpRequest;
use actors::doors::SubjectInput;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Subject, VerifiedSubject};
use secret::SubjectToken;
use zeroize::Zeroizing;

use super::{Api, Call};
use crate::fields::{Faults, Fields};
use crate::headers::{SUBJECT_ASSERTION, SUBJECT_TOKEN, text_of};
use crate::json;
use crate::limits::MAX_CLIENT_ID;
use crate::problem::Problem;

/// Claims of an issuer that names none.
const DEFAULT_CLAIM: &str = "sub";

/// The subject of a GET or DELETE, proven behind the door.
pub(crate) async fn of_head(api: &Api, call: &Call<'_>) -> Result<VerifiedSubject, Problem> {
    let input = from_headers(call.asked.request, claims(api, call))?;
    let subject = api.door.subject(call.asked.ctx, &call.caller, input);
    Ok(subject.await?)
}

/// Names of the claims that an asserted subject must carry: those of the caller's issuer.
pub(crate) fn claims<'a>(api: &'a Api, call: &Call<'_>) -> &'a [Box<str>] {
    api.settings.subject_claims(&call.caller.server().issuer)
}

/// Takes `subject_token` or `subject` out of a body; exactly one of them. `client` is `mcp.client_id`.
pub(crate) fn from_body(
    fields: &mut Fields,
    claims: &[Box<str>],
    client: Option<Box<str>>,
    faults: &mut Faults,
) -> Option<SubjectInput> {
    match (fields.has("subject_token"), fields.has("subject")) {
        (true, false) => {
            let token = fields.text("subject_token", faults)?;
            if client.is_some() {
                let message =
                    "only with an asserted subject: a subject token names its client itself";
                faults.add("/mcp/client_id".into(), message);
            }
            if token.is_empty() {
                faults.add("/subject_token".into(), "this must not be empty");
                return None;
            }
            Some(SubjectInput::Token(SubjectToken::new(token)))
        }
        (false, true) => {
            let subject = fields.object("subject", faults)?;
            asserted(subject, claims, client, faults)
        }
        (both, _) => {
            let message = if both {
                "send subject_token or subject, not both"
            } else {
                "say whom the call is about: send the user's access token as subject_token"
            };
            faults.add("/subject_token".into(), message);
            let _ = (
                fields.text("subject_token", faults),
                fields.object("subject", faults),
            );
            None
        }
    }
}

fn from_headers(request: &HttpRequest, claims: &[Box<str>]) -> Result<SubjectInput, Problem> {
    let token = text_of(request, SUBJECT_TOKEN)?;
    let assertion = text_of(request, SUBJECT_ASSERTION)?;
    match (token, assertion) {
        (Some(token), None) => Ok(SubjectInput::Token(SubjectToken::new(token.to_owned()))),
        (None, Some(text)) => from_assertion(text, claims),
        (Some(_), Some(_)) => Err(Problem::header(
            SUBJECT_ASSERTION,
            "send Subject-Token or Subject-Assertion, not both",
        )),
        (None, None) => Err(Problem::header(
            SUBJECT_TOKEN,
            "say whom the call is about: send the user's access token in this header",
        )),
    }
}

/// Reads `Subject-Assertion`: base64url of `{"iss": …, "sub": …, "client_id"?: …}`.
fn from_assertion(text: &str, claims: &[Box<str>]) -> Result<SubjectInput, Problem> {
    let unreadable = || {
        Problem::header(
            SUBJECT_ASSERTION,
            "this must be base64url without padding of a JSON object with iss, the issuer's subject claims and, if known, client_id",
        )
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| unreadable())?;
    let bytes = Zeroizing::new(bytes);
    let mut fields = Fields::new(json::parse_object(&bytes).map_err(|_| unreadable())?);
    let mut faults = Faults::default();
    let client = client_id(&mut fields, &mut faults);
    let input = asserted(fields, claims, client, &mut faults);
    faults.settle(input).map_err(|_| unreadable())
}

/// Takes a `client_id` out of an object.
pub(crate) fn client_id(fields: &mut Fields, faults: &mut Faults) -> Option<Box<str>> {
    let must = "this must be 1 to 512 printable ASCII characters";
    fields.read("client_id", must, faults, |text| {
        // VSCHAR of RFC 6749 appendix A.1
        let printable = text.bytes().all(|b| (0x20..=0x7e).contains(&b));
        ((1..=MAX_CLIENT_ID).contains(&text.len()) && printable).then(|| text.into())
    })
}

fn asserted(
    mut fields: Fields,
    claims: &[Box<str>],
    client: Option<Box<str>>,
    faults: &mut Faults,
) -> Option<SubjectInput> {
    let must = "this must be a text of 1 to 255 bytes";
    let mut claim = |name: &str, max: usize| {
        fields.require(name, faults);
        fields.read(name, must, faults, |text| {
            (1..=max).contains(&text.len()).then(|| text.into())
        })
    };
    let iss: Option<Box<str>> = claim("iss", MAX_CLIENT_ID);
    let values: Vec<Option<Box<str>>> = if claims.is_empty() {
        vec![claim(DEFAULT_CLAIM, Subject::MAX_VALUE)]
    } else {
        let each = claims.iter();
        each.map(|name| claim(name, Subject::MAX_VALUE)).collect()
    };
    fields.finish(faults);
    Some(SubjectInput::Asserted {
        iss: iss?,
        values: values.into_iter().collect::<Option<_>>()?,
        client,
    })
}
