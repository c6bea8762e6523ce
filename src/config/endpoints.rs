//! Where a provider's endpoints come from, and the rule that keeps a preset's addresses apart from the operator's.
//!
//! A preset describes one service. An operator who points it at another one (a self-managed GitLab, say) must not leave
//! half of the addresses behind, or a credential of the one would travel to the other.

use domain::{EndpointHosts, Endpoints};

use super::section::Section;
use super::words::{hosts, issuer_url, web_url};

const PINNED: [&str; 5] = [
    "authorization_url",
    "token_url",
    "revocation_url",
    "callback_issuer",
    "callback_issuer_required",
];

/// Whether the operator put endpoints of their own over those of a preset.
pub(super) fn moved(section: &Section<'_>) -> bool {
    section.depth("preset").is_some()
        && ["discover", "authorization_url", "token_url"]
            .iter()
            .any(|key| section.own(key))
}

/// The endpoints, and the host that a browser is sent to where it is known already.
pub(super) fn endpoints(section: &Section<'_>) -> Option<(Endpoints, Option<String>)> {
    let discover = section.depth("discover");
    let pinned = PINNED.iter().filter_map(|key| section.depth(key)).min();
    match (discover, pinned) {
        (Some(discover), Some(pinned)) if discover == pinned => {
            let extra = PINNED.iter().find(|key| section.depth(key) == Some(pinned));
            section.fault_with(
                extra.unwrap_or(&"discover"),
                "stands beside `discover`, which brings all endpoints itself",
                "Remove one of the two lines.",
            );
            None
        }
        (Some(discover), pinned) if pinned.is_none_or(|pinned| discover < pinned) => {
            let (issuer, url) = issuer_url(section, "discover")?;
            Some((
                Endpoints::Discovered(issuer),
                url.host_str().map(Into::into),
            ))
        }
        _ => pinned_endpoints(section),
    }
}

/// The hosts that metadata may name besides its issuer's own. What stands in a deeper layer than `discover` belongs to the
/// service that was replaced.
pub(super) fn endpoint_hosts(section: &Section<'_>) -> Option<EndpointHosts> {
    let declared = hosts(section, "endpoint_hosts")?;
    let (own, discover) = (section.own("endpoint_hosts"), section.depth("discover"));
    if own && !declared.is_empty() && discover.is_none() {
        section.fault_with(
            "endpoint_hosts",
            "is of no use without `discover`: addresses that you write yourself are used as they are",
            "Remove it.",
        );
    }
    let belongs = section.depth("endpoint_hosts") <= discover;
    Some(EndpointHosts::new(if belongs {
        declared
    } else {
        Vec::new()
    }))
}

fn pinned_endpoints(section: &Section<'_>) -> Option<(Endpoints, Option<String>)> {
    section.required("authorization_url");
    section.required("token_url");
    let authorization = web_url(section, "authorization_url");
    let token = web_url(section, "token_url");
    let depth = section.depth("authorization_url");
    for (key, other) in [
        ("token_url", "authorization_url"),
        ("authorization_url", "token_url"),
    ] {
        if moved(section) && section.own(other) && !section.own(key) {
            section.fault(
                key,
                &format!("`{other}` is yours, but this address is still the preset's"),
            );
        }
    }
    // What stands in a deeper layer belongs to the service that was replaced.
    let belongs = |key: &str| section.depth(key).is_some_and(|at| Some(at) <= depth);
    let revocation = belongs("revocation_url")
        .then(|| web_url(section, "revocation_url"))
        .flatten();
    let issuer = belongs("callback_issuer")
        .then(|| issuer_url(section, "callback_issuer"))
        .flatten();
    let iss_required = if belongs("callback_issuer_required") {
        section.boolean("callback_issuer_required")
    } else {
        Some(false)
    };
    if iss_required == Some(true) && !belongs("callback_issuer") {
        section.fault(
            "callback_issuer_required",
            "is of no use without `callback_issuer`",
        );
    }
    let authorization = authorization?;
    let host = authorization.host_str().map(Into::into);
    let endpoints = Endpoints::Pinned {
        authorization,
        token: token?,
        revocation,
        issuer: issuer.map(|(issuer, _)| issuer),
        iss_required: iss_required?,
    };
    Some((endpoints, host))
}
