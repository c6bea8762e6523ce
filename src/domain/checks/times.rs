//! Times in tokens: one reading for access tokens and ID tokens.

use serde_json::{Map, Value};

use crate::Timestamp;

/// The claim is there and is no time.
pub(super) struct NoTime;

/// Reads a NumericDate (RFC 7519 section 2), whole or not, in the years 1970 to 9999. A wrong type is never "absent".
pub(super) fn numeric_date(
    claims: &Map<String, Value>,
    name: &str,
) -> Result<Option<Timestamp>, NoTime> {
    const YEAR_10000: f64 = 253_402_300_800.0;
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .filter(|s| s.is_finite() && (0.0..YEAR_10000).contains(s))
        .ok_or(NoTime)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range above fits an i64 of milliseconds"
    )]
    let ms = (seconds * 1000.0) as i64;
    Ok(Some(Timestamp::from_ms(ms)))
}
