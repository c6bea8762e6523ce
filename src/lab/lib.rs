//! The lab: a programmable authorization server for practice and for attack tests.
//!
//! `strongroom dev` runs it as practice issuer (Alice and Bob) and as practice provider with a
//! small API. Tests run it too: every misbehaviour is a switch (`Misbehaviour`), every request is
//! recorded, and time is an argument. It knows no other room, so that a fault in our own code
//! cannot hide in its examiner. Nothing here is fit for real people: there are no passwords.

mod answer;
mod api;
mod authorize;
mod catalogue;
mod config;
mod gate;
mod html;
mod issue;
mod jwt;
mod misbehave;
mod recorder;
mod server;
mod shape;
mod state;
mod token;

#[cfg(test)]
mod proof;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::web;
use serde_json::Value;

pub use catalogue::{Case, catalogue};
pub use config::{
    AccessTokenForm, ClientAuth, ConsentRule, LabClient, LabClock, LabConfig, Person,
};
pub use gate::{Gate, Moment};
pub use misbehave::{
    CallbackEdits, JwtEdits, Misbehaviour, RefreshRule, Reply, ReplyFault, Signing, TokenShape,
};
pub use recorder::Recorded;

use gate::GatePost;
use state::{Shared, State};

/// Why a lab could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The address is taken or not ours.
    #[error("the lab could not listen: {0}; choose another address or port 0")]
    Bind(#[source] io::Error),
    /// A key could not be made or used.
    #[error("the lab has a key problem: {0}")]
    Key(&'static str),
    /// The operating system gave no randomness.
    #[error("the operating system gave no random bytes; try again")]
    Random,
    /// Nobody of this id is in the configuration.
    #[error("there is no {0:?} in this lab; add a Person to its LabConfig")]
    UnknownPerson(String),
    /// An address could not be read.
    #[error("{0:?} is not an absolute address; correct the redirect URI or callback target")]
    Address(String),
    /// The built-in catalogue cannot be read.
    #[error("the catalogue of cases cannot be read: {0}; correct catalogue.json")]
    Catalogue(#[source] serde_json::Error),
    /// No case of this name.
    #[error("there is no case {0:?}; `catalogue` lists them all")]
    UnknownCase(String),
}

/// One grant that is still good, as a provider would list it under "connected apps".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveGrant {
    /// The client it was given to.
    pub client: String,
    /// The person or account that gave it.
    pub person: String,
    /// Its scope, separated by spaces.
    pub scope: String,
}

/// A running lab. Clones are handles to the same lab.
#[derive(Clone)]
pub struct Lab {
    shared: web::Data<Shared>,
    addr: SocketAddr,
    server: ServerHandle,
}

impl Lab {
    /// Starts a lab on its own worker thread. Call it inside a running actix system or
    /// tokio runtime.
    ///
    /// # Errors
    /// `Bind` if the address cannot be listened on, `Key` if no key can be made.
    pub fn start(config: LabConfig, clock: Arc<dyn LabClock>) -> Result<Self, LabError> {
        let listener = TcpListener::bind(config.addr).map_err(LabError::Bind)?;
        let addr = listener.local_addr().map_err(LabError::Bind)?;
        let base = config
            .public_url
            .clone()
            .unwrap_or_else(|| format!("http://{addr}"));
        let shared = web::Data::new(Shared {
            base: base.trim_end_matches('/').to_owned(),
            cookie: format!("lab_{}", addr.port()),
            state: Mutex::new(State::new(&config)?),
            config,
            clock,
        });
        let (running, server) = server::serve(shared.clone(), listener)?;
        tokio::spawn(running);
        Ok(Self {
            shared,
            addr,
            server,
        })
    }

    /// The base address, which is also the issuer; no final slash.
    pub fn base_url(&self) -> &str {
        &self.shared.base
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops at once; requests under way are cut off.
    pub async fn stop(&self) {
        self.server.stop(false).await;
    }

    /// Replaces all switches.
    pub fn misbehave(&self, misbehaviour: Misbehaviour) {
        self.shared.lock().misbehaviour = misbehaviour;
    }

    /// Turns every switch off.
    pub fn behave(&self) {
        self.misbehave(Misbehaviour::default());
    }

    /// The switches as they are now; counted replies show what is left of them.
    pub fn misbehaviour(&self) -> Misbehaviour {
        self.shared.lock().misbehaviour.clone()
    }

    /// Puts a gate before every later request at `path`.
    pub fn hold(&self, path: &str, moment: Moment) -> Gate {
        let (gate, post) = GatePost::new(path, moment);
        self.shared.lock().gates.push(post);
        gate
    }

    /// All recorded requests, oldest first.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.shared.lock().recorder.all()
    }

    /// How many recorded requests had this path.
    pub fn count(&self, path: &str) -> usize {
        self.shared.lock().recorder.count(path)
    }

    /// Forgets all recorded requests.
    pub fn clear(&self) {
        self.shared.lock().recorder.clear();
    }

    /// Gives out an API key: the small API takes it as a bearer token of this person, with every scope. `None` ends it.
    ///
    /// # Errors
    /// `UnknownPerson`.
    pub fn give_key(&self, key: &str, person: Option<&str>) -> Result<(), LabError> {
        let mut state = self.shared.lock();
        match person {
            Some(id) => {
                self.shared.person(id)?;
                state.api_keys.insert(key.to_owned(), id.to_owned());
            }
            None => drop(state.api_keys.remove(key)),
        }
        Ok(())
    }

    /// Adds a client, or replaces the one of the same id.
    pub fn add_client(&self, client: LabClient) {
        let mut state = self.shared.lock();
        state.clients.retain(|known| known.id != client.id);
        state.clients.push(client);
    }

    /// From now on `/authorize` answers at once as if this person had signed in and agreed;
    /// `None` brings the pages back.
    ///
    /// # Errors
    /// `UnknownPerson`.
    pub fn sign_in_silently(&self, person: Option<&str>) -> Result<(), LabError> {
        let id = person
            .map(|id| self.shared.person(id))
            .transpose()?
            .map(|found| found.id.clone());
        self.shared.lock().auto = id;
        Ok(())
    }

    /// Makes a new signing key. The old public key stays in the key set if `keep_old`.
    ///
    /// # Errors
    /// `Key`.
    pub fn rotate_keys(&self, keep_old: bool) -> Result<(), LabError> {
        self.shared.lock().keys.rotate(keep_old)
    }

    /// Makes an RFC 9068 access token for a person, with edits laid over it. It stands alone: the
    /// lab's own userinfo, introspection and API do not know it. Honest defaults: `client_id`
    /// is `practice-mcp-client`, `scope` is all scopes of the lab.
    ///
    /// # Errors
    /// `UnknownPerson`, `Key`, `Random`.
    pub fn mint_access_token(
        &self,
        person: &str,
        audience: &str,
        edits: &JwtEdits,
    ) -> Result<String, LabError> {
        let person = &self.shared.person(person)?.id;
        let mut claims = issue::access_claims(&self.shared, person, &[audience.to_owned()])?;
        claims.insert("client_id".to_owned(), "practice-mcp-client".into());
        claims.insert(
            "scope".to_owned(),
            self.shared.config.scopes.join(" ").into(),
        );
        self.shared.lock().keys.token("at+jwt", claims, edits)
    }

    /// Signs exactly these JSON texts, so that double members and broken JSON can be made. The header's `alg` picks the key: `ES256` and
    /// `RS256` the published ones, `HS256` the PEM text of the EC public key as secret, anything
    /// else leaves the signature empty.
    ///
    /// # Errors
    /// `Key`, also when `RS256` is asked for without `LabConfig::rsa`.
    pub fn sign(&self, header: &str, claims: &str) -> Result<String, LabError> {
        self.shared.lock().keys.sign(header, claims)
    }

    /// The current EC public key as PEM.
    ///
    /// # Errors
    /// `Key`.
    pub fn public_key_pem(&self) -> Result<String, LabError> {
        self.shared.lock().keys.public_pem()
    }

    /// The key set as `/jwks` gives it out when it behaves.
    ///
    /// # Errors
    /// `Key`.
    pub fn jwks(&self) -> Result<Value, LabError> {
        self.shared.lock().keys.jwks()
    }

    /// Every grant that is still good.
    pub fn live_grants(&self) -> Vec<LiveGrant> {
        let state = self.shared.lock();
        let live = state.grants.values().filter(|grant| grant.live);
        live.map(|grant| LiveGrant {
            client: grant.client.clone(),
            person: grant.person.clone(),
            scope: grant.scope.clone(),
        })
        .collect()
    }

    /// Whether an access or refresh token of this lab is good now.
    pub fn is_active(&self, token: &str) -> bool {
        let now = self.shared.now();
        let state = self.shared.lock();
        state.good_access(token, now).is_some() || state.good_refresh(token, now).is_some()
    }

    /// Ends all grants of a person, as when they remove the app in their account settings.
    /// Returns how many there were.
    pub fn end_grants(&self, person: &str) -> usize {
        let mut state = self.shared.lock();
        let theirs = state
            .grants
            .values_mut()
            .filter(|grant| grant.live && grant.person == person);
        theirs.map(|grant| grant.live = false).count()
    }
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab")
            .field("base_url", &self.shared.base)
            .finish_non_exhaustive()
    }
}
