//! Everything that the rooms of this program log, at every level: what operators see, and more.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;

use crate::remains;

const ROOMS: [&str; 9] = [
    "",
    "_secret",
    "_domain",
    "_crypto",
    "_storage",
    "_upstream",
    "_actors",
    "_api",
    "_pages",
];

/// The log so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// All of it.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        remains::log(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// The log of this process; other tests write there as well, which only makes the search longer.
pub(crate) fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let rooms = ROOMS.map(|room| format!("strongroom{room}=trace"));
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(format!("off,{}", rooms.join(",")))
            .with_writer(log.clone());
        subscriber.with_ansi(false).try_init().unwrap();
        log
    })
}
