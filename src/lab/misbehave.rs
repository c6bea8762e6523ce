//! Misbehaviour as data: every way in which a lab can be wrong, all of it off by default.
//!
//! Three tools cover nearly everything: `replies` replaces an answer on the wire, `members` edits
//! the JSON of a good answer, and `callback`/`id_token`/`access_token` edit what is handed over.
//! Because it is plain data it can be written in a file; `catalogue` names ready-made cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// All switches of a lab. `Misbehaviour::default()` behaves well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, not one state"
)]
pub struct Misbehaviour {
    /// Answers replaced on the wire, first match first.
    pub replies: Vec<ReplyFault>,
    /// Per path: members laid over the JSON of a 2xx answer; `null` removes a member.
    pub members: BTreeMap<String, Map<String, Value>>,
    /// Edits of the redirect back to the client.
    pub callback: CallbackEdits,
    /// Edits of ID tokens.
    pub id_token: JwtEdits,
    /// Leave the ID token out although `openid` was granted.
    pub omit_id_token: bool,
    /// Edits of signed access tokens.
    pub access_token: JwtEdits,
    /// What a refresh does to the refresh token.
    pub refresh: RefreshRule,
    /// How many seconds a replaced refresh token may still be used, as some providers allow for
    /// lost answers; 0 ends the grant at once.
    pub reuse_grace: u64,
    /// A refresh ends the access tokens given out before.
    pub refresh_ends_access: bool,
    /// The shape of good token answers.
    pub token_shape: TokenShape,
    /// The scope really granted, whatever was asked for (narrower or wider).
    pub scope: Option<String>,
    /// Accept any `code_verifier`, or none.
    pub ignore_pkce: bool,
    /// Accept an authorization code again and again.
    pub accept_used_codes: bool,
    /// Answer 200 to a revocation and revoke nothing.
    pub pretend_revocation: bool,
}

/// One replaced answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyFault {
    /// The exact path, such as `/token`.
    pub path: String,
    /// How many requests it hits before it is used up; `None` means all.
    #[serde(default)]
    pub times: Option<u32>,
    /// Whether the lab does its work first and only then answers wrongly, as when a refresh token
    /// was rotated and the answer got lost.
    #[serde(default)]
    pub acts: bool,
    /// The answer.
    pub reply: Reply,
}

/// A replacement answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// Exactly this.
    Raw {
        /// Status code.
        status: u16,
        /// `content-type`.
        content_type: String,
        /// Further headers.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// Body.
        body: String,
    },
    /// An OAuth error body (RFC 6749 section 5.2).
    OauthError {
        /// Status code.
        status: u16,
        /// `error`.
        error: String,
        /// `error_description`.
        #[serde(default)]
        description: Option<String>,
    },
    /// A JSON-looking body of this many bytes.
    Huge {
        /// Size of the body in bytes.
        bytes: u64,
        /// Whether `content-length` gives the size away.
        #[serde(default)]
        declared: bool,
    },
    /// A redirect.
    Redirect {
        /// Status code, such as 302 or 307.
        status: u16,
        /// `location`.
        location: String,
    },
    /// The connection breaks in the middle of the answer.
    Cut,
    /// The answer begins and never ends, until the client leaves or the lab stops.
    Stall,
}

/// Edits of the parameters in the redirect back to the client, done in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallbackEdits {
    /// Parameters to leave out.
    pub remove: Vec<String>,
    /// Parameters to change or set.
    pub replace: BTreeMap<String, String>,
    /// Parameters to add at the end, even if there is one of that name (duplicates).
    pub append: Vec<(String, String)>,
    /// Send the person here instead of to the redirect URI.
    pub target: Option<String>,
    /// Come back as a form the browser posts (OAuth 2.0 Form Post Response Mode), sent by a button.
    pub form_post: bool,
}

/// The shape of good token answers; real providers have many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenShape {
    /// New names of members.
    pub rename: BTreeMap<String, String>,
    /// Between scopes, instead of a space.
    pub scope_joiner: Option<String>,
    /// Numbers are written as text.
    pub numbers_as_text: bool,
    /// All members sit inside a member of this name, next to `"ok": true`.
    pub nest: Option<String>,
    /// The body is form-encoded and not JSON; `nest` is then left aside.
    pub form_encoded: bool,
}

/// Edits of a token; `null` removes a claim or header member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JwtEdits {
    /// Claims laid over the honest ones.
    pub claims: Map<String, Value>,
    /// Header members laid over the honest ones.
    pub header: Map<String, Value>,
    /// How it is signed.
    pub signing: Signing,
}

impl JwtEdits {
    /// One changed claim.
    pub fn claim(name: &str, value: impl Into<Value>) -> Self {
        Self::default().and_claim(name, value)
    }

    /// One more changed claim.
    pub fn and_claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims.insert(name.to_owned(), value.into());
        self
    }

    /// One more changed header member.
    pub fn and_header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header.insert(name.to_owned(), value.into());
        self
    }

    /// Signed another way.
    pub fn signed(mut self, signing: Signing) -> Self {
        self.signing = signing;
        self
    }
}

/// How a token is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signing {
    /// ES256 with the current published key.
    #[default]
    Own,
    /// RS256 with the published RSA key (`LabConfig::rsa`).
    Rsa,
    /// `alg: none` and an empty signature.
    Unsigned,
    /// HS256 with the PEM text of the EC public key as the secret.
    HmacOfPublicKey,
    /// HS256 with the PEM text of the RSA public key as the secret, under the RSA key's `kid`.
    HmacOfRsaPublicKey,
    /// ES256 with a key nobody knows, under the current `kid`.
    Foreign,
    /// As `Foreign`, with the matching public key in the `jwk` header member.
    ForeignInHeader,
    /// ES256 with the current key, then one bit of the signature flipped.
    Broken,
}

/// What a refresh does to the refresh token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshRule {
    /// A new one each time; using an old one ends the whole grant.
    #[default]
    Rotate,
    /// The same one is sent again and stays good.
    SameToken,
    /// None is sent and the old one stays good.
    Silent,
}

impl Misbehaviour {
    /// Replaces the answer at `path`, `times` times (`None`: always).
    pub fn reply(mut self, path: &str, times: Option<u32>, reply: Reply) -> Self {
        self.replies.push(ReplyFault {
            path: path.to_owned(),
            times,
            acts: false,
            reply,
        });
        self
    }

    /// As `reply`, but the lab does its work first.
    pub fn reply_after_acting(mut self, path: &str, times: Option<u32>, reply: Reply) -> Self {
        self.replies.push(ReplyFault {
            path: path.to_owned(),
            times,
            acts: true,
            reply,
        });
        self
    }

    /// Lays one member over the JSON of good answers at `path`; `Value::Null` removes it.
    pub fn member(mut self, path: &str, name: &str, value: impl Into<Value>) -> Self {
        self.members
            .entry(path.to_owned())
            .or_default()
            .insert(name.to_owned(), value.into());
        self
    }

    /// Takes the reply fault that hits the next request at `path`, counting it down.
    pub(crate) fn take_reply(&mut self, path: &str) -> Option<ReplyFault> {
        let index = self
            .replies
            .iter()
            .position(|fault| fault.path == path && fault.times != Some(0))?;
        let fault = self.replies.get_mut(index)?;
        if let Some(times) = fault.times.as_mut() {
            *times -= 1;
        }
        Some(fault.clone())
    }
}

impl CallbackEdits {
    /// Applies the edits to the honest parameters.
    pub(crate) fn apply(&self, mut params: Vec<(String, String)>) -> Vec<(String, String)> {
        params.retain(|(name, _)| !self.remove.contains(name));
        for (name, value) in &self.replace {
            params.retain(|(present, _)| present != name);
            params.push((name.clone(), value.clone()));
        }
        params.extend(self.append.iter().cloned());
        params
    }
}

/// Lays `over` upon `base`; `null` removes.
pub(crate) fn lay_over(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (name, value) in over {
        if value.is_null() {
            base.remove(name);
        } else {
            base.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_reply_is_used_up_and_uncounted_stays() {
        let mut bad = Misbehaviour::default()
            .reply("/token", Some(1), Reply::Cut)
            .reply(
                "/token",
                None,
                Reply::Huge {
                    bytes: 1,
                    declared: true,
                },
            );
        assert_eq!(
            bad.take_reply("/token").map(|fault| fault.reply),
            Some(Reply::Cut)
        );
        for _ in 0..3 {
            assert!(matches!(
                bad.take_reply("/token").map(|fault| fault.reply),
                Some(Reply::Huge { .. })
            ));
        }
        assert!(bad.take_reply("/jwks").is_none());
    }

    #[test]
    fn callback_edits_remove_replace_and_duplicate() {
        let edits = CallbackEdits {
            remove: vec!["code".to_owned()],
            replace: [("iss".to_owned(), "x".to_owned())].into(),
            append: vec![("iss".to_owned(), "y".to_owned())],
            ..CallbackEdits::default()
        };
        let honest = vec![
            ("code".to_owned(), "c".to_owned()),
            ("iss".to_owned(), "i".to_owned()),
        ];
        let wanted = vec![
            ("iss".to_owned(), "x".to_owned()),
            ("iss".to_owned(), "y".to_owned()),
        ];
        assert_eq!(edits.apply(honest), wanted);
    }
}
