//! No core dumps: what the memory of this process holds would lie on the disk in the clear.
//!
//! The limit stops dumps to files; a process that is not dumpable is also kept from crash handlers, and other processes of
//! the same user cannot look into its memory.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Switches them off, for this process and all that it starts.
///
/// # Errors
/// What the system says; nothing else depends on it.
pub(crate) fn forbid() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
