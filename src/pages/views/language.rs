//! The languages there are.

use super::Chrome;
use crate::href::Href;
use crate::strings::Strings;

/// A language the pages are worded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, `lang="en"`.
    English,
    /// Chinese in simplified characters, `lang="zh-Hans"`.
    Chinese,
}

impl Language {
    /// Every language, the one for want of a better first.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Its BCP 47 tag, as pages and `Content-Language` name it.
    pub fn tag(self) -> &'static str {
        Strings::of(self).lang
    }
}

/// The way to the same page in another language.
#[derive(Debug, Clone)]
pub struct Switch {
    /// The language.
    pub language: Language,
    /// Where the page is in that language, or is made to be.
    pub href: Href,
}

impl Switch {
    /// The language in its own words: whoever looks for it reads no other.
    pub(crate) fn name(&self) -> &'static str {
        Strings::of(self.language).own_name
    }
}

impl Chrome {
    /// The same frame with ways to other languages in its foot.
    #[must_use]
    pub fn offering(self, switches: Vec<Switch>) -> Self {
        Self { switches, ..self }
    }

    /// The same frame in a language.
    #[must_use]
    pub fn in_language(&self, language: Language) -> Self {
        Self {
            language,
            ..self.clone()
        }
    }
}
