//! No text makes the reader panic, and none is taken for a configuration by accident.

use proptest::prelude::*;

use super::super::{DEFAULT_TOML, EXAMPLE_TOML, Mode};
use super::{BASE, FakeFiles, check, serve};

/// Values of every type, right and wrong.
const VALUES: [&str; 14] = [
    "1",
    "-1",
    "99999999999",
    "1.5",
    "true",
    "\"\"",
    "\"x\"",
    "\"env:S\"",
    "\"https://a.example\"",
    "[]",
    "[1]",
    "[\"a\"]",
    "{ a = 1 }",
    "2026-12-01",
];

proptest! {
    #[test]
    fn arbitrary_text_is_refused_without_a_panic(text in "\\PC{0,200}") {
        prop_assert!(serve(&text).is_err());
    }

    #[test]
    fn text_that_looks_like_toml_is_refused_without_a_panic(
        lines in proptest::collection::vec("(\\[{0,2}[a-z.]{0,12}\\]{0,2}|[a-z_.]{1,12} = (\"[^\"]{0,9}\"|[0-9]{1,9}|\\[\\]|\\{\\})| |#x)", 0..20),
    ) {
        prop_assert!(serve(&lines.join("\n")).is_err());
    }

    #[test]
    fn any_line_may_be_missing_or_have_any_value(
        which in 0_usize..3, line in 0_usize..250, value in 0_usize..VALUES.len(), keep: bool, dev: bool,
    ) {
        let text = [BASE, EXAMPLE_TOML, DEFAULT_TOML][which];
        let count = text.lines().count();
        let changed: Vec<String> = text.lines().enumerate().filter_map(|(at, old)| {
            match old.split_once(" = ") {
                _ if at != line % count => Some(old.to_owned()),
                Some((key, _)) if keep => Some(format!("{} = {}", key.trim_start_matches("# "), VALUES[value])),
                _ => None,
            }
        }).collect();
        let mode = if dev { Mode::Dev } else { Mode::Serve };
        if let Err(faults) = check(&changed.join("\n"), mode, &FakeFiles::default()) {
            prop_assert!(faults.count() > 0);
            for fault in faults.iter() {
                prop_assert!(fault.write.ends_with('.'), "{fault}");
                prop_assert!(!fault.what.ends_with('.'), "{fault}");
            }
        }
    }
}
