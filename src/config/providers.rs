//! `[[provider]]`: the operator's own keys over a preset, or everything by hand.

use domain::{
    AUTHORIZE_OWN, AccountSource, Means, Oauth, Pkce, Provider, ProviderSlug, ScopeEffect,
    ScopeInfo, ScopeSet,
};
use url::Url;

use super::clients::client;
use super::endpoints;
use super::issuers::tenant_of;
use super::key_forms::{self, Kind};
use super::keys::{ACCOUNT, SCOPE};
use super::near::nearest;
use super::section::Section;
use super::source::{Library, PRESETS};
use super::words::{hosts, name, scopes, site, slug, web_url, words, words_in};

/// How far the facts of a preset were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// Against the provider's running service.
    Live,
    /// Against the provider's published documents.
    Documents,
    /// By nobody yet.
    Unverified,
}

impl Verified {
    /// One word for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "checked live",
            Self::Documents => "checked against documents",
            Self::Unverified => "unverified",
        }
    }
}

/// Which preset a provider stands on, and how far to trust it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetNote {
    /// The provider.
    pub provider: ProviderSlug,
    /// Name of the preset.
    pub preset: Box<str>,
    /// Its version.
    pub version: u32,
    /// Date of its facts.
    pub as_of: Box<str>,
    /// How far they were checked.
    pub verified: Verified,
}

/// Puts the preset that a provider names under it; `None` when there is no such preset.
pub(super) fn on_preset<'a>(section: Section<'a>, library: &'a Library) -> Option<Section<'a>> {
    if section.depth("preset").is_none() {
        return Some(section);
    }
    let preset = section.text("preset")?;
    if let Some(source) = library.preset(preset) {
        return Some(section.with_preset(source));
    }
    match nearest(preset, PRESETS.iter().map(|(known, _)| *known)) {
        Some(near) => section.fault_with(
            "preset",
            "there is no preset of that name",
            &format!("Write `preset = \"{near}\"`."),
        ),
        None => section.fault("preset", "there is no preset of that name"),
    }
    None
}

/// Reads one `[[provider]]`, its preset below it.
pub(super) fn provider(section: &Section<'_>) -> Option<(Provider, Option<PresetNote>)> {
    let slug = slug(section, "slug", |text| ProviderSlug::parse(text).ok());
    let tenant = tenant_of(section);
    let name = name(section, "name");
    let kind = key_forms::kind(section);
    if let Some(kind) = kind {
        key_forms::only_of(section, kind);
    }
    let means = kind.and_then(|kind| means(section, kind));
    let scopes_of = scope_list(section);
    let extra_scopes = scopes(section, "extra_scopes");
    let account = account(section, kind);
    let allowed_hosts = allowed_hosts(section);
    let header_name = header_name(section);
    let header_prefix = header_prefix(section);
    let host = match &account {
        Some(AccountSource::Endpoint { url, .. }) if kind == Some(Kind::ApiKey) => url.host_str(),
        _ => means.as_ref().and_then(|(_, host)| host.as_deref()),
    };
    let site = if endpoints::moved(section) && !section.own("site") {
        None
    } else {
        site(section, host)
    };
    let note = note(section, slug.as_ref());
    let provider = Provider {
        slug: slug?,
        tenant: tenant?,
        name: name?,
        means: means?.0,
        scopes: scopes_of?,
        extra_scopes: extra_scopes?,
        account: account?,
        allowed_hosts: allowed_hosts?,
        header_name: header_name?,
        header_prefix: header_prefix?,
        site,
    };
    Some((provider, note))
}

/// How a person connects it, and the host that a browser is sent to where it is known already.
fn means(section: &Section<'_>, kind: Kind) -> Option<(Means, Option<String>)> {
    if kind == Kind::ApiKey {
        return Some((Means::Key(key_forms::key_form(section)?), None));
    }
    let client = client(section);
    let endpoints = endpoints::endpoints(section);
    let endpoint_hosts = endpoints::endpoint_hosts(section);
    let pkce = section.choice("pkce", &[("S256", Pkce::S256), ("off", Pkce::Off)]);
    let scope_joiner = scope_joiner(section);
    let authorize_extra = extra(section, "authorize_extra", &AUTHORIZE_OWN);
    let token_extra = extra(section, "token_extra", &TOKEN_OWN);
    let default_life_s = section.integer("default_life_s", 60..=31_536_000);
    let (endpoints, host) = endpoints?;
    let oauth = Oauth {
        client: client?,
        endpoints,
        endpoint_hosts: endpoint_hosts?,
        pkce: pkce?,
        scope_joiner: scope_joiner?,
        authorize_extra: authorize_extra?,
        token_extra: token_extra?,
        default_life_s,
    };
    Some((Means::Oauth(oauth), host))
}

/// Facts about the preset; a provider without one is all the operator's own.
fn note(section: &Section<'_>, provider: Option<&ProviderSlug>) -> Option<PresetNote> {
    let version = section.integer("version", 1..=u32::MAX);
    let as_of = section.text("as_of").filter(|date| {
        let shape = matches!(date.len(), 7 | 10)
            && date.bytes().enumerate().all(|(place, b)| match place {
                4 | 7 => b == b'-',
                _ => b.is_ascii_digit(),
            });
        if !shape {
            section.fault("as_of", "is not a date");
        }
        shape
    });
    let verified = section.choice(
        "verified",
        &[
            ("live", Verified::Live),
            ("documents", Verified::Documents),
            ("unverified", Verified::Unverified),
        ],
    );
    Some(PresetNote {
        provider: provider?.clone(),
        preset: section.text("preset")?.into(),
        version: version?,
        as_of: as_of?.into(),
        verified: verified?,
    })
}

fn scope_joiner(section: &Section<'_>) -> Option<Box<str>> {
    let joiner = section.text("scope_joiner")?;
    if matches!(joiner, " " | "," | "+" | ";" | "|") {
        return Some(joiner.into());
    }
    section.fault(
        "scope_joiner",
        "is not one of space, comma, plus, semicolon and bar",
    );
    None
}

/// The scopes of the preset and the operator; the operator's words for one scope replace the preset's.
fn scope_list(section: &Section<'_>) -> Option<Vec<ScopeInfo>> {
    let sections = section.tables("scope", SCOPE, "name");
    let read: Vec<_> = sections.iter().map(scope).collect();
    let mut list: Vec<ScopeInfo> = Vec::new();
    for scope in read {
        let scope = scope?;
        match list.iter_mut().find(|known| known.name == scope.name) {
            Some(known) => *known = scope,
            None => list.push(scope),
        }
    }
    Some(list)
}

fn scope(section: &Section<'_>) -> Option<ScopeInfo> {
    let name = section.required("name").filter(|name| {
        let good = ScopeSet::new([*name]).is_ok();
        if !good {
            section.fault("name", "is not a scope");
        }
        good
    });
    section.required("effect");
    let effect = section.choice(
        "effect",
        &[("see", ScopeEffect::See), ("change", ScopeEffect::Change)],
    );
    let given = section.text("words");
    let words = given.and_then(|text| words(section, "words", text, LONGEST_WORDS));
    let words_in = words_in(section, "words_in", LONGEST_WORDS);
    Some(ScopeInfo {
        name: name?.into(),
        effect: effect?,
        words,
        words_in: words_in?,
    })
}

/// Longest words for a scope, characters.
const LONGEST_WORDS: usize = 160;

/// Parameters of the token request that are ours to set (RFC 6749, 7521, 7636).
const TOKEN_OWN: [&str; 10] = [
    "grant_type",
    "code",
    "redirect_uri",
    "client_id",
    "client_secret",
    "client_assertion",
    "client_assertion_type",
    "code_verifier",
    "refresh_token",
    "scope",
];

fn extra(section: &Section<'_>, key: &str, own: &[&str]) -> Option<Vec<(Box<str>, Box<str>)>> {
    let pairs = section.pairs(key)?;
    for (name, value) in &pairs {
        if let Some(own) = own.iter().find(|own| own.eq_ignore_ascii_case(name)) {
            section.fault_with(
                key,
                &format!("`{own}` is a parameter of the protocol, which strongroom sets itself"),
                "Remove it.",
            );
        } else if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()) || name.len() > 64
        {
            section.fault(
                key,
                "holds a name that is not plain ASCII of 1 to 64 characters",
            );
        } else if value.len() > 512 || value.chars().any(char::is_control) {
            section.fault(
                key,
                "holds a value with control characters or more than 512 bytes",
            );
        }
    }
    let owned = pairs
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()));
    Some(owned.collect())
}

#[derive(Clone, Copy)]
enum From {
    Endpoint,
    TokenAnswer,
    Unknown,
}

fn account(section: &Section<'_>, kind: Option<Kind>) -> Option<AccountSource> {
    let account = section.table("account", ACCOUNT);
    let from = account.choice(
        "from",
        &[
            ("endpoint", From::Endpoint),
            ("token_answer", From::TokenAnswer),
            ("unknown", From::Unknown),
        ],
    )?;
    let pointer = |key: &str, text: Option<&str>| {
        let text = text?;
        if !text.starts_with('/') || text.len() > 128 || text.chars().any(char::is_control) {
            account.fault(key, "is not a JSON pointer");
        }
        Some(Box::from(text))
    };
    if account.own("url") && !matches!(from, From::Endpoint) {
        account.fault("url", "is of no use unless `from = \"endpoint\"`");
    }
    if kind == Some(Kind::ApiKey) && matches!(from, From::TokenAnswer) {
        account.fault_with(
            "from",
            "there is no token answer where people type in a key",
            "Write `from = \"endpoint\"` and its address, by which a key is tried, or `from = \"unknown\"`.",
        );
    }
    if matches!(from, From::Unknown) {
        return Some(AccountSource::Unknown);
    }
    let id = pointer("id", account.required("id"));
    let name = pointer("name", account.text("name"));
    if matches!(from, From::TokenAnswer) {
        return Some(AccountSource::TokenAnswer { id: id?, name });
    }
    account.required("url");
    let url: Option<Url> = web_url(&account, "url");
    if endpoints::moved(section) && !account.own("url") {
        account.fault_with(
            "url",
            "the endpoints are yours, but this address is still the preset's",
            "Write the same address at your provider, or `from = \"unknown\"`.",
        );
    }
    Some(AccountSource::Endpoint {
        url: url?,
        id: id?,
        name,
    })
}

fn allowed_hosts(section: &Section<'_>) -> Option<Vec<Box<str>>> {
    if section.depth("allowed_hosts").is_none() {
        section.fault("allowed_hosts", "is missing");
    }
    let hosts = hosts(section, "allowed_hosts")?;
    if endpoints::moved(section) && !section.own("allowed_hosts") {
        section.fault(
            "allowed_hosts",
            "the endpoints are yours, but these hosts are still the preset's",
        );
    }
    if hosts.is_empty() {
        section.fault("allowed_hosts", "is empty");
    }
    Some(hosts.into_iter().map(Into::into).collect())
}

/// A field name of RFC 9110 section 5.1 that can carry a credential.
fn header_name(section: &Section<'_>) -> Option<Box<str>> {
    let name = section.text("header_name")?;
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let reserved = [
        "cookie",
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
    ];
    if name.is_empty() || name.len() > 64 || !name.bytes().all(token) {
        section.fault("header_name", "is not the name of a header");
    } else if reserved
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(name))
    {
        section.fault("header_name", "is a header that carries no credential");
    }
    Some(name.into())
}

fn header_prefix(section: &Section<'_>) -> Option<Box<str>> {
    let prefix = section.text("header_prefix")?;
    if prefix.len() > 32 || !prefix.bytes().all(|b| matches!(b, 0x20..=0x7e)) {
        section.fault(
            "header_prefix",
            "is longer than 32 characters or not plain ASCII",
        );
    }
    Some(prefix.into())
}
