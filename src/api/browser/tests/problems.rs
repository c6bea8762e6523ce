//! What problems mean: every `type` of a problem document leads to a page.

use super::script::Script;
use super::{ask, click};
use crate::kind::Kind;

/// The text of a page without its tags, escapes undone.
fn text(html: &str) -> String {
    let pieces = html
        .split('<')
        .map(|tag| tag.split_once('>').map_or(tag, |(_, text)| text));
    let text = pieces.collect::<String>();
    text.replace("&#39;", "'")
        .replace("&#34;", "\"")
        .replace("&amp;", "&")
}

#[actix_web::test]
async fn every_kind_of_problem_is_explained_at_the_address_that_is_its_type() {
    let script = Script::well();
    assert!(Kind::ALL.len() > 20);
    for kind in Kind::ALL {
        let (status, code, title, detail) = kind.facts();
        let got = ask(&script, click(&format!("/problems/{code}"), "cross-site")).await;
        assert_eq!(got.status.as_u16(), 200, "{code}");
        let text = text(&got.body);
        for words in [title, detail, code, &format!("Status {status}")] {
            assert!(text.contains(words), "no {words:?} at {code}: {text}");
        }
    }
    for unknown in ["", "x", "Busy", "busy2", "busy/", "%62usy"] {
        let got = ask(&script, click(&format!("/problems/{unknown}"), "none")).await;
        assert_eq!(got.status.as_u16(), 404, "{unknown}");
    }
    let calls = script.calls();
    assert!(calls.iter().all(|call| call == "begin"), "{calls:?}");
}
