//! What the log says about itself.

use std::path::Path;

use domain::{AuditAbout, AuditAction, AuditClass, AuditEvent, Principal};

/// Something is not as the last entry left it. It becomes an entry, and a line for the operator.
///
/// The vault goes on: a log that somebody cut must not be a way to stop it, and the break stays in the chain for whoever
/// checks it.
#[derive(PartialEq, Eq)]
pub(super) struct Finding {
    outcome: &'static str,
    count: Option<u64>,
    words: &'static str,
}

impl Finding {
    /// The file ends before the last entry known, or begins too late.
    pub(super) fn missing(count: Option<u64>) -> Self {
        Self {
            outcome: "entries-missing",
            count,
            words: "entries of the audit log are missing; keep the file, and find out who removed them or restored an old one",
        }
    }

    /// There is no entry at all.
    pub(super) fn begun_anew() -> Self {
        Self {
            outcome: "begun-anew",
            count: None,
            words: "the audit log is empty; this is right only if you moved the file away while the vault was stopped. The log \
                    goes on with the number that follows",
        }
    }

    /// The file is not the one that was written.
    pub(super) fn altered() -> Self {
        Self {
            outcome: "entries-altered",
            count: None,
            words: "the audit log was changed by something else than this vault; keep the file and find out by whom",
        }
    }

    pub(super) fn log(&self, path: &Path) {
        tracing::error!(path = %path.display(), outcome = self.outcome, missing = self.count, "{}", self.words);
    }

    pub(super) fn event(&self) -> AuditEvent {
        own(AuditAction::AuditLogChanged, self.outcome, self.count)
    }
}

/// Writing goes on after it failed.
pub(super) fn resumed() -> AuditEvent {
    own(AuditAction::AuditLogResumed, "ok", None)
}

fn own(action: AuditAction, outcome: &'static str, count: Option<u64>) -> AuditEvent {
    AuditEvent {
        class: AuditClass::Admin,
        action,
        outcome,
        principal: Principal::Vault,
        about: AuditAbout {
            count,
            ..AuditAbout::default()
        },
    }
}
