//! The only place that writes to standard output and error.

use std::error::Error;
use std::io::{self, Write as _};

/// Prints a line for the person or script that asked. A reader that has gone away, or a full disk behind a redirection, is
/// no reason to fail: nothing rests on the line being read.
pub(crate) fn say(line: &str) {
    say_surely(line).ok();
}

/// Prints a line that must not be lost, and says whether it was.
///
/// # Errors
/// What the system says.
pub(crate) fn say_surely(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Prints what went wrong, down to its first cause.
pub(crate) fn complain(error: &dyn Error) {
    writeln!(io::stderr().lock(), "strongroom: {}", with_causes(error)).ok();
}

/// An error's text and the texts of its causes, each once: many errors only pass on the text of another. What would move the
/// cursor or recolour the screen of whoever reads it is spelled out.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.contains(&further) {
            text = format!("{text} (cause: {further})");
        }
        cause = error.source();
    }
    printable(&text)
}

/// File names and what others send may hold anything.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => String::from(c),
            c if c.is_control() => c.escape_default().to_string(),
            c => String::from(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("{0}")]
        Passed(#[from] Middle),
    }

    #[derive(Debug, thiserror::Error)]
    #[error("opening failed; check the path")]
    struct Middle(#[source] io::Error);

    #[test]
    fn every_cause_is_told_once() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Outer::from(Middle(denied));
        assert_eq!(
            with_causes(&error),
            "opening failed; check the path (cause: permission denied)"
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        let error = io::Error::other("a\u{1b}[31m\u{9b}b\nc");
        assert_eq!(with_causes(&error), "a\\u{1b}[31m\\u{9b}b\nc");
    }
}
