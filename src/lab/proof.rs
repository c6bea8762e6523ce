//! Walks through a running lab over real sockets: good flows in `flow`, switches in `faults` and `shapes`.

mod faults;
mod flow;
mod shapes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use url::{Url, form_urlencoded};

use crate::{Lab, LabClient, LabConfig};

const CALLBACK: &str = "http://127.0.0.1:9/callback";
const VERIFIER: &str = "the-verifier-of-this-test-has-enough-letters-in-it";

/// A running lab, its clock, and a client without a browser.
struct Bench {
    lab: Lab,
    clock: Arc<AtomicU64>,
}

/// One HTTP answer.
#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Bench {
    fn new(mut config: LabConfig) -> Self {
        config.clients.push(LabClient::public("app", CALLBACK));
        let clock = Arc::new(AtomicU64::new(1_900_000_000));
        let view = Arc::clone(&clock);
        let now = move || view.load(Ordering::SeqCst);
        let lab = Lab::start(config, Arc::new(now)).expect("the lab starts");
        Self { lab, clock }
    }

    fn issuer() -> Self {
        Self::new(LabConfig::issuer())
    }

    fn provider() -> Self {
        Self::new(LabConfig::provider())
    }

    fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    async fn get(&self, target: &str, headers: &[(&str, &str)]) -> Got {
        send(self.lab.addr(), "GET", target, headers, "")
            .await
            .expect("an answer")
    }

    async fn get_json(&self, path: &str) -> Value {
        self.get(path, &[]).await.json()
    }

    async fn post(&self, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Got {
        let body = encoded(form);
        send(self.lab.addr(), "POST", path, headers, &body)
            .await
            .expect("an answer")
    }

    /// Signs in silently and returns the callback parameters.
    async fn callback(&self, person: &str, more: &[(&str, &str)]) -> Vec<(String, String)> {
        self.lab
            .sign_in_silently(Some(person))
            .expect("a known person");
        self.get(&authorize(more), &[]).await.location()
    }

    /// A fresh code for this person.
    async fn code(&self, person: &str, more: &[(&str, &str)]) -> String {
        value(&self.callback(person, more).await, "code").expect("a code")
    }

    async fn redeem(&self, code: &str) -> Got {
        self.post("/token", &redemption(code), &[]).await
    }

    /// Tokens of a whole flow.
    async fn tokens(&self, person: &str, more: &[(&str, &str)]) -> Value {
        let code = self.code(person, more).await;
        let got = self.redeem(&code).await;
        assert_eq!(got.status, 200, "{got:?}");
        got.json()
    }

    async fn refresh(&self, token: &str) -> Got {
        self.post("/token", &refreshing(token), &[]).await
    }

    async fn api(&self, path: &str, token: &str) -> Got {
        self.get(path, &[("authorization", &format!("Bearer {token}"))])
            .await
    }
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// The parameters of the redirect.
    fn location(&self) -> Vec<(String, String)> {
        let url = Url::parse(self.header("location").expect("a redirect")).expect("an address");
        url.query_pairs().into_owned().collect()
    }

    /// The hidden transaction of a page.
    fn transaction(&self) -> String {
        let text = self.text();
        let (_, rest) = text
            .split_once("name=\"transaction\" value=\"")
            .expect("a form");
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    fn is_login_page(&self) -> bool {
        self.text().contains("name=\"account\"")
    }

    fn is_consent_page(&self) -> bool {
        self.text().contains("name=\"consent\"")
    }
}

/// The address of an authorization request; `more` is added, and wins over the usual parameters.
fn authorize(more: &[(&str, &str)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER.as_bytes()));
    let usual = [
        ("response_type", "code"),
        ("client_id", "app"),
        ("redirect_uri", CALLBACK),
        ("state", "st"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let kept = usual
        .iter()
        .filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    let all: Vec<(&str, &str)> = kept.chain(more).copied().collect();
    format!("/authorize?{}", encoded(&all))
}

fn redemption(code: &str) -> [(&str, &str); 5] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

fn refreshing(token: &str) -> [(&str, &str); 3] {
    [
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", token),
    ]
}

fn encoded(form: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish()
}

fn value(params: &[(String, String)], name: &str) -> Option<String> {
    params
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.clone())
}

fn text<'a>(document: &'a Value, name: &str) -> &'a str {
    document[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} is not text in {document}"))
}

/// The claims of a token, unverified.
fn claims(token: &str) -> Value {
    part(token, 1)
}

/// The header (0) or claims (1) of a token, unverified.
fn part(token: &str, index: usize) -> Value {
    let piece = token
        .split('.')
        .nth(index)
        .expect("a token has three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(piece).expect("base64")).expect("JSON")
}

/// One request on a connection of its own.
async fn send(
    addr: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<Got> {
    let extra: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n{}\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        extra.concat(),
        body.len()
    );
    let stream = TcpStream::connect(addr).await?;
    let mut rest = request.as_bytes();
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    let mut bytes = Vec::new();
    loop {
        stream.readable().await?;
        match stream.try_read_buf(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    parse(&bytes).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}

/// Splits an answer; `None` if it broke off before the promised length.
fn parse(bytes: &[u8]) -> Option<Got> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let got = Got {
        status,
        head,
        body: bytes[end + 4..].to_vec(),
    };
    let promised = got
        .header("content-length")
        .and_then(|text| text.parse::<usize>().ok());
    promised
        .is_none_or(|length| length == got.body.len())
        .then_some(got)
}
