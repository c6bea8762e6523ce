//! What the operator declared: tenants, issuers, servers and providers, checked and cross-referenced.
//!
//! A [`Registry`] can only be made by [`Registry::new`], which refuses dangling references, so that whoever holds one need
//! not ask again. It never changes while the process runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Issuer;
use crate::{IssuerSlug, Provider, ProviderSlug, ScopeSet, ServerSlug, Subject, TenantSlug};

/// An isolation boundary inside one installation.
#[derive(Debug)]
pub struct Tenant {
    /// Its immutable name.
    pub slug: TenantSlug,
    /// What people read.
    pub name: Box<str>,
}

/// Which evidence of a subject a server may present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectMode {
    /// Only the user's access token.
    Token,
    /// Also `{iss, sub}` on the server's word alone; written to the audit log as such.
    Asserted,
}

/// What a server may ask of one provider.
#[derive(Debug)]
pub struct Allowance {
    /// The provider.
    pub provider: ProviderSlug,
    /// Every scope the server may request there.
    pub scopes: ScopeSet,
}

/// A registered MCP server.
#[derive(Debug)]
pub struct Server {
    /// Its immutable name.
    pub slug: ServerSlug,
    /// The tenant it belongs to.
    pub tenant: TenantSlug,
    /// What people read; at most 64 characters.
    pub name: Box<str>,
    /// The resource identifier that must be in the audience of its subject tokens, compared byte for byte (RFC 8707).
    pub resource: Box<str>,
    /// The issuer that identifies its users.
    pub issuer: IssuerSlug,
    /// Which evidence it may present.
    pub subject_mode: SubjectMode,
    /// What it may ask for; a provider that is not here is refused.
    pub allowed: Vec<Allowance>,
    /// The site people recognise, shown bold in its address.
    pub site: Option<Box<str>>,
}

impl Server {
    /// What this server may ask of `provider`.
    pub fn allowance(&self, provider: &ProviderSlug) -> Option<&Allowance> {
        self.allowed
            .iter()
            .find(|allowance| allowance.provider == *provider)
    }
}

/// Everything the operator declared.
#[derive(Debug)]
pub struct Registry {
    tenants: BTreeMap<TenantSlug, Arc<Tenant>>,
    issuers: BTreeMap<IssuerSlug, Arc<Issuer>>,
    servers: BTreeMap<ServerSlug, Arc<Server>>,
    providers: BTreeMap<ProviderSlug, Arc<Provider>>,
}

/// The declarations contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// Two declarations of one kind share a slug.
    #[error("{kind} `{slug}` is declared twice; slugs are unique over all tenants")]
    Twice {
        /// `tenant`, `issuer`, `server` or `provider`.
        kind: &'static str,
        /// The slug.
        slug: Box<str>,
    },
    /// A declaration names something that is not there.
    #[error("{kind} `{slug}` names the {missing_kind} `{missing}`, which is not declared")]
    Missing {
        /// Kind of the declaration.
        kind: &'static str,
        /// Its slug.
        slug: Box<str>,
        /// Kind of what it names.
        missing_kind: &'static str,
        /// The name.
        missing: Box<str>,
    },
    /// A server refers to an issuer or provider of another tenant.
    #[error("server `{server}` and the {kind} `{other}` belong to different tenants")]
    OtherTenant {
        /// The server.
        server: Box<str>,
        /// `issuer` or `provider`.
        kind: &'static str,
        /// Its slug.
        other: Box<str>,
    },
    /// Two issuers of one tenant have the same identifier, so a token would not say which one it is from.
    #[error("issuers `{one}` and `{other}` of one tenant have the same url")]
    SameIssuer {
        /// The first.
        one: Box<str>,
        /// The second.
        other: Box<str>,
    },
    /// Two servers of one issuer, of one tenant or of two, have the same resource, so a token for one would be good for the
    /// other.
    #[error(
        "servers `{one}` and `{other}` have the same issuer and resource; a token for one would be good for the other"
    )]
    SameResource {
        /// The first.
        one: Box<str>,
        /// The second.
        other: Box<str>,
    },
    /// The two claim lists of an issuer do not match, or are empty or too long.
    #[error(
        "issuer `{0}`: subject_claims and id_token_claims name the same number of claims, 1 to 4"
    )]
    Claims(Box<str>),
    /// A server is allowed a scope that the provider does not declare.
    #[error(
        "server `{server}` is allowed the scope `{scope}`, which provider `{provider}` does not declare"
    )]
    UnknownScope {
        /// The server.
        server: Box<str>,
        /// The provider.
        provider: Box<str>,
        /// The scope.
        scope: Box<str>,
    },
}

/// The parts of a registry before they are checked against each other.
#[derive(Default)]
pub struct Declarations {
    /// All `[[tenant]]`.
    pub tenants: Vec<Tenant>,
    /// All `[[issuer]]`.
    pub issuers: Vec<Issuer>,
    /// All `[[server]]`.
    pub servers: Vec<Server>,
    /// All `[[provider]]`.
    pub providers: Vec<Provider>,
}

impl Registry {
    /// Checks the declarations against each other.
    ///
    /// # Errors
    /// Every [`RegistryFault`] there is, not only the first.
    pub fn new(parts: Declarations) -> Result<Self, Vec<RegistryFault>> {
        let mut faults = Vec::new();
        let registry = Self {
            tenants: by_slug(
                "tenant",
                parts.tenants,
                |t| (t.slug.clone(), t.slug.as_str().into()),
                &mut faults,
            ),
            issuers: by_slug(
                "issuer",
                parts.issuers,
                |i| (i.slug.clone(), i.slug.as_str().into()),
                &mut faults,
            ),
            servers: by_slug(
                "server",
                parts.servers,
                |s| (s.slug.clone(), s.slug.as_str().into()),
                &mut faults,
            ),
            providers: by_slug(
                "provider",
                parts.providers,
                |p| (p.slug.clone(), p.slug.as_str().into()),
                &mut faults,
            ),
        };
        registry.check_tenants(&mut faults);
        registry.check_issuers(&mut faults);
        registry
            .servers
            .values()
            .for_each(|server| registry.check_server(server, &mut faults));
        if faults.is_empty() {
            Ok(registry)
        } else {
            Err(faults)
        }
    }

    fn check_tenants(&self, faults: &mut Vec<RegistryFault>) {
        let owners = (self
            .issuers
            .values()
            .map(|i| ("issuer", i.slug.as_str(), &i.tenant)))
        .chain(
            self.servers
                .values()
                .map(|s| ("server", s.slug.as_str(), &s.tenant)),
        )
        .chain(
            self.providers
                .values()
                .map(|p| ("provider", p.slug.as_str(), &p.tenant)),
        );
        for (kind, slug, tenant) in owners {
            if !self.tenants.contains_key(tenant) {
                faults.push(missing(kind, slug, "tenant", tenant.as_str()));
            }
        }
    }

    fn check_issuers(&self, faults: &mut Vec<RegistryFault>) {
        for issuer in self.issuers.values() {
            let claims = issuer.subject_claims.len();
            if claims == 0 || claims > Subject::MAX_CLAIMS || claims != issuer.id_token_claims.len()
            {
                faults.push(RegistryFault::Claims(issuer.slug.as_str().into()));
            }
            let twin = self.issuers.values().find(|other| {
                other.slug < issuer.slug && other.tenant == issuer.tenant && other.url == issuer.url
            });
            if let Some(other) = twin {
                faults.push(RegistryFault::SameIssuer {
                    one: other.slug.as_str().into(),
                    other: issuer.slug.as_str().into(),
                });
            }
        }
    }

    fn check_server(&self, server: &Server, faults: &mut Vec<RegistryFault>) {
        let name = server.slug.as_str();
        let other_tenant = |kind, other: &str| RegistryFault::OtherTenant {
            server: name.into(),
            kind,
            other: other.into(),
        };
        let twin = self.servers.values().find(|twin| {
            twin.slug < server.slug
                && twin.resource == server.resource
                && self.same_issuer(&twin.issuer, &server.issuer)
        });
        if let Some(twin) = twin {
            faults.push(RegistryFault::SameResource {
                one: twin.slug.as_str().into(),
                other: name.into(),
            });
        }
        match self.issuers.get(&server.issuer) {
            None => faults.push(missing("server", name, "issuer", server.issuer.as_str())),
            Some(issuer) if issuer.tenant != server.tenant => {
                faults.push(other_tenant("issuer", issuer.slug.as_str()));
            }
            Some(_) => {}
        }
        for allowance in &server.allowed {
            let Some(provider) = self.providers.get(&allowance.provider) else {
                faults.push(missing(
                    "server",
                    name,
                    "provider",
                    allowance.provider.as_str(),
                ));
                continue;
            };
            if provider.tenant != server.tenant {
                faults.push(other_tenant("provider", provider.slug.as_str()));
            }
            let unknown = allowance
                .scopes
                .iter()
                .filter(|scope| provider.scope(scope).is_none());
            faults.extend(unknown.map(|scope| RegistryFault::UnknownScope {
                server: name.into(),
                provider: provider.slug.as_str().into(),
                scope: scope.into(),
            }));
        }
    }

    /// Whether two declarations mean one issuer. Each tenant has a declaration of its own, but a token names its issuer by
    /// the url alone.
    fn same_issuer(&self, one: &IssuerSlug, other: &IssuerSlug) -> bool {
        let url = |slug| self.issuers.get(slug).map(|issuer| &issuer.url);
        one == other || url(one).is_some_and(|one| url(other) == Some(one))
    }

    /// The tenant of that name.
    pub fn tenant(&self, slug: &TenantSlug) -> Option<&Arc<Tenant>> {
        self.tenants.get(slug)
    }

    /// The issuer of that name.
    pub fn issuer(&self, slug: &IssuerSlug) -> Option<&Arc<Issuer>> {
        self.issuers.get(slug)
    }

    /// The server of that name.
    pub fn server(&self, slug: &ServerSlug) -> Option<&Arc<Server>> {
        self.servers.get(slug)
    }

    /// The provider of that name.
    pub fn provider(&self, slug: &ProviderSlug) -> Option<&Arc<Provider>> {
        self.providers.get(slug)
    }

    /// All tenants by name.
    pub fn tenants(&self) -> impl Iterator<Item = &Arc<Tenant>> {
        self.tenants.values()
    }

    /// All issuers by name.
    pub fn issuers(&self) -> impl Iterator<Item = &Arc<Issuer>> {
        self.issuers.values()
    }

    /// All servers by name.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values()
    }

    /// All providers by name.
    pub fn providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }
}

fn missing(
    kind: &'static str,
    slug: &str,
    missing_kind: &'static str,
    missing: &str,
) -> RegistryFault {
    RegistryFault::Missing {
        kind,
        slug: slug.into(),
        missing_kind,
        missing: missing.into(),
    }
}

fn by_slug<K: Ord, T>(
    kind: &'static str,
    items: Vec<T>,
    slug: impl Fn(&T) -> (K, Box<str>),
    faults: &mut Vec<RegistryFault>,
) -> BTreeMap<K, Arc<T>> {
    let mut map = BTreeMap::new();
    for item in items {
        let (key, text) = slug(&item);
        if map.insert(key, Arc::new(item)).is_some() {
            faults.push(RegistryFault::Twice { kind, slug: text });
        }
    }
    map
}
