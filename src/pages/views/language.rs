//! The languages there are.

use super::Chrome;
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

impl Chrome {
    /// The same frame in a language.
    #[must_use]
    pub fn in_language(&self, language: Language) -> Self {
        Self {
            language,
            ..self.clone()
        }
    }
}
