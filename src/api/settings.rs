//! What the composition root tells the listeners.

use std::path::Path;

use std::collections::BTreeMap;

use domain::{IssuerSlug, Registry};

/// Settings of the api listener.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    public: Box<str>,
    subject_claims: BTreeMap<IssuerSlug, Vec<Box<str>>>,
}

impl ApiSettings {
    /// `public` is the installation's public origin (`https://connect.vault.example`), under which problem types are named. Of the
    /// registry only the names of each issuer's subject claims are kept: an asserted subject names the same ones.
    pub fn new(public: &str, registry: &Registry) -> Self {
        let claims = |issuer: &domain::Issuer| (issuer.slug.clone(), issuer.subject_claims.clone());
        Self {
            public: public.trim_end_matches('/').into(),
            subject_claims: registry.issuers().map(|issuer| claims(issuer)).collect(),
        }
    }

    pub(crate) fn public(&self) -> &str {
        &self.public
    }

    pub(crate) fn subject_claims(&self, issuer: &IssuerSlug) -> &[Box<str>] {
        self.subject_claims.get(issuer).map_or(&[], Vec::as_slice)
    }
}

/// How the admin listener knows that an operator is calling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminAuth {
    /// A Unix socket: whoever bound it lets only its own user connect and checks the peer's uid.
    PeerChecked,
    /// Loopback TCP: every call carries an admin key (`sra_…`).
    Key,
}

/// Settings of the admin listener.
#[derive(Debug, Clone)]
pub struct AdminSettings {
    public: Box<str>,
    auth: AdminAuth,
    data_dir: Option<Box<str>>,
}

impl AdminSettings {
    /// `public` as in [`ApiSettings::new`]: both listeners share their problem types.
    pub fn new(public: &str, auth: AdminAuth) -> Self {
        Self {
            public: public.trim_end_matches('/').into(),
            auth,
            data_dir: None,
        }
    }

    /// Tells operators where this vault's data is, so that a command meant for another vault notices.
    #[must_use]
    pub fn data_at(mut self, folder: &Path) -> Self {
        // As seen from here: a command runs in another folder.
        let whole = std::fs::canonicalize(folder).ok();
        self.data_dir = whole.map(|folder| folder.to_string_lossy().into());
        self
    }

    pub(crate) fn data_dir(&self) -> Option<&str> {
        self.data_dir.as_deref()
    }

    pub(crate) fn public(&self) -> &str {
        &self.public
    }

    pub(crate) fn auth(&self) -> AdminAuth {
        self.auth
    }
}
