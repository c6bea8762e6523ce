//! The door of the admin listener: what operators do while the vault runs. The CLI uses it over the admin socket.

use domain::{
    GrantId, GrantStatus, IssuerSlug, ProviderSlug, ServerSlug, SubjectMode, TenantSlug, Timestamp,
};
use zeroize::Zeroizing;

use super::{Answer, Ctx, RevocationReceipt};

/// A server as the operator sees it.
#[derive(Debug, Clone)]
pub struct ServerView {
    /// Its name.
    pub slug: ServerSlug,
    /// Its tenant.
    pub tenant: TenantSlug,
    /// Display name.
    pub name: Box<str>,
    /// Its issuer.
    pub issuer: IssuerSlug,
    /// Which evidence of a subject it may present.
    pub subject_mode: SubjectMode,
    /// What it may ask for.
    pub providers: Vec<ProviderSlug>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// Its keys, revoked ones included.
    pub keys: Vec<KeyView>,
}

/// A server key as the operator sees it: never the secret.
#[derive(Debug, Clone)]
pub struct KeyView {
    /// The public id.
    pub id: Box<str>,
    /// When it was made.
    pub created: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// A fresh key, shown once.
pub struct NewKey {
    /// Facts about it.
    pub view: KeyView,
    /// The key itself.
    pub text: Zeroizing<String>,
}

/// A grant as the operator sees it.
#[derive(Debug, Clone)]
pub struct AdminGrantView {
    /// Its id.
    pub id: GrantId,
    /// Its tenant.
    pub tenant: TenantSlug,
    /// The server.
    pub server: ServerSlug,
    /// The provider.
    pub provider: ProviderSlug,
    /// The person, as a keyed pseudonym.
    pub user: Box<str>,
    /// Usable or not.
    pub status: GrantStatus,
    /// When it was given.
    pub created: Timestamp,
}

/// A page of grants.
#[derive(Debug, Clone)]
pub struct AdminGrantPage {
    /// What is there; fewer than asked for when some ended just now.
    pub grants: Vec<AdminGrantView>,
    /// After which id the next page begins; nothing on the last one.
    pub next: Option<GrantId>,
}

/// How the vault is.
#[derive(Debug, Clone)]
pub struct HealthView {
    /// Whether requests are served.
    pub ready: bool,
    /// Whether the store takes writes.
    pub store_writable: bool,
    /// Number of the last durable commit.
    pub commit: u64,
    /// Whether the audit log takes entries.
    pub audit_writable: bool,
    /// Actors replaced since the start.
    pub actors_replaced: u64,
    /// Version of the program.
    pub version: &'static str,
}

/// The door of the admin listener.
pub trait AdminDoor: Send + Sync + 'static {
    /// A new request: draws its id and reads the clock.
    fn begin(&self) -> Ctx;

    /// Whether `key` is a valid admin key; asked only on the TCP admin listener, the socket proves itself.
    fn authenticate<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, ()>;

    /// All declared servers.
    fn servers(&self, ctx: Ctx) -> Answer<'_, Vec<ServerView>>;

    /// Makes a key for a server; at most two live ones at a time.
    fn new_key<'a>(&'a self, ctx: Ctx, server: &'a ServerSlug) -> Answer<'a, NewKey>;

    /// Makes an admin key; every earlier one stops working. `sent` is the admin key that the request came with, `None` for
    /// the socket: whoever sent one that is replaced meanwhile is refused.
    fn new_admin_key<'a>(&'a self, ctx: Ctx, sent: Option<&'a str>) -> Answer<'a, NewKey>;

    /// Revokes a key; it stops working at once.
    fn revoke_key<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, KeyView>;

    /// Disables or enables a server; its keys stop or start working at once.
    fn set_disabled<'a>(
        &'a self,
        ctx: Ctx,
        server: &'a ServerSlug,
        disabled: bool,
    ) -> Answer<'a, ()>;

    /// The page of all grants after the given id, of at most `limit`.
    fn grants(&self, ctx: Ctx, after: Option<GrantId>, limit: usize) -> Answer<'_, AdminGrantPage>;

    /// Ends a grant, with one attempt to revoke it at the provider.
    fn revoke_grant(&self, ctx: Ctx, id: GrantId) -> Answer<'_, RevocationReceipt>;

    /// How the vault is.
    fn health(&self) -> HealthView;
}
