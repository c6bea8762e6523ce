//! The access log: one line for each request, by route and never by address.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::sync::Once;

use secret::Reveal as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::script::Script;
use super::{FLOW, WORD, ask, click, form};

thread_local! {
    /// What was logged on this thread: a test and all that it asks run on one.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the fields of every event of ours.
struct Lines;

/// Starts listening, once and before the first request of any test: tracing asks a subscriber that comes later only about
/// lines that no other thread is just registering.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Lines).expect("the only subscriber"));
}

/// What was logged on this thread so far.
pub(super) fn lines() -> Vec<String> {
    LINES.with_borrow(Vec::clone)
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("a string");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("strongroom_api")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[actix_web::test]
async fn a_key_that_is_shown_here_is_reported_by_its_public_id() {
    let script = Script::well();
    let key = secret::ServerKeyText::generate(secret::KeyClass::Server, &secret::OsEntropy);
    let path = format!("/f/{FLOW}?key={}", key.reveal());
    ask(&script, click(&path, "none")).await;
    let lines = lines();
    let told = format!("key={} ", key.id());
    assert!(lines.iter().any(|line| line.contains(&told)), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(key.reveal())));
}

#[actix_web::test]
async fn a_line_names_the_route_and_never_the_address() {
    let script = Script::well();
    for request in [
        click(&format!("/c/{WORD}"), "none"),
        click(
            "/cb/github?code=secret-code&state=secret-state",
            "cross-site",
        ),
        form(&format!("/f/{FLOW}/consent"), "csrf=secret-token&agree=yes"),
        click("/secret-path?secret-query", "none"),
        click(&format!("/c/{WORD}"), "none").insert_header(("purpose", "prefetch")),
    ] {
        ask(&script, request).await;
    }
    let lines = lines();
    let request = "request.id=rq_07070707070707070707070707070707 reference=\"7777-7777\"";
    let wanted = [
        format!(
            "message=answered listener=\"connect\" method=\"GET\" route=\"/c/{{ticket}}\" status=200 {request} "
        ),
        format!(
            "message=answered listener=\"connect\" method=\"GET\" route=\"/cb/{{provider}}\" status=200 {request} "
        ),
        format!(
            "message=answered listener=\"connect\" method=\"POST\" route=\"/f/{{flow}}/consent\" status=303 {request} "
        ),
        format!(
            "message=answered listener=\"connect\" method=\"GET\" route=\"none\" status=404 {request} "
        ),
        "message=answered listener=\"connect\" method=\"GET\" route=\"/c/{ticket}\" status=204 "
            .to_owned(),
    ];
    assert_eq!(lines, wanted);
}
