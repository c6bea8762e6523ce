//! What a discovery that fails says: whether it may go better in a moment, or never until the operator acts.

use super::*;

const FIRST: &str = "/.well-known/oauth-authorization-server";
const SECOND: &str = "/.well-known/openid-configuration";

/// What it comes to when the two addresses of a fresh provider answer so.
async fn after_answers(first: Option<Reply>, second: Option<Reply>) -> Result<(), ProviderFailure> {
    let web = Scripted::start().await;
    let mut provider = provider(web.url("/a").as_str(), web.url("/token").as_str());
    oauth(&mut provider).endpoints = Endpoints::Discovered(IssuerUrl::parse(&web.origin).unwrap());
    for (path, reply) in [(FIRST, first), (SECOND, second)] {
        if let Some(reply) = reply {
            web.on(path, reply);
        }
    }
    upstream().usable(&provider, NOW).await
}

#[tokio::test]
async fn a_discovery_that_fails_in_passing_never_looks_like_a_wrong_file() {
    let foreign = || ok(&json!({ "issuer": "https://other.test" }));
    for status in [301, 302, 307, 308, 403, 408, 425, 429, 500, 502, 503] {
        for other in [None, Some(full(410, "")), Some(foreign())] {
            for (first, second) in [
                (Some(full(status, "")), other.clone()),
                (other.clone(), Some(full(status, ""))),
            ] {
                let seen = after_answers(first, second).await;
                assert_eq!(seen, Err(ProviderFailure::Unreachable), "{status}");
            }
        }
    }
    for (first, second) in [
        (Some(Reply::Close), Some(foreign())),
        (Some(foreign()), Some(Reply::Close)),
    ] {
        let seen = after_answers(first, second).await;
        assert_eq!(seen, Err(ProviderFailure::Unreachable));
    }
}

#[tokio::test]
async fn a_file_is_wrong_when_nothing_is_there_or_the_document_contradicts_it() {
    let foreign = || ok(&json!({ "issuer": "https://other.test" }));
    for (first, second) in [
        (None, None),
        (Some(full(410, "")), None),
        (Some(foreign()), None),
        (None, Some(foreign())),
        (Some(foreign()), Some(foreign())),
    ] {
        let seen = after_answers(first, second).await;
        assert_eq!(seen, Err(ProviderFailure::Misconfigured));
    }
}

#[tokio::test]
async fn a_page_where_a_document_should_be_is_no_contradiction() {
    for page in [full(200, "<html>"), full(400, ""), full(401, "")] {
        for (first, second) in [(Some(page.clone()), None), (None, Some(page.clone()))] {
            let seen = after_answers(first, second).await;
            assert_eq!(seen, Err(ProviderFailure::Unreadable));
        }
    }
}
