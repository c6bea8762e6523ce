//! Short ways to say who did what in the audit log.

use domain::{
    AuditAbout, AuditAction, AuditClass, AuditEvent, AuthenticatedServer, BrowserSession,
    Elicitation, Grant, Principal, TenantSlug, VerifiedSubject,
};

use crate::core::Core;
use crate::doors::{Ctx, Refusal};

/// Everything an event says about an elicitation.
pub(crate) fn about_elicitation(facts: &Elicitation) -> AuditAbout {
    AuditAbout {
        tenant: Some(facts.tenant.clone()),
        server: Some(facts.server.clone()),
        provider: Some(facts.provider.clone()),
        elicitation: Some(facts.id),
        ..AuditAbout::default()
    }
    .user(&facts.pseudonym)
}

/// Everything an event says about a grant.
pub(crate) fn about_grant(grant: &Grant) -> AuditAbout {
    AuditAbout {
        tenant: Some(grant.tenant.clone()),
        server: Some(grant.server.clone()),
        provider: Some(grant.provider.clone()),
        grant: Some(grant.id),
        generation: grant.slots.first().map(|slot| slot.generation),
        ..AuditAbout::default()
    }
    .user(&grant.pseudonym)
}

/// What an event says about a call before anything was found.
pub(crate) fn about_call(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: Option<&VerifiedSubject>,
) -> AuditAbout {
    let server = caller.server();
    let about = AuditAbout {
        tenant: Some(server.tenant.clone()),
        server: Some(server.slug.clone()),
        evidence: subject.map(VerifiedSubject::evidence),
        ..AuditAbout::default()
    };
    match subject {
        Some(subject) => about.user(&core.pseudonym(subject.identity())),
        None => about,
    }
}

/// Outcome and facts of an entry about a thing that is not the caller's: whose it is, and who came. Of another tenant's
/// thing the entry tells only who came; the caller adds the id that was asked for.
pub(crate) fn about_anothers(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (tenant, theirs): (&TenantSlug, AuditAbout),
) -> (&'static str, AuditAbout) {
    let call = about_call(core, caller, Some(subject));
    if *tenant != caller.server().tenant {
        return ("other-tenant", call);
    }
    let about = AuditAbout {
        other_user: call.user.filter(|user| theirs.user.as_ref() != Some(user)),
        evidence: call.evidence,
        ..theirs
    };
    ("other-principal", about)
}

/// The calling server as principal.
pub(crate) fn by_server(caller: &AuthenticatedServer) -> Principal {
    Principal::Server(caller.server().slug.clone())
}

impl Core {
    /// The person of a session as principal.
    pub(crate) fn by_person(&self, session: Option<&BrowserSession>) -> Principal {
        session.map_or(Principal::Nobody, |session| {
            Principal::Person(self.pseudonym(&session.identity).short().into())
        })
    }

    /// Writes an event with outcome `ok`.
    pub(crate) async fn audited(
        &self,
        ctx: Ctx,
        what: (AuditClass, AuditAction),
        by: Principal,
        about: AuditAbout,
    ) -> Result<(), Refusal> {
        self.audited_as(ctx, what, "ok", (by, about)).await
    }

    /// Writes an event with another outcome.
    pub(crate) async fn audited_as(
        &self,
        ctx: Ctx,
        what: (AuditClass, AuditAction),
        outcome: &'static str,
        who: (Principal, AuditAbout),
    ) -> Result<(), Refusal> {
        Ok(self.audit.record(ctx, event_as(what, outcome, who)).await?)
    }
}

/// An event with outcome `ok`, for [`Core::commit_audited`].
pub(crate) fn event(
    what: (AuditClass, AuditAction),
    principal: Principal,
    about: AuditAbout,
) -> AuditEvent {
    event_as(what, "ok", (principal, about))
}

/// The same with another outcome.
pub(crate) fn event_as(
    (class, action): (AuditClass, AuditAction),
    outcome: &'static str,
    (principal, about): (Principal, AuditAbout),
) -> AuditEvent {
    AuditEvent {
        class,
        action,
        outcome,
        principal,
        about,
    }
}
