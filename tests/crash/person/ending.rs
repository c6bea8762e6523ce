//! Links that end otherwise than in a credential, or begin again.

use reqwest::Method;
use serde_json::json;

use super::Person;
use crate::browser::Browser;
use crate::step::Step;
use crate::world::World;

/// Looks at the audit log before one gives up that the janitor has been there; each look costs a request.
const LOOKS: u32 = 2000;

impl Person {
    /// Takes a step that ends the link or starts over.
    pub(super) async fn try_to_end(&mut self, world: &World, step: Step) {
        let before = self.page.take().unwrap();
        let page = &*self.stale.insert(before);
        match step {
            Step::DeclineConsent | Step::DeclineConfirm => {
                let said = self.browser.press(page, "/decline", &[]).await;
                assert_eq!(said.h1(), "Not connected", "{}", said.body);
            }
            Step::Again => {
                let said = self.browser.press(page, "/again", &[]).await;
                assert!(said.form("/consent").is_some(), "{}", said.body);
                self.page = Some(said);
            }
            Step::SignOut => {
                self.old_jar.clone_from(&self.browser.jar);
                let said = self.browser.press(page, "/session/end", &[]).await;
                assert!(said.form("/login").is_some(), "{}", said.body);
                self.page = Some(said);
            }
            Step::Cancel => {
                let path = format!("/v1/elicitations/{}/cancel", self.elicitation());
                let body = json!({ "subject_token": world.token(&self.id) });
                let said = world
                    .server
                    .call(Method::POST, &path, &[], Some(body))
                    .await;
                assert_eq!(said.text("/state"), "cancelled", "{}", said.body);
            }
            Step::ClientDecline => self.answer_in_client(world, "decline", step).await,
            Step::ClientCancel => self.answer_in_client(world, "cancel", step).await,
            Step::Expire => {
                self.wait_for_the_janitor(world, "revoked", self.elicitation())
                    .await;
            }
            other => panic!("{other:?} is no end"),
        }
    }

    /// The client sends the answer of its user with the state that it was given.
    async fn answer_in_client(&self, world: &World, action: &str, step: Step) {
        let over = json!({
            "request_state": self.state,
            "input_responses": { "connect:practice": { "action": action } },
        });
        let said = world.server.ensure_with(&world.token(&self.id), over).await;
        assert_eq!(Some(said.text("/status")), step.end(), "{}", said.body);
    }

    /// Until the log has what became of the pending tokens.
    async fn wait_for_the_janitor(&self, world: &World, outcome: &str, id: &str) {
        for _ in 0..LOOKS {
            if world.has_entry(&["pending_destroyed", outcome, id]) {
                return;
            }
            self.ask_about(world, id).await;
        }
        panic!(
            "{}: nobody destroyed what was pending: {}",
            self.id,
            world.log()
        );
    }

    fn elicitation(&self) -> &str {
        self.elicitation.as_deref().unwrap()
    }

    /// What the audit log owes for an acknowledged step.
    pub(super) fn promise(&mut self, step: Step) {
        let entry = step.entry().zip(self.elicitation.clone());
        self.promised.extend(entry);
    }

    /// After the restart: an acknowledged end is one, for the browser, for the provider, and for pages that are still open.
    pub(super) async fn check_end(&mut self, world: &World) {
        let Some(page) = self.stale.take() else {
            return;
        };
        // What was cut off may have been done or not; the state of the elicitation tells.
        if self.taken != self.tried {
            return;
        }
        if self.taken == Some(Step::SignOut) {
            let mut before = Browser::new();
            before.jar = std::mem::take(&mut self.old_jar);
            let seen = before.open(page.url.as_str()).await;
            let asks = seen.form("/login").is_some() && seen.form("/consent").is_none();
            assert!(asks, "{}: still signed in: {}", self.id, seen.body);
            return;
        }
        // A server that takes a link back does not wait until the provider has heard of it.
        if !matches!(self.taken, Some(Step::Cancel | Step::ClientCancel)) {
            self.check_tokens(world);
        }
        let (deed, tick) = if page.form("/confirm").is_some() {
            ("/confirm", "mine")
        } else {
            ("/consent", "agree")
        };
        let said = self.browser.press(&page, deed, &[(tick, "yes")]).await;
        assert!(
            said.status.is_client_error() && said.url.host_str() == Some("localhost"),
            "{}: {:?}, but {deed} was taken: {} at {}",
            self.id,
            self.taken,
            said.status,
            said.url
        );
    }

    /// None of the person's tokens is alive at the provider.
    fn check_tokens(&self, world: &World) {
        let account = format!("{}-at-practice", self.id);
        let live = world.provider.live_grants();
        assert!(
            live.iter().all(|grant| grant.person != account),
            "{}: {:?}, but the tokens are alive",
            self.id,
            self.taken
        );
    }

    /// What was pending does not stay, whether its end was acknowledged or cut off: the janitor sees to it.
    pub(super) async fn check_pending(&mut self, world: &mut World, elicitation: Option<String>) {
        let Some(id) = elicitation else { return };
        match self.tried {
            Some(Step::Cancel | Step::ClientCancel) => {
                world.restart_after(601);
                self.reopen_browser();
            }
            Some(Step::Expire) => {}
            _ => return,
        }
        self.wait_for_the_janitor(world, "ok", &id).await;
    }
}
