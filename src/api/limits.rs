//! Limits of the listeners, in one place.

use std::time::Duration;

/// Longest path and query, bytes.
pub(crate) const MAX_URL: usize = 4 * 1024;
/// Most query parameters.
pub(crate) const MAX_PARAMETERS: usize = 32;
/// Most header lines.
pub(crate) const MAX_HEADERS: usize = 64;
/// Largest request head, bytes of names and values together.
pub(crate) const MAX_HEAD: usize = 32 * 1024;
/// Largest body of an API request, bytes.
pub(crate) const MAX_BODY: usize = 64 * 1024;
/// Time for a body to arrive.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(10);
/// Deepest nesting of a JSON body; the outermost object is level 1.
pub(crate) const MAX_DEPTH: usize = 16;
/// Most members and elements in a JSON body, all levels together.
pub(crate) const MAX_MEMBERS: usize = 1000;
/// Most faults named in one answer.
pub(crate) const MAX_FAULTS: usize = 16;
/// Longest wait for an elicitation to end, seconds: below the 60 s after which clients and proxies give up.
pub(crate) const MAX_WAIT_S: u64 = 55;
/// Time for a request head to arrive.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(5);
/// Life of an idle connection.
pub(crate) const IDLE: Duration = Duration::from_secs(15);
/// Longest `Idempotency-Key`, bytes.
pub(crate) const MAX_IDEMPOTENCY_KEY: usize = 128;
/// Longest MCP client id, bytes.
pub(crate) const MAX_CLIENT_ID: usize = 512;
/// Grants on one page of the admin listener unless asked otherwise, and at most.
pub(crate) const PAGE: (usize, usize) = (100, 1000);
