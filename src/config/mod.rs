//! The configuration: one TOML file, read with every fault at once, checked into values that need no second look.
//!
//! The operator's file lies over a provider's preset and over `config/default.toml`, which is compiled in and is the
//! reference of every key. Secrets stand outside the file and are fetched while it is read; a [`Config`] prints none.

mod clients;
mod crossref;
mod endpoints;
mod faults;
mod issuers;
mod key_forms;
mod keys;
mod listen;
mod near;
mod network;
mod outside;
mod providers;
mod reading;
mod report;
mod section;
mod source;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::{Declarations, Registry};
use secret::Passphrase;
use url::Url;

pub use faults::{ConfigFaults, Fault};
pub use listen::Listen;
pub use network::{AddressPolicy, Cidr, InternalHost};
pub use outside::{FileRead, Files, Found, OsFiles, Outside, passphrase_line};
pub use providers::{PresetNote, Verified};
pub use source::{DEFAULT_TOML, EXAMPLE_TOML, PRESETS};

use crossref::Declared;
use keys::{DANGER, DATA, ISSUER, LIMITS, OPERATOR, PROVIDER, ROOT, SEAL, SERVER, TENANT};
use reading::Reading;
use section::Section;
use source::Library;

/// What the process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Real use: a public https origin, no loopback addresses outside.
    Serve,
    /// Practice on this machine: everything on loopback, which may be called as well.
    Dev,
}

/// Whether the page between consent and provider goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeavingPage {
    /// At once, since consent has just said where the button leads.
    AtOnce,
    /// Only when its link is followed.
    Ask,
}

/// How the root key is opened: either of them opens it. At least one is there.
#[derive(Debug)]
pub struct Seal {
    /// The key file.
    pub key_file: Option<PathBuf>,
    /// The passphrase.
    pub passphrase: Option<Passphrase>,
}

/// Who runs this installation, as people read it.
#[derive(Debug, Clone)]
pub struct Operator {
    /// The name; pages show the host where there is none.
    pub name: Option<Box<str>>,
    /// Where people get help: an https or mailto address.
    pub support_url: Option<Url>,
    /// Where people read what is done with what is known about them: an https or mailto address.
    pub privacy_url: Option<Url>,
}

/// Caps that keep one caller from starving the others.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections at the connect listener.
    pub connect_connections: u32,
    /// Open connections of one address at the connect listener.
    pub connect_connections_per_address: u32,
    /// Open connections at the api listener.
    pub api_connections: u32,
    /// Open connections of one address at the api listener.
    pub api_connections_per_address: u32,
    /// Requests of one server that wait for a person at the same time.
    pub waits_per_server: u32,
}

/// The checked configuration.
#[derive(Debug)]
pub struct Config {
    /// What it was checked for.
    pub mode: Mode,
    /// The connect origin; path `/`, nothing else.
    pub public_url: Url,
    /// Where the process listens.
    pub listen: Listen,
    /// Folder of the store.
    pub data_dir: PathBuf,
    /// How the root key is opened.
    pub seal: Seal,
    /// Who runs it.
    pub operator: Operator,
    /// The page between consent and provider.
    pub leaving_page: LeavingPage,
    /// Caps.
    pub limits: Limits,
    /// What the outbound client may reach besides public addresses.
    pub addresses: AddressPolicy,
    /// Tenants, issuers, servers and providers.
    pub registry: Arc<Registry>,
    /// Which provider stands on which preset.
    pub presets: Vec<PresetNote>,
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// Every fault there is.
    pub fn load(path: &Path, mode: Mode, outside: Outside<'_>) -> Result<Self, ConfigFaults> {
        let name = path.display().to_string();
        let fault = |what: String, write: &str| {
            ConfigFaults::one(Fault {
                file: name.as_str().into(),
                line: None,
                path: "".into(),
                what: what.into(),
                write: write.into(),
            })
        };
        let read = outside.files.read(path).map_err(|error| {
            fault(
                format!("cannot be read: {error}"),
                "Give the path of your configuration file; `config/example.toml` shows a first one.",
            )
        })?;
        let text = String::from_utf8(read.bytes)
            .map_err(|_| fault("is not UTF-8 text".into(), "Save it as UTF-8."))?;
        Self::parse(&text, &name, mode, outside)
    }

    /// Checks a text. `file_name` stands in faults, and relative paths start at its folder.
    ///
    /// # Errors
    /// Every fault there is; a text that is not TOML at all has only one.
    pub fn parse(
        text: &str,
        file_name: &str,
        mode: Mode,
        outside: Outside<'_>,
    ) -> Result<Self, ConfigFaults> {
        let library = Library::open(file_name, text)?;
        let reading = Reading::new(file_name, mode, outside);
        let root = Section::root(&reading, ROOT, &library.operator, &library.defaults);
        let config = checked(&root, &library);
        drop(root);
        reading.finish(config)
    }

    /// The connect origin as browsers write it, without a slash at the end.
    pub fn public_origin(&self) -> String {
        self.public_url.origin().ascii_serialization()
    }

    /// What is declared and what has to be registered elsewhere, as text for `strongroom check`.
    pub fn report(&self) -> String {
        report::render(self)
    }
}

fn checked(root: &Section<'_>, library: &Library) -> Option<Config> {
    let addresses = addresses(root); // first: it decides whether loopback addresses are faults
    let public_url = listen::public_url(root);
    let listen = listen::listen(root);
    let leaving_page = root.choice(
        "leaving_page",
        &[("at_once", LeavingPage::AtOnce), ("ask", LeavingPage::Ask)],
    );
    let (data_dir, seal) = storage(root);
    let operator = operator(root);
    let limits = limits(root);
    let (registry, presets) = declarations(root, library, operator.name.as_deref());
    Some(Config {
        mode: root.reading().mode,
        public_url: public_url?,
        listen: listen?,
        data_dir: data_dir?,
        seal: seal?,
        operator,
        leaving_page: leaving_page?,
        limits: limits?,
        addresses,
        registry: Arc::new(registry?),
        presets,
    })
}

/// Reads `[danger]` and `[[internal]]`.
fn addresses(root: &Section<'_>) -> AddressPolicy {
    let danger = root.table("danger", DANGER);
    if danger
        .choice("loopback", &[("only-for-tests", ())])
        .is_some()
    {
        root.reading().loopback.set(true);
    }
    AddressPolicy {
        loopback: root.reading().loopback.get(),
        internal: network::internal_hosts(root),
    }
}

/// Reads `[data]` and `[seal]`. Whoever copies the data must not copy the key along with it.
fn storage(root: &Section<'_>) -> (Option<PathBuf>, Option<Seal>) {
    let path = |section: &Section<'_>, key: &str| {
        let text = section.text(key)?;
        if text.is_empty() || text.contains('\0') {
            section.fault(key, "is not a path");
            return None;
        }
        Some(section.reading().resolve(text))
    };
    let data = root.table("data", DATA);
    let data_dir = path(&data, "dir");
    let section = root.table("seal", SEAL);
    let by_passphrase = section.own("passphrase");
    let passphrase = outside::passphrase(&section, "passphrase");
    // The key file's usual place stands for whoever names no seal; beside a passphrase there is one only if it is named.
    let has_key_file = section.own("key_file") || !by_passphrase;
    let key_file = has_key_file.then(|| path(&section, "key_file")).flatten();
    let files = root.reading().outside.files;
    if let Some(path) = &key_file
        && (path.file_name().is_none() || files.found(path) == Some(Found::Folder))
    {
        section.fault("key_file", "is the path of a folder, not of a file");
    }
    if let Some(dir) = &data_dir
        && files.found(dir).is_some_and(|found| found != Found::Folder)
    {
        data.fault("dir", "is not a folder");
    }
    if let (Some(dir), Some(key_file)) = (&data_dir, &key_file)
        && files.real(key_file).starts_with(files.real(dir))
    {
        section.fault(
            "key_file",
            "lies in the data folder, so every backup of the data would carry the key to it",
        );
    }
    let whole = key_file.is_some() == has_key_file && passphrase.is_some() == by_passphrase;
    let seal = Seal {
        key_file,
        passphrase,
    };
    (data_dir, whole.then_some(seal))
}

fn operator(root: &Section<'_>) -> Operator {
    let section = root.table("operator", OPERATOR);
    let name = section
        .text("name")
        .and_then(|text| words::words(&section, "name", text, 64));
    let address = |key: &'static str| {
        let text = section.text(key)?;
        let url = Url::parse(text)
            .ok()
            .filter(|url| reaches_somebody(url) && text.len() <= 512);
        if url.is_none() {
            section.fault(key, "is neither an https nor a mailto address");
        }
        url
    };
    Operator {
        name,
        support_url: address("support_url"),
        privacy_url: address("privacy_url"),
    }
}

fn reaches_somebody(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "mailto" => {
            let mailbox = url.path().split_once('@');
            mailbox.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        }
        _ => false,
    }
}

fn limits(root: &Section<'_>) -> Option<Limits> {
    let section = root.table("limits", LIMITS);
    let connect_connections = section.integer("connect_connections", 1..=1_000_000);
    let connect_share = section.integer("connect_connections_per_address", 1..=1_000_000);
    let api_connections = section.integer("api_connections", 1..=1_000_000);
    let api_share = section.integer("api_connections_per_address", 1..=1_000_000);
    let waits_per_server = section.integer("waits_per_server", 1..=1_000_000);
    if connect_connections
        .zip(connect_share)
        .is_some_and(|(all, one)| one > all)
    {
        section.fault_with(
            "connect_connections_per_address",
            "is more than `connect_connections` allows altogether",
            "Lower it, or raise `connect_connections`.",
        );
    }
    Some(Limits {
        connect_connections: connect_connections?,
        connect_connections_per_address: connect_share?,
        api_connections: api_connections?,
        api_connections_per_address: api_share?,
        waits_per_server: waits_per_server?,
    })
}

/// Reads every declaration and checks them against each other.
fn declarations(
    root: &Section<'_>,
    library: &Library,
    operator: Option<&str>,
) -> (Option<Registry>, Vec<PresetNote>) {
    let mut parts = Declarations::default();
    let mut declared = Declared::default();
    let mut presets = Vec::new();
    parts.tenants = issuers::tenants(root, operator);
    let tenants = root.tables("tenant", TENANT, "slug");
    if tenants.is_empty() {
        declared.add("tenant", Some("default"));
    }
    for tenant in tenants {
        declared.add("tenant", tenant.text("slug"));
    }
    for section in root.tables("issuer", ISSUER, "slug") {
        declared.add("issuer", section.text("slug"));
        parts.issuers.extend(issuers::issuer(&section));
    }
    for section in root.tables("server", SERVER, "slug") {
        parts.servers.extend(issuers::server(&section));
    }
    for section in root.tables("provider", PROVIDER, "slug") {
        declared.add("provider", section.text("slug"));
        let section = providers::on_preset(section, library);
        if let Some((provider, note)) = section.as_ref().and_then(providers::provider) {
            parts.providers.push(provider);
            presets.extend(note);
        }
    }
    (
        crossref::registry(root.reading(), parts, &declared),
        presets,
    )
}
