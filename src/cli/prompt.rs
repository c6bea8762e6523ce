//! A passphrase typed at a terminal, unseen.

use std::io::{self, BufRead as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::CommandError;

/// Asks twice, so that a slip of the finger does not become the passphrase.
pub(super) fn prompted_twice() -> Result<String, CommandError> {
    let quiet = Quiet::begin().map_err(|error| failed(&error))?;
    let first = ask("New passphrase (not shown; Ctrl-D gives up): ")?;
    let second = Zeroizing::new(ask("Once more: ")?);
    drop(quiet);
    if first == *second {
        return Ok(first);
    }
    drop(Zeroizing::new(first)); // wiped
    Err(CommandError::Usage(String::from(
        "the two were not the same; nothing was changed",
    )))
}

fn ask(what: &str) -> Result<String, CommandError> {
    let mut out = io::stderr().lock();
    write!(out, "{what}")
        .and_then(|()| out.flush())
        .map_err(|error| failed(&error))?;
    let mut line = Zeroizing::new(String::with_capacity(8192));
    let read = io::stdin().lock().read_line(&mut line);
    writeln!(out).ok();
    if read.map_err(|error| failed(&error))? == 0 {
        return Err(CommandError::Usage(String::from(
            "given up; nothing was changed",
        )));
    }
    Ok(std::mem::take(&mut *line))
}

fn failed(error: &io::Error) -> CommandError {
    CommandError::Other(format!(
        "the terminal cannot be used: {error}; pipe the passphrase in instead"
    ))
}

/// A terminal that shows nothing of what is typed. Neither does it turn Ctrl-C into a signal, which would end the process and
/// leave the terminal mute; in a passphrase it is a control character, and refused.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Flush, &self.0).ok();
    }
}
