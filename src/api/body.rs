//! Reads a request body within its bounds, into memory that is wiped: subject tokens stand in it.

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::rt::time::timeout;
use actix_web::web::Payload;
use futures_util::StreamExt as _;
use zeroize::Zeroizing;

use crate::limits::{BODY_TIME, MAX_BODY};
use crate::problem::{Kind, Problem};

/// Reads the whole body.
///
/// # Errors
/// `too-large`, `request-timeout`, or `malformed-json` when the connection broke in the middle.
pub(crate) async fn read(
    request: &HttpRequest,
    payload: Payload,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > MAX_BODY) {
        return Err(Kind::TooLarge.into());
    }
    match timeout(BODY_TIME, collect(payload, declared.unwrap_or(4096))).await {
        Ok(read) => read,
        Err(_) => Err(Kind::RequestTimeout.into()),
    }
}

async fn collect(mut payload: Payload, expected: usize) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let mut body = Zeroizing::new(Vec::with_capacity(expected));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Problem::from(Kind::MalformedJson))?;
        let needed = body.len() + chunk.len();
        if needed > MAX_BODY {
            return Err(Kind::TooLarge.into());
        }
        if needed > body.capacity() {
            // Growing in place would leave an unwiped copy behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(body.len() * 2)));
            larger.extend_from_slice(&body);
            body = larger;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
