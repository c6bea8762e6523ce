//! The handle that the rest of the product holds: one outbound client, the snapshots of metadata and keys, and our own
//! redirect URIs. What it can do stands in `issuer.rs` and `provider.rs`.

use std::fmt;
use std::sync::Arc;

use domain::{IssuerSlug, ProviderSlug};
use url::Url;

use crate::outbound::Outbound;
use crate::snapshots::Snapshots;
use crate::subject_memory::SubjectMemory;

/// Everything that is said to issuers and providers goes through here. Cheap to clone; all clones share their memory.
#[derive(Clone)]
pub struct Upstream {
    shared: Arc<Shared>,
}

struct Shared {
    outbound: Outbound,
    public_url: Url,
    snapshots: Snapshots,
    memory: SubjectMemory,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upstream(..)")
    }
}

impl Upstream {
    /// An upstream whose redirect URIs lie under `public_url`, the origin of the connect listener.
    pub fn new(outbound: Outbound, public_url: Url) -> Self {
        Self {
            shared: Arc::new(Shared {
                snapshots: Snapshots::default(),
                memory: SubjectMemory::new(&secret::OsEntropy),
                outbound,
                public_url,
            }),
        }
    }

    /// `{public_url}/cb/{slug}`: where a provider sends people back to.
    pub fn redirect_uri(&self, provider: &ProviderSlug) -> Url {
        self.under_public_url(&format!("/cb/{provider}"))
    }

    /// `{public_url}/login/callback/{slug}`: where an issuer sends people back to.
    pub fn login_redirect_uri(&self, issuer: &IssuerSlug) -> Url {
        self.under_public_url(&format!("/login/callback/{issuer}"))
    }

    fn under_public_url(&self, path: &str) -> Url {
        let mut url = self.shared.public_url.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    }

    pub(crate) fn outbound(&self) -> &Outbound {
        &self.shared.outbound
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.shared.snapshots
    }

    pub(crate) fn memory(&self) -> &SubjectMemory {
        &self.shared.memory
    }
}
