//! Names to addresses, judged before anybody connects. The connector knows no other resolver, so a name that is bound to
//! another address between check and use is judged again (DNS rebinding).

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{AddressPolicy, Forbidden};

/// The answer of a [`NameResolver`], on its way.
pub type Resolution<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Turns a name into addresses.
pub trait NameResolver: Send + Sync + 'static {
    /// All addresses of `host`.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolution<'a>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolution<'a> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// The only resolver the outbound client has.
pub(crate) struct VettingResolver {
    pub(crate) policy: Arc<AddressPolicy>,
    pub(crate) names: Arc<dyn NameResolver>,
}

impl Resolve for VettingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, names) = (Arc::clone(&self.policy), Arc::clone(&self.names));
        Box::pin(async move {
            let vetted = vet(&policy, &*names, name.as_str()).await?;
            let addresses = vetted
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// All addresses of `host`; one forbidden address fails the whole name, so that no fallback can reach it.
async fn vet(
    policy: &AddressPolicy,
    names: &dyn NameResolver,
    host: &str,
) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
    if let Some(addresses) = policy.loopback_name(host) {
        return Ok(addresses);
    }
    let addresses = names.resolve(host).await?;
    if addresses.is_empty() {
        return Err(Box::new(Forbidden));
    }
    for address in &addresses {
        policy.admit_address(host, *address)?;
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static [&'static str]);

    impl NameResolver for Fixed {
        fn resolve<'a>(&'a self, _: &'a str) -> Resolution<'a> {
            Box::pin(async { Ok(self.0.iter().map(|text| text.parse().unwrap()).collect()) })
        }
    }

    #[tokio::test]
    async fn one_bad_record_fails_the_whole_name() {
        let policy = AddressPolicy::default();
        let cases: [(&'static [&'static str], bool); 5] = [
            (&["8.8.8.8", "2606:4700::1"], true),
            (&["8.8.8.8", "::1"], false),
            (&["8.8.8.8", "9.9.9.9", "10.0.0.1"], false),
            (&["127.0.0.1"], false),
            (&[], false),
        ];
        for (records, good) in cases {
            let vetted = vet(&policy, &Fixed(records), "as.test").await;
            assert_eq!(vetted.is_ok(), good, "{records:?}");
        }
    }

    #[tokio::test]
    async fn localhost_never_asks_a_name_server() {
        let dev = AddressPolicy {
            loopback: true,
            ..AddressPolicy::default()
        };
        let vetted = vet(&dev, &Fixed(&["8.8.8.8"]), "evil.vault.localhost")
            .await
            .unwrap();
        assert!(vetted.iter().all(IpAddr::is_loopback));
        let strict = AddressPolicy::default();
        assert!(
            vet(&strict, &Fixed(&["127.0.0.1"]), "localhost")
                .await
                .is_err()
        );
    }
}
