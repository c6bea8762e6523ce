//! What a lab received: the secrets that belong to it, and the requests, in which nobody else's may stand.

use lab::Lab;

use crate::canary::Canary;
use crate::remains;

/// Whose lab it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Issuer,
    Provider,
}

/// Parameters of the requests, and which secret each of them is.
const SECRETS: [(&str, &str, &str); 7] = [
    ("code", "login code", "provider code"),
    (
        "code_verifier",
        "login PKCE verifier",
        "provider PKCE verifier",
    ),
    ("state", "login state", "provider state"),
    ("nonce", "login nonce", "provider nonce"),
    ("refresh_token", "refresh token", "refresh token"),
    ("token", "refresh token", "refresh token"),
    ("client_secret", "client secret", "client secret"),
];

/// The secrets among what a lab received.
pub(crate) fn secrets(role: Role, lab: &Lab) -> Vec<Canary> {
    let mut found = Vec::new();
    for seen in lab.recorded() {
        for (name, of_issuer, of_provider) in SECRETS {
            let what = if role == Role::Issuer {
                of_issuer
            } else {
                of_provider
            };
            let texts = [seen.form_param(name), seen.query_param(name)];
            found.extend(
                texts
                    .into_iter()
                    .flatten()
                    .map(|text| Canary::new(what, &text)),
            );
        }
    }
    found
}

/// Leaves both for the last step.
pub(crate) fn keep(role: Role, lab: &Lab) {
    for canary in secrets(role, lab) {
        remains::secret(&canary.what, &canary.text);
    }
    let (place, own): (_, &[&str]) = match role {
        Role::Issuer => (
            "a request to the issuer",
            &[
                "client secret",
                "login code",
                "login PKCE verifier",
                "login state",
                "login nonce",
            ],
        ),
        Role::Provider => (
            "a request to the provider",
            &[
                "client secret",
                "provider code",
                "provider PKCE verifier",
                "provider state",
                "provider nonce",
                "refresh token",
                "access token",
                "typed key",
            ],
        ),
    };
    for seen in lab.recorded() {
        let text = format!(
            "{} {}?{}\n{:?}\n{}",
            seen.method, seen.path, seen.query, seen.headers, seen.body
        );
        remains::said(place, own, &text);
    }
}
