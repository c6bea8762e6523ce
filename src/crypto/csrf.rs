//! Form tokens: one per form, computed from a session's secret, checked together with Fetch Metadata.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use secret::{CsrfSecret, RevealOwn as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::context::lp_length;

/// The form a token is for.
#[derive(Debug, Clone, Copy)]
pub struct CsrfForm<'a> {
    /// The id of the browser flow (or of the session on a person's own page).
    pub flow: &'a [u8; 16],
    /// What posting the form does, such as `consent`.
    pub action: &'a str,
    /// The version of the row the form was drawn from.
    pub version: u64,
}

/// The token of a form: HMAC over LP(flow id) ‖ LP(action) ‖ version, as 43 characters of base64url.
pub fn csrf_token(secret: &CsrfSecret, form: &CsrfForm<'_>) -> Zeroizing<String> {
    let tag: [u8; 32] = mac(secret, form).finalize().into_bytes().into();
    Zeroizing::new(URL_SAFE_NO_PAD.encode(tag))
}

/// Whether the presented text is the token of this form. Takes the same time wherever it differs.
#[must_use]
pub fn csrf_verify(secret: &CsrfSecret, form: &CsrfForm<'_>, presented: &str) -> bool {
    let mut tag = Zeroizing::new([0; 32]);
    let decoded = presented.len() == 43
        && URL_SAFE_NO_PAD.decode_slice(presented, tag.as_mut_slice()) == Ok(32);
    mac(secret, form).verify_slice(tag.as_slice()).is_ok() & decoded
}

#[expect(
    clippy::expect_used,
    reason = "HMAC takes keys of any length (RFC 2104 section 2)"
)]
fn mac(secret: &CsrfSecret, form: &CsrfForm<'_>) -> Hmac<Sha256> {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(secret.as_bytes()).expect("HMAC takes 32 bytes");
    for field in [form.flow.as_slice(), form.action.as_bytes()] {
        mac.update(&lp_length(field));
        mac.update(field);
    }
    mac.update(&form.version.to_be_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use secret::OsEntropy;

    #[test]
    fn a_token_is_good_for_its_own_form_only() {
        let secret = CsrfSecret::generate(&OsEntropy);
        let form = CsrfForm {
            flow: &[1; 16],
            action: "consent",
            version: 1,
        };
        let token = csrf_token(&secret, &form);
        assert!(csrf_verify(&secret, &form, &token));
        assert!(!csrf_verify(
            &CsrfSecret::generate(&OsEntropy),
            &form,
            &token
        ));
        for other in [
            CsrfForm {
                flow: &[2; 16],
                ..form
            },
            CsrfForm {
                action: "decline",
                ..form
            },
            CsrfForm { version: 2, ..form },
        ] {
            assert!(!csrf_verify(&secret, &other, &token));
        }
        for wrong in ["", "x", &"A".repeat(43), &format!("{}=", token.as_str())] {
            assert!(!csrf_verify(&secret, &form, wrong));
        }
    }
}
