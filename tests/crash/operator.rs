//! The operator, who makes and revokes keys and switches a server off and on while the program runs.

use reqwest::Method;
use serde_json::Value;

use crate::actor::Actor;
use crate::audit::AuditReader;
use crate::step::Step;
use crate::world::World;

/// How many of the keys that are refused are tried again each time.
const RECENT: usize = 3;

/// What the operator was told. The server has one key at most, and between the kills it is enabled and has none.
pub(crate) struct Operator {
    /// The admin key shown last, and those before.
    admin: String,
    earlier: Vec<String>,
    /// The server's key, and those that were revoked.
    key: Option<String>,
    gone: Vec<String>,
    disabled: bool,
    /// The step that was begun and not acknowledged.
    open: Option<Step>,
    /// How often an action about a key or the server must be in the audit log.
    promised: Vec<(&'static str, &'static str, String)>,
}

impl Operator {
    /// With a first admin key.
    pub(crate) fn new(world: &World) -> Self {
        Self {
            admin: world.new_admin_key(),
            earlier: Vec::new(),
            key: None,
            gone: Vec::new(),
            disabled: false,
            open: None,
            promised: Vec::new(),
        }
    }

    /// Everything acknowledged has an entry of its own.
    pub(crate) fn check_audit(&self, audit: &AuditReader) {
        for (action, what, which) in &self.promised {
            let same = self
                .promised
                .iter()
                .filter(|other| (other.0, &other.2) == (*action, which));
            assert!(
                audit.about(what, which, action) >= same.count(),
                "no entry {action} about {which}"
            );
        }
    }

    async fn ask(&self, world: &World, method: Method, path: &str, status: u16) -> Value {
        let said = world.operate(&self.admin, method, path).await;
        assert_eq!(said.status, status, "{path}: {}", said.body);
        said.body
    }

    /// One admin key works, and those before it do not. After a replacement that was cut off the earlier one works or does
    /// not, and the socket gives a new one.
    async fn check_admin_keys(&mut self, world: &World) {
        let status = world
            .operate(&self.admin, Method::GET, "/v1/servers")
            .await
            .status;
        if self.open == Some(Step::AdminKey) {
            assert!([200, 401].contains(&status), "the admin key: {status}");
            let fresh = world.new_admin_key();
            self.earlier.push(std::mem::replace(&mut self.admin, fresh));
        } else {
            assert_eq!(status, 200, "the admin key");
        }
        for key in self.earlier.iter().rev().take(RECENT) {
            let said = world.operate(key, Method::GET, "/v1/servers").await;
            assert_eq!(said.status, 401, "a replaced admin key works again");
        }
    }

    /// The list says what was acknowledged; what was not is settled by it, and no key is left that nobody was shown.
    async fn settle(&mut self, world: &World) {
        let servers = self.ask(world, Method::GET, "/v1/servers", 200).await;
        let (disabled, live) = listed(&servers);
        let known: Vec<String> = self.key.iter().map(|key| id(key)).collect();
        match self.open {
            Some(Step::NewKey) => {
                assert!(live.len() < 2, "two keys of one request: {live:?}");
                for unseen in &live {
                    let path = format!("/v1/keys/{unseen}");
                    self.ask(world, Method::DELETE, &path, 200).await;
                    // It was made whole, with its entry.
                    self.promised
                        .push(("server_key_created", "key", unseen.clone()));
                }
            }
            Some(Step::RevokeKey) if live.is_empty() => self.took(Step::RevokeKey),
            _ => assert_eq!(live, known, "the server's keys"),
        }
        match self.open {
            Some(step @ (Step::Disable | Step::Enable)) if disabled != self.disabled => {
                self.took(step);
            }
            _ => assert_eq!(disabled, self.disabled, "whether the server is disabled"),
        }
        self.open = None;
    }

    /// Keys work or are refused as they should.
    async fn check_keys(&self, world: &World) {
        if let Some(key) = &self.key {
            let expected = if self.disabled { 401 } else { 200 };
            assert_eq!(
                world.try_key(key).await,
                expected,
                "disabled: {}",
                self.disabled
            );
        }
        for key in self.gone.iter().rev().take(RECENT) {
            assert_eq!(world.try_key(key).await, 401, "a revoked key works again");
        }
    }
}

impl Actor for Operator {
    fn prepare(&mut self, _: &mut World, step: Step) {
        self.open = Some(step);
    }

    async fn try_to(&mut self, world: &World, step: Step) {
        match step {
            Step::NewKey => {
                let path = "/v1/servers/s2/keys";
                let said = self.ask(world, Method::POST, path, 201).await;
                self.key = Some(secret(&said));
            }
            Step::RevokeKey => {
                let path = format!("/v1/keys/{}", id(self.key.as_ref().unwrap()));
                self.ask(world, Method::DELETE, &path, 200).await;
            }
            Step::Disable => {
                let path = "/v1/servers/s2/disable";
                self.ask(world, Method::POST, path, 200).await;
            }
            Step::Enable => {
                let path = "/v1/servers/s2/enable";
                self.ask(world, Method::POST, path, 200).await;
            }
            Step::AdminKey => {
                let said = self.ask(world, Method::POST, "/v1/admin-keys", 201).await;
                let before = std::mem::replace(&mut self.admin, secret(&said));
                self.earlier.push(before);
            }
            other => panic!("{other:?} is not the operator's"),
        }
    }

    fn took(&mut self, step: Step) {
        self.open = None;
        let server = || String::from("s2");
        match step {
            Step::NewKey => {
                let made = id(self.key.as_ref().unwrap());
                self.promised.push(("server_key_created", "key", made));
            }
            Step::RevokeKey => {
                let key = self.key.take().unwrap();
                self.promised.push(("server_key_revoked", "key", id(&key)));
                self.gone.push(key);
            }
            Step::Disable | Step::Enable => {
                self.disabled = step == Step::Disable;
                let action = if self.disabled {
                    "server_disabled"
                } else {
                    "server_enabled"
                };
                self.promised.push((action, "server", server()));
            }
            Step::AdminKey => {
                let (made, before) = (id(&self.admin), id(self.earlier.last().unwrap()));
                self.promised.push(("server_key_created", "key", made));
                self.promised.push(("server_key_revoked", "key", before));
            }
            other => panic!("{other:?} is not the operator's"),
        }
    }

    async fn check(&mut self, world: &mut World) {
        self.check_admin_keys(world).await;
        self.settle(world).await;
        self.check_keys(world).await;
        // As it was before, and each change holds at once.
        if self.disabled {
            self.act(world, Step::Enable).await;
            self.check_keys(world).await;
        }
        if self.key.is_some() {
            self.act(world, Step::RevokeKey).await;
            self.check_keys(world).await;
        }
    }
}

/// Whether the operator's server is disabled, and the ids of its live keys.
fn listed(answer: &Value) -> (bool, Vec<String>) {
    let all = answer["servers"].as_array().unwrap();
    let server = all.iter().find(|server| server["slug"] == "s2").unwrap();
    let keys = server["keys"].as_array().unwrap().iter();
    let live = keys.filter(|key| key["revoked_at"].is_null());
    let ids = live.map(|key| key["id"].as_str().unwrap().to_owned());
    (server["disabled"].as_bool().unwrap(), ids.collect())
}

/// The id in a key: the twelve characters after its prefix.
fn id(key: &str) -> String {
    key["srk_".len()..][..12].to_owned()
}

fn secret(answer: &Value) -> String {
    answer["secret"].as_str().unwrap().to_owned()
}
