//! What single values must look like: names that people read, slugs, addresses, scopes.

use domain::text::is_misleading;
use domain::{IssuerUrl, ScopeSet};
use pages::Language;
use url::{Host, Url};

use super::network::is_host_name;
use super::section::Section;

/// Longest name of a tenant, server, provider or operator, in characters.
const LONGEST_NAME: usize = 64;

/// Longest address, in bytes.
const LONGEST_URL: usize = 2048;

/// The slug of a declaration.
pub(super) fn slug<T>(
    section: &Section<'_>,
    key: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let slug = parse(section.required(key)?);
    if slug.is_none() {
        section.fault(key, "not a slug of 1 to 32 characters from a-z, 0-9 and -");
    }
    slug
}

/// A name that people read.
pub(super) fn name(section: &Section<'_>, key: &str) -> Option<Box<str>> {
    words(section, key, section.required(key)?, LONGEST_NAME)
}

/// Text that is shown to people, checked so that it cannot pretend to be something else on the page.
pub(super) fn words(section: &Section<'_>, key: &str, text: &str, most: usize) -> Option<Box<str>> {
    let fault = if text.is_empty() || text.trim() != text {
        "is empty or has space around it".to_owned()
    } else if text.chars().count() > most {
        format!("is longer than {most} characters")
    } else if text.chars().any(is_misleading) {
        "holds a control character or one that hides or reorders text".to_owned()
    } else {
        return Some(text.into());
    };
    section.fault(key, &fault);
    None
}

/// The same text in the languages of the pages beside English, by their tags.
pub(super) fn words_in(
    section: &Section<'_>,
    key: &str,
    most: usize,
) -> Option<Vec<(Box<str>, Box<str>)>> {
    if section.depth(key).is_none() {
        return Some(Vec::new());
    }
    let pairs = section.pairs(key)?;
    let of_ours = |tag: &str| Language::ALL.iter().any(|ours| ours.tag() == tag);
    let read = |(tag, text): (&str, &str)| {
        if tag == Language::English.tag() || !of_ours(tag) {
            section.fault(
                key,
                "names a language that the pages do not have beside English",
            );
            return None;
        }
        Some((tag.into(), words(section, key, text, most)?))
    };
    pairs.into_iter().map(read).collect()
}

/// The last part of `host` that people recognise.
pub(super) fn site(section: &Section<'_>, host: Option<&str>) -> Option<Box<str>> {
    let site = section.text("site")?;
    let host = host?;
    let fits = host
        .strip_suffix(site)
        .is_some_and(|front| front.is_empty() || front.ends_with('.'));
    if fits && !site.is_empty() {
        return Some(site.into());
    }
    section.fault("site", &format!("is not the end of the host {host}"));
    None
}

/// Why an address may not be called or linked to; `None` when it may.
fn refusal(section: &Section<'_>, url: &Url) -> Option<&'static str> {
    let loopback = is_loopback(url);
    let tests = section.reading().loopback.get();
    match url.scheme() {
        _ if url.as_str().len() > LONGEST_URL => Some("is longer than 2048 bytes"),
        _ if !url.username().is_empty() || url.password().is_some() => {
            Some("an address carries no user name or password")
        }
        _ if url.fragment().is_some() => Some("an address here has no fragment"),
        "https" | "http" if loopback && !tests => {
            Some("a loopback address, which `serve` never calls")
        }
        "https" => None,
        "http" if loopback => None,
        "http" => Some("plain http; tokens travel over https only"),
        _ => Some("not an https address"),
    }
}

/// An address that we call or send browsers to, if there is one.
pub(super) fn web_url(section: &Section<'_>, key: &str) -> Option<Url> {
    let Ok(url) = Url::parse(section.text(key)?) else {
        section.fault(key, "not an absolute URL");
        return None;
    };
    match refusal(section, &url) {
        Some(wrong) => {
            section.fault(key, wrong);
            None
        }
        None => Some(url),
    }
}

/// An issuer's identifier, if there is one. Its text stays as it is.
pub(super) fn issuer_url(section: &Section<'_>, key: &str) -> Option<(IssuerUrl, Url)> {
    let text = section.text(key)?;
    let fault = match (IssuerUrl::parse(text), Url::parse(text)) {
        (Ok(issuer), Ok(url)) => match refusal(section, &url) {
            None => return Some((issuer, url)),
            Some(wrong) => wrong,
        },
        (Err(wrong), _) => wrong,
        (_, Err(_)) => "not an absolute URL",
    };
    section.fault(key, fault);
    None
}

/// A set of scopes.
pub(super) fn scopes(section: &Section<'_>, key: &str) -> Option<ScopeSet> {
    match ScopeSet::new(section.texts(key)?) {
        Ok(scopes) => Some(scopes),
        Err(wrong) => {
            section.fault(key, &wrong.to_string());
            None
        }
    }
}

/// A list of hosts, each with a port if it is not the usual one.
pub(super) fn hosts<'a>(section: &Section<'a>, key: &str) -> Option<Vec<&'a str>> {
    let hosts = section.texts(key)?;
    for (index, host) in hosts.iter().enumerate() {
        let number = index + 1;
        if !is_host_and_port(host) {
            section.fault(
                key,
                &format!("entry {number} is not a host name in lower case"),
            );
        } else if host.ends_with(":443") {
            // Addresses are compared as a URL has them, and there the usual port is never written.
            section.fault(
                key,
                &format!("entry {number} names port 443, which is the usual one; leave `:443` out"),
            );
        }
    }
    Some(hosts)
}

/// A host name or an IPv4 address, with a port if it is not the usual one, written as addresses have it.
fn is_host_and_port(text: &str) -> bool {
    match text.split_once(':') {
        Some((host, port)) => {
            is_host_name(host)
                && port
                    .parse::<u16>()
                    .is_ok_and(|number| number != 0 && number.to_string() == port)
        }
        None => is_host_name(text),
    }
}

/// Whether the host of the address is this machine: a loopback IP, `localhost` or a name below it (RFC 6761 section 6.3).
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => v6.to_canonical().is_loopback(),
        None => false,
    }
}
