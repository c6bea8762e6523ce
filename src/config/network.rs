//! Address ranges and what the outbound client may reach besides the public internet.

use std::fmt;
use std::net::IpAddr;

use super::keys::INTERNAL;
use super::section::Section;

/// A range of addresses in CIDR form, with no bit set behind the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    base: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Reads `10.0.3.0/24` or `fd00:7::/64`.
    ///
    /// # Errors
    /// What is wrong, without a full stop.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (base, prefix) = text
            .split_once('/')
            .ok_or("a range is an address, a slash and a prefix length")?;
        let base: IpAddr = base.parse().map_err(|_| "not an IP address")?;
        let prefix: u8 = prefix.parse().map_err(|_| "not a prefix length")?;
        let width = if base.is_ipv4() { 32 } else { 128 };
        if prefix > width {
            return Err("not a prefix length");
        }
        if matches!(base, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
            return Err("an IPv4 range is written in its IPv4 form");
        }
        let range = Self { base, prefix };
        if range.masked(base) != bits(base) {
            return Err("bits are set behind the prefix");
        }
        Ok(range)
    }

    /// Whether the address lies in the range. An IPv4-mapped IPv6 address counts as its IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.base.is_ipv4() && self.masked(address) == bits(self.base)
    }

    /// Whether the two ranges share an address.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.base) || other.contains(self.base)
    }

    /// The bits of the address that the prefix covers.
    fn masked(&self, address: IpAddr) -> u128 {
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let behind = width - u32::from(self.prefix);
        let kept = bits(address).checked_shr(behind).unwrap_or(0);
        kept.checked_shl(behind).unwrap_or(0)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// A host inside the operator's network that may be called, and where it may resolve to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalHost {
    /// The exact host name, in lower case.
    pub host: Box<str>,
    /// The only addresses it may have.
    pub ranges: Vec<Cidr>,
}

/// What the outbound client may reach besides public addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Loopback addresses, for tests and `dev` only.
    pub loopback: bool,
    /// Single hosts inside the operator's network.
    pub internal: Vec<InternalHost>,
}

/// Reads every `[[internal]]`.
pub(super) fn internal_hosts(root: &Section<'_>) -> Vec<InternalHost> {
    root.tables("internal", INTERNAL, "host")
        .iter()
        .filter_map(internal_host)
        .collect()
}

fn internal_host(section: &Section<'_>) -> Option<InternalHost> {
    let host = section.required("host").filter(|host| {
        let good = is_host_name(host);
        if !good {
            section.fault("host", "not a host name in lower case");
        }
        good
    });
    let ranges = ranges(section, "ranges", 8);
    if section.depth("ranges").is_none() {
        section.fault("ranges", "is missing");
    } else if ranges.as_ref().is_some_and(Vec::is_empty) {
        section.fault("ranges", "is empty");
    }
    let never = [
        "127.0.0.0/8",
        "169.254.0.0/16",
        "0.0.0.0/8",
        "::/127",
        "fe80::/10",
    ];
    let never = never.iter().filter_map(|range| Cidr::parse(range).ok());
    for range in ranges.iter().flatten() {
        if never.clone().any(|never| never.overlaps(range)) {
            section.fault(
                "ranges",
                &format!(
                    "{range} covers loopback or link-local addresses, which are never internal"
                ),
            );
        }
    }
    Some(InternalHost {
        host: host?.into(),
        ranges: ranges?,
    })
}

/// Reads a list of ranges none of which is wider than `widest` bits of an IPv4 prefix (twice that in IPv6).
pub(super) fn ranges(section: &Section<'_>, key: &'static str, widest: u8) -> Option<Vec<Cidr>> {
    let mut ranges = Some(Vec::new());
    for (index, text) in section.texts(key)?.into_iter().enumerate() {
        let number = index + 1;
        match Cidr::parse(text) {
            Ok(range)
                if range.prefix
                    < if range.base.is_ipv4() {
                        widest
                    } else {
                        widest * 2
                    } =>
            {
                section.fault(key, &format!("{range} is far too wide"));
                ranges = None;
            }
            Ok(range) => {
                if let Some(ranges) = &mut ranges {
                    ranges.push(range);
                }
            }
            Err(wrong) => {
                section.fault(key, &format!("entry {number}: {wrong}"));
                ranges = None;
            }
        }
    }
    ranges
}

/// Whether the text is a host name in lower case: labels of letters, digits and hyphens.
pub(super) fn is_host_name(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_knows_its_addresses() {
        let range = Cidr::parse("10.4.0.0/15").unwrap();
        for (address, inside) in [
            ("10.4.0.0", true),
            ("10.5.255.255", true),
            ("10.6.0.0", false),
            ("::ffff:10.4.7.7", true),
            ("::a04:0", false),
        ] {
            assert_eq!(
                range.contains(address.parse().unwrap()),
                inside,
                "{address}"
            );
        }
        assert!(
            Cidr::parse("0.0.0.0/0")
                .unwrap()
                .contains("1.2.3.4".parse().unwrap())
        );
        assert!(
            Cidr::parse("::/0")
                .unwrap()
                .contains("fe80::1".parse().unwrap())
        );
        assert!(
            Cidr::parse("::1/128")
                .unwrap()
                .contains("::1".parse().unwrap())
        );
    }

    #[test]
    fn a_range_has_one_text() {
        for wrong in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.1/24",
            "::ffff:10.0.0.0/104",
            "fd00::1/64",
            "x/8",
        ] {
            assert!(Cidr::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Cidr::parse("fd00:7::/64").unwrap().to_string(),
            "fd00:7::/64"
        );
    }
}
