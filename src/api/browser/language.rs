//! Which language a page is in. The first of these that is one of ours decides:
//!
//! 1. What the person chose in the foot of a page. A server that asks for a language that its reader does not know gets
//!    nowhere with it.
//! 2. What the server asked for with `locale`. It knows the person's profile, or the language they are speaking at this very
//!    moment; `Accept-Language` is in most browsers what came with them.
//! 3. What the browser asks for with `Accept-Language` (RFC 9110 section 12.5.4). All there is where nobody knows the flow.
//! 4. English.
//!
//! Chinese is Chinese, whichever its letters: our pages have simplified ones, and whoever reads traditional ones (`zh-TW`,
//! `zh-Hant`) reads these far better than another language that they put further down, or not at all. A person who would
//! rather have English says so by putting it first, and gets it.

use actix_web::http::header::{ACCEPT_LANGUAGE, HeaderMap};
use domain::Locale;
use pages::Language;

/// Entries of `Accept-Language` that are looked at; browsers send fewer than ten.
const MOST_ENTRIES: usize = 32;
/// Longest entry, bytes: a tag of RFC 5646 section 4.4.1 and a weight.
const LONGEST_ENTRY: usize = 64;

/// The language of ours for a tag that a server sent.
pub(crate) fn of_locale(locale: &Locale) -> Option<Language> {
    of_primary(&locale.primary())
}

/// The language of ours with exactly this tag, as our own addresses and cookies have it.
pub(crate) fn of_tag(tag: &str) -> Option<Language> {
    Language::ALL.into_iter().find(|ours| ours.tag() == tag)
}

/// The language of ours that a browser would rather have; `None`: none of them, or it does not say.
pub(crate) fn accepted(headers: &HeaderMap) -> Option<Language> {
    let lines = headers.get_all(ACCEPT_LANGUAGE);
    let entries = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .take(MOST_ENTRIES);
    let mut named = Language::ALL.map(|language| (language, None));
    let mut others = Wish {
        quality: 0,
        place: MOST_ENTRIES,
    };
    for (place, entry) in entries.enumerate() {
        let Some((range, quality)) = entry_of(entry) else {
            continue;
        };
        let wish = Wish { quality, place };
        if range == "*" {
            // Last among equals: whatever is named is meant more.
            others.quality = others.quality.max(quality);
        }
        let language = of_primary(&primary_of(range));
        for (_, wished) in named.iter_mut().filter(|(ours, _)| Some(*ours) == language) {
            *wished = Some(wished.map_or(wish, |before: Wish| before.or(wish)));
        }
    }
    let wishes = named.map(|(language, wished)| (language, wished.unwrap_or(others)));
    let best = wishes
        .iter()
        .copied()
        .reduce(|one, other| if other.1.beats(one.1) { other } else { one });
    best.filter(|(_, wish)| wish.quality > 0)
        .map(|(language, _)| language)
}

/// How much a language is wished for.
#[derive(Clone, Copy)]
struct Wish {
    /// Thousandths.
    quality: u16,
    /// Where it stands; the earlier of two that are wished for alike is meant more.
    place: usize,
}

impl Wish {
    fn beats(self, other: Self) -> bool {
        self.quality > other.quality || (self.quality == other.quality && self.place < other.place)
    }

    fn or(self, other: Self) -> Self {
        if other.beats(self) { other } else { self }
    }
}

/// The language of ours that readers of this one want. `cmn` is the Chinese that `zh` means nearly always (ISO 639-3); people
/// who speak `yue` read and write Chinese.
fn of_primary(primary: &str) -> Option<Language> {
    match primary {
        "en" => Some(Language::English),
        "zh" | "cmn" | "yue" => Some(Language::Chinese),
        _ => None,
    }
}

fn primary_of(range: &str) -> String {
    range
        .split('-')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

/// A language range and its weight in thousandths; `None` when it is not written as RFC 9110 section 12.5.4 has it.
fn entry_of(entry: &str) -> Option<(&str, u16)> {
    let entry = entry.trim_matches([' ', '\t']);
    if entry.len() > LONGEST_ENTRY {
        return None;
    }
    let (range, weight) = match entry.split_once(';') {
        Some((range, weight)) => (range.trim_end_matches([' ', '\t']), Some(weight)),
        None => (entry, None),
    };
    let part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let is_range = range == "*" || range.split('-').all(part);
    let quality = weight.map_or(Some(1000), quality_of)?;
    is_range.then_some((range, quality))
}

/// `q=0.8` in thousandths (RFC 9110 section 12.4.2).
fn quality_of(weight: &str) -> Option<u16> {
    let (name, value) = weight.trim_matches([' ', '\t']).split_once('=')?;
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits = fraction.len() <= 3 && fraction.bytes().all(|b| b.is_ascii_digit());
    if !name.eq_ignore_ascii_case("q") || !digits {
        return None;
    }
    let thousandths = format!("{fraction:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{accepted, of_locale};
    use actix_web::http::header::{ACCEPT_LANGUAGE, HeaderMap, HeaderValue};
    use domain::Locale;
    use pages::Language::{self, Chinese, English};

    fn for_lines(lines: &[&str]) -> Option<Language> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(
                ACCEPT_LANGUAGE,
                HeaderValue::from_str(line).expect("a value"),
            );
        }
        accepted(&headers)
    }

    #[test]
    fn browsers_get_what_they_ask_for() {
        for (header, wanted) in [
            // As browsers send them.
            ("en-US,en;q=0.9", Some(English)),
            ("zh-CN,zh;q=0.9,en;q=0.8", Some(Chinese)),
            (
                "zh-CN,zh;q=0.8,zh-TW;q=0.7,zh-HK;q=0.5,en-US;q=0.3,en;q=0.2",
                Some(Chinese),
            ),
            ("zh-Hans-CN", Some(Chinese)),
            ("en-GB,en;q=0.9,zh-CN;q=0.8,zh;q=0.7", Some(English)),
            ("de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", Some(English)),
            ("fr-FR,fr;q=0.9,zh-CN;q=0.8", Some(Chinese)),
            ("fr,ja;q=0.5", None),
            // Traditional letters: simplified ones before another language, unless that is wanted more.
            ("zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7", Some(Chinese)),
            ("zh-Hant-HK", Some(Chinese)),
            ("zh-TW,en;q=0.9", Some(Chinese)),
            ("en,zh-TW;q=0.9", Some(English)),
            ("yue-Hant-HK,en;q=0.5", Some(Chinese)),
            ("cmn-Hans,en;q=0.5", Some(Chinese)),
            // Weights decide before order, order among equals.
            ("en;q=0.1,zh;q=0.2", Some(Chinese)),
            ("en;q=0.2,zh;q=0.1", Some(English)),
            ("zh,en", Some(Chinese)),
            ("en,zh", Some(English)),
            ("zh;q=0.5,en;q=0.500", Some(Chinese)),
            ("zh-CN;q=0.2,en;q=0.5,zh-TW;q=0.9", Some(Chinese)),
            ("zh;q=1.000,en;q=0.999", Some(Chinese)),
            ("ZH-cn ; Q=0.9 ,\ten;q=0.8", Some(Chinese)),
            // Refused ones, and the star.
            ("en;q=0,zh", Some(Chinese)),
            ("zh;q=0,en;q=0", None),
            ("*", Some(English)),
            ("fr,*;q=0.5", Some(English)),
            ("en;q=0,*", Some(Chinese)),
            ("zh;q=0.3,*;q=0.5", Some(English)),
            ("zh;q=0.5,*;q=0.5", Some(Chinese)),
            ("*;q=0", None),
            ("*;q=0,zh;q=0.1", Some(Chinese)),
            // What is not written as it should be counts as not there.
            ("zh;q=2,en;q=0.1", Some(English)),
            ("zh;q=1.001,en;q=0.1", Some(English)),
            ("zh;q=0.1234,en;q=0.1", Some(English)),
            ("zh;q=,en;q=0.1", Some(English)),
            ("zh;q=-1,en;q=0.1", Some(English)),
            ("zh;q=0.5;q=0.6,en;q=0.1", Some(English)),
            ("zh;v=b3,en;q=0.1", Some(English)),
            ("zh_CN,en;q=0.1", Some(English)),
            ("zh CN,en;q=0.1", Some(English)),
            ("zhongwen,en;q=0.1", Some(English)),
            ("zh-,en;q=0.1", Some(English)),
            (",,, ,zh", Some(Chinese)),
            ("", None),
            (";", None),
            ("q=1", None),
        ] {
            assert_eq!(for_lines(&[header]), wanted, "{header}");
        }
    }

    #[test]
    fn several_lines_are_one_list_and_long_ones_end_somewhere() {
        assert_eq!(for_lines(&["fr", "zh;q=0.5", "en;q=0.4"]), Some(Chinese));
        assert_eq!(for_lines(&[]), None);
        let many = format!("{}en", "xx,".repeat(31));
        assert_eq!(for_lines(&[&many]), Some(English));
        let more = format!("{}en", "xx,".repeat(32));
        assert_eq!(for_lines(&[&more]), None);
        let long = format!("zh-{},en;q=0.1", "a".repeat(30_000));
        assert_eq!(for_lines(&[&long]), Some(English));
        let parts = format!("zh{},en;q=0.1", "-abcdefgh".repeat(3_000));
        assert_eq!(for_lines(&[&parts]), Some(English));
        let mut headers = HeaderMap::new();
        let bytes = HeaderValue::from_bytes(b"zh\xff").expect("a value");
        headers.append(ACCEPT_LANGUAGE, bytes);
        headers.append(ACCEPT_LANGUAGE, HeaderValue::from_static("en"));
        assert_eq!(accepted(&headers), Some(English));
    }

    #[test]
    fn servers_name_a_language_in_any_of_its_forms() {
        for (tag, wanted) in [
            ("en", Some(English)),
            ("en-AU-x-me", Some(English)),
            ("zh", Some(Chinese)),
            ("ZH-hans", Some(Chinese)),
            ("zh-CN", Some(Chinese)),
            ("zh-Hant-TW", Some(Chinese)),
            ("de", None),
            ("enm", None),
            ("x-zh", None),
        ] {
            let locale = Locale::parse(tag).expect(tag);
            assert_eq!(of_locale(&locale), wanted, "{tag}");
        }
    }
}
