//! What an installation that may have gone back says of itself, for the operator who decides whether to go on with it.

use std::fmt;

use domain::Timestamp;
use storage::{Settings, SledStore};

use super::{CLOCK_BEHIND, FORMAT, Foundation, FoundationError, Hands, store_dir};
use crate::config::Config;

/// The two marks by which it is noticed that something went back.
#[derive(Debug, Clone)]
pub struct Marks {
    store: u64,
    acknowledged: Option<u64>,
    now: Timestamp,
    seen: Option<Timestamp>,
}

impl Marks {
    /// Whether the clock is so far behind that a start is refused.
    pub fn clock_is_behind(&self) -> bool {
        self.seen
            .is_some_and(|seen| self.now.plus(CLOCK_BEHIND) < seen)
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  - the store ends at commit {}, and ", self.store)?;
        match self.acknowledged {
            Some(number) => writeln!(f, "commit {number} was acknowledged;")?,
            None => writeln!(f, "nobody knows which one was acknowledged last;")?,
        }
        write!(f, "  - the clock says {:?}, and this vault ", self.now)?;
        match self.seen {
            Some(seen) => write!(f, "has run until {seen:?}."),
            None => f.write_str("has noted no time yet."),
        }
    }
}

impl Foundation {
    /// Reads the marks and changes nothing.
    ///
    /// # Errors
    /// [`FoundationError::Store`] when the store cannot be read.
    pub fn marks(config: &Config, hands: &Hands) -> Result<Marks, FoundationError> {
        let (dir, row) = (store_dir(config), actors::TIME_MARK);
        let looked = SledStore::look(&dir, FORMAT, Settings::default(), row)?;
        Ok(Marks {
            store: looked.store,
            acknowledged: looked.sidecar,
            now: hands.clock.now(),
            seen: looked.body.as_deref().and_then(actors::seen_in),
        })
    }
}
