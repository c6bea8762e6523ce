//! A small browser: a cookie jar for each host, Fetch Metadata as Chromium sends it, redirects and `Refresh: 0` followed
//! step by step. Real browsers walk the same pages in `tests/node`; this one can also do what no browser would.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};

use crate::remains;

/// One browser of one person.
pub(crate) struct Browser {
    client: reqwest::Client,
    /// Cookies by host and name. Ports do not separate cookies.
    pub(crate) jar: BTreeMap<(String, String), String>,
    /// What it says in `Accept-Language`; nothing unless a test does.
    pub(crate) language: Option<&'static str>,
    /// Every address that was asked for, in order.
    pub(crate) trail: Vec<Url>,
    /// Every answer: its address, head and body.
    pub(crate) heard: Vec<(Url, HeaderMap, String)>,
}

/// An answer.
pub(crate) struct Page {
    /// Its address.
    pub(crate) url: Url,
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: String,
}

impl Page {
    /// Where it goes on by itself: `Location`, or `Refresh: 0`.
    pub(crate) fn next(&self) -> Option<Url> {
        if let Some(location) = self.header("location") {
            return self.url.join(location).ok();
        }
        let target = self.header("refresh")?.split_once("url=")?.1;
        self.url.join(target).ok()
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The heading.
    pub(crate) fn h1(&self) -> String {
        let start = self
            .body
            .find("<h1")
            .and_then(|at| self.body[at..].find('>').map(|end| at + end + 1));
        let text = start
            .and_then(|start| self.body[start..].split("</h1>").next())
            .unwrap_or("");
        unescape(&without_tags(text.trim()))
    }

    /// The form that is posted to an action ending in `deed`: its address and hidden fields.
    pub(crate) fn form(&self, deed: &str) -> Option<(Url, Vec<(String, String)>)> {
        for piece in self.body.split("<form").skip(1) {
            let form = piece.split("</form>").next().unwrap_or(piece);
            let Some(action) = attribute(form, "action") else {
                continue;
            };
            if action.ends_with(deed) {
                let fields = form
                    .split("<input")
                    .skip(1)
                    .filter(|input| attribute(input, "type").as_deref() == Some("hidden"));
                let fields = fields.filter_map(|input| {
                    Some((
                        attribute(input, "name")?,
                        attribute(input, "value").unwrap_or_default(),
                    ))
                });
                return Some((self.url.join(&action).ok()?, fields.collect()));
            }
        }
        None
    }
}

/// An attribute of the first tag in `html`.
fn attribute(html: &str, name: &str) -> Option<String> {
    let tag = html.split('>').next()?;
    let value = tag.split_once(&format!(" {name}=\""))?.1;
    Some(unescape(value.split('"').next()?))
}

/// The text of a piece of HTML without its tags.
fn without_tags(html: &str) -> String {
    let mut pieces = html.split('<');
    let first = pieces.next().unwrap_or_default().to_owned();
    let rest = pieces.filter_map(|piece| Some(piece.split_once('>')?.1));
    rest.fold(first, |text, piece| text + piece)
}

fn unescape(text: &str) -> String {
    let replaced = [
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#38;", "&"),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    replaced
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

impl Browser {
    /// A new browser with empty cookies.
    pub(crate) fn new() -> Self {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // A connection that was opened and not used is closed by the vault after some seconds, perhaps in the very
            // moment in which a busy machine uses it.
            .pool_max_idle_per_host(0)
            .build()
            .unwrap();
        Self {
            client,
            jar: BTreeMap::new(),
            language: None,
            trail: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// One request, exactly as given; cookies are sent and kept, nothing is followed.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        url: &Url,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Page {
        let mut all = HeaderMap::new();
        let cookies = self.cookies_for(url);
        if !cookies.is_empty() {
            all.insert("cookie", HeaderValue::from_str(&cookies).unwrap());
        }
        let language = self.language.map(|value| ("accept-language", value));
        for (name, value) in headers.iter().copied().chain(language) {
            all.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let mut request = self.client.request(method, url.clone()).headers(all);
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await.unwrap();
        self.trail.push(url.clone());
        let (status, headers) = (answer.status(), answer.headers().clone());
        self.keep(url, &headers);
        let body = answer.text().await.unwrap();
        leave(url, &headers, &body);
        self.heard
            .push((url.clone(), headers.clone(), body.clone()));
        Page {
            url: url.clone(),
            status,
            headers,
            body,
        }
    }

    /// A navigation, as typing an address or following a link from `site` (`none`, `same-origin`, `cross-site`, …) is.
    pub(crate) async fn visit(&mut self, url: &Url, site: &str) -> Page {
        let headers = [
            ("sec-fetch-site", site),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
            ("sec-fetch-user", "?1"),
        ];
        self.send(Method::GET, url, &headers, None).await
    }

    /// Follows redirects and `Refresh` until a page stays.
    pub(crate) async fn open(&mut self, url: &str) -> Page {
        let page = self.visit(&Url::parse(url).unwrap(), "none").await;
        self.follow(page).await
    }

    /// Goes on from a page until one stays.
    pub(crate) async fn follow(&mut self, mut page: Page) -> Page {
        for _ in 0..20 {
            let Some(next) = page.next() else { return page };
            let site = if next.origin() == page.url.origin() {
                "same-origin"
            } else {
                "cross-site"
            };
            page = self.visit(&next, site).await;
        }
        panic!("the walk does not end: {}", page.url);
    }

    /// Goes on from a page until the next address begins with `prefix`; that address is not asked for.
    pub(crate) async fn follow_until(&mut self, mut page: Page, prefix: &str) -> Url {
        for _ in 0..20 {
            let next = page
                .next()
                .unwrap_or_else(|| panic!("stays at {}: {}", page.url, page.h1()));
            if next.as_str().starts_with(prefix) {
                return next;
            }
            let site = if next.origin() == page.url.origin() {
                "same-origin"
            } else {
                "cross-site"
            };
            page = self.visit(&next, site).await;
        }
        panic!("never came to {prefix}");
    }

    /// Posts a form as a browser does from its own page; nothing is followed.
    pub(crate) async fn post(&mut self, url: &Url, fields: &[(String, String)]) -> Page {
        let origin = url.origin().ascii_serialization();
        let headers = [
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
            ("origin", origin.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let body = encode(fields);
        self.send(Method::POST, url, &headers, Some(body)).await
    }

    /// Presses the button of the form whose action ends in `deed`, with extra fields (a tick), and follows.
    pub(crate) async fn press(&mut self, page: &Page, deed: &str, extra: &[(&str, &str)]) -> Page {
        let posted = self.press_only(page, deed, extra).await;
        self.follow(posted).await
    }

    /// Presses and does not follow.
    pub(crate) async fn press_only(
        &mut self,
        page: &Page,
        deed: &str,
        extra: &[(&str, &str)],
    ) -> Page {
        let (action, mut fields) = page
            .form(deed)
            .unwrap_or_else(|| panic!("no form {deed} on {}: {}", page.url, page.h1()));
        fields.extend(
            extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        self.post(&action, &fields).await
    }

    fn cookies_for(&self, url: &Url) -> String {
        let host = url.host_str().unwrap_or_default();
        let ours = self.jar.iter().filter(|((of, _), _)| of == host);
        ours.map(|((_, name), value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn keep(&mut self, url: &Url, headers: &HeaderMap) {
        let host = url.host_str().unwrap_or_default().to_owned();
        for line in headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            let gone = line.to_ascii_lowercase().contains("max-age=0");
            let key = (host.clone(), name.trim().to_owned());
            if gone {
                self.jar.remove(&key);
            } else {
                self.jar.insert(key, value.to_owned());
            }
        }
    }
}

/// The vault's pages are on `localhost`, those of labs on other loopback addresses.
fn leave(url: &Url, headers: &HeaderMap, body: &str) {
    if url.host_str() != Some("localhost") {
        return;
    }
    for line in headers.get_all("set-cookie") {
        let value = line.to_str().ok().and_then(cookie_value);
        remains::secret("cookie", value.unwrap_or_default());
    }
    remains::said("a page", &LEAD_ON, body);
    for (name, value) in headers {
        let allowed: &[&str] = match name.as_str() {
            "set-cookie" => &["cookie"],
            "location" | "refresh" => &LEAD_ON,
            _ => &[],
        };
        let value = String::from_utf8_lossy(value.as_bytes());
        remains::said("a page", allowed, &format!("{name}: {value}"));
    }
}

/// What belongs into the address that leads to an issuer or provider.
const LEAD_ON: [&str; 4] = [
    "login state",
    "provider state",
    "login nonce",
    "provider nonce",
];

/// The value in a `Set-Cookie` line.
pub(crate) fn cookie_value(line: &str) -> Option<&str> {
    let (_, value) = line.split(';').next()?.split_once('=')?;
    Some(value)
}

/// Form encoding.
pub(crate) fn encode(fields: &[(String, String)]) -> String {
    let mut url = Url::parse("http://form.invalid/").unwrap();
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}
