//! C2: whom a call is about. The user's access token is evidence of that and nothing else: it is judged here and forgotten.
//!
//! Signature and key selection are the work of the room that fetches keys; it hands over a [`SignedToken`], and every claim
//! is judged here (RFC 9068 section 4, RFC 8725).

use serde_json::{Map, Value};

use super::times::{NoTime, numeric_date};
use crate::switch::{self, Check};
use crate::{Identity, Issuer, McpClient, Server, Subject, SubjectMode, Timestamp};

/// The header and claims of a JWT whose signature was found good with a key of `issuer`.
pub struct SignedToken {
    /// `typ` of the header, as it stands there.
    pub typ: Option<String>,
    /// The claims; doubles were refused when they were parsed.
    pub claims: Map<String, Value>,
}

/// Which evidence the subject rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectEvidence {
    /// An access token that we verified.
    Token,
    /// The server's word.
    Asserted,
}

/// Proof of C2: whom the call is about, through which MCP client, on which evidence.
#[derive(Debug, Clone)]
pub struct VerifiedSubject {
    identity: Identity,
    client: McpClient,
    evidence: SubjectEvidence,
    until: Timestamp,
    /// Until when C2 would say the same of the same token; an assertion is of one request and has no end of its own.
    holds_until: Option<Timestamp>,
}

/// Why a subject is refused; for the audit log and, as one public code, for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubjectRefused {
    /// Not a JWT in compact form, or larger than we read.
    #[error("the token is not a signed JWT")]
    Malformed,
    /// Algorithm, key or signature.
    #[error("the signature is not by a key of the issuer with an accepted algorithm")]
    Signature,
    /// `typ`, or the markers of an ID token.
    #[error("this is not an access token")]
    NotAnAccessToken,
    /// `iss`.
    #[error("the token is from another issuer")]
    Issuer,
    /// `aud`.
    #[error("the token was issued for another resource")]
    Audience,
    /// `exp`, `nbf` or `iat`.
    #[error("the token has expired, is not valid yet, or is older than accepted")]
    Time,
    /// A subject claim is missing or no text.
    #[error("the token does not name a person")]
    Subject,
    /// `client_id` or `azp` is no text.
    #[error("the token names its client by something that is no text")]
    Client,
    /// The server may not assert subjects, or asserted one that cannot be.
    #[error("this server may not name a subject without a token")]
    Assertion,
    /// The issuer's keys cannot be had at present.
    #[error("the issuer's keys cannot be had at present")]
    KeysUnavailable,
}

impl VerifiedSubject {
    /// C2 for a token whose signature is good.
    ///
    /// # Errors
    /// The first [`SubjectRefused`] that applies.
    pub fn check_token(
        token: &SignedToken,
        server: &Server,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Self, SubjectRefused> {
        let life = match judge(token, server, issuer, now) {
            Ok(life) => life,
            Err(_) if switch::off(Check::C2) => {
                let ends = now.plus(issuer.access_tokens.max_age);
                Life {
                    ends,
                    accepted_until: ends,
                }
            }
            Err(refused) => return Err(refused),
        };
        let subject = subject_of(&token.claims, &issuer.subject_claims)?;
        let client = CLIENT_CLAIMS
            .iter()
            .find_map(|name| token.claims.get(*name)?.as_str());
        Ok(Self {
            identity: identity(issuer, subject),
            client: client.map_or(McpClient::Unnamed, |id| McpClient::Verified(id.into())),
            evidence: SubjectEvidence::Token,
            until: life.ends,
            holds_until: Some(life.accepted_until),
        })
    }

    /// C2 for a subject on the server's word, where the operator allowed that.
    ///
    /// # Errors
    /// [`SubjectRefused::Assertion`] where it is not allowed, or names another issuer.
    pub fn check_assertion(
        server: &Server,
        issuer: &Issuer,
        asserted: (&str, Subject),
        client: McpClient,
        now: Timestamp,
    ) -> Result<Self, SubjectRefused> {
        let (iss, subject) = asserted;
        let right_count = subject.values().count() == issuer.subject_claims.len();
        let allowed = server.subject_mode == SubjectMode::Asserted || switch::off(Check::C2);
        if !allowed || iss != issuer.url.as_str() || !right_count {
            return Err(SubjectRefused::Assertion);
        }
        Ok(Self {
            identity: identity(issuer, subject),
            client,
            evidence: SubjectEvidence::Asserted,
            until: now,
            holds_until: None,
        })
    }

    /// The person.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The MCP client.
    pub fn client(&self) -> &McpClient {
        &self.client
    }

    /// What it rests on.
    pub fn evidence(&self) -> SubjectEvidence {
        self.evidence
    }

    /// The end of the evidence; a remembered subject is never used beyond it.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Whether C2 would still say yes at `now`. A request that has waited for others asks this before it acts on the proof.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.holds_until.is_none_or(|end| !end.passed(now)) || switch::off(Check::C2)
    }
}

/// How long a token is evidence.
struct Life {
    /// `exp`, as it stands there.
    ends: Timestamp,
    /// When C2 stops accepting it: leeway and greatest age included.
    accepted_until: Timestamp,
}

/// Claims that name the client, the first that is there first.
const CLIENT_CLAIMS: [&str; 2] = ["client_id", "azp"];

fn identity(issuer: &Issuer, subject: Subject) -> Identity {
    Identity {
        tenant: issuer.tenant.clone(),
        issuer: issuer.slug.clone(),
        issuer_url: issuer.url.clone(),
        subject,
    }
}

fn subject_of(claims: &Map<String, Value>, names: &[Box<str>]) -> Result<Subject, SubjectRefused> {
    let values: Option<Vec<&str>> = names
        .iter()
        .map(|name| claims.get(&**name)?.as_str())
        .collect();
    Subject::new(values.ok_or(SubjectRefused::Subject)?).map_err(|_| SubjectRefused::Subject)
}

fn judge(
    token: &SignedToken,
    server: &Server,
    issuer: &Issuer,
    now: Timestamp,
) -> Result<Life, SubjectRefused> {
    check_type(token, issuer)?;
    if token.claims.get("iss").and_then(Value::as_str) != Some(issuer.url.as_str()) {
        return Err(SubjectRefused::Issuer);
    }
    check_audience(&token.claims, server, issuer)?;
    check_client(&token.claims)?;
    check_times(&token.claims, issuer, now)
}

/// Claims of other kinds of token: ID tokens (OpenID Connect Core sections 2 and 3.3.2.11, FAPI 1.0 part 2), security events such
/// as a logout (RFC 8417), and answers to an introspection (RFC 9701).
const MARKS_OF_OTHERS: [&str; 6] = [
    "nonce",
    "at_hash",
    "c_hash",
    "s_hash",
    "events",
    "token_introspection",
];

/// Whether it can be an access token at all. Where the issuer gives its access tokens no type of their own, the plain type
/// or none will do, and any other says that this is something else (RFC 8725 section 3.11).
fn check_type(token: &SignedToken, issuer: &Issuer) -> Result<(), SubjectRefused> {
    let typ = token.typ.as_deref().map(str::to_ascii_lowercase);
    let fits = match typ.as_deref() {
        Some("at+jwt" | "application/at+jwt") => true,
        None | Some("jwt") => !issuer.access_tokens.require_at_jwt,
        Some(_) => false,
    };
    let of_others = (MARKS_OF_OTHERS.iter()).any(|mark| token.claims.contains_key(*mark));
    if of_others || !fits {
        return Err(SubjectRefused::NotAnAccessToken);
    }
    Ok(())
}

/// Who the client is may be left open; something else than a text is not "left open".
fn check_client(claims: &Map<String, Value>) -> Result<(), SubjectRefused> {
    let texts = CLIENT_CLAIMS
        .iter()
        .filter_map(|name| claims.get(*name))
        .all(Value::is_string);
    if texts {
        Ok(())
    } else {
        Err(SubjectRefused::Client)
    }
}

fn check_audience(
    claims: &Map<String, Value>,
    server: &Server,
    issuer: &Issuer,
) -> Result<(), SubjectRefused> {
    let accepted = match claims.get("aud") {
        Some(Value::String(one)) => **one == *server.resource,
        Some(Value::Array(many)) => {
            let texts: Option<Vec<&str>> = many.iter().map(Value::as_str).collect();
            let texts = texts.ok_or(SubjectRefused::Audience)?;
            let number_is_fine = texts.len() == 1 || issuer.access_tokens.several_audiences;
            number_is_fine && texts.contains(&&*server.resource)
        }
        _ => false,
    };
    if accepted {
        Ok(())
    } else {
        Err(SubjectRefused::Audience)
    }
}

impl From<NoTime> for SubjectRefused {
    fn from(_: NoTime) -> Self {
        Self::Time
    }
}

/// All three times: a wrong JSON type is an error, never "absent". Gives back how long the token is evidence.
fn check_times(
    claims: &Map<String, Value>,
    issuer: &Issuer,
    now: Timestamp,
) -> Result<Life, SubjectRefused> {
    let rules = &issuer.access_tokens;
    let exp = numeric_date(claims, "exp")?.ok_or(SubjectRefused::Time)?;
    let iat = numeric_date(claims, "iat")?.ok_or(SubjectRefused::Time)?;
    let nbf = numeric_date(claims, "nbf")?;
    let accepted_until = exp.min(iat.plus(rules.max_age)).plus(rules.leeway);
    let over = accepted_until.passed(now);
    let from_the_future = |moment: Timestamp| moment > now.plus(rules.leeway);
    if over || from_the_future(iat) || nbf.is_some_and(from_the_future) || exp <= iat {
        return Err(SubjectRefused::Time);
    }
    Ok(Life {
        ends: exp,
        accepted_until,
    })
}
