//! A door that answers as scripted and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::web::ServiceConfig;
use actors::doors::*;
use domain::*;
use secret::{AccessToken, KeyClass, OsEntropy, Reveal as _, ServerKeyText, SubjectToken};

use super::PUBLIC;
use crate::{ApiSettings, server_app};

/// What a scripted door shares with its test.
#[derive(Clone)]
pub(crate) struct Script(Arc<Inner>);

struct Inner {
    key: ServerKeyText,
    calls: Mutex<Vec<String>>,
    ensured: fn() -> Result<Ensured, Refusal>,
    /// Refuses every call after authentication.
    refusal: Option<fn() -> Refusal>,
    ready: bool,
}

impl Script {
    /// A door where everything goes well and `ensure` gives a link.
    pub(crate) fn new() -> Self {
        Self::with(|| Ok(Ensured::Elicit(link())), None, true)
    }

    /// A door whose `ensure` answers so.
    pub(crate) fn ensured(ensured: fn() -> Result<Ensured, Refusal>) -> Self {
        Self::with(ensured, None, true)
    }

    /// A door that refuses everything after authentication.
    pub(crate) fn refusing(refusal: fn() -> Refusal) -> Self {
        Self::with(|| Ok(Ensured::Elicit(link())), Some(refusal), true)
    }

    /// A door of a vault that is not ready.
    pub(crate) fn not_ready() -> Self {
        Self::with(|| Ok(Ensured::Elicit(link())), None, false)
    }

    fn with(
        ensured: fn() -> Result<Ensured, Refusal>,
        refusal: Option<fn() -> Refusal>,
        ready: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            key: ServerKeyText::generate(KeyClass::Server, &OsEntropy),
            calls: Mutex::default(),
            ensured,
            refusal,
            ready,
        }))
    }

    /// The good key.
    pub(crate) fn key(&self) -> &str {
        self.0.key.reveal()
    }

    /// What the door was asked, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.calls.lock().unwrap().clone()
    }

    /// The api app behind this door.
    pub(crate) fn app(&self) -> impl Fn(&mut ServiceConfig) + Clone + Send + use<> {
        let settings = ApiSettings::new(PUBLIC, &registry());
        server_app(Arc::new(self.clone()), settings)
    }

    fn note<T: Send + 'static>(
        &self,
        call: impl Into<String>,
        answer: impl FnOnce() -> Result<T, Refusal>,
    ) -> Answer<'static, T> {
        self.0.calls.lock().unwrap().push(call.into());
        let answer = match self.0.refusal {
            Some(refusal) => Err(refusal()),
            None => answer(),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl ServerDoor for Script {
    fn begin(&self) -> Ctx {
        ctx()
    }

    fn authenticate<'a>(&'a self, _: Ctx, key: &'a str) -> Answer<'a, AuthenticatedServer> {
        let state = CallerState {
            hash_matches: key == self.key(),
            key_revoked: false,
            server_disabled: false,
        };
        let checked = AuthenticatedServer::check(&Arc::new(server()), "0123456789abcdef", state);
        self.0.calls.lock().unwrap().push("authenticate".into());
        Box::pin(std::future::ready(checked.map_err(|_| Refusal::Caller)))
    }

    fn subject<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        input: SubjectInput,
    ) -> Answer<'a, VerifiedSubject> {
        let call = match input {
            SubjectInput::Token(token) => format!("subject {}", SubjectToken::reveal(&token)),
            SubjectInput::Asserted {
                iss,
                values,
                client,
            } => {
                format!("subject {iss} {values:?} {client:?}")
            }
        };
        self.0.calls.lock().unwrap().push(call);
        Box::pin(std::future::ready(Ok(person())))
    }

    fn ensure<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        request: Ensure,
    ) -> Answer<'a, Ensured> {
        let Ensure {
            wanted,
            request_state,
            client_answer,
        } = request;
        let call = format!("ensure {wanted:?} {request_state:?} {client_answer:?}");
        self.note(call, self.0.ensured)
    }

    fn create_elicitation<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        request: (Wanted, Option<Box<str>>),
    ) -> Answer<'a, ConnectLink> {
        let (wanted, key) = request;
        self.note(format!("create {} {key:?}", wanted.provider), || Ok(link()))
    }

    fn elicitation<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        (id, wait): (ElicitationId, Duration),
    ) -> Answer<'a, ElicitationView> {
        let state = ElicitationState::Completed { grant: grant_id() };
        self.note(format!("elicitation {id} {wait:?}"), || Ok(view(state)))
    }

    fn cancel_elicitation<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        id: ElicitationId,
    ) -> Answer<'a, ElicitationView> {
        self.note(format!("cancel {id}"), || {
            Ok(view(ElicitationState::Cancelled))
        })
    }

    fn resolve<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        (state, digest): (Box<str>, Option<Digest>),
    ) -> Answer<'a, ElicitationView> {
        let call = format!("resolve {state:?} {}", digest.is_some());
        let code = FailureCode::ProviderRefused;
        self.note(call, || Ok(view(ElicitationState::Failed { code })))
    }

    fn grants<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
    ) -> Answer<'a, Vec<GrantView>> {
        self.note("grants", || Ok(vec![grant()]))
    }

    fn grant<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, GrantView> {
        self.note(format!("grant {id}"), || Ok(grant()))
    }

    fn revoke_grant<'a>(
        &'a self,
        _: Ctx,
        _: &'a AuthenticatedServer,
        _: &'a VerifiedSubject,
        id: GrantId,
    ) -> Answer<'a, RevocationReceipt> {
        self.note(format!("revoke {id}"), || Ok(receipt()))
    }

    fn ready(&self) -> bool {
        self.0.ready
    }
}

/// The request of every test.
pub(crate) fn ctx() -> Ctx {
    Ctx {
        request: RequestId::from_bytes([0xab; 16]),
        now: Timestamp::from_seconds(1_000),
    }
}

/// The grant of every test.
pub(crate) fn grant_id() -> GrantId {
    GrantId::from_bytes([2; 16])
}

/// The elicitation of every test, in some state.
pub(crate) fn view(state: ElicitationState) -> ElicitationView {
    ElicitationView {
        id: ElicitationId::from_bytes([1; 16]),
        provider: ProviderSlug::parse("acme-files").unwrap(),
        provider_name: "Acme Files".into(),
        alias: AccountAlias::parse("default").unwrap(),
        scopes: ScopeSet::new(["files.read"]).unwrap(),
        state,
        created: Timestamp::from_seconds(1_000),
        expires: Timestamp::from_seconds(1_900),
        mismatched: false,
        locale: None,
    }
}

/// The link of every test.
pub(crate) fn link() -> ConnectLink {
    ConnectLink {
        view: view(ElicitationState::Issued),
        url: "https://connect.vault.test/c/ticket".into(),
        request_state: "srs1.sealed".into(),
    }
}

/// The grant of every test.
pub(crate) fn grant() -> GrantView {
    GrantView {
        id: grant_id(),
        provider: ProviderSlug::parse("acme-files").unwrap(),
        alias: AccountAlias::parse("default").unwrap(),
        status: GrantStatus::Active,
        scopes: ScopeSet::new(["files.read"]).unwrap(),
        created: Timestamp::from_seconds(1_000),
        access_expires: Some(Timestamp::from_seconds(4_600)),
        generation: 1,
    }
}

/// A credential with an awkward token.
pub(crate) fn credential() -> Credential {
    Credential {
        token: AccessToken::new("canary\"\\token".into()),
        header_name: "Authorization".into(),
        header_prefix: "Bearer ".into(),
        expires: None,
        scopes: ScopeSet::new(["files.read"]).unwrap(),
        allowed_hosts: vec!["api.acme.test".into()],
    }
}

/// The receipt of every test.
pub(crate) fn receipt() -> RevocationReceipt {
    RevocationReceipt {
        grant: grant_id(),
        ended: Timestamp::from_seconds(2_000),
        provider: ProviderRevocation::NoEndpoint,
    }
}

fn issuer() -> Issuer {
    Issuer {
        slug: IssuerSlug::parse("corp").unwrap(),
        tenant: TenantSlug::parse("default").unwrap(),
        url: IssuerUrl::parse("https://id.corp.test").unwrap(),
        endpoint_hosts: EndpointHosts::default(),
        client: OauthClient {
            id: "vault".into(),
            auth: ClientAuth::Public,
        },
        algorithms: vec![SignatureAlgorithm::Es256],
        subject_claims: vec!["tid".into(), "oid".into()],
        id_token_claims: vec!["tid".into(), "oid".into()],
        login_scopes: ScopeSet::new(["openid"]).unwrap(),
        access_tokens: AccessTokenRules {
            require_at_jwt: true,
            leeway: Duration::from_secs(60),
            max_age: Duration::from_secs(3600),
            several_audiences: false,
        },
        site: None,
    }
}

fn server() -> Server {
    Server {
        slug: ServerSlug::parse("notes").unwrap(),
        tenant: TenantSlug::parse("default").unwrap(),
        name: "Notes".into(),
        resource: "https://notes.test/mcp".into(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        subject_mode: SubjectMode::Asserted,
        allowed: Vec::new(),
        site: None,
    }
}

fn registry() -> Registry {
    let tenant = Tenant {
        slug: TenantSlug::parse("default").unwrap(),
        name: "Default".into(),
    };
    Registry::new(Declarations {
        tenants: vec![tenant],
        issuers: vec![issuer()],
        servers: vec![server()],
        providers: Vec::new(),
    })
    .unwrap()
}

fn person() -> VerifiedSubject {
    let subject = Subject::new(["t", "o"]).unwrap();
    let asserted = ("https://id.corp.test", subject);
    VerifiedSubject::check_assertion(
        &server(),
        &issuer(),
        asserted,
        McpClient::Unnamed,
        ctx().now,
    )
    .unwrap()
}
