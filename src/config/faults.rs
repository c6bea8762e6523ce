//! What is wrong with a configuration: every fault at once, each with its place and with what to write instead.

use std::fmt;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, as it was named to us.
    pub file: Box<str>,
    /// Line from 1; `None` when the fault is about the file as a whole.
    pub line: Option<usize>,
    /// Dotted path of the key, declarations by their slug: `server.release-notes.resource`. Empty for the whole file.
    pub path: Box<str>,
    /// What is wrong. Never shows a value that could be a secret.
    pub what: Box<str>,
    /// What to write instead, as whole sentences.
    pub write: Box<str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}. {}", self.what, self.write)
    }
}

/// All faults of a configuration, in the order of the file; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFaults(Vec<Fault>);

impl ConfigFaults {
    /// Sorts the faults by place and drops doubles.
    pub(super) fn new(mut faults: Vec<Fault>) -> Self {
        faults.sort();
        faults.dedup();
        Self(faults)
    }

    /// A single fault.
    pub(super) fn one(fault: Fault) -> Self {
        Self(vec![fault])
    }

    /// The faults in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for ConfigFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigFaults {}
