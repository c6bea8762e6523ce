//! The proofs that a code exchange demands, made as the flow makes them.

use domain::{
    AccountAlias, Blob, BrowserSession, Digest, Elicitation, ElicitationId, ElicitationOwner,
    ElicitationState, ExpectedIssuer, Identity, IssuerSlug, IssuerUrl, KnownIssuer, McpClient,
    ProviderCallback, ProviderSlug, Pseudonym, Returned, SameBrowser, SamePerson, ScopeSet,
    ServerSlug, Subject, TenantSlug,
};

use url::Url;

use super::{NOW, after};

/// The right person in the browser.
pub(crate) fn same_person() -> SamePerson {
    let digest = Digest([7; 32]);
    let elicitation = Elicitation {
        id: ElicitationId::from_bytes([1; 16]),
        tenant: TenantSlug::parse("t").unwrap(),
        server: ServerSlug::parse("notes").unwrap(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        pseudonym: Pseudonym([0; 32]),
        owner: Blob(Vec::new()),
        client: McpClient::Unnamed,
        provider: ProviderSlug::parse("git").unwrap(),
        alias: AccountAlias::parse("default").unwrap(),
        scopes: ScopeSet::default(),
        request_digest: None,
        reason: None,
        locale: None,
        ticket: digest,
        created: NOW,
        expires: after(900),
        state: ElicitationState::Issued,
        mismatches: 0,
        refused_keys: 0,
        flows: Vec::new(),
    };
    let identity = Identity {
        tenant: TenantSlug::parse("t").unwrap(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        issuer_url: IssuerUrl::parse("https://as.test").unwrap(),
        subject: Subject::new(["ann"]).unwrap(),
    };
    let session = BrowserSession {
        identity: identity.clone(),
        name: None,
        login: None,
        signed_in: NOW,
        id: digest,
    };
    SamePerson::check(&session, &ElicitationOwner::new(&elicitation, identity)).unwrap()
}

/// A callback that was accepted.
pub(crate) fn returned() -> Returned {
    let slug = ProviderSlug::parse("git").unwrap();
    let callback = ProviderCallback {
        path: &slug,
        flow: &slug,
        iss: None,
        expected: &ExpectedIssuer {
            issuer: KnownIssuer::At(Url::parse("https://as.test/a").unwrap()),
            required: false,
        },
        since: NOW,
    };
    let browser = SameBrowser::check(true, Some(same_person())).unwrap();
    Returned::check(browser, &callback, std::time::Duration::from_secs(600), NOW).unwrap()
}
