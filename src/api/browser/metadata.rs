//! Fetch Metadata: who made the browser send this request, and for what (security.md 5.4).
//!
//! Old browsers send none of these headers, so absence is allowed on GET; on forms `Origin` then has to speak for us.

use actix_web::http::header::HeaderMap;

/// One header as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Absent,
    Value(&'a str),
    /// Sent twice, or not text: nobody's browser does that.
    Broken,
}

impl<'a> Part<'a> {
    fn read(headers: &'a HeaderMap, name: &str) -> Self {
        let mut values = headers.get_all(name);
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => value.to_str().map_or(Self::Broken, Self::Value),
            (Some(_), Some(_)) => Self::Broken,
        }
    }

    /// Absent, or one of `good`.
    fn fits(self, good: &[&str]) -> bool {
        match self {
            Self::Absent => true,
            Self::Value(value) => good.contains(&value),
            Self::Broken => false,
        }
    }
}

/// Where a page request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// From our own page, or from the address bar.
    Home,
    /// From another origin: show nothing before a click of the reader's own.
    Elsewhere,
}

/// What a browser says about its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metadata<'a> {
    site: Part<'a>,
    mode: Part<'a>,
    dest: Part<'a>,
    origin: Part<'a>,
}

impl<'a> Metadata<'a> {
    /// Reads the headers.
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let read = |name| Part::read(headers, name);
        Self {
            site: read("sec-fetch-site"),
            mode: read("sec-fetch-mode"),
            dest: read("sec-fetch-dest"),
            origin: read("origin"),
        }
    }

    /// A whole page is being opened, by whoever: not a frame, an image or a script's fetch.
    pub(crate) fn is_navigation(&self) -> bool {
        self.mode.fits(&["navigate"])
            && self.dest.fits(&["document"])
            && self
                .site
                .fits(&["none", "same-origin", "same-site", "cross-site"])
    }

    /// Where a navigation came from.
    pub(crate) fn came(&self) -> Came {
        if self.site.fits(&["none", "same-origin"]) {
            Came::Home
        } else {
            Came::Elsewhere
        }
    }

    /// Whether our own page sent this form. `Sec-Fetch-Site` decides first, `Origin` where it is absent; an `Origin` that is
    /// not ours, `null` included, is refused either way.
    pub(crate) fn is_own_form(&self, ours: &str) -> bool {
        let site = match self.site {
            Part::Value(site) => site == "same-origin",
            Part::Absent => self.origin == Part::Value(ours),
            Part::Broken => false,
        };
        site && self.is_navigation() && self.origin.fits(&[ours])
    }

    /// Whether a page of ours, or the address bar, asks for a stylesheet or icon.
    pub(crate) fn is_own_asset(&self) -> bool {
        self.site.fits(&["none", "same-origin"]) && self.dest.fits(&["style", "image"])
    }
}

/// Whether the browser, or somebody's preview, only looks ahead: nobody has clicked.
pub(crate) fn looks_ahead(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-purpose", "x-moz"]
        .iter()
        .flat_map(|name| headers.get_all(*name))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .map(str::trim)
        .any(|purpose| {
            ["prefetch", "prerender", "preview"]
                .iter()
                .any(|ahead| purpose.eq_ignore_ascii_case(ahead))
        })
}
