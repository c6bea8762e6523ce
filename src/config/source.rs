//! The texts a configuration is made of: the operator's file, the compiled-in defaults and the provider presets.

use std::ops::Range;

use toml_edit::{Document, TableLike};

use super::faults::{ConfigFaults, Fault};

/// The reference of every key and its default.
pub const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

/// The short file that a self-hoster starts from.
pub const EXAMPLE_TOML: &str = include_str!("../../config/example.toml");

/// Every preset: its name and its text.
pub const PRESETS: [(&str, &str); 3] = [
    ("github", include_str!("../../config/providers/github.toml")),
    ("gitlab", include_str!("../../config/providers/gitlab.toml")),
    ("google", include_str!("../../config/providers/google.toml")),
];

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Operator,
    Preset,
    Default,
}

/// One parsed text that still knows its lines.
pub(super) struct Source {
    pub(super) author: Author,
    pub(super) name: Box<str>,
    document: Document<String>,
    /// Where lines end, so that the line of a place is found without counting through the text each time.
    ends: Vec<usize>,
}

impl Source {
    /// Parses a text.
    ///
    /// # Errors
    /// The first place that is not TOML.
    pub(super) fn parse(author: Author, name: &str, text: &str) -> Result<Self, ConfigFaults> {
        match Document::parse(text.to_owned()) {
            Ok(document) => Ok(Self {
                author,
                name: name.into(),
                document,
                ends: line_ends(text),
            }),
            Err(error) => Err(ConfigFaults::one(Fault {
                file: name.into(),
                line: error.span().map(|span| line_in(&line_ends(text), &span)),
                path: "".into(),
                what: format!("not TOML: {}", error.message().replace('\n', "; ")).into(),
                write: "Correct this line; what follows it was not read.".into(),
            })),
        }
    }

    pub(super) fn table(&self) -> &dyn TableLike {
        self.document.as_table()
    }

    pub(super) fn line(&self, span: Option<Range<usize>>) -> Option<usize> {
        span.map(|span| line_in(&self.ends, &span))
    }
}

fn line_ends(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(at, _)| at).collect()
}

/// The line that a span starts in, from 1.
fn line_in(ends: &[usize], span: &Range<usize>) -> usize {
    ends.partition_point(|end| *end < span.start) + 1
}

/// All texts of one configuration.
pub(super) struct Library {
    pub(super) operator: Source,
    pub(super) defaults: Source,
    presets: Vec<(&'static str, Source)>,
}

impl Library {
    /// Parses the operator's text and what is compiled in.
    ///
    /// # Errors
    /// The first place of a text that is not TOML.
    pub(super) fn open(file_name: &str, text: &str) -> Result<Self, ConfigFaults> {
        let presets = PRESETS
            .into_iter()
            .map(|(name, text)| {
                let file = format!("preset {name}");
                Source::parse(Author::Preset, &file, text).map(|source| (name, source))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            operator: Source::parse(Author::Operator, file_name, text)?,
            defaults: Source::parse(Author::Default, "default.toml", DEFAULT_TOML)?,
            presets,
        })
    }

    pub(super) fn preset(&self, name: &str) -> Option<&Source> {
        let (_, source) = self.presets.iter().find(|(known, _)| *known == name)?;
        Some(source)
    }
}
