//! The only place that writes to standard output and error.

/// Prints a line for the person or script that asked.
#[expect(clippy::print_stdout, reason = "the command line's one way to speak")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Prints what went wrong.
#[expect(
    clippy::print_stderr,
    reason = "the command line's one way to complain"
)]
pub(crate) fn complain(line: &str) {
    eprintln!("strongroom: {line}");
}
