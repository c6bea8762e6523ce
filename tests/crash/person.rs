//! One person and what the outside knows about their credential: only what was acknowledged may be relied on.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use crate::actor::Actor;
use crate::browser::{Browser, Page};
use crate::server::Answered;
use crate::step::{LIFE, Step};
use crate::world::World;

mod ending;
mod told;

/// What must hold after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody said yes to the confirm page: no credential, whatever is stored.
    Unconnected,
    /// The confirm page or the ending was under way: one or the other, and then that for good.
    Either,
    /// There is a credential.
    Connected,
    /// The grant was ended.
    Ended,
}

/// A person, their browser, and what they and the server were told.
pub(crate) struct Person {
    id: String,
    browser: Browser,
    page: Option<Page>,
    /// The page on which the link ended.
    stale: Option<Page>,
    /// The cookies from before signing out.
    old_jar: BTreeMap<(String, String), String>,
    standing: Standing,
    taken: Option<Step>,
    /// The step that was begun last.
    tried: Option<Step>,
    elicitation: Option<String>,
    url: String,
    /// What the client sends back.
    state: String,
    grant: Option<String>,
    generation: u64,
    released: usize,
    started: bool,
    /// Actions that the audit log has to have about elicitations.
    promised: Vec<(&'static str, String)>,
}

impl Person {
    /// Person number `n`, of whom nothing is known.
    pub(crate) fn new(n: u64) -> Self {
        Self {
            id: format!("p{n}"),
            browser: Browser::new(),
            page: None,
            stale: None,
            old_jar: BTreeMap::new(),
            standing: Standing::Unconnected,
            taken: None,
            tried: None,
            elicitation: None,
            url: String::new(),
            state: String::new(),
            grant: None,
            generation: 0,
            released: 0,
            started: false,
            promised: Vec::new(),
        }
    }

    /// Whether their grant was ended.
    pub(crate) fn is_revoked(&self) -> bool {
        self.standing == Standing::Ended
    }
}

impl Actor for Person {
    fn prepare(&mut self, world: &mut World, step: Step) {
        self.started = true;
        self.tried = Some(step);
        match step {
            Step::Refresh => world.move_s(3601),
            Step::Confirm | Step::Revoke => self.standing = Standing::Either,
            Step::Expire => {
                // The janitor looks around as soon as it starts.
                world.restart_after(601);
                self.reopen_browser();
            }
            _ => {}
        }
    }

    fn took(&mut self, step: Step) {
        self.taken = Some(step);
        match step {
            Step::Confirm => self.standing = Standing::Connected,
            Step::Revoke => self.standing = Standing::Ended,
            _ => self.promise(step),
        }
    }

    async fn try_to(&mut self, world: &World, step: Step) {
        let account = format!("{}-at-practice", self.id);
        match step {
            Step::Ask => {
                let answer = self.ensure(world).await;
                assert_eq!(answer.text("/status"), "elicit", "{}", answer.body);
                self.elicitation = Some(answer.text("/elicitation/id").to_owned());
                answer
                    .text("/elicitation/connect_url")
                    .clone_into(&mut self.url);
                answer.text("/request_state").clone_into(&mut self.state);
            }
            Step::Open => self.page = Some(self.browser.open(&self.url).await),
            Step::SignIn => {
                let page = self.page.take().unwrap();
                // Who is signed in already gets the consent page at once.
                let page = if page.form("/login").is_some() {
                    self.browser.press(&page, "/login", &[]).await
                } else {
                    page
                };
                self.page = Some(at_lab(&mut self.browser, page, &self.id).await);
            }
            Step::Consent => {
                let page = self.page.take().unwrap();
                self.page = Some(
                    self.browser
                        .press(&page, "/consent", &[("agree", "yes")])
                        .await,
                );
            }
            Step::Exchange => {
                let page = self.page.take().unwrap();
                let page = at_lab(&mut self.browser, page, &account).await;
                assert_eq!(page.h1(), "Is this the right account?", "{}", page.body);
                self.page = Some(page);
            }
            Step::Confirm => {
                let page = self.page.take().unwrap();
                let done = self
                    .browser
                    .press(&page, "/confirm", &[("mine", "yes")])
                    .await;
                assert_eq!(done.h1(), "Connected", "{}", done.body);
            }
            Step::Fetch | Step::Refresh => {
                let answer = self.ensure(world).await;
                let before = self.generation;
                self.got_credential(world, &answer);
                assert!(
                    step == Step::Fetch || self.generation > before,
                    "not refreshed: {}",
                    answer.body["grant"]
                );
            }
            Step::Revoke => self.end_grant(world).await,
            _ => self.try_to_end(world, step).await,
        }
    }

    async fn check(&mut self, world: &mut World) {
        if !self.started {
            return;
        }
        self.reopen_browser();
        self.check_end(world).await;
        let elicitation = self.elicitation.clone();
        self.check_elicitation(world).await;
        self.check_pending(world, elicitation).await;
        let token = world.token(&self.id);
        let grants = world
            .server
            .call(
                Method::GET,
                "/v1/grants",
                &[("subject-token", &token)],
                None,
            )
            .await;
        let active = grants.body["grants"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|grant| grant["status"] == "active")
            .count();
        let answer = self.ensure(world).await;
        let connected = answer.text("/status") == "connected";
        assert!(
            connected || answer.text("/status") == "elicit",
            "{}: {} {}",
            self.id,
            answer.body,
            world.log()
        );
        assert_eq!(
            active,
            usize::from(connected),
            "{}: {}",
            self.id,
            grants.body
        );
        match self.standing {
            Standing::Unconnected => assert!(
                !connected,
                "{}: a grant that nobody confirmed is usable",
                self.id
            ),
            Standing::Connected => assert!(
                connected,
                "{}: an acknowledged grant is lost: {}",
                self.id,
                world.log()
            ),
            Standing::Ended => assert!(!connected, "{}: an ended grant is usable again", self.id),
            // Before `Confirm` there was nothing to lose; after `Revoke` began there is no way back.
            Standing::Either => self.standing = self.settled(connected),
        }
        if connected {
            self.got_credential(world, &answer);
        }
    }
}

impl Person {
    /// The server ends the grant.
    async fn end_grant(&self, world: &World) {
        let path = format!("/v1/grants/{}", self.grant.as_ref().unwrap());
        let token = world.token(&self.id);
        let head = [("subject-token", &*token)];
        let receipt = world.server.call(Method::DELETE, &path, &head, None).await;
        assert_eq!(receipt.status, 200, "{}", receipt.body);
    }

    /// The same cookies over new connections: the old ones led to the dead process.
    fn reopen_browser(&mut self) {
        let jar = std::mem::take(&mut self.browser.jar);
        self.browser = Browser::new();
        self.browser.jar = jar;
    }

    fn settled(&self, connected: bool) -> Standing {
        match (connected, self.grant.is_some()) {
            (true, _) => Standing::Connected,
            (false, true) => Standing::Ended,
            (false, false) => Standing::Unconnected,
        }
    }

    /// Goes on as people do: on the page in front of them, or, if that step was cut off, with a new link. It ends well.
    pub(crate) async fn go_on(&mut self, world: &mut World) {
        if !self.started || self.standing != Standing::Unconnected {
            return;
        }
        let next = match (self.taken, &self.page) {
            (Some(Step::Again), Some(_)) => Step::Consent,
            (Some(Step::SignOut), Some(_)) => Step::SignIn,
            (Some(step), Some(_)) if step < Step::Confirm => LIFE
                .into_iter()
                .find(|next| *next > step)
                .unwrap_or(Step::Ask),
            _ => Step::Ask,
        };
        println!("  {} goes on with {next:?}", self.id);
        for step in LIFE
            .into_iter()
            .filter(|step| (next..=Step::Fetch).contains(step))
        {
            self.act(world, step).await;
        }
        self.elicitation = None;
    }

    async fn ensure(&self, world: &World) -> Answered {
        let answer = world
            .server
            .ensure_with(&world.token(&self.id), json!({}))
            .await;
        assert_eq!(
            answer.status,
            200,
            "{}: {}\n{}",
            self.id,
            answer.body,
            world.log()
        );
        answer
    }

    /// The server has a credential now: it works, and its generation never goes back.
    fn got_credential(&mut self, world: &World, answer: &Answered) {
        assert_eq!(answer.text("/status"), "connected", "{}", answer.body);
        let header = answer.text("/credential/header/value");
        let token = header.strip_prefix("Bearer ").unwrap();
        assert!(
            world.provider.is_active(token),
            "{}: the released token does not work",
            self.id
        );
        let generation = answer.body["grant"]["generation"].as_u64().unwrap();
        assert!(
            generation >= self.generation,
            "{}: generation {generation} after {}",
            self.id,
            self.generation
        );
        self.generation = generation;
        let grant = answer.text("/grant/id").to_owned();
        if let Some(before) = self.grant.replace(grant.clone()) {
            assert_eq!(before, grant, "{}: another grant", self.id);
        }
        self.released += 1;
    }
}

/// Picks the account and says yes on the pages of a lab.
async fn at_lab(browser: &mut Browser, mut page: Page, account: &str) -> Page {
    for (deed, name, value) in [
        ("/authorize/account", "account", account),
        ("/authorize/consent", "consent", "yes"),
    ] {
        if page.form(deed).is_some() {
            page = browser.press(&page, deed, &[(name, value)]).await;
        }
    }
    page
}
