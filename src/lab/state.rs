//! The memory of a lab: sessions, codes, grants and tokens, all behind one lock.
//!
//! A *grant* is one "yes" of one person to one client; every token hangs on a grant, so ending the
//! grant ends them all.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::LabError;
use crate::config::{LabClient, LabClock, LabConfig, Person};
use crate::gate::GatePost;
use crate::jwt::{self, Keys};
use crate::misbehave::Misbehaviour;
use crate::recorder::Recorder;

/// How long a login page may stay open, seconds.
const PENDING_LIFE: u64 = 600;
/// How long a browser stays signed in, seconds.
const SESSION_LIFE: u64 = 30 * 86_400;
/// How long dead rows are remembered, so that a late replay is still recognised, seconds.
const MEMORY_OF_THE_DEAD: u64 = 86_400;

/// What handlers share.
pub(crate) struct Shared {
    pub(crate) config: LabConfig,
    /// Base address and issuer, without a final slash.
    pub(crate) base: String,
    /// Cookie name; it carries the port, because cookies of one host are shared by all its ports.
    pub(crate) cookie: String,
    pub(crate) clock: Arc<dyn LabClock>,
    pub(crate) state: Mutex<State>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    pub(crate) fn person(&self, id: &str) -> Result<&Person, LabError> {
        let found = self.config.people.iter().find(|person| person.id == id);
        found.ok_or_else(|| LabError::UnknownPerson(id.to_owned()))
    }
}

/// Everything that changes.
pub(crate) struct State {
    pub(crate) clients: Vec<LabClient>,
    pub(crate) sessions: HashMap<String, Session>,
    pub(crate) pending: HashMap<String, Pending>,
    pub(crate) codes: HashMap<String, Code>,
    pub(crate) grants: HashMap<String, Grant>,
    pub(crate) refresh: HashMap<String, RefreshToken>,
    pub(crate) access: HashMap<String, AccessToken>,
    /// Keys that were given out by hand, and whose they are.
    pub(crate) api_keys: HashMap<String, String>,
    pub(crate) keys: Keys,
    pub(crate) misbehaviour: Misbehaviour,
    pub(crate) gates: Vec<GatePost>,
    pub(crate) recorder: Recorder,
    /// The person who signs in and agrees without any page.
    pub(crate) auto: Option<String>,
}

/// A browser in which somebody signed in.
pub(crate) struct Session {
    pub(crate) person: String,
    pub(crate) since: u64,
    /// Client and scope pairs agreed to in this session.
    pub(crate) agreed: HashSet<(String, String)>,
}

/// A validated authorization request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) client: String,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) scope: String,
    pub(crate) nonce: Option<String>,
    pub(crate) challenge: String,
    pub(crate) resources: Vec<String>,
    pub(crate) force_consent: bool,
}

/// A request whose person is still looking at our pages.
pub(crate) struct Pending {
    pub(crate) ask: Ask,
    /// Who was chosen and when they signed in.
    pub(crate) person: Option<(String, u64)>,
    pub(crate) since: u64,
}

/// An authorization code.
pub(crate) struct Code {
    pub(crate) ask: Ask,
    pub(crate) person: String,
    pub(crate) auth_time: u64,
    pub(crate) expires: u64,
    /// The grant made when it was redeemed.
    pub(crate) grant: Option<String>,
}

/// One "yes"; dead once revoked or once a refresh token was reused.
#[derive(Clone)]
pub(crate) struct Grant {
    pub(crate) client: String,
    pub(crate) person: String,
    pub(crate) scope: String,
    pub(crate) resources: Vec<String>,
    pub(crate) auth_time: u64,
    pub(crate) live: bool,
}

/// A refresh token.
pub(crate) struct RefreshToken {
    pub(crate) grant: String,
    pub(crate) expires: u64,
    /// When it was replaced by a newer one.
    pub(crate) used: Option<u64>,
}

/// An access token.
pub(crate) struct AccessToken {
    pub(crate) grant: String,
    pub(crate) scope: String,
    pub(crate) audience: Vec<String>,
    pub(crate) issued: u64,
    pub(crate) expires: u64,
    pub(crate) revoked: bool,
}

impl State {
    pub(crate) fn new(config: &LabConfig) -> Result<Self, LabError> {
        Ok(Self {
            clients: config.clients.clone(),
            sessions: HashMap::new(),
            pending: HashMap::new(),
            codes: HashMap::new(),
            grants: HashMap::new(),
            refresh: HashMap::new(),
            access: HashMap::new(),
            keys: Keys::generate(config.rsa)?,
            misbehaviour: Misbehaviour::default(),
            gates: Vec::new(),
            recorder: Recorder::new(config.recorder_limit),
            api_keys: HashMap::new(),
            auto: None,
        })
    }

    pub(crate) fn client(&self, id: &str) -> Option<&LabClient> {
        self.clients.iter().find(|client| client.id == id)
    }

    pub(crate) fn grant_of(&self, id: &str) -> Option<&Grant> {
        self.grants.get(id).filter(|grant| grant.live)
    }

    pub(crate) fn end_grant(&mut self, id: &str) {
        if let Some(grant) = self.grants.get_mut(id) {
            grant.live = false;
        }
    }

    /// Ends the access tokens of a grant and leaves the grant.
    pub(crate) fn end_access(&mut self, grant: &str) {
        for row in self.access.values_mut().filter(|row| row.grant == grant) {
            row.revoked = true;
        }
    }

    /// An access token that is good now, with its live grant.
    pub(crate) fn good_access(&self, token: &str, now: u64) -> Option<(&AccessToken, &Grant)> {
        let row = self
            .access
            .get(token)
            .filter(|row| !row.revoked && row.expires > now)?;
        Some((row, self.grant_of(&row.grant)?))
    }

    /// A refresh token that is good now, with its live grant.
    pub(crate) fn good_refresh(&self, token: &str, now: u64) -> Option<(&RefreshToken, &Grant)> {
        let row = self
            .refresh
            .get(token)
            .filter(|row| row.used.is_none() && row.expires > now)?;
        Some((row, self.grant_of(&row.grant)?))
    }

    /// Forgets what is long over, so that a practice server can run for weeks.
    pub(crate) fn prune(&mut self, now: u64) {
        self.pending
            .retain(|_, row| row.since.saturating_add(PENDING_LIFE) > now);
        self.sessions
            .retain(|_, row| row.since.saturating_add(SESSION_LIFE) > now);
        let remembered = |expires: u64| expires.saturating_add(MEMORY_OF_THE_DEAD) > now;
        self.codes.retain(|_, row| remembered(row.expires));
        self.refresh.retain(|_, row| remembered(row.expires));
        self.access.retain(|_, row| remembered(row.expires));
        let in_use: HashSet<&String> = (self.refresh.values().map(|row| &row.grant))
            .chain(self.access.values().map(|row| &row.grant))
            .chain(self.codes.values().filter_map(|row| row.grant.as_ref()))
            .collect();
        self.grants.retain(|id, _| in_use.contains(id));
    }
}

/// Random text of 256 bits after a prefix.
pub(crate) fn fresh(prefix: &str) -> Result<String, LabError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| LabError::Random)?;
    Ok(format!("{prefix}{}", jwt::encode(&bytes)))
}
