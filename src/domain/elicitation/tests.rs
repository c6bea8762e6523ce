//! A proof moves on the elicitation that it is about, and no other.

use super::*;
use crate::{
    Blob, BrowserSession, Confirmed, ConsentGiven, Digest, FormAction, FormProof, IssuerUrl,
    Pending, SamePerson, Subject, Tick,
};

const NOW: Timestamp = Timestamp::from_ms(1_796_126_400_000);

fn identity() -> Identity {
    Identity {
        tenant: TenantSlug::parse("main").unwrap(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        issuer_url: IssuerUrl::parse("https://as.test").unwrap(),
        subject: Subject::new(["ann"]).unwrap(),
    }
}

fn elicitation(id: u8) -> Elicitation {
    Elicitation {
        id: ElicitationId::from_bytes([id; 16]),
        tenant: TenantSlug::parse("main").unwrap(),
        server: ServerSlug::parse("s1").unwrap(),
        issuer: IssuerSlug::parse("corp").unwrap(),
        pseudonym: Pseudonym([0; 32]),
        owner: Blob(Vec::new()),
        client: McpClient::Unnamed,
        provider: ProviderSlug::parse("practice").unwrap(),
        alias: AccountAlias::parse("default").unwrap(),
        scopes: ScopeSet::default(),
        request_digest: None,
        reason: None,
        locale: None,
        ticket: Digest([0; 32]),
        created: NOW,
        expires: NOW.plus(Elicitation::LIFE),
        state: ElicitationState::Issued,
        mismatches: 0,
        refused_keys: 0,
        flows: Vec::new(),
    }
}

fn live(id: u8) -> LiveElicitation {
    elicitation(id).live(NOW).unwrap()
}

fn person(id: u8) -> SamePerson {
    let session = BrowserSession {
        identity: identity(),
        name: None,
        login: None,
        signed_in: NOW,
        id: Digest([0; 32]),
    };
    let owner = ElicitationOwner::new(&elicitation(id), identity());
    SamePerson::check(&session, &owner).unwrap()
}

fn pending(grant: u8) -> Pending {
    Pending {
        bundle: Blob(Vec::new()),
        grant: GrantId::from_bytes([grant; 16]),
        scopes: ScopeSet::default(),
        access_expires: None,
        refreshable: false,
        account: None,
        since: NOW,
        holds: crate::Holds::Tokens,
    }
}

#[test]
fn a_proof_about_another_elicitation_moves_nothing() {
    let other = Err(OtherElicitation);
    let form = |action| FormProof::check(action, true, true).unwrap();
    let consent =
        |id| ConsentGiven::check(&person(id), &form(FormAction::Consent), Tick::Ticked).unwrap();
    let confirmed = |id| {
        let (person, form) = (person(id), form(FormAction::Confirm));
        Confirmed::check(&person, &form, Tick::Ticked, &pending(7), NOW).unwrap()
    };
    let principal = crate::StatePrincipal {
        issuer: IssuerSlug::parse("corp").unwrap(),
        subject: Digest([1; 32]),
        client: Digest([2; 32]),
        request: None,
        provider: None,
    };
    let presented = |id| {
        crate::StatePresented::check(elicitation(id).id, &principal, (&principal, true)).unwrap()
    };
    assert_eq!(live(1).signed_in(&person(2), NOW), other);
    assert_eq!(live(1).consented(&consent(2), NOW), other);
    assert_eq!(live(1).completed(&confirmed(2)), other);
    assert_eq!(live(1).declined(&person(2)), other);
    assert_eq!(live(1).declined_in_client(&presented(2)), other);

    let state = |moved: Result<Elicitation, OtherElicitation>| moved.unwrap().state;
    assert_eq!(
        state(live(1).signed_in(&person(1), NOW)),
        ElicitationState::SignedIn
    );
    assert_eq!(
        state(live(1).consented(&consent(1), NOW)),
        ElicitationState::Consented
    );
    assert_eq!(
        state(live(1).declined(&person(1))),
        ElicitationState::Declined
    );
    assert_eq!(
        state(live(1).declined_in_client(&presented(1))),
        ElicitationState::Declined
    );
    // The grant is the one that was pending when the person confirmed it.
    let grant = GrantId::from_bytes([7; 16]);
    assert_eq!(
        state(live(1).completed(&confirmed(1))),
        ElicitationState::Completed { grant }
    );
}
