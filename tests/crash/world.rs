//! One store, killed over and over: the program, two labs that live on, a clock that all three share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use domain::Clock as _;
use futures_util::FutureExt as _;
use lab::{ConsentRule, JwtEdits, Lab, LabClient, LabClock, LabConfig, Misbehaviour};
use reqwest::Method;
use strongroom::clock::SystemClock;

use crate::actor::Actor;
use crate::audit::AuditReader;
use crate::configuration::Parts;
use crate::lab_remains::{self, Role};
use crate::operator::Operator;
use crate::person::Person;
use crate::point::{Dice, Point, Side, When};
use crate::program::{Place, Program, free_port};
use crate::remains;
use crate::server::{Answered, McpServer};

const RESOURCE: &str = "https://s1.test/mcp";
/// The server that the operator deals with; nobody's credential hangs on it.
const OTHER: &str = "https://s2.test/mcp";
const SECRET: &str = "client-secret-of-the-crash-test";

/// Everything around the people.
pub(crate) struct World {
    place: Place,
    program: Program,
    /// Where people sign in.
    pub(crate) issuer: Lab,
    /// What they connect.
    pub(crate) provider: Lab,
    /// The MCP server.
    pub(crate) server: McpServer,
    api: String,
    admin: String,
    /// How many steps were cut off before their answer.
    pub(crate) cut_off: u64,
    audit: AuditReader,
    shift_s: i64,
}

impl World {
    /// Sets an installation up and starts it, with room for so many people.
    pub(crate) fn start(people: u64) -> Self {
        let place = Place::new(SECRET);
        let ports = (free_port(), free_port());
        let (issuer, provider) = labs(&place, ports.0, people);
        let parts = Parts {
            host: "localhost",
            ports,
            folder: &place.path("").display().to_string(),
            issuer: issuer.base_url(),
            provider: provider.base_url(),
            endpoints: ["/authorize", "/token", "/revoke"],
            servers: &[("s1", RESOURCE), ("s2", OTHER)],
        };
        let admin = free_port();
        let listen = format!("admin = \"127.0.0.1:{admin}\", admin_socket");
        place.configure(&parts.text().replace("admin_socket", &listen));
        let keys = place.set_up(&["s1"]);
        let program = place.serve();
        let api = format!("http://127.0.0.1:{}", ports.1);
        let server = McpServer::new(&api, &keys[0]);
        let audit = AuditReader::new(place.path("data/audit/audit.jsonl"));
        Self {
            place,
            program,
            issuer,
            provider,
            server,
            api,
            admin: format!("http://127.0.0.1:{admin}"),
            cut_off: 0,
            audit,
            shift_s: 0,
        }
    }

    /// A subject token.
    pub(crate) fn token(&self, person: &str) -> String {
        self.token_for(person, RESOURCE)
    }

    fn token_for(&self, person: &str, resource: &str) -> String {
        let token = self
            .issuer
            .mint_access_token(person, resource, &JwtEdits::default())
            .unwrap();
        remains::secret("subject token", &token);
        token
    }

    /// An operator's request with this admin key.
    pub(crate) async fn operate(&self, key: &str, method: Method, path: &str) -> Answered {
        McpServer::new(&self.admin, key)
            .call(method, path, &[], None)
            .await
    }

    /// A new admin key, made at the socket.
    pub(crate) fn new_admin_key(&self) -> String {
        let said = self.place.run(&["admin-key", "new"]);
        let key = said
            .split_whitespace()
            .find(|word| word.starts_with("sra_"));
        key.unwrap_or_else(|| panic!("no key in {said}")).to_owned()
    }

    /// The status of a request with a key of the operator's server.
    pub(crate) async fn try_key(&self, key: &str) -> u16 {
        let token = self.token_for("p0", OTHER);
        let head = [("subject-token", &*token)];
        let server = McpServer::new(&self.api, key);
        server
            .call(Method::GET, "/v1/grants", &head, None)
            .await
            .status
    }

    /// Whether the audit log has an entry with all these words, now.
    pub(crate) fn has_entry(&self, words: &[&str]) -> bool {
        let log = std::fs::read_to_string(self.place.path("data/audit/audit.jsonl")).unwrap();
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        log.lines()
            .any(|line| quoted.iter().all(|word| line.contains(word)))
    }

    /// Moves everybody's clock.
    pub(crate) fn move_s(&mut self, seconds: i64) {
        self.shift_s += seconds;
        let new = self.place.path("clock.new");
        std::fs::write(&new, (self.shift_s * 1000).to_string()).unwrap();
        std::fs::rename(new, self.place.path("clock")).unwrap();
    }

    /// Lets them take the step, and kills the program in the moment that the point names.
    pub(crate) async fn kill_at(&mut self, point: &Point, dice: &mut Dice, actor: &mut impl Actor) {
        let gate = match point.when {
            When::Held(Side::Issuer, path, moment) => Some(self.issuer.hold(path, moment)),
            When::Held(Side::Provider, path, moment) => Some(self.provider.hold(path, moment)),
            When::Acknowledged | When::Sometime => None,
        };
        // Small delays are the likelier ones: that is when things are written.
        let most = dice.below(LONGEST_STEP_US) + 1;
        let delay = Duration::from_micros(dice.below(most));
        actor.prepare(self, point.step);
        // The program's death makes the request fail; what was known before stays known.
        let acting = AssertUnwindSafe(actor.try_to(self, point.step)).catch_unwind();
        let killing = async {
            match (&gate, point.when) {
                (Some(gate), _) => gate.arrived(1).await,
                (None, When::Sometime) => tokio::time::sleep(delay).await, // the moment itself is what is tried
                (None, _) => std::future::pending().await,
            }
            self.program.kill();
        };
        let acknowledged = tokio::select! {
            biased;
            done = acting => done.is_ok(),
            () = killing => false,
        };
        self.program.kill();
        drop(gate);
        if point.when == When::Acknowledged {
            assert!(
                acknowledged,
                "the step before the kill failed:\n{}",
                self.program.log()
            );
        }
        if acknowledged {
            actor.took(point.step);
        } else {
            self.cut_off += 1;
        }
    }

    /// Starts the program again on what the dead one left. Its leases have ended by then: they outlive their holder by less
    /// than a minute.
    pub(crate) fn restart(&mut self) {
        self.restart_after(50);
    }

    /// The same after so many seconds.
    pub(crate) fn restart_after(&mut self, seconds: i64) {
        self.program.kill();
        self.move_s(seconds);
        self.program = self.place.serve();
        // A new client: the old one keeps connections to the dead process.
        self.server = McpServer::new(&self.api, &self.server.key);
        let listed = self.place.run(&["server", "list"]);
        assert!(
            listed.contains("live"),
            "the server's key is gone: {listed}"
        );
    }

    /// The chain holds, and what was acknowledged has its entries.
    pub(crate) fn examine_audit<'a>(
        &mut self,
        people: impl Iterator<Item = &'a Person>,
        operator: &Operator,
    ) {
        self.audit.read_on();
        operator.check_audit(&self.audit);
        for person in people {
            person.check_audit(&self.audit);
        }
    }

    /// What the running program logged, for messages.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    /// Ends all of it.
    pub(crate) async fn stop(self) {
        self.program.stop();
        lab_remains::keep(Role::Issuer, &self.issuer);
        lab_remains::keep(Role::Provider, &self.provider);
        self.issuer.stop().await;
        self.provider.stop().await;
    }
}

/// No step takes longer than this on a quiet machine.
const LONGEST_STEP_US: u64 = 30_000;

fn labs(place: &Place, connect: u16, people: u64) -> (Lab, Lab) {
    let clock = SystemClock::shifted_by(place.path("clock"));
    let clock: Arc<dyn LabClock> =
        Arc::new(move || u64::try_from(clock.now().as_seconds()).unwrap());
    let connect = format!("http://localhost:{connect}");
    let all = |suffix: &str| {
        (0..people)
            .map(|n| {
                lab::Person::new(
                    &format!("p{n}{suffix}"),
                    &format!("Person {n}"),
                    &["a note"],
                )
            })
            .collect()
    };
    let issuer = LabConfig {
        clients: vec![LabClient::basic(
            "strongroom",
            SECRET,
            &format!("{connect}/login/callback/corp"),
        )],
        consent: ConsentRule::Once,
        people: all(""),
        ..LabConfig::issuer()
    };
    let provider = LabConfig {
        addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), 0),
        clients: vec![LabClient::basic(
            "strongroom",
            SECRET,
            &format!("{connect}/cb/practice"),
        )],
        people: all("-at-practice"),
        ..LabConfig::provider()
    };
    let (issuer, provider) = (
        Lab::start(issuer, Arc::clone(&clock)).unwrap(),
        Lab::start(provider, clock).unwrap(),
    );
    // An answer that was lost may be asked for again, as with many providers; without this a kill at the wrong moment costs
    // the grant, which no vault can prevent.
    provider.misbehave(Misbehaviour {
        reuse_grace: 600,
        ..Misbehaviour::default()
    });
    (issuer, provider)
}
