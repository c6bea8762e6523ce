//! The checks of the flow. Each is one function that returns a proof; whoever takes the next step must hand the proof over.
//!
//! A proof has private fields and one place where it is made; none but the verified subject, which is remembered for a
//! minute, can be cloned. What C8 reads is plain data that C9 and C10 judge. The thirteen checks have the numbers of the
//! threat model; [`crate::Check`] names them for the kill table.

mod browser;
mod callback;
mod caller;
mod login;
mod state;
mod subject;
mod times;

pub use browser::{
    BrowserSession, Confirmed, ConsentGiven, FormAction, FormProof, FormRefused, SamePerson, Tick,
    WrongPerson,
};
pub use callback::{
    CallbackAnswer, CallbackParams, CallbackRefused, ExpectedIssuer, FlowEvidence, KnownIssuer,
    ProviderCallback, ReturnRefused, Returned, SameBrowser,
};
pub use caller::{AuthenticatedServer, CallerRefused, CallerState, NotPermitted, Permitted};
pub use login::{IdTokenClaims, LoginAnswer, LoginExpectation, LoginRefused, VerifiedLogin};
pub use state::{StatePresented, StatePrincipal, StateRefused};
pub use subject::{SignedToken, SubjectEvidence, SubjectRefused, VerifiedSubject};
