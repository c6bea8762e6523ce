//! The only place that writes to standard output and error.

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

/// Prints what went wrong.
pub(crate) fn complain(line: &str) {
    writeln!(io::stderr().lock(), "strongroom: {line}").ok();
}
