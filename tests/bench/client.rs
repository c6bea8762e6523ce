//! The client: bytes that were made before, over connections that stay open, and the time each answer takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Fault;

/// A request as it goes over the wire, and what its answer has to hold.
pub(crate) struct Request {
    /// Head and body.
    pub(crate) bytes: Vec<u8>,
    /// What stands in the answer.
    pub(crate) expects: &'static str,
}

/// The request to the plain server.
pub(crate) fn hello() -> Arc<Request> {
    Arc::new(Request {
        bytes: b"GET / HTTP/1.1\r\nhost: hello\r\n\r\n".to_vec(),
        expects: "hello",
    })
}

/// Requests one after the other on each of so many connections, for so long.
pub(crate) struct Load {
    /// The server.
    pub(crate) address: SocketAddr,
    /// What is asked, in turn.
    pub(crate) requests: Vec<Arc<Request>>,
    /// How many connections.
    pub(crate) connections: usize,
    /// For how long.
    pub(crate) life: Duration,
}

/// What came of it.
pub(crate) struct Seen {
    /// From the first byte sent to the last one read, shortest first.
    pub(crate) times: Vec<Duration>,
    /// How long it took in all.
    whole: Duration,
}

impl Seen {
    /// The time within which this share of the requests was answered.
    pub(crate) fn time(&self, share: f64) -> Duration {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list"
        )]
        let place = (share * self.times.len() as f64) as usize;
        let last = self.times.len().saturating_sub(1);
        self.times.get(place.min(last)).copied().unwrap_or_default()
    }

    /// Requests per second.
    pub(crate) fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 requests")]
        let count = self.times.len() as f64;
        count / self.whole.as_secs_f64()
    }
}

impl Load {
    /// Runs it on a runtime of its own, with one thread: the cores are the servers'.
    pub(crate) fn run(&self) -> Result<Seen, Fault> {
        let begun = Instant::now();
        let until = begun + self.life;
        let parts = std::thread::scope(|scope| {
            scope
                .spawn(|| -> Result<Vec<Vec<Duration>>, String> {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .map_err(|error| error.to_string())?;
                    let all = (0..self.connections).map(|number| self.ask(number, until));
                    runtime.block_on(futures_util::future::try_join_all(all))
                })
                .join()
        });
        let parts = parts.map_err(|_| "the client panicked")??;
        let whole = begun.elapsed();
        let mut times: Vec<_> = parts.into_iter().flatten().collect();
        times.sort_unstable();
        Ok(Seen { times, whole })
    }

    async fn ask(&self, number: usize, until: Instant) -> Result<Vec<Duration>, String> {
        let said = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(self.address).await.map_err(said)?;
        stream.set_nodelay(true).map_err(said)?;
        let mut times = Vec::with_capacity(100_000);
        let mut buffer = Vec::with_capacity(16 * 1024);
        // Each connection begins elsewhere, so that all people ask.
        let first = number * self.requests.len() / self.connections;
        for request in self.requests.iter().cycle().skip(first) {
            let begun = Instant::now();
            if begun >= until {
                break;
            }
            stream.write_all(&request.bytes).await.map_err(said)?;
            let text = answer(&mut stream, &mut buffer).await?;
            if !text.starts_with("HTTP/1.1 200 ") || !text.contains(request.expects) {
                return Err(format!("an answer that is not one: {text}"));
            }
            times.push(begun.elapsed());
        }
        Ok(times)
    }
}

/// One answer with a `content-length`.
async fn answer<'a>(stream: &mut TcpStream, buffer: &'a mut Vec<u8>) -> Result<&'a str, String> {
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await;
        if read.map_err(|error| error.to_string())? == 0 {
            return Err("the server closed the connection".to_owned());
        }
        if is_whole(buffer) {
            break;
        }
    }
    std::str::from_utf8(buffer).map_err(|error| error.to_string())
}

fn is_whole(buffer: &[u8]) -> bool {
    let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let (head, rest) = buffer.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| {
        let value = line.strip_prefix("content-length:")?;
        value.trim().parse::<usize>().ok()
    });
    length.is_some_and(|length| rest.len() >= length)
}
