//! Authorization requests: the address a browser is sent to (RFC 6749 section 4.1.1, RFC 7636, OpenID Connect Core 3.1.2.1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AUTHORIZE_OWN, Issuer, Oauth, Pkce, ScopeSet};
use secret::{Nonce, PkceVerifier, Reveal as _};
use sha2::{Digest as _, Sha256};
use url::Url;

/// What a browser login carries to the issuer.
pub struct LoginRequest<'a> {
    /// `state`.
    pub state: &'a str,
    /// `nonce`.
    pub nonce: &'a Nonce,
    /// The S256 challenge of the PKCE verifier; see [`code_challenge`].
    pub code_challenge: &'a str,
    /// Whether the person is asked to sign in anew, whoever is signed in at the issuer (`prompt=login`; `max_age=0` makes the
    /// issuer say in `auth_time` that it did so).
    pub fresh: bool,
}

/// What the request to a provider carries.
pub struct AuthorizationRequest<'a> {
    /// `state`.
    pub state: &'a str,
    /// The S256 challenge of the PKCE verifier; see [`code_challenge`].
    pub code_challenge: &'a str,
    /// Scopes of the server; the provider's extra scopes are added here.
    pub scopes: &'a ScopeSet,
    /// Whether the provider is asked to let the person choose the account again.
    pub account_chooser: bool,
}

/// The S256 challenge of a PKCE verifier (RFC 7636 section 4.2).
pub fn code_challenge(verifier: &PkceVerifier) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.reveal().as_bytes()))
}

/// The address of a browser login at `endpoint`.
pub(crate) fn login_url(
    endpoint: &Url,
    issuer: &Issuer,
    redirect_uri: &Url,
    request: &LoginRequest<'_>,
) -> Url {
    let mut scopes: Vec<&str> = vec!["openid"];
    scopes.extend(
        issuer
            .login_scopes
            .iter()
            .filter(|scope| *scope != "openid"),
    );
    let mut url = endpoint.clone();
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &issuer.client.id)
        .append_pair("redirect_uri", redirect_uri.as_str())
        .append_pair("scope", &scopes.join(" "))
        .append_pair("state", request.state)
        .append_pair("nonce", request.nonce.reveal())
        .append_pair("code_challenge", request.code_challenge)
        .append_pair("code_challenge_method", "S256");
    if request.fresh {
        url.query_pairs_mut()
            .append_pair("prompt", "login")
            .append_pair("max_age", "0");
    }
    url
}

/// The address of a consent at a provider's `endpoint`.
pub(crate) fn provider_url(
    endpoint: &Url,
    (provider, extra): (&Oauth, &ScopeSet),
    redirect_uri: &Url,
    request: &AuthorizationRequest<'_>,
) -> Url {
    let scopes = request.scopes.union(extra);
    let mut url = endpoint.clone();
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &provider.client.id)
            .append_pair("redirect_uri", redirect_uri.as_str())
            .append_pair("state", request.state);
        if provider.pkce == Pkce::S256 {
            query
                .append_pair("code_challenge", request.code_challenge)
                .append_pair("code_challenge_method", "S256");
        }
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(&provider.scope_joiner));
        }
        let mut prompt = String::new();
        for (name, value) in &provider.authorize_extra {
            match &**name {
                "prompt" => prompt = value.to_string(),
                name if AUTHORIZE_OWN
                    .iter()
                    .any(|own| own.eq_ignore_ascii_case(name)) => {}
                name => {
                    query.append_pair(name, value);
                }
            }
        }
        let chooses = prompt.split(' ').any(|word| word == "select_account");
        if request.account_chooser && !chooses {
            let joiner = if prompt.is_empty() { "" } else { " " };
            prompt = prompt + joiner + "select_account";
        }
        if !prompt.is_empty() {
            query.append_pair("prompt", &prompt);
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{issuer, oauth, provider};

    fn value(url: &Url, name: &str) -> Option<String> {
        let mut found = url.query_pairs().filter(|(n, _)| n == name);
        let value = found.next().map(|(_, value)| value.into_owned());
        assert!(found.next().is_none(), "{name} stands there twice");
        value
    }

    #[test]
    fn the_challenge_is_the_one_of_the_rfc() {
        let verifier = PkceVerifier::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into());
        let expected = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; // RFC 7636 appendix B
        assert_eq!(code_challenge(&verifier), expected);
    }

    #[test]
    fn a_provider_file_cannot_set_what_belongs_to_the_protocol() {
        let mut provider = provider("https://as.test/a?tenant=1", "https://as.test/t");
        let extra = ScopeSet::new(["offline"]).unwrap();
        let provider = oauth(&mut provider);
        for (name, text) in [
            ("state", "theirs"),
            ("State", "theirs"),
            ("client_secret", "theirs"),
            ("audience", "api"),
            ("prompt", "consent"),
        ] {
            provider.authorize_extra.push((name.into(), text.into()));
        }
        let scopes = ScopeSet::new(["read"]).unwrap();
        let request = AuthorizationRequest {
            state: "ours",
            code_challenge: "abc",
            scopes: &scopes,
            account_chooser: true,
        };
        let endpoint = Url::parse("https://as.test/a?tenant=1").unwrap();
        let back = Url::parse("https://vault.test/cb/p").unwrap();
        let url = provider_url(&endpoint, (provider, &extra), &back, &request);
        for (name, expected) in [
            ("tenant", "1"),
            ("state", "ours"),
            ("audience", "api"),
            ("prompt", "consent select_account"),
            ("scope", "offline read"),
            ("code_challenge_method", "S256"),
            ("redirect_uri", "https://vault.test/cb/p"),
        ] {
            assert_eq!(value(&url, name).as_deref(), Some(expected), "{name}");
        }
        assert!(!url.as_str().contains("theirs"), "{url}");
        provider.pkce = Pkce::Off;
        let url = provider_url(&endpoint, (provider, &extra), &back, &request);
        assert_eq!(value(&url, "code_challenge"), None);
    }

    #[test]
    fn a_login_always_asks_for_openid_and_carries_the_nonce() {
        let issuer = issuer("https://as.test");
        let request = LoginRequest {
            state: "s",
            nonce: &Nonce::new("n".into()),
            code_challenge: "c",
            fresh: false,
        };
        let endpoint = Url::parse("https://as.test/a").unwrap();
        let back = Url::parse("https://vault.test/login/callback/i").unwrap();
        let url = login_url(&endpoint, &issuer, &back, &request);
        assert_eq!(value(&url, "scope").as_deref(), Some("openid profile"));
        assert_eq!(value(&url, "nonce").as_deref(), Some("n"));
        assert_eq!(value(&url, "prompt"), None);
        assert_eq!(value(&url, "max_age"), None);
        let fresh = LoginRequest {
            fresh: true,
            ..request
        };
        let url = login_url(&endpoint, &issuer, &back, &fresh);
        assert_eq!(value(&url, "prompt").as_deref(), Some("login"));
        assert_eq!(value(&url, "max_age").as_deref(), Some("0"));
    }
}
