//! What both kinds of listener do around each request: a panic in one is one failed request, not a lost connection; and
//! every line of the log names its request alike.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

/// The field of a log line that names the request, as `request_id` in a problem document does.
pub(crate) const REQUEST: &str = "request.id";

/// Serves a request; `None` when it panicked. Its place was logged by the panic hook of the process.
pub(crate) async fn guarded<T>(serving: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(serving).catch_unwind().await.ok()
}
