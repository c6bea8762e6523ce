//! C1 and C3: which server is calling, and what it may ask for.

use std::sync::Arc;

use crate::switch::{self, Check};
use crate::{Allowance, Provider, ProviderSlug, Registry, ScopeSet, Server};

/// What storage and configuration say about the owner of a presented key.
#[derive(Debug, Clone, Copy)]
pub struct CallerState {
    /// The keyed hash of the whole presented key equals the stored one (compared in constant time).
    pub hash_matches: bool,
    /// The key is revoked.
    pub key_revoked: bool,
    /// The operator disabled the server.
    pub server_disabled: bool,
}

/// Proof of C1: the request came with a valid key of this server, and neither is disabled.
#[derive(Debug)]
pub struct AuthenticatedServer {
    server: Arc<Server>,
    key: Box<str>,
}

/// The caller's own credential is not valid. Nobody outside learns which part was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the caller's key is not valid")]
pub enum CallerRefused {
    /// No key, or a text that is none.
    Malformed,
    /// Well-formed, but with a public id that we never made.
    NoSuchKey,
    /// The id of one of our keys, with another secret or for somebody else.
    Unknown,
    /// The key was revoked.
    Revoked,
    /// The server is disabled.
    Disabled,
}

impl CallerRefused {
    /// The refusals that anybody can cause who knows nothing of ours.
    pub const ANYBODYS: [Self; 2] = [Self::Malformed, Self::NoSuchKey];

    /// What the audit log calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-key",
            Self::NoSuchKey => "no-such-key",
            Self::Unknown => "unknown-key",
            Self::Revoked => "revoked-key",
            Self::Disabled => "server-disabled",
        }
    }
}

impl AuthenticatedServer {
    /// C1, of the key with this public id.
    ///
    /// # Errors
    /// [`CallerRefused`], for the audit log only.
    pub fn check(
        server: &Arc<Server>,
        key: &str,
        state: CallerState,
    ) -> Result<Self, CallerRefused> {
        Self::judge(state)?;
        Ok(Self {
            server: Arc::clone(server),
            key: key.into(),
        })
    }

    /// C1 once more, later in a request that has waited: whether what is stored now still lets this caller act.
    ///
    /// # Errors
    /// [`CallerRefused`], for the audit log only.
    pub fn still(&self, state: CallerState) -> Result<(), CallerRefused> {
        Self::judge(state)
    }

    fn judge(state: CallerState) -> Result<(), CallerRefused> {
        let refused = if !state.hash_matches {
            Some(CallerRefused::Unknown)
        } else if state.key_revoked {
            Some(CallerRefused::Revoked)
        } else if state.server_disabled {
            Some(CallerRefused::Disabled)
        } else {
            None
        };
        match refused {
            Some(reason) if !switch::off(Check::C1) => Err(reason),
            _ => Ok(()),
        }
    }

    /// Public id of the key that was presented.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The server.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

/// Proof of C3: this server may ask this provider for these scopes.
#[derive(Debug)]
pub struct Permitted {
    provider: Arc<Provider>,
    scopes: ScopeSet,
}

/// The server may not ask for that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPermitted {
    /// Not one of the providers it is allowed. Unknown providers are told the same.
    #[error("this server is not allowed to ask for this provider")]
    Provider,
    /// Scopes beyond its allowance.
    #[error("this server is not allowed to ask for these scopes: {0:?}")]
    Scopes(ScopeSet),
}

impl Permitted {
    /// C3.
    ///
    /// # Errors
    /// [`NotPermitted`] names the scopes that are beyond the allowance.
    pub fn check(
        caller: &AuthenticatedServer,
        registry: &Registry,
        provider: &ProviderSlug,
        scopes: ScopeSet,
    ) -> Result<Self, NotPermitted> {
        let provider = registry.provider(provider).ok_or(NotPermitted::Provider)?;
        let allowed = caller
            .server
            .allowance(&provider.slug)
            .map(|allowance| &allowance.scopes);
        let beyond = match allowed {
            Some(allowed) => scopes.without(allowed),
            None if switch::off(Check::C3) => ScopeSet::default(),
            None => return Err(NotPermitted::Provider),
        };
        if !beyond.is_empty() && !switch::off(Check::C3) {
            return Err(NotPermitted::Scopes(beyond));
        }
        Ok(Self {
            provider: Arc::clone(provider),
            scopes,
        })
    }

    /// C3 once more, later in a flow: whether what was permitted when an elicitation was made still is.
    pub fn still(server: &Server, provider: &ProviderSlug, scopes: &ScopeSet) -> bool {
        let covers = |allowed: &Allowance| allowed.scopes.covers(scopes);
        server.allowance(provider).is_some_and(covers) || switch::off(Check::C3)
    }

    /// The provider.
    pub fn provider(&self) -> &Arc<Provider> {
        &self.provider
    }

    /// The scopes.
    pub fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IssuerSlug, ServerSlug, SubjectMode, TenantSlug};

    #[test]
    fn a_flow_stands_while_its_server_is_allowed_all_that_it_asks_for() {
        let scopes = |names: &[&str]| ScopeSet::new(names.iter().copied()).unwrap();
        let practice = ProviderSlug::parse("practice").unwrap();
        let server = Server {
            slug: ServerSlug::parse("s1").unwrap(),
            tenant: TenantSlug::parse("main").unwrap(),
            name: "Server One".into(),
            resource: "https://s1.test".into(),
            issuer: IssuerSlug::parse("corp").unwrap(),
            subject_mode: SubjectMode::Token,
            allowed: vec![Allowance {
                provider: practice.clone(),
                scopes: scopes(&["read", "write"]),
            }],
            site: None,
        };
        for (asked, stands) in [
            (scopes(&["read"]), true),
            (scopes(&["read", "write"]), true),
            (scopes(&["read", "admin"]), false),
        ] {
            assert_eq!(Permitted::still(&server, &practice, &asked), stands);
        }
        let other = ProviderSlug::parse("other").unwrap();
        assert!(!Permitted::still(&server, &other, &scopes(&["read"])));
    }
}
