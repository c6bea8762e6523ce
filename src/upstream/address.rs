//! Which addresses we may connect to: an allow-list of the public internet plus what the operator declared, so that no
//! configuration and no name server can turn us against the machines around us.
//!
//! Ranges are those of the IANA special-purpose registries (RFC 6890). IPv6 is allowed by its one global unicast block, so
//! that a range invented later is refused until somebody has looked at it; embedded IPv4 addresses are decoded and judged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::{Host, Url};

/// What besides the public internet may be spoken to.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    /// Loopback addresses, also over plain http. For development and tests only.
    pub loopback: bool,
    /// Declared hosts inside the operator's own networks; https like everybody else.
    pub internal: Vec<InternalHost>,
}

/// One host in the operator's own network.
#[derive(Debug, Clone)]
pub struct InternalHost {
    /// Its exact name, or its address as text.
    pub host: Box<str>,
    /// Where its addresses lie.
    pub network: Network,
}

/// A CIDR block such as `10.20.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The text is not a CIDR block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a network: write an address, a slash and a prefix length, for example 10.20.0.0/16")]
pub struct BadNetwork;

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let (address, prefix) = text.split_once('/').ok_or(BadNetwork)?;
        let address: IpAddr = address.parse().map_err(|_| BadNetwork)?;
        let prefix: u8 = prefix.parse().map_err(|_| BadNetwork)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix == 0 || prefix > longest {
            return Err(BadNetwork);
        }
        Ok(Self { address, prefix })
    }
}

impl Network {
    /// Whether `address` lies in this block.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differs = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                u32::from(own).checked_shr(32 - u32::from(self.prefix))
                    != u32::from(other).checked_shr(32 - u32::from(self.prefix))
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                u128::from(own).checked_shr(128 - u32::from(self.prefix))
                    != u128::from(other).checked_shr(128 - u32::from(self.prefix))
            }
            _ => true,
        };
        !differs
    }
}

/// An address, host or scheme that we do not speak to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this address may not be spoken to")]
pub(crate) struct Forbidden;

impl AddressPolicy {
    /// Whether `url` may be spoken to as far as that shows without resolving its name; for checking a configuration. Every
    /// connection is judged again.
    pub fn admits(&self, url: &Url) -> bool {
        self.admit_url(url).is_ok()
    }

    /// Judges an address before any name is resolved: scheme, user info, and a host that is an address itself.
    pub(crate) fn admit_url(&self, url: &Url) -> Result<(), Forbidden> {
        let host = url.host().ok_or(Forbidden)?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(Forbidden);
        }
        let loopback = match &host {
            Host::Domain(name) => is_loopback_name(name),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback && self.loopback => {}
            _ => return Err(Forbidden),
        }
        match host {
            Host::Domain(_) => Ok(()), // its addresses are judged when they are known
            Host::Ipv4(address) => self.admit_address(&address.to_string(), address.into()),
            Host::Ipv6(address) => self.admit_address(&address.to_string(), address.into()),
        }
    }

    /// Judges one address of `host`.
    pub(crate) fn admit_address(&self, host: &str, address: IpAddr) -> Result<(), Forbidden> {
        let address = address.to_canonical();
        let declared = self
            .internal
            .iter()
            .any(|internal| *internal.host == *host && internal.network.contains(address));
        let loopback = self.loopback && address.is_loopback();
        if declared || loopback || is_public(address) {
            Ok(())
        } else {
            Err(Forbidden)
        }
    }

    /// The addresses of a name that is loopback by definition (RFC 6761 section 6.3), if we may speak to it.
    pub(crate) fn loopback_name(&self, host: &str) -> Option<Vec<IpAddr>> {
        (self.loopback && is_loopback_name(host))
            .then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
    }
}

fn is_loopback_name(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Whether an address belongs to the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// IPv4 blocks that are not the public internet: first address and prefix length.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),           // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // shared address space
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local, cloud metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarking
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, broadcast
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let differing = |first: Ipv4Addr| u32::from(first) ^ u32::from(address);
    !SPECIAL_V4
        .iter()
        .any(|(first, prefix)| differing(*first).leading_zeros() >= *prefix)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, _, _, mark, isatap, high, low] = address.segments();
    // Only 2000::/3 is global unicast. Outside lie ::/96, 64:ff9b::/96, fc00::/7, fe80::/10, fec0::/10 and ff00::/8.
    let special = match first {
        0x2001 => second < 0x0200 || second == 0x0db8, // protocol assignments with Teredo and ORCHID; documentation
        0x2002 => true,                                // 6to4
        0x3fff => second < 0x1000,                     // documentation
        0x2000..=0x3fff => false,
        _ => true,
    };
    // ISATAP (RFC 5214 section 6.1) carries an IPv4 address in the interface identifier.
    let isatap = matches!(mark, 0 | 0x0200) && isatap == 0x5efe;
    let embedded = Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    !special && (!isatap || is_public_v4(embedded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &AddressPolicy, host: &str) -> bool {
        let url = Url::parse(&format!("https://{host}/")).unwrap();
        policy.admit_url(&url).is_err()
    }

    #[test]
    fn special_ipv4_is_refused_however_it_is_written() {
        let policy = AddressPolicy::default();
        for host in [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            // Other spellings of the same.
            "0177.1",
            "2130706433",
            "0x7f000001",
            "127.1",
            "0300.0250.0.1",
        ] {
            assert!(refused(&policy, host), "{host}");
        }
        for host in [
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.254",
        ] {
            assert!(!refused(&policy, host), "{host}");
        }
    }

    #[test]
    fn special_ipv6_is_refused_and_embedded_ipv4_is_decoded() {
        let policy = AddressPolicy::default();
        for host in [
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:2::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
            "2a00:1450::5efe:7f00:1",
            "2a00:1450::200:5efe:a00:1",
        ] {
            assert!(refused(&policy, &format!("[{host}]")), "{host}");
        }
        for host in [
            "2a00:1450:4001::1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "2a00::5efe:808:808",
        ] {
            assert!(!refused(&policy, &format!("[{host}]")), "{host}");
        }
    }

    #[test]
    fn plain_http_is_for_loopback_in_development_alone() {
        let strict = AddressPolicy::default();
        let dev = AddressPolicy {
            loopback: true,
            ..AddressPolicy::default()
        };
        let admits = |policy: &AddressPolicy, text: &str| {
            policy.admit_url(&Url::parse(text).unwrap()).is_ok()
        };
        for text in [
            "http://127.0.0.2:9/",
            "http://localhost/",
            "http://a.vault.localhost/",
            "http://[::1]/",
        ] {
            assert!(!admits(&strict, text), "{text}");
            assert!(admits(&dev, text), "{text}");
        }
        for text in [
            "http://8.8.8.8/",
            "http://as.test/",
            "ftp://127.0.0.1/",
            "http://10.0.0.1/",
            "https://10.0.0.1/",
            "http://localhost.evil.test/",
            "http://u@127.0.0.1/",
            "http://127.0.0.1/#f",
        ] {
            assert!(!admits(&dev, text), "{text}");
        }
    }

    #[test]
    fn a_declared_host_is_allowed_in_its_own_network_alone() {
        let policy = AddressPolicy {
            loopback: false,
            internal: vec![InternalHost {
                host: "git.corp".into(),
                network: "10.20.0.0/16".parse().unwrap(),
            }],
        };
        let admits = |host: &str, address: &str| {
            policy.admit_address(host, address.parse().unwrap()).is_ok()
        };
        assert!(admits("git.corp", "10.20.255.1"));
        assert!(admits("git.corp", "::ffff:10.20.0.1"));
        assert!(admits("git.corp", "8.8.8.8"));
        assert!(!admits("git.corp", "10.21.0.1"));
        assert!(!admits("git.corp", "127.0.0.1"));
        assert!(!admits("wiki.corp", "10.20.0.1"));
    }

    #[test]
    fn a_network_is_an_address_and_a_prefix() {
        for wrong in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.0/0",
            "::/129",
            "a/8",
            "10.0.0.0/-1",
        ] {
            assert_eq!(wrong.parse::<Network>(), Err(BadNetwork), "{wrong}");
        }
        let six: Network = "fd00:1::/32".parse().unwrap();
        assert!(six.contains("fd00:1:ffff::1".parse().unwrap()));
        assert!(!six.contains("fd00:2::1".parse().unwrap()));
        assert!(
            "10.0.0.1/32"
                .parse::<Network>()
                .unwrap()
                .contains("10.0.0.1".parse().unwrap())
        );
    }
}
