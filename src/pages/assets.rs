//! The stylesheet and the icons, each under a name that carries the hash of its bytes, so that they may be cached for good.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// Where all assets live on the connect origin.
const FOLDER: &str = "/assets/";

/// The stylesheet before its `url()`s point at hashed names.
const STYLE: &str = include_str!("assets/strongroom.css");

/// Icons by the name the stylesheet calls them.
const ICONS: [(&str, &[u8]); 8] = [
    ("alert", include_bytes!("assets/icons/alert.svg")),
    ("chevron", include_bytes!("assets/icons/chevron.svg")),
    ("clock", include_bytes!("assets/icons/clock.svg")),
    ("dash", include_bytes!("assets/icons/dash.svg")),
    ("mark", include_bytes!("assets/icons/mark.svg")),
    ("out", include_bytes!("assets/icons/out.svg")),
    ("person", include_bytes!("assets/icons/person.svg")),
    ("tick", include_bytes!("assets/icons/tick.svg")),
];

/// A file to serve. Its path changes whenever its bytes do.
#[derive(Debug)]
pub struct Asset {
    /// Absolute path on the connect origin.
    pub path: String,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Body.
    pub bytes: Vec<u8>,
}

/// What is served, and the two paths that pages name themselves.
struct Shelf {
    files: Vec<Asset>,
    stylesheet: String,
    mark: String,
}

static SHELF: LazyLock<Shelf> = LazyLock::new(shelve);

/// Every file the pages need: the stylesheet and its icons.
pub fn assets() -> &'static [Asset] {
    &SHELF.files
}

/// Path of the stylesheet, for [`crate::Chrome::stylesheet`].
pub fn stylesheet_path() -> &'static str {
    &SHELF.stylesheet
}

/// Path of our mark, the icon of the tab.
pub(crate) fn mark_path() -> &'static str {
    &SHELF.mark
}

fn shelve() -> Shelf {
    let mut style = STYLE.to_owned();
    let mut files = Vec::with_capacity(ICONS.len() + 1);
    let mut mark = String::new();
    for (name, bytes) in ICONS {
        let file = format!("{name}.{}.svg", hash(bytes));
        style = style.replace(
            &format!("url(\"icons/{name}.svg\")"),
            &format!("url(\"{file}\")"),
        );
        let path = format!("{FOLDER}{file}");
        if name == "mark" {
            mark.clone_from(&path);
        }
        files.push(Asset {
            path,
            content_type: "image/svg+xml",
            bytes: bytes.to_vec(),
        });
    }
    let stylesheet = format!("{FOLDER}strongroom.{}.css", hash(style.as_bytes()));
    files.push(Asset {
        path: stylesheet.clone(),
        content_type: "text/css; charset=utf-8",
        bytes: style.into_bytes(),
    });
    Shelf {
        files,
        stylesheet,
        mark,
    }
}

/// First 64 bits of SHA-256 in hex: names a version, proves nothing.
fn hash(bytes: &[u8]) -> String {
    let first = Sha256::digest(bytes)
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    format!("{first:016x}")
}

#[cfg(test)]
mod tests {
    use super::{assets, stylesheet_path};

    #[test]
    fn every_url_in_the_stylesheet_is_served_and_every_icon_is_used() {
        let style = assets()
            .iter()
            .find(|a| a.path == stylesheet_path())
            .expect("the stylesheet is served");
        let style = std::str::from_utf8(&style.bytes).expect("UTF-8");
        let named: Vec<_> = style
            .split("url(\"")
            .skip(1)
            .filter_map(|s| s.split('"').next())
            .collect();
        for name in &named {
            assert!(
                assets().iter().any(|a| a.path == format!("/assets/{name}")),
                "{name} is not served"
            );
        }
        for icon in assets()
            .iter()
            .filter(|a| a.content_type == "image/svg+xml")
        {
            assert!(
                named.iter().any(|n| icon.path.ends_with(n)),
                "{} is not used",
                icon.path
            );
        }
    }

    #[test]
    fn assets_fetch_nothing_and_run_nothing() {
        for asset in assets() {
            let text =
                String::from_utf8_lossy(&asset.bytes).replace("http://www.w3.org/2000/svg", "");
            for never in [
                "http:",
                "https:",
                "//",
                "@import",
                "data:",
                "<script",
                "expression(",
            ] {
                assert!(!text.contains(never), "{} contains {never}", asset.path);
            }
        }
    }
}
