//! The one outbound client: https, vetted addresses, no redirects, no proxies, no cookies, bounded size and time.
//!
//! Requests and answers are never logged; a failure is logged by host and kind.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue};
use http::{Request, StatusCode};
use secret::SecretBytes;
use tokio::runtime::Handle;
use url::Url;

use crate::address::{AddressPolicy, Forbidden};
use crate::budgets;
use crate::resolver::{NameResolver, VettingResolver};

/// Time to get a connection, with name resolution and TLS.
const CONNECT: Duration = Duration::from_secs(3);
/// Time from a connection to the head of the answer. A server that takes longer for a document is down for its callers.
const HEAD: Duration = Duration::from_secs(5);
/// Life of an idle connection. Short, because a request that meets a connection the other side has just closed looks like one
/// whose answer was lost, which for a refresh is the worst of outcomes.
const IDLE: Duration = Duration::from_secs(10);
/// Largest set of answer headers over HTTP/2, in bytes.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// Most answer headers over HTTP/1.
const MAX_HEADERS: usize = 100;
/// First allocation for a body, in bytes: most answers fit, so that no copies of tokens are left behind by growing.
const FIRST_BODY: usize = 16 * 1024;

/// The one client that speaks to the outside. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    client: reqwest::Client,
    policy: Arc<AddressPolicy>,
    runtime: Option<Handle>,
}

/// The client could not be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "the outbound client could not be made; is the TLS provider installed and are root certificates there?"
)]
pub struct OutboundError(#[source] reqwest::Error);

/// What a call is for; decides how long it may take and how much may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// Metadata.
    Document,
    /// A key set.
    KeySet,
    /// A token endpoint.
    Token,
    /// An account endpoint.
    Account,
    /// A revocation endpoint.
    Revocation,
}

impl CallKind {
    /// Total time from the first byte sent to the last byte read.
    const fn deadline(self) -> Duration {
        match self {
            Self::Token => budgets::TOKEN_CALL,
            Self::Document | Self::KeySet | Self::Account | Self::Revocation => budgets::SHORT_CALL,
        }
    }

    /// Time until the head of the answer is there, with the time to connect. Token endpoints have their whole deadline for
    /// it: giving up on one early can cost a refresh token that was just replaced.
    const fn head_deadline(self) -> Duration {
        match self {
            Self::Token => self.deadline(),
            Self::Document | Self::KeySet | Self::Account | Self::Revocation => {
                CONNECT.saturating_add(HEAD)
            }
        }
    }

    /// Largest body in bytes.
    pub(crate) const fn max_body(self) -> usize {
        match self {
            Self::KeySet => 512 * 1024,
            Self::Document | Self::Token | Self::Account | Self::Revocation => 256 * 1024,
        }
    }
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: SecretBytes,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallFailure {
    /// The address may not be spoken to; nothing was sent.
    #[error("forbidden address")]
    Forbidden,
    /// No connection; nothing was sent.
    #[error("no connection")]
    NotSent,
    /// The request was sent; the time is over.
    #[error("no answer in time")]
    Timeout,
    /// The request was sent; the connection broke.
    #[error("the connection broke")]
    Interrupted,
    /// The answer is larger than we read.
    #[error("the answer is too large")]
    TooLarge,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbound(..)")
    }
}

impl Outbound {
    /// A client under `policy` that asks `resolver` for names.
    ///
    /// # Errors
    /// [`OutboundError`] when the TLS set-up fails.
    pub fn new(
        policy: AddressPolicy,
        resolver: Arc<dyn NameResolver>,
    ) -> Result<Self, OutboundError> {
        crate::install_crypto();
        let policy = Arc::new(policy);
        let vetting = VettingResolver {
            policy: Arc::clone(&policy),
            names: resolver,
        };
        let headers = HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("application/json")),
            (ACCEPT_ENCODING, HeaderValue::from_static("identity")),
        ]);
        let client = reqwest::Client::builder()
            .user_agent(concat!("strongroom/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .https_only(!policy.loopback)
            .dns_resolver(Arc::new(vetting))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT)
            .http1_max_headers(MAX_HEADERS)
            .http2_max_header_list_size(MAX_HEADER_BYTES)
            .pool_max_idle_per_host(8)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(OutboundError)?;
        Ok(Self {
            client,
            policy,
            runtime: None,
        })
    }

    /// The same client with all its work on `runtime`. A connection lives on the runtime that opened it, so without this a
    /// worker of a listener that stops would take connections of others with it; and a call goes on when its caller is gone.
    #[must_use]
    pub fn running_on(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Whether `url` could be spoken to, as far as that shows without resolving its name.
    pub(crate) fn admits(&self, url: &Url) -> bool {
        self.policy.admits(url)
    }

    /// Sends `request` to `url`, whatever address the request itself carries.
    pub(crate) async fn call(
        &self,
        kind: CallKind,
        url: &Url,
        request: Request<Vec<u8>>,
    ) -> Result<Answer, CallFailure> {
        let answer = match &self.runtime {
            Some(runtime) => {
                let (client, url) = (self.clone(), url.clone());
                let work = runtime.spawn(async move { client.send(kind, &url, request).await });
                work.await.unwrap_or(Err(CallFailure::Interrupted))
            }
            None => self.send(kind, url, request).await,
        };
        if let Err(failure) = &answer {
            tracing::warn!(upstream.host = url.host_str(), call = ?kind, reason = %failure, "upstream call failed");
        }
        answer
    }

    /// A GET of a public document.
    pub(crate) async fn get(&self, kind: CallKind, url: &Url) -> Result<Answer, CallFailure> {
        self.call(kind, url, Request::default()).await
    }

    async fn send(
        &self,
        kind: CallKind,
        url: &Url,
        request: Request<Vec<u8>>,
    ) -> Result<Answer, CallFailure> {
        // A host that is an address never reaches the resolver, so it is judged here.
        self.policy
            .admit_url(url)
            .map_err(|Forbidden| CallFailure::Forbidden)?;
        let (parts, body) = request.into_parts();
        let sent = self
            .client
            .request(parts.method, url.clone())
            .headers(parts.headers)
            .body(body)
            .timeout(kind.deadline());
        let mut answer = head_within(kind.head_deadline(), sent.send()).await?;
        let body = read_body(&mut answer, kind.max_body()).await?;
        Ok(Answer {
            status: answer.status(),
            headers: std::mem::take(answer.headers_mut()),
            body,
        })
    }
}

async fn head_within<T>(
    limit: Duration,
    head: impl Future<Output = Result<T, reqwest::Error>>,
) -> Result<T, CallFailure> {
    match tokio::time::timeout(limit, head).await {
        Ok(head) => head.map_err(|error| classify(&error)),
        Err(_) => Err(CallFailure::Timeout),
    }
}

async fn read_body(
    answer: &mut reqwest::Response,
    limit: usize,
) -> Result<SecretBytes, CallFailure> {
    let announced = usize::try_from(answer.content_length().unwrap_or(0));
    if announced.is_ok_and(|length| length > limit) {
        return Err(CallFailure::TooLarge);
    }
    let mut body = Vec::with_capacity(FIRST_BODY);
    while let Some(chunk) = answer.chunk().await.map_err(|error| classify(&error))? {
        if body.len() + chunk.len() > limit {
            return Err(CallFailure::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(SecretBytes::new(body))
}

/// The text of a `reqwest::Error` has the address in it, so only its kind leaves this function.
fn classify(error: &reqwest::Error) -> CallFailure {
    if error.is_connect() || error.is_builder() {
        CallFailure::NotSent
    } else if error.is_timeout() {
        CallFailure::Timeout
    } else {
        CallFailure::Interrupted
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::resolver::Resolution;
    use crate::testing::{Reply, Scripted, outbound};

    /// Says that every name is loopback, as a name server in the wrong hands does.
    #[derive(Default)]
    struct Rebinding(AtomicUsize);

    impl NameResolver for Rebinding {
        fn resolve<'a>(&'a self, _: &'a str) -> Resolution<'a> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(vec![Ipv4Addr::LOCALHOST.into()]) })
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_to_loopback_is_not_connected_to() {
        let web = Scripted::start().await;
        let names = Arc::new(Rebinding::default());
        let outbound = Outbound::new(AddressPolicy::default(), Arc::clone(&names) as _).unwrap();
        let port = web.url("/").port().unwrap();
        let url = Url::parse(&format!("https://as.test:{port}/x")).unwrap();
        for _ in 0..3 {
            let failure = outbound.get(CallKind::Document, &url).await.err();
            assert_eq!(failure, Some(CallFailure::NotSent));
        }
        assert_eq!(names.0.load(Ordering::Relaxed), 3);
        assert_eq!(web.connections(), 0);
    }

    #[tokio::test]
    async fn a_head_that_does_not_come_is_a_timeout_and_only_token_endpoints_may_take_their_time() {
        let never = std::future::pending::<Result<(), reqwest::Error>>();
        let failure = head_within(Duration::ZERO, never).await.err();
        assert_eq!(failure, Some(CallFailure::Timeout));
        for kind in [
            CallKind::Document,
            CallKind::KeySet,
            CallKind::Account,
            CallKind::Revocation,
        ] {
            assert_eq!(kind.head_deadline(), Duration::from_secs(8), "{kind:?}");
            assert!(kind.head_deadline() < kind.deadline());
        }
        assert_eq!(CallKind::Token.head_deadline(), Duration::from_secs(30));
    }

    #[tokio::test]
    async fn a_body_is_cut_at_its_limit_announced_or_not() {
        let (web, outbound) = (Scripted::start().await, outbound(true));
        for kind in [CallKind::Document, CallKind::KeySet, CallKind::Token] {
            let limit = kind.max_body();
            for (reply, good) in [
                (Reply::Full(200, "", "x".repeat(limit)), true),
                (Reply::Full(200, "", "x".repeat(limit + 1)), false),
                (Reply::Endless, false),
            ] {
                web.on("/x", reply);
                let answer = outbound.get(kind, &web.url("/x")).await;
                let failure = answer.err();
                assert_eq!(
                    failure,
                    (!good).then_some(CallFailure::TooLarge),
                    "{kind:?}"
                );
            }
        }
    }
}
