//! The origin that browsers see and the listeners behind it.

use std::net::SocketAddr;
use std::path::PathBuf;

use url::Url;

use super::Mode;
use super::keys::LISTEN;
use super::network::{Cidr, ranges};
use super::outside::Found;
use super::section::Section;
use super::words::is_loopback;

/// Longest path of a Unix socket that every system takes, in bytes (`sun_path` has 104 to 108).
const LONGEST_SOCKET: usize = 100;

/// Where the process listens.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Browsers; plain http, with TLS in front unless it is loopback.
    pub connect: SocketAddr,
    /// Servers; plain http, with TLS in front unless it is loopback.
    pub api: SocketAddr,
    /// Operators: a Unix socket of mode 0600.
    pub admin_socket: PathBuf,
    /// Operators over TCP, loopback only, if asked for.
    pub admin: Option<SocketAddr>,
    /// Where the proxy in front connects from; its `X-Forwarded-Host` is believed, and nobody else's.
    pub trusted_proxies: Vec<Cidr>,
}

/// The connect origin: https, or loopback http in `dev`.
pub(super) fn public_url(root: &Section<'_>) -> Option<Url> {
    let key = "public_url";
    let Ok(url) = Url::parse(root.required(key)?) else {
        root.fault(key, "not an absolute URL");
        return None;
    };
    let bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let dev = root.reading().mode == Mode::Dev;
    let fault = match url.scheme() {
        "https" | "http" if !bare => "has more than scheme, host and port",
        "https" => return Some(url),
        "http" if is_loopback(&url) && dev => return Some(url),
        "http" if is_loopback(&url) => "plain http on loopback, which only `strongroom dev` serves",
        _ => "not an https origin; browsers keep our cookies on https only",
    };
    root.fault(key, fault);
    None
}

/// Reads `[listen]`.
pub(super) fn listen(root: &Section<'_>) -> Option<Listen> {
    let section = root.table("listen", LISTEN);
    let connect = address(&section, "connect");
    let api = address(&section, "api");
    let admin = address(&section, "admin");
    let admin_socket = socket(&section);
    let trusted_proxies = ranges(&section, "trusted_proxy", 8);
    let open = [("connect", connect), ("api", api)];
    for (key, address) in open {
        if let Some(address) = address {
            check_exposure(&section, key, address);
        }
    }
    if admin.is_some_and(|admin| !admin.ip().is_loopback()) {
        section.fault("admin", "is not a loopback address");
    }
    check_collisions(&section, [open[0], open[1], ("admin", admin)]);
    Some(Listen {
        connect: connect?,
        api: api?,
        admin_socket: admin_socket?,
        admin,
        trusted_proxies: trusted_proxies?,
    })
}

fn address(section: &Section<'_>, key: &str) -> Option<SocketAddr> {
    let address: Result<SocketAddr, _> = section.text(key)?.parse();
    if address.is_err() {
        section.fault(key, "not an IP address with a port");
    }
    let address = address.ok()?;
    if address.port() == 0 && !section.reading().loopback.get() {
        section.fault(key, "port 0 leaves the port to chance");
    }
    Some(address)
}

fn socket(section: &Section<'_>) -> Option<PathBuf> {
    let text = section.required("admin_socket")?;
    let path = section.reading().resolve(text);
    if text.is_empty() || path.as_os_str().len() > LONGEST_SOCKET {
        section.fault(
            "admin_socket",
            "is empty or longer than a socket path may be",
        );
        return None;
    }
    let found = section.reading().outside.files.found(&path);
    if found.is_some_and(|found| found != Found::Socket) {
        section.fault(
            "admin_socket",
            "is the path of something else than a socket",
        );
        return None;
    }
    Some(path)
}

/// A plain listener that others can reach needs TLS in front, and a test set-up is reachable by nobody else.
fn check_exposure(section: &Section<'_>, key: &str, address: SocketAddr) {
    if address.ip().to_canonical().is_loopback() {
        return;
    }
    let reading = section.reading();
    if reading.loopback.get() {
        let what = if reading.mode == Mode::Dev {
            "is not a loopback address, and `strongroom dev` is for this machine only"
        } else {
            "is not a loopback address, which `danger.loopback` rules out"
        };
        section.fault_with(key, what, "Bind it to a loopback address, e.g. 127.0.0.1.");
    } else if section
        .texts("trusted_proxy")
        .is_none_or(|list| list.is_empty())
    {
        section.fault_with(
            key,
            "plain http that other machines can reach",
            "Bind it to 127.0.0.1, or put TLS in front and declare that proxy: `trusted_proxy = [\"10.0.3.0/24\"]`.",
        );
    }
}

fn check_collisions(section: &Section<'_>, listeners: [(&str, Option<SocketAddr>); 3]) {
    let known: Vec<_> = listeners
        .iter()
        .filter_map(|(key, address)| Some((*key, (*address)?)))
        .collect();
    for (index, (key, address)) in known.iter().enumerate() {
        let twin = known.iter().take(index).find(|(_, other)| {
            let everywhere = address.ip().is_unspecified() || other.ip().is_unspecified();
            address.port() != 0
                && address.port() == other.port()
                && (everywhere || address.ip() == other.ip())
        });
        if let Some((other, _)) = twin {
            section.fault_with(
                key,
                &format!("is the address of listen.{other} too"),
                "Give each listener a port of its own.",
            );
        }
    }
}
