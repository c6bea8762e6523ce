//! The operator's log: JSON lines on standard error, or plain text for people at a terminal. No query, body or header value
//! is ever a field.
//!
//! The HTTP framework answers requests whose head is malformed by itself, and has an error line for each; so does a listener
//! that may open no more files. Anybody could fill a disk with them. They are counted instead, and [`tell_counted`] says how
//! many there were. Whoever names `actix` in the filter gets the lines themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON object a line.
    Json,
    /// Text for people.
    Text,
}

/// Installs the subscriber and a panic hook that says where, and never what: a panic's text may quote a secret.
pub(crate) fn install(format: Format, filter: Option<&str>) {
    // A second call (tests, several apps in one process) changes nothing.
    subscriber(format, filter, &COUNTED, std::io::stderr)
        .try_init()
        .ok();
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(|| String::from("unknown place"), ToString::to_string);
        let thread = std::thread::current()
            .name()
            .unwrap_or("unnamed")
            .to_owned();
        tracing::error!(place, thread, "a thread panicked");
    }));
}

fn subscriber<W>(
    format: Format,
    filter: Option<&str>,
    counted: &'static Counted,
    writer: W,
) -> impl Subscriber + Send + Sync
where
    W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let text = filter.unwrap_or(DEFAULT);
    let quiet = (!text.contains("actix")).then_some(Quiet(counted));
    let filter = EnvFilter::try_new(text).unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let base = fmt::layer().with_writer(writer);
    let lines: Box<dyn Layer<_> + Send + Sync> = match format {
        Format::Json => base.json().with_filter(quiet).boxed(),
        Format::Text => base.with_target(false).compact().with_filter(quiet).boxed(),
    };
    Registry::default().with(filter).with(lines)
}

const DEFAULT: &str = "info";

/// Lines that were counted instead of written.
struct Counted {
    malformed: AtomicU64,
    not_accepted: AtomicU64,
}

impl Counted {
    const fn new() -> Self {
        Self {
            malformed: AtomicU64::new(0),
            not_accepted: AtomicU64::new(0),
        }
    }

    fn of(&self, metadata: &Metadata<'_>) -> Option<&AtomicU64> {
        match metadata.target() {
            "actix_http::h1::dispatcher" => Some(&self.malformed),
            "actix_server::accept" => Some(&self.not_accepted),
            _ => None,
        }
    }

    fn tell(&self) {
        let malformed = self.malformed.swap(0, Ordering::Relaxed);
        if malformed > 0 {
            tracing::warn!(
                malformed,
                "requests with a malformed head, or connections that broke, were answered by the HTTP framework itself"
            );
        }
        let not_accepted = self.not_accepted.swap(0, Ordering::Relaxed);
        if not_accepted > 0 {
            tracing::error!(
                not_accepted,
                "connections could not be accepted; check the limit on open files (`ulimit -n`, or `LimitNOFILE=` in a systemd unit)"
            );
        }
    }
}

static COUNTED: Counted = Counted::new();

/// Says how many lines were counted since the last time, if any. To be called once a minute.
pub(crate) fn tell_counted() {
    COUNTED.tell();
}

/// Counts what must not become a line each.
struct Quiet(&'static Counted);

impl<S> Filter<S> for Quiet {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let counter = self.0.of(event.metadata());
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        counter.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("lock").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn lines(filter: Option<&str>, counted: &'static Counted) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = subscriber(Format::Json, filter, counted, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..1000 {
                tracing::error!(target: "actix_http::h1::dispatcher", "stream error");
                tracing::error!(target: "actix_server::accept", "Error accepting connection");
            }
            tracing::info!("ours");
            tracing::debug!("not asked for");
            counted.tell();
            counted.tell();
        });
        let bytes = lines.0.lock().expect("lock").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_flood_at_the_framework_is_two_lines() {
        static COUNTED: Counted = Counted::new();
        let text = lines(None, &COUNTED);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("\"malformed\":1000"), "{text}");
        assert!(text.contains("\"not_accepted\":1000"), "{text}");
        assert!(text.contains("\"ours\""), "{text}");
    }

    #[test]
    fn who_asks_for_the_frameworks_lines_gets_them() {
        static COUNTED: Counted = Counted::new();
        let text = lines(Some("info,actix_http=error"), &COUNTED);
        assert_eq!(text.lines().count(), 2001, "{text}");
    }
}
