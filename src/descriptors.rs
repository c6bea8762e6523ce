//! How many files and connections this process may have open, made as many as it needs before anything is built.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::app::StartError;
use crate::config::Config;
use crate::listeners::size;

/// Connections that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// At the connect listener.
    pub(crate) connect: usize,
    /// At the api listener.
    pub(crate) api: usize,
}

impl Room {
    /// Raises the soft limit on open files as far as is needed and allowed. Where that is not enough for the configured
    /// connections they get a share each, so that the store, the audit log and calls to providers never go without.
    ///
    /// # Errors
    /// [`StartError::Descriptors`] when not even a few connections fit.
    pub(crate) fn make(config: &Config) -> Result<Self, StartError> {
        let wanted = Self {
            connect: size(config.limits.connect_connections),
            api: size(config.limits.api_connections),
        };
        let limit = raised(
            wanted
                .connect
                .saturating_add(wanted.api)
                .saturating_add(RESERVE),
        );
        let room = wanted.fitting(limit).ok_or(StartError::Descriptors {
            limit,
            needed: RESERVE + FEWEST,
        })?;
        if room != wanted {
            tracing::warn!(
                open_files = limit,
                connect = room.connect,
                api = room.api,
                "fewer connections than limits.connect_connections and limits.api_connections fit into the limit on open files; \
                 raise it (`ulimit -n`, or `LimitNOFILE=` in a systemd unit)"
            );
        }
        Ok(room)
    }

    fn fitting(self, limit: usize) -> Option<Self> {
        let left = limit.checked_sub(RESERVE)?;
        let wanted = self.connect.saturating_add(self.api);
        if wanted <= left {
            return Some(self);
        }
        if left < FEWEST {
            return None;
        }
        let share = |part: usize| {
            part.saturating_mul(left)
                .checked_div(wanted)
                .map(|n| n.max(1))
        };
        Some(Self {
            connect: share(self.connect)?,
            api: share(self.api)?,
        })
    }
}

/// The limit, raised to `needed` or as far as the hard limit lets us.
fn raised(needed: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let now = files(limit.current);
    let target = needed.min(files(limit.maximum));
    if now >= target {
        return now;
    }
    let raised = Rlimit {
        current: u64::try_from(target).ok(),
        maximum: limit.maximum,
    };
    // Refused by a sandbox: then what was allowed so far stays.
    setrlimit(Resource::Nofile, raised).map_or(now, |()| target)
}

/// No limit is none that we reach.
fn files(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// Files that are no counted connections: store, logs, threads, both admin listeners, calls to issuers and providers.
const RESERVE: usize = 384;
/// With fewer connections nothing can be served.
const FEWEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Room = Room {
        connect: 3000,
        api: 1000,
    };

    #[test]
    fn connections_get_what_the_rest_leaves() {
        assert_eq!(WANTED.fitting(4000 + RESERVE), Some(WANTED));
        let room = WANTED.fitting(400 + RESERVE).expect("some fit");
        assert_eq!((room.connect, room.api), (300, 100));
        assert_eq!(WANTED.fitting(RESERVE + FEWEST - 1), None);
        assert_eq!(WANTED.fitting(36), None);
        let few = Room { connect: 2, api: 1 };
        assert_eq!(few.fitting(RESERVE + 3), Some(few));
    }
}
