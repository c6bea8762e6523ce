//! What the server and the audit log are told about a person.

use reqwest::Method;

use super::{Person, Standing};
use crate::audit::AuditReader;
use crate::server::Answered;
use crate::step::Step;
use crate::world::World;

impl Person {
    /// The server asks how far an elicitation is.
    pub(super) async fn ask_about(&self, world: &World, id: &str) -> Answered {
        let token = world.token(&self.id);
        world
            .server
            .call(
                Method::GET,
                &format!("/v1/elicitations/{id}"),
                &[("subject-token", &token)],
                None,
            )
            .await
    }

    /// An acknowledged elicitation is known and at least as far as was acknowledged. Only the newest is looked at: older ones
    /// end with time.
    pub(super) async fn check_elicitation(&mut self, world: &World) {
        let Some(id) = self.elicitation.take() else {
            return;
        };
        let answer = self.ask_about(world, &id).await;
        assert_eq!(
            answer.status, 200,
            "{}: elicitation {id} is gone: {}",
            self.id, answer.body
        );
        let state = answer.text("/state");
        let mut allowed: Vec<&str> = match (self.taken, self.standing) {
            (_, Standing::Connected | Standing::Ended) => vec!["completed"],
            (_, Standing::Either) if self.grant.is_some() => vec!["completed"],
            (_, Standing::Either) => vec!["consented", "completed"],
            (None | Some(Step::Ask | Step::Open), _) => vec!["issued", "signed_in"],
            (Some(Step::SignIn | Step::Again), _) => vec!["signed_in", "consented"],
            (Some(Step::SignOut), _) => vec!["signed_in"],
            (Some(Step::Expire), _) => vec!["consented", "failed", "expired"],
            (Some(step), _) if step.end().is_some() => step.end().into_iter().collect(),
            // The exchange is tried once; when its outcome is not known, the person starts again.
            (_, _) => vec!["consented", "failed"],
        };
        let cut_off = self.tried.filter(|step| self.taken != Some(*step));
        let end = cut_off.and_then(Step::end);
        allowed.extend(end);
        assert!(
            allowed.contains(&state),
            "{}: took {:?}, but the elicitation is {state}",
            self.id,
            self.taken
        );
        // Done without an answer: then it is done whole, with its entry.
        if end == Some(state) {
            self.promised
                .extend(cut_off.and_then(Step::entry).map(|entry| (entry, id)));
        }
    }

    /// Each release that was seen has its entry, and so has what was acknowledged about the grant.
    pub(crate) fn check_audit(&self, audit: &AuditReader) {
        for (action, elicitation) in &self.promised {
            assert!(
                audit.about("elicitation", elicitation, action) > 0,
                "{}: no entry {action} about {elicitation}",
                self.id
            );
        }
        let Some(grant) = &self.grant else { return };
        let entries = audit.count("credential_released", grant);
        assert!(
            entries >= self.released,
            "{}: {} releases, {entries} entries",
            self.id,
            self.released
        );
        assert!(
            audit.count("grant_activated", grant) > 0,
            "{}: no entry about the beginning of {grant}",
            self.id
        );
        if self.standing == Standing::Ended && self.taken == Some(Step::Revoke) {
            assert!(
                audit.count("grant_revoked", grant) > 0,
                "{}: no entry about the end of {grant}",
                self.id
            );
        }
    }
}
