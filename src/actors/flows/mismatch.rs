//! A wrong person came to a link (C6): the log says who, and at the third one the link ends, which the operator is told.

use domain::{
    AuditAction, AuditClass, AuditEvent, BrowserSession, Elicitation, ElicitationState, Principal,
};

use super::audit_trail::about_elicitation;
use crate::core::{Core, Stepped};
use crate::doors::Ctx;
use crate::rows::Changes;

/// Commits what a wrong person changed, with its entries. `facts` is the elicitation as it will be. Its end is on the disk
/// in the log before it is made.
pub(crate) async fn commit(
    core: &Core,
    ctx: Ctx,
    changes: Changes,
    (facts, session): (&Elicitation, &BrowserSession),
) -> Result<(), Stepped> {
    let mut about = about_elicitation(facts);
    about.other_user = Some(core.pseudonym(&session.identity).short().into());
    let mismatch = AuditEvent {
        class: AuditClass::Browser,
        action: AuditAction::IdentityMismatch,
        outcome: "other-person",
        principal: core.by_person(Some(session)),
        about: about.clone(),
    };
    if facts.state != ElicitationState::Cancelled {
        return core.commit_audited(ctx, changes, mismatch).await;
    }
    let cancelled = AuditEvent {
        class: AuditClass::Link,
        action: AuditAction::ElicitationCancelled,
        outcome: "mismatch",
        principal: Principal::Vault,
        about,
    };
    core.commit_audited(ctx, changes, cancelled).await?;
    tracing::warn!(
        elicitation.id = %facts.id,
        server = %facts.server,
        "three wrong people opened a link; it is cancelled, and somebody may be passing it on"
    );
    let written = core.audit.record(ctx, mismatch).await;
    Ok(written.map_err(crate::doors::Refusal::from)?)
}
