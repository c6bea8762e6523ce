//! What every table keeps to, and what the Chinese one keeps to.

use super::Strings;
use crate::views::Language;

/// The placeholders of a string, sorted.
fn placeholders(string: &str) -> Vec<&str> {
    let mut names: Vec<_> = string
        .split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}').map(|(name, _)| name))
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn every_language_says_the_same_of_the_same_things() {
    let english = Strings::of(Language::English).all();
    for language in Language::ALL {
        for ((field, string), (_, en)) in Strings::of(language).all().into_iter().zip(&english) {
            let count = |c: char| string.matches(c).count();
            assert!(!string.is_empty(), "{field}: no words");
            assert_eq!(count('*') % 2, 0, "{field}: an odd star");
            assert_eq!(count('{'), count('}'), "{field}: an open brace");
            assert_eq!(placeholders(string), placeholders(en), "{field}");
            assert!(!string.contains(['!', '！']), "{field} shouts");
        }
    }
}

/// Punctuation that has a full-width form.
const HALF: &str = ",;:?!()";

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}')
}

/// Full-width punctuation, quotes included.
fn is_full(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff1f}' | '“' | '”')
}

#[test]
fn chinese_is_set_as_chinese_is() {
    for (field, string) in Strings::of(Language::Chinese).all() {
        if field == "lang" {
            continue;
        }
        assert!(!string.contains('你'), "{field}: 您");
        assert!(
            !string.contains(|c| HALF.contains(c)),
            "{field}: half-width punctuation"
        );
        let plain: Vec<char> = string.chars().filter(|c| *c != '*').collect();
        for pair in plain.windows(2) {
            let [before, after] = pair else { continue };
            let latin = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '{' | '}');
            let touches =
                is_ideograph(*before) && latin(after) || latin(before) && is_ideograph(*after);
            assert!(!touches, "{field}: a space is missing in {before}{after}");
            let hole = *before == ' ' && is_full(*after) || is_full(*before) && *after == ' ';
            assert!(!hole, "{field}: a space too many in {before:?}{after:?}");
        }
    }
}
