//! Subject tokens that were verified a moment ago, so that a server calling ten times a second costs one signature check.
//!
//! The memory holds no token: its keys are HMACs under a key that dies with the process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{Issuer, Server, Timestamp, VerifiedSubject};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secret::{Entropy, Reveal as _, SubjectToken};
use sha2::Sha256;

/// Longest time that a verified token is believed without looking at it again.
const LIFE: Duration = Duration::from_secs(60);
/// Most tokens; the oldest goes first.
const MAX_ENTRIES: usize = 10_000;

type Tag = [u8; 32];

/// The memory of one process.
pub(crate) struct SubjectMemory {
    keyed: Hmac<Sha256>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_tag: HashMap<Tag, Entry>,
    order: VecDeque<(Tag, u64)>,
    count: u64,
}

struct Entry {
    number: u64,
    until: Timestamp,
    subject: VerifiedSubject,
}

impl SubjectMemory {
    /// An empty memory with a fresh key.
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut key = [0; 64]; // one block of the hash
        entropy.fill(&mut key);
        Self {
            keyed: Hmac::new(&key.into()),
            entries: Mutex::default(),
        }
    }

    /// The subject that `token` was found to name for `server`, if that is not too long ago.
    pub(crate) fn recall(
        &self,
        token: &SubjectToken,
        (server, issuer): (&Server, &Issuer),
        now: Timestamp,
    ) -> Option<VerifiedSubject> {
        let tag = self.tag(token, server, issuer);
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.by_tag.get(&tag)?;
        (!entry.until.passed(now)).then(|| entry.subject.clone())
    }

    /// Remembers a token that was verified at `now`.
    pub(crate) fn remember(
        &self,
        token: &SubjectToken,
        (server, issuer): (&Server, &Issuer),
        subject: &VerifiedSubject,
        now: Timestamp,
    ) {
        let until = subject.until().min(now.plus(LIFE));
        if until.passed(now) {
            return; // within the leeway after its end: verified each time
        }
        let tag = self.tag(token, server, issuer);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(tag, subject.clone(), until);
    }

    fn tag(&self, token: &SubjectToken, server: &Server, issuer: &Issuer) -> Tag {
        let mut mac = self.keyed.clone();
        for part in [server.slug.as_str(), issuer.slug.as_str(), token.reveal()] {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }
}

impl Entries {
    fn insert(&mut self, tag: Tag, subject: VerifiedSubject, until: Timestamp) {
        self.count += 1;
        let number = self.count;
        self.order.push_back((tag, number));
        self.by_tag.insert(
            tag,
            Entry {
                number,
                until,
                subject,
            },
        );
        // The queue bounds the map: each entry stands in it at least once.
        while self.order.len() > MAX_ENTRIES {
            let Some((oldest, number)) = self.order.pop_front() else {
                return;
            };
            if self
                .by_tag
                .get(&oldest)
                .is_some_and(|entry| entry.number == number)
            {
                self.by_tag.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, after, issuer, server};
    use domain::SignedToken;
    use serde_json::json;

    fn subject() -> VerifiedSubject {
        let at = NOW.as_seconds();
        let claims = json!({
            "iss": "https://as.test", "aud": "https://notes.test/mcp", "sub": "ann", "iat": at, "exp": at + 600,
        });
        let token = SignedToken {
            typ: Some("at+jwt".into()),
            claims: claims.as_object().unwrap().clone(),
        };
        VerifiedSubject::check_token(&token, &server(), &issuer("https://as.test"), NOW).unwrap()
    }

    #[test]
    fn the_oldest_goes_first_and_the_memory_does_not_grow() {
        let mut entries = Entries::default();
        let tag = |number: usize| {
            let mut tag = [0; 32];
            tag[..8].copy_from_slice(&number.to_be_bytes());
            tag
        };
        for number in 0..MAX_ENTRIES + 5 {
            entries.insert(tag(number), subject(), after(60));
        }
        assert_eq!(
            (entries.by_tag.len(), entries.order.len()),
            (MAX_ENTRIES, MAX_ENTRIES)
        );
        assert!(!entries.by_tag.contains_key(&tag(4)));
        // Remembering one again makes it the newest.
        for _ in 0..MAX_ENTRIES * 2 {
            entries.insert(tag(1), subject(), after(60));
        }
        assert!(entries.by_tag.contains_key(&tag(1)));
        assert!(entries.order.len() <= MAX_ENTRIES);
    }

    #[test]
    fn a_token_is_remembered_for_one_server_alone() {
        let memory = SubjectMemory::new(&secret::OsEntropy);
        let (issuer, one, mut other) = (issuer("https://as.test"), server(), server());
        other.slug = domain::ServerSlug::parse("other").unwrap();
        let token = SubjectToken::new("t".into());
        memory.remember(&token, (&one, &issuer), &subject(), NOW);
        assert!(memory.recall(&token, (&one, &issuer), after(59)).is_some());
        assert!(memory.recall(&token, (&other, &issuer), NOW).is_none());
        assert!(memory.recall(&token, (&one, &issuer), after(60)).is_none());
        memory.remember(&token, (&other, &issuer), &subject(), after(600));
        assert!(
            memory
                .recall(&token, (&other, &issuer), after(600))
                .is_none()
        );
    }
}
