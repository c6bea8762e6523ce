//! Whether the query of a callback is ambiguous or broken. The door judges callbacks; this only chooses between "bad request"
//! and "no longer valid" for those that it refuses, and depends on nothing but the query itself.

use domain::form_decoded;

use crate::limits::MAX_PARAMETERS;

/// Parameters that may come only once (RFC 6749 section 3.1).
const ONCE: [&str; 4] = ["state", "code", "iss", "error"];

/// Doubled, undecodable, both a code and an error, or too many parameters.
pub(crate) fn is_malformed(query: &str) -> bool {
    let mut seen = [false; ONCE.len()];
    for (count, pair) in query.split('&').enumerate() {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(_)) = (form_decoded(name), form_decoded(value)) else {
            return true;
        };
        let double = ONCE
            .iter()
            .zip(&mut seen)
            .find(|(once, _)| **once == name)
            .is_some_and(|(_, seen)| std::mem::replace(seen, true));
        if double || count >= MAX_PARAMETERS {
            return true;
        }
    }
    let [_, code, _, error] = seen;
    code && error
}

#[cfg(test)]
mod tests {
    use super::is_malformed;

    #[test]
    fn ambiguity_is_told_from_staleness() {
        for good in [
            "",
            "state=a&code=b",
            "state=a&code=b&iss=c&x=1&x=2",
            "error=access_denied&state=a",
            "state[]=a&state=b",
        ] {
            assert!(!is_malformed(good), "{good}");
        }
        let many = ["x=1"; 33].join("&");
        for bad in [
            "state=a&state=a",
            "code=a&code=b&state=c",
            "iss=a&iss=b",
            "state=a&%73tate=b",
            "code=a&error=b",
            "state=%ff",
            "state=%00",
            "state=%",
            &many,
        ] {
            assert!(is_malformed(bad), "{bad}");
        }
    }
}
