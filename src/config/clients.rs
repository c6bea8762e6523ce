//! Our registration at an issuer or a provider.

use domain::{ClientAuth, OauthClient};

use super::outside;
use super::section::Section;

#[derive(Clone, Copy)]
enum Style {
    Basic,
    Post,
    Public,
}

/// Reads `client_id`, `client_auth` and `client_secret`.
pub(super) fn client(section: &Section<'_>) -> Option<OauthClient> {
    let id = section.required("client_id").filter(|id| {
        // RFC 6749 appendix A.1: visible ASCII and space.
        let good = (1..=255).contains(&id.len()) && id.bytes().all(|b| matches!(b, 0x20..=0x7e));
        if !good {
            section.fault("client_id", "is empty, too long or not plain ASCII");
        }
        good
    });
    let style = section.choice(
        "client_auth",
        &[
            ("basic", Style::Basic),
            ("post", Style::Post),
            ("none", Style::Public),
        ],
    );
    let given = section.depth("client_secret").is_some();
    let secret = outside::secret(section, "client_secret");
    let auth = match (style?, given) {
        (Style::Public, true) => {
            section.fault_with(
                "client_secret",
                "a client with `client_auth = \"none\"` has no secret",
                "Remove one of the two lines.",
            );
            None
        }
        (Style::Public, false) => Some(ClientAuth::Public),
        (Style::Basic | Style::Post, false) => {
            section.fault("client_secret", "is missing");
            None
        }
        (Style::Basic, true) => secret.map(ClientAuth::Basic),
        (Style::Post, true) => secret.map(ClientAuth::Post),
    };
    Some(OauthClient {
        id: id?.into(),
        auth: auth?,
    })
}
