//! What holds for every page in every state, whatever names others chose; and each page compared in full.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{Language, strings::Strings, stylesheet_path};

mod markup;
#[path = "examples/samples/mod.rs"]
mod samples;

use markup::{Node, parse};
use samples::{CASTS, Cast, Sample, ending, samples as draw};

/// Pages that may be met by somebody nobody knows.
const STRANGER: [&str; 7] = [
    "arrival",
    "sign_in",
    "own_sign_in",
    "signing_in",
    "mismatch",
    "expired",
    "error",
];

fn every() -> Vec<(&'static Cast, Sample)> {
    let both = |cast| Language::ALL.map(|language| (cast, language));
    CASTS
        .iter()
        .flat_map(both)
        .flat_map(|(cast, language)| {
            draw(cast, language)
                .expect("fixed addresses")
                .into_iter()
                .map(move |sample| (cast, sample))
        })
        .collect()
}

fn names(cast: &Cast) -> [&str; 9] {
    [
        cast.server,
        cast.provider,
        cast.account,
        cast.other_account,
        cast.person,
        cast.login,
        cast.reason,
        cast.client,
        cast.raw,
    ]
}

fn is_stranger(name: &str) -> bool {
    STRANGER
        .iter()
        .any(|page| name == *page || name.starts_with(&format!("{page}.")))
}

#[test]
fn every_page_is_whole_markup_of_ours_alone() {
    for (cast, sample) in every() {
        // `parse` refuses unknown elements and attributes, bad nesting and bare `<` or `&`.
        let nodes = parse(&sample.html)
            .unwrap_or_else(|fault| panic!("{}/{}: {fault}", cast.label, sample.name));
        let count = |element: &str| nodes.iter().filter(|node| node.element == element).count();
        for once in ["h1", "title", "main", "header", "footer", "html"] {
            assert_eq!(count(once), 1, "{}/{}: {once}", cast.label, sample.name);
        }
    }
}

#[test]
fn no_script_no_inline_style_nothing_remote() {
    for (cast, sample) in every() {
        let place = format!("{}/{}", cast.label, sample.name);
        for node in parse(&sample.html).expect("parsed above") {
            for (name, value) in &node.attributes {
                let fetched =
                    (node.element == "link" && name == "href") || name == "src" || name == "action";
                assert!(
                    !fetched || (value.starts_with('/') && !value.starts_with("//")),
                    "{place}: {name}={value}"
                );
                assert!(
                    name != "href" || !value.to_lowercase().starts_with("javascript:"),
                    "{place}: {value}"
                );
            }
        }
        let lower = sample.html.to_lowercase();
        for never in [
            "<script",
            "style=",
            "<style",
            "<img",
            "<iframe",
            "javascript:alert(3)>x<",
            "data:",
        ] {
            assert!(!lower.contains(never), "{place} contains {never}");
        }
    }
}

#[test]
fn every_form_posts_with_csrf_and_every_reference_points_somewhere() {
    for (cast, sample) in every() {
        let place = format!("{}/{}", cast.label, sample.name);
        let nodes = parse(&sample.html).expect("parsed above");
        let ids: Vec<_> = nodes
            .iter()
            .filter_map(|node| node.attribute("id"))
            .collect();
        assert_eq!(
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            "{place}: an id twice"
        );
        for node in &nodes {
            for reference in ["form", "aria-labelledby", "aria-describedby"] {
                assert!(
                    node.attribute(reference).is_none_or(|id| ids.contains(&id)),
                    "{place}: {reference}"
                );
            }
            if node.element == "form" {
                let csrf = |n: &&Node| {
                    n.attribute("name") == Some("csrf")
                        && n.inside(node)
                        && n.attribute("value").is_some()
                };
                assert_eq!(node.attribute("method"), Some("post"), "{place}");
                // Where nobody is known there is nothing that a token could be bound to.
                let anonymous = sample.name == "own_sign_in";
                assert_eq!(
                    nodes.iter().filter(csrf).count(),
                    usize::from(!anonymous),
                    "{place}: csrf of {:?}",
                    node.attributes
                );
            }
            assert!(
                node.attribute("checked").is_none(),
                "{place}: ticked before anybody chose"
            );
        }
    }
}

#[test]
fn what_others_wrote_is_isolated_and_never_in_a_title() {
    for (cast, sample) in every() {
        let place = format!("{}/{}", cast.label, sample.name);
        for node in parse(&sample.html).expect("parsed above") {
            let isolated =
                node.element == "bdi" || node.ancestors.iter().any(|(element, _)| element == "bdi");
            for name in names(cast) {
                let shown = node.text.contains(name);
                assert!(
                    !shown || isolated || (node.element == "title" && name == cast.provider),
                    "{place}: {name}"
                );
            }
            let heading =
                node.element == "h1" || node.ancestors.iter().any(|(element, _)| element == "h1");
            for name in names(cast)
                .into_iter()
                .filter(|name| *name != cast.provider)
            {
                assert!(
                    !heading || !node.text.contains(name),
                    "{place}: {name} in the heading"
                );
            }
        }
    }
}

#[test]
fn strangers_learn_nothing() {
    for (cast, sample) in every()
        .into_iter()
        .filter(|(_, sample)| is_stranger(&sample.name))
    {
        for node in parse(&sample.html).expect("parsed above") {
            for name in names(cast)
                .into_iter()
                .chain([cast.server_origin, "github.com"])
            {
                assert!(
                    !node.text.contains(name),
                    "{}/{} shows {name}",
                    cast.label,
                    sample.name
                );
            }
        }
    }
}

#[test]
fn pages_that_leave_hold_no_form() {
    for (_, sample) in every() {
        if [
            "arrival",
            "signing_in",
            "leaving",
            "declined",
            "expired",
            "done",
            "ended",
        ]
        .contains(&sample.name.as_str())
        {
            assert!(!sample.html.contains("<form"), "{}", sample.name);
        }
    }
}

#[test]
fn a_forgotten_tick_is_told_in_the_title_and_takes_the_focus() {
    for language in Language::ALL {
        let (check, _) = Strings::of(language)
            .check_title
            .split_once('{')
            .expect("a title");
        for sample in draw(&CASTS[0], language).expect("fixed addresses") {
            let typed = ["empty", "characters", "beginning", "length", "foreign"];
            let wrong = sample
                .name
                .split('.')
                .next_back()
                .is_some_and(|last| last == "check" || typed.contains(&last));
            let told = sample.html.contains(&format!("<title>{check}"));
            assert_eq!(told, wrong, "{}", sample.name);
            let focus = sample.html.contains("aria-invalid=\"true\" autofocus");
            assert_eq!(focus, wrong, "{}", sample.name);
        }
    }
}

#[test]
fn every_string_is_shown_somewhere_and_every_placeholder_is_filled() {
    // Of both languages: the name of each stands on the pages of the other.
    let ordinary: Vec<_> = Language::ALL
        .into_iter()
        .flat_map(|language| draw(&CASTS[0], language).expect("fixed addresses"))
        .collect();
    let shown: String = ordinary
        .iter()
        .map(|sample| text_of(&sample.html))
        .collect();
    for language in Language::ALL {
        for (field, string) in Strings::of(language).all() {
            let literal = string.replace('*', "");
            for part in literal
                .split('{')
                .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
            {
                assert!(
                    shown.contains(part),
                    "{field} is not shown on any page: {part:?}"
                );
            }
        }
    }
    assert!(
        !shown.contains(['{', '}', '*']),
        "a placeholder or star came through"
    );
    for sample in &ordinary {
        assert!(
            !sample.html.contains("<bdi></bdi>") && !sample.html.contains("<b></b>"),
            "{}: a name is missing",
            sample.name
        );
    }
}

#[test]
fn what_is_in_another_language_says_so() {
    for language in Language::ALL {
        for sample in draw(&CASTS[0], language).expect("fixed addresses") {
            let nodes = parse(&sample.html).expect("parsed above");
            let lang = |node: &Node| node.attribute("lang").map(str::to_owned);
            for node in &nodes {
                let wanted = match (node.element.as_str(), node.text.as_str()) {
                    ("html", _) => Some(language.tag()),
                    ("blockquote", _) => Some("en"),
                    ("a", _) => node.attribute("hreflang"),
                    ("bdi", "your repositories") if language != Language::English => Some("en"),
                    _ => None,
                };
                assert_eq!(
                    lang(node).as_deref(),
                    wanted,
                    "{}: {}",
                    sample.name,
                    node.element
                );
            }
        }
    }
}

/// All text of a page, and the values of `lang` since the table names the language too.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tail)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tail.split_once('>').expect("whole markup");
        if let Some((_, lang)) = tag.split_once("lang=\"") {
            text.push_str(lang);
        }
        rest = after;
    }
    text.replace("&#39;", "'").replace("&#34;", "\"")
}

#[test]
fn pages_are_as_agreed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let how = "look at the change, then: cargo run -p strongroom-pages --example render_all -- /tmp/p && cp /tmp/p/snapshots/* src/pages/snapshots/";
    let mut wanted = BTreeSet::new();
    for language in Language::ALL {
        for sample in draw(&CASTS[0], language).expect("fixed addresses") {
            let file = format!("{}{}.html", sample.name, ending(language));
            let agreed = fs::read_to_string(folder.join(&file)).unwrap_or_default();
            let html = sample
                .html
                .replace(stylesheet_path(), "/assets/strongroom.css");
            assert!(html == agreed, "{file} has changed; {how}");
            wanted.insert(file);
        }
    }
    let present: BTreeSet<_> = fs::read_dir(&folder)
        .expect("snapshots exist")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    assert_eq!(present, wanted, "a snapshot too many or too few");
}
