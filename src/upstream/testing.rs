//! What the tests of this room share: a scripted server on loopback, keys that sign, and small declarations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{
    AccessTokenRules, AccountSource, ClientAuth, EndpointHosts, Endpoints, Issuer, IssuerSlug,
    IssuerUrl, Means, Oauth, OauthClient, Pkce, Provider, ProviderSlug, ScopeSet, Server,
    ServerSlug, SignatureAlgorithm, SubjectMode, TenantSlug, Timestamp,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::{AddressPolicy, Outbound, SystemResolver, Upstream};

mod proofs;
pub(crate) use proofs::{returned, same_person};

/// What the scripted server does with a request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Status, further header lines, body.
    Full(u16, &'static str, String),
    /// Closes the connection without a word.
    Close,
    /// Sends body bytes until the other side has enough.
    Endless,
}

/// JSON with status 200.
pub(crate) fn ok(body: &Value) -> Reply {
    Reply::Full(200, "content-type: application/json\r\n", body.to_string())
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    /// One form field of the body.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.body.as_bytes());
        pairs
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.into_owned())
    }
}

#[derive(Default)]
struct Script {
    replies: HashMap<String, Reply>,
    seen: Vec<Seen>,
    connections: usize,
}

/// A server whose answers are set by path; anything else is a 404.
#[derive(Clone)]
pub(crate) struct Scripted {
    pub(crate) origin: String,
    script: Arc<Mutex<Script>>,
}

impl Scripted {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let server = Self {
            origin,
            script: Arc::default(),
        };
        let script = Arc::clone(&server.script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                script.lock().unwrap().connections += 1;
                tokio::spawn(serve(stream, Arc::clone(&script)));
            }
        });
        server
    }

    pub(crate) fn on(&self, path: &str, reply: Reply) {
        self.script
            .lock()
            .unwrap()
            .replies
            .insert(path.into(), reply);
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.origin)).unwrap()
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        self.script.lock().unwrap().connections
    }

    /// All requests to `path` so far.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        let script = self.script.lock().unwrap();
        let of_path = |seen: &&Seen| seen.head.split(' ').nth(1) == Some(path);
        script.seen.iter().filter(of_path).cloned().collect()
    }

    /// Publishes metadata for the issuer `self.origin` and the key set of `keys`.
    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        self.on("/.well-known/openid-configuration", ok(&self.metadata()));
        self.publish_keys(keys);
    }

    pub(crate) fn publish_keys(&self, keys: &[&SigningKey]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.on("/keys", ok(&json!({ "keys": keys })));
    }

    pub(crate) fn metadata(&self) -> Value {
        let origin = &self.origin;
        json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "jwks_uri": format!("{origin}/keys"),
            "authorization_response_iss_parameter_supported": true,
            "id_token_signing_alg_values_supported": ["none", "HS256", "ES256"],
        })
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut bytes = Vec::new();
    let seen = loop {
        if let Some(seen) = whole(&bytes) {
            break seen;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let path = seen.head.split(' ').nth(1).unwrap().to_owned();
    let reply = {
        let mut script = script.lock().unwrap();
        script.seen.push(seen);
        script.replies.get(&path).cloned()
    };
    match reply.unwrap_or(Reply::Full(404, "", String::new())) {
        Reply::Full(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            drop(stream.write_all((head + &body).as_bytes()).await);
        }
        Reply::Close => {}
        Reply::Endless => {
            drop(stream.write_all(b"HTTP/1.1 200 X\r\n\r\n").await);
            while stream.write_all(&[b' '; 4096]).await.is_ok() {}
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Seen> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    (body.len() >= length).then(|| Seen {
        head: head.into(),
        body: body.into(),
    })
}

/// A P-256 key that signs.
pub(crate) struct SigningKey {
    pub(crate) kid: &'static str,
    pair: EcdsaKeyPair,
}

impl SigningKey {
    pub(crate) fn new(kid: &'static str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { kid, pair }
    }

    pub(crate) fn jwk(&self) -> Value {
        let point = self.pair.public_key().as_ref(); // 0x04, x, y
        let (x, y) = (
            URL_SAFE_NO_PAD.encode(&point[1..33]),
            URL_SAFE_NO_PAD.encode(&point[33..65]),
        );
        json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.kid, "alg": "ES256", "use": "sig" })
    }

    /// A token with this header and these claims, signed.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = self
            .pair
            .sign(&SystemRandom::new(), message.as_bytes())
            .unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    /// An honest header of an access token.
    pub(crate) fn header(&self) -> Value {
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": self.kid })
    }
}

/// Header and claims of a token without signature.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// The moment of all tests.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// `seconds` after [`NOW`].
pub(crate) fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

/// An upstream that may speak to loopback.
pub(crate) fn upstream() -> Upstream {
    let public_url = Url::parse("https://vault.test").unwrap();
    Upstream::new(outbound(true), public_url)
}

/// A client with or without leave to speak to loopback.
pub(crate) fn outbound(loopback: bool) -> Outbound {
    let policy = AddressPolicy {
        loopback,
        internal: Vec::new(),
    };
    Outbound::new(policy, Arc::new(SystemResolver)).unwrap()
}

fn client(auth: ClientAuth) -> OauthClient {
    OauthClient {
        id: "our client".into(),
        auth,
    }
}

fn secret_word() -> secret::ClientSecret {
    secret::ClientSecret::new("p%41:+/= ".into())
}

pub(crate) fn issuer(url: &str) -> Issuer {
    Issuer {
        slug: IssuerSlug::parse("corp").unwrap(),
        tenant: TenantSlug::parse("t").unwrap(),
        url: IssuerUrl::parse(url).unwrap(),
        endpoint_hosts: EndpointHosts::default(),
        client: client(ClientAuth::Basic(secret_word())),
        algorithms: vec![SignatureAlgorithm::Es256],
        subject_claims: vec!["sub".into()],
        id_token_claims: vec!["sub".into()],
        login_scopes: ScopeSet::new(["openid", "profile"]).unwrap(),
        access_tokens: AccessTokenRules {
            require_at_jwt: true,
            leeway: Duration::from_secs(30),
            max_age: Duration::from_secs(86_400),
            several_audiences: false,
        },
        site: None,
    }
}

pub(crate) fn server() -> Server {
    Server {
        slug: ServerSlug::parse("notes").unwrap(),
        tenant: TenantSlug::parse("t").unwrap(),
        name: "Notes".into(),
        resource: "https://notes.test/mcp".into(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        subject_mode: SubjectMode::Token,
        allowed: Vec::new(),
        site: None,
    }
}

/// A provider with pinned endpoints and a public client.
pub(crate) fn provider(authorization: &str, token: &str) -> Provider {
    Provider {
        slug: ProviderSlug::parse("git").unwrap(),
        tenant: TenantSlug::parse("t").unwrap(),
        name: "Git".into(),
        means: Means::Oauth(Oauth {
            client: client(ClientAuth::Post(secret_word())),
            endpoints: Endpoints::Pinned {
                authorization: Url::parse(authorization).unwrap(),
                token: Url::parse(token).unwrap(),
                revocation: None,
                issuer: None,
                iss_required: false,
            },
            endpoint_hosts: EndpointHosts::default(),
            pkce: Pkce::S256,
            scope_joiner: " ".into(),
            authorize_extra: Vec::new(),
            token_extra: Vec::new(),
            default_life_s: None,
        }),
        scopes: Vec::new(),
        extra_scopes: ScopeSet::default(),
        account: AccountSource::Unknown,
        allowed_hosts: Vec::new(),
        header_name: "Authorization".into(),
        header_prefix: "Bearer ".into(),
        site: None,
    }
}

/// The OAuth part of such a provider.
pub(crate) fn oauth(provider: &mut Provider) -> &mut Oauth {
    match &mut provider.means {
        Means::Oauth(oauth) => oauth,
        Means::Key(_) => panic!("a provider with a key form"),
    }
}
