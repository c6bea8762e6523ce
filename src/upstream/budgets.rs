//! How long what we ask of others may take. Leases and patience elsewhere are sums of these, so that a time is changed here
//! alone.

use std::time::Duration;

/// A call to a token endpoint, from connecting to the last byte of the answer.
pub const TOKEN_CALL: Duration = Duration::from_secs(30);
/// Any other single call: a document, a key set, an account, a revocation.
pub const SHORT_CALL: Duration = Duration::from_secs(10);
/// Learning where the endpoints of one service are, all documents together.
pub const DISCOVERY: Duration = Duration::from_secs(10);
