//! Many grants at once, for `scripts/bench`: the rows and records that a person's yes leaves, sealed in the same way, without
//! the flow that leads there. Only a build with the feature `fill` has it.

use domain::{
    AccountAlias, Grant, GrantId, GrantStatus, Holds, Identity, ProviderSlug, ServerSlug, Subject,
    TokenSlot,
};
use secret::AccessToken;
use storage::Revision;

use crate::doors::Refusal;
use crate::flows::confirm::add_records;
use crate::rows::{self, Changes};
use crate::sealing::{POLICY_VERSION, PendingTokens, main_slot};
use crate::vault::Vault;

impl Vault {
    /// Gives each of these people a grant for this server at this provider. Each is a commit of its own, and all are made at
    /// once, so that the store syncs few times. None of them may have been here before.
    ///
    /// # Errors
    /// [`Refusal::Internal`] for names that nobody declared; else what the store says.
    pub async fn fill(
        &self,
        (server, provider): (&ServerSlug, &ProviderSlug),
        people: Vec<(Subject, AccessToken)>,
    ) -> Result<(), Refusal> {
        let (core, now) = (&self.core, self.core.now());
        let server = core.registry.server(server).ok_or(Refusal::Internal)?;
        let issuer = core.registry.issuer(&server.issuer);
        let issuer = issuer.ok_or(Refusal::Internal)?;
        let allowed = server.allowance(provider).ok_or(Refusal::Internal)?;
        let alias: AccountAlias = "default".parse().map_err(|_| Refusal::Internal)?;
        let mut commits = Vec::with_capacity(people.len());
        for (subject, access) in people {
            let identity = Identity {
                tenant: server.tenant.clone(),
                issuer: issuer.slug.clone(),
                issuer_url: issuer.url.clone(),
                subject,
            };
            let pseudonym = core.pseudonym(&identity);
            let (row, owner) = core.new_user(&identity, &pseudonym, now)?;
            let mut changes = Changes::default();
            changes.create(rows::keys::user(&pseudonym), &row);
            let grant = Grant {
                id: GrantId::from_bytes(core.id_bytes()),
                tenant: server.tenant.clone(),
                user: owner.user,
                pseudonym,
                issuer: issuer.slug.clone(),
                server: server.slug.clone(),
                provider: provider.clone(),
                alias: alias.clone(),
                status: GrantStatus::Active,
                confirmed: true,
                offline: false,
                scopes: allowed.scopes.clone(),
                account: None,
                policy_version: POLICY_VERSION,
                created: now,
                data_key: owner.key.id(),
                slots: vec![TokenSlot {
                    name: main_slot(),
                    generation: 1,
                    issued: now,
                    expires: Some(now.plus(LIFE)),
                    access_version: 1,
                    refresh_version: None,
                }],
                holds: Holds::Tokens,
            };
            let tokens = PendingTokens {
                access,
                refresh: None,
                account: None,
            };
            let at = rows::keys::grant(&grant.key());
            changes.put_bytes(
                rows::keys::grant_id(grant.id),
                Revision::NONE,
                at.key.clone(),
            );
            changes.create(at, &grant);
            add_records(core, &mut changes, &owner, (&grant, &tokens))?;
            commits.push(changes.commit(&*core.store));
        }
        futures_util::future::try_join_all(commits).await?;
        Ok(())
    }
}

/// How long the access tokens are good: longer than any measurement.
const LIFE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
