//! The operator's log: JSON lines on standard error, or plain text for people at a terminal. No query, body or header value
//! is ever a field.

use tracing_subscriber::EnvFilter;

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
    let filter =
        EnvFilter::try_new(filter.unwrap_or(DEFAULT)).unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let base = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second call (tests, several apps in one process) changes nothing.
    match format {
        Format::Json => base.json().try_init().ok(),
        Format::Text => base.with_target(false).compact().try_init().ok(),
    };
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

const DEFAULT: &str = "info";
