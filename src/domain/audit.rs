//! What the audit log says: one event for each release, link, key and admin action, and for each refused identity check.
//!
//! An event carries names, ids and keyed pseudonyms, never a secret, ticket, token or free text of others.

use crate::{
    ElicitationId, GrantId, ProviderSlug, Pseudonym, RequestId, ServerSlug, SubjectEvidence,
    TenantSlug,
};

/// How durable an entry is before the answer goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditClass {
    /// A credential was handed to a server; survives the death of the process.
    Release,
    /// A connection was asked for, made or ended; survives a power cut.
    Link,
    /// A key was made or revoked; survives a power cut.
    Key,
    /// An operator acted; survives a power cut.
    Admin,
    /// A browser step or a refused check; survives the death of the process.
    Browser,
}

impl AuditClass {
    /// Whether the entry must be on the disk itself before the answer.
    pub const fn survives_power_cut(self) -> bool {
        matches!(self, Self::Link | Self::Key | Self::Admin)
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// A credential was handed out.
    CredentialReleased,
    /// Tokens were refreshed.
    TokensRefreshed,
    /// A refresh was refused by the provider, or its answer by us; then a second entry says what became of the new tokens.
    RefreshRefused,
    /// A caller's own credential was refused.
    CallerRefused,
    /// A subject was refused.
    SubjectRefused,
    /// A provider or scope beyond a server's allowance was asked for.
    RequestNotPermitted,
    /// A requestState or an elicitation's id was refused.
    StateRefused,
    /// A grant was asked for by another server or person than its own.
    GrantRefused,
    /// An elicitation was created.
    ElicitationCreated,
    /// An elicitation was cancelled.
    ElicitationCancelled,
    /// A connect link was opened.
    LinkOpened,
    /// A person signed in.
    SignedIn,
    /// A login was refused.
    LoginRefused,
    /// A person signed out.
    SignedOut,
    /// Someone else than the owner opened the link.
    IdentityMismatch,
    /// A form did not come from our page.
    FormRefused,
    /// The person said yes and left for the provider.
    ConsentGiven,
    /// The person said no.
    Declined,
    /// A callback was refused.
    CallbackRefused,
    /// A callback with a valid `state` came to the wrong browser or person.
    FlowPoisoned,
    /// The provider sent the right browser back; the code is exchanged.
    ProviderReturned,
    /// Tokens came and are pending.
    TokensPending,
    /// The code exchange failed.
    ExchangeFailed,
    /// Pending tokens were destroyed.
    PendingDestroyed,
    /// A grant became usable.
    GrantActivated,
    /// A grant ended.
    GrantRevoked,
    /// A server key was made.
    ServerKeyCreated,
    /// A server key was revoked.
    ServerKeyRevoked,
    /// A server was disabled.
    ServerDisabled,
    /// A server was enabled.
    ServerEnabled,
    /// A slot for the root key was added.
    SealAdded,
    /// A slot for the root key was removed.
    SealRemoved,
    /// The vault was set up.
    VaultCreated,
    /// The vault was started.
    VaultStarted,
    /// An operator took a store or a clock for true that had gone back.
    RollbackAccepted,
    /// The audit log is not as its last entry left it: entries are missing or altered, or it begins anew.
    AuditLogChanged,
    /// The audit log could not be written for a while, in which nothing was answered.
    AuditLogResumed,
    /// Entries that anybody can cause and that were counted instead of written, because there were too many of them.
    RefusalsCounted,
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "id")]
pub enum Principal {
    /// A server by its key.
    Server(ServerSlug),
    /// A person in a browser, by keyed pseudonym.
    Person(Box<str>),
    /// Somebody not known.
    Nobody,
    /// The operator.
    Operator,
    /// The vault itself.
    Vault,
}

/// One event, before it gets its sequence number and time.
#[derive(Debug, Clone, serde::Serialize)]
pub struct AuditEvent {
    /// How durable.
    pub class: AuditClass,
    /// What happened.
    pub action: AuditAction,
    /// `ok`, or a reason code.
    pub outcome: &'static str,
    /// Who acted.
    pub principal: Principal,
    /// The rest, where it applies.
    #[serde(flatten)]
    pub about: AuditAbout,
}

/// What an event is about; absent fields are left out.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub struct AuditAbout {
    /// Tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantSlug>,
    /// Server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSlug>,
    /// Provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderSlug>,
    /// The person asked about, as a keyed pseudonym.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Box<str>>,
    /// Another person who appeared instead, as a keyed pseudonym.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_user: Option<Box<str>>,
    /// Evidence of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<SubjectEvidence>,
    /// Elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationId>,
    /// Grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// Generation of the token slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Public id of a server key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// Number of the root key's slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<u8>,
    /// How many events this entry stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// HTTP request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}

impl AuditAbout {
    /// About a person.
    #[must_use]
    pub fn user(mut self, pseudonym: &Pseudonym) -> Self {
        self.user = Some(pseudonym.short().into());
        self
    }
}
