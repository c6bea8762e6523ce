//! The door of the admin listener, answered by the flows.

use domain::{GrantId, ServerSlug};
use storage::Health;

use super::Vault;
use crate::doors::{
    AdminDoor, AdminGrantPage, Answer, Ctx, HealthView, KeyView, NewKey, RevocationReceipt,
    ServerView,
};
use crate::flows::{admin_key, credentials, grants};

impl AdminDoor for Vault {
    fn begin(&self) -> Ctx {
        self.ctx()
    }

    fn authenticate<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, ()> {
        Box::pin(credentials::authenticate_admin(&self.core, ctx, key))
    }

    fn servers(&self, _: Ctx) -> Answer<'_, Vec<ServerView>> {
        Box::pin(async move {
            let mut views = Vec::new();
            for server in self.core.registry.servers() {
                views.push(ServerView {
                    slug: server.slug.clone(),
                    tenant: server.tenant.clone(),
                    name: server.name.clone(),
                    issuer: server.issuer.clone(),
                    subject_mode: server.subject_mode,
                    providers: server
                        .allowed
                        .iter()
                        .map(|allowance| allowance.provider.clone())
                        .collect(),
                    disabled: credentials::is_disabled(&self.core, &server.slug).await?,
                    keys: credentials::keys_of(&self.core, &server.slug).await?,
                });
            }
            Ok(views)
        })
    }

    fn new_key<'a>(&'a self, ctx: Ctx, server: &'a ServerSlug) -> Answer<'a, NewKey> {
        Box::pin(credentials::new_key(&self.core, ctx, server))
    }

    fn new_admin_key<'a>(&'a self, ctx: Ctx, sent: Option<&'a str>) -> Answer<'a, NewKey> {
        Box::pin(admin_key::replace(&self.core, ctx, sent))
    }

    fn revoke_key<'a>(&'a self, ctx: Ctx, key: &'a str) -> Answer<'a, KeyView> {
        Box::pin(credentials::revoke_key(&self.core, ctx, key))
    }

    fn set_disabled<'a>(
        &'a self,
        ctx: Ctx,
        server: &'a ServerSlug,
        disabled: bool,
    ) -> Answer<'a, ()> {
        Box::pin(credentials::set_disabled(&self.core, ctx, server, disabled))
    }

    fn grants(&self, _: Ctx, after: Option<GrantId>, limit: usize) -> Answer<'_, AdminGrantPage> {
        Box::pin(grants::all(&self.core, after, limit))
    }

    fn revoke_grant(&self, ctx: Ctx, id: GrantId) -> Answer<'_, RevocationReceipt> {
        Box::pin(grants::revoke_any(&self.core, ctx, id))
    }

    fn health(&self) -> HealthView {
        HealthView {
            ready: self.is_ready(),
            store_writable: self.core.store.health() == Health::Serving,
            commit: self.core.store.commit_number(),
            audit_writable: self.core.audit.writable(),
            actors_replaced: self.vitals.count(),
            version: self.version,
        }
    }
}
