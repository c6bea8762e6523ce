//! The language that a server asks the pages of a link to be in. Nothing is decided by it but words.

use std::fmt;

/// A well-formed language tag (BCP 47, RFC 5646 section 2.1), such as `zh-Hans` or `en-GB`, at most
/// [`Locale::MAX_LEN`] characters. Whether the language exists, or has pages, is not asked. The irregular tags of before 2006
/// (`i-klingon`) are not taken: all of them are deprecated, and none has pages anywhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Locale(Box<str>);

/// The text is no language tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a BCP 47 language tag of at most 35 characters")]
pub struct BadLocale;

impl Locale {
    /// Longest tag, characters: what RFC 5646 section 4.4.1 says an implementation has to take.
    pub const MAX_LEN: usize = 35;

    /// Reads a tag. Case is kept, and never matters.
    ///
    /// # Errors
    /// [`BadLocale`].
    pub fn parse(text: &str) -> Result<Self, BadLocale> {
        let good = text.len() <= Self::MAX_LEN && is_well_formed(text);
        good.then(|| Self(text.into())).ok_or(BadLocale)
    }

    /// The tag as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The primary language in lower case (`zh` of `ZH-Hans-CN`); empty for a tag of private use alone.
    pub fn primary(&self) -> String {
        let first = self.0.split('-').next().unwrap_or_default();
        if first.len() == 1 {
            return String::new();
        }
        first.to_ascii_lowercase()
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Locale {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Locale {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// `langtag` or `privateuse` of RFC 5646 section 2.1, without a variant or singleton that stands twice.
fn is_well_formed(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let plain = |part: &&str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    if !parts.iter().all(plain) {
        return false;
    }
    let Some(rest) = after_language(&parts) else {
        return is_private(&parts);
    };
    let rest = after_one(rest, |part| part.len() == 4 && is_alpha(part)); // script
    let rest = after_one(rest, |part| match part.len() {
        2 => is_alpha(part),
        3 => part.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    });
    let variants = rest.iter().take_while(|part| is_variant(part)).count();
    let (variants, rest) = rest.split_at(variants);
    !has_double(variants) && are_extensions(rest)
}

/// What follows the language and its extended subtags; `None`: there is no language.
fn after_language<'p>(parts: &'p [&'p str]) -> Option<&'p [&'p str]> {
    let (language, mut rest) = parts.split_first()?;
    if !is_alpha(language) || language.len() < 2 {
        return None;
    }
    if language.len() <= 3 {
        for _ in 0..3 {
            rest = after_one(rest, |part| part.len() == 3 && is_alpha(part));
        }
    }
    Some(rest)
}

fn after_one<'p>(parts: &'p [&'p str], fits: impl Fn(&str) -> bool) -> &'p [&'p str] {
    match parts.split_first() {
        Some((first, rest)) if fits(first) => rest,
        _ => parts,
    }
}

fn is_variant(part: &str) -> bool {
    match part.len() {
        4 => part.starts_with(|c: char| c.is_ascii_digit()),
        5..=8 => true,
        _ => false,
    }
}

/// Extensions, each a singleton with something after it, and at the end private use.
fn are_extensions(mut parts: &[&str]) -> bool {
    let mut singletons = Vec::new();
    while let Some((singleton, rest)) = parts.split_first() {
        if singleton.eq_ignore_ascii_case("x") {
            return !has_double(&singletons) && !rest.is_empty();
        }
        let length = rest.iter().take_while(|part| part.len() > 1).count();
        if singleton.len() != 1 || length == 0 {
            return false;
        }
        singletons.push(*singleton);
        parts = rest.split_at(length).1;
    }
    !has_double(&singletons)
}

fn is_private(parts: &[&str]) -> bool {
    matches!(parts, [x, rest @ ..] if x.eq_ignore_ascii_case("x") && !rest.is_empty())
}

fn is_alpha(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphabetic())
}

fn has_double(parts: &[&str]) -> bool {
    let same = |one: &str| {
        let all = parts.iter();
        all.filter(|other| other.eq_ignore_ascii_case(one)).count() > 1
    };
    parts.iter().any(|part| same(part))
}

#[cfg(test)]
mod tests {
    use super::Locale;

    #[test]
    fn tags_are_taken_by_their_form_alone() {
        for good in [
            "en",
            "EN-gb",
            "zh-Hans",
            "zh-Hans-CN",
            "zh-cmn-Hans-CN",
            "es-419",
            "de-CH-1996",
            "sl-rozaj-biske",
            "hy-Latn-IT-arevela",
            "ast",
            "qaa-Qaaa-QM-x-southern",
            "de-u-co-phonebk",
            "en-a-bbb-x-a-ccc",
            "zh-u-nu-hansfin-t-en-us",
            "abcd",
            "abcdefgh",
            "x-whatever",
            "xx",
        ] {
            let locale = Locale::parse(good).unwrap_or_else(|_| panic!("{good}"));
            assert_eq!(locale.as_str(), good);
        }
        let long = format!("en-x-{}", "abcdefg-".repeat(4));
        for bad in [
            "",
            "e",
            "-",
            "en-",
            "-en",
            "en--US",
            "en_US",
            "en-US.UTF-8",
            "zh_CN",
            "*",
            "en-*",
            "en US",
            " en",
            "en\n",
            "中文",
            "zh-汉",
            "1234",
            "i-klingon",
            "abcdefghi",
            "en-a",
            "en-a-b",
            "en-x",
            "x",
            "x-",
            "en-US-GB",
            "en-Latn-Cyrl",
            "de-1996-1996",
            "en-a-bbb-a-ccc",
            "en-\"><script>",
            &long,
        ] {
            assert!(Locale::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_primary_language_is_the_first_part_in_lower_case() {
        for (tag, primary) in [("ZH-Hant-TW", "zh"), ("en", "en"), ("x-zh", "")] {
            assert_eq!(Locale::parse(tag).expect(tag).primary(), primary);
        }
    }
}
