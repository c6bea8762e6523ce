//! `Idempotency-Key`: a request that is repeated finds the elicitation and the link that it made the first time.
//!
//! The link is kept sealed for a day, bound to its elicitation. A key says nothing about id or ticket, which are random,
//! so a key that is used again after its row is gone makes a new link and never revives an old one.

use std::time::Duration;

use domain::{AuthenticatedServer, Digest, Elicitation, Timestamp, VerifiedSubject};
use secret::ConnectTicket;
use storage::Revision;

use super::elicit;
use crate::core::Core;
use crate::doors::{Refusal, Wanted};
use crate::rows::{self, Changes, Due, RepeatRow, look_at};

/// What is kept under an `Idempotency-Key`.
pub(crate) enum Known {
    /// Nothing that still counts; a row put there must have this revision.
    Nothing(Revision),
    /// The same request was made before: its live elicitation and its ticket.
    Same(Box<Elicitation>, ConnectTicket),
}

/// The keyed hash under which a key of this server, person and client is kept, for this provider.
pub(crate) fn hash(
    core: &Core,
    caller: &AuthenticatedServer,
    subject: &VerifiedSubject,
    (wanted, key): (&Wanted, &str),
) -> Digest {
    let pseudonym = core.pseudonym(subject.identity());
    let client = subject.client().to_bytes();
    let parts: [&[u8]; 5] = [
        caller.server().slug.as_str().as_bytes(),
        &pseudonym.0,
        &client,
        wanted.provider.as_str().as_bytes(),
        key.as_bytes(),
    ];
    let value: Vec<u8> = parts
        .iter()
        .flat_map(|part| {
            u32::try_from(part.len())
                .unwrap_or(u32::MAX)
                .to_be_bytes()
                .into_iter()
                .chain(part.iter().copied())
        })
        .collect();
    core.lookup(crypto::LookupLabel::Idempotency, &value)
}

/// Looks up what was made for a key before.
///
/// # Errors
/// [`Refusal::IdempotencyConflict`] when that was another request; [`Refusal::Gone`] when its elicitation has ended.
pub(crate) async fn known(
    core: &Core,
    now: Timestamp,
    (caller, subject): (&AuthenticatedServer, &VerifiedSubject),
    (hash, wanted): (&Digest, &Wanted),
) -> Result<Known, Refusal> {
    let Some(kept) = rows::load::<RepeatRow>(&*core.store, &rows::keys::repeat(hash)).await? else {
        return Ok(Known::Nothing(Revision::NONE));
    };
    if kept.value.ends.passed(now) {
        return Ok(Known::Nothing(kept.revision));
    }
    let Some(row) = elicit::load(core, kept.value.elicitation).await? else {
        return Err(Refusal::Gone);
    };
    let facts = row.value;
    // Not `locale`: it changes no meaning, and a link in the language it was first asked for in is better than none.
    let same = elicit::is_mine(core, caller, subject, &facts)?
        && facts.provider == wanted.provider
        && facts.scopes == wanted.scopes
        && facts.alias == wanted.alias
        && facts.request_digest == wanted.request_digest
        && facts.reason == wanted.reason;
    if !same {
        return Err(Refusal::IdempotencyConflict);
    }
    if facts.is_over(now) {
        return Err(Refusal::Gone);
    }
    let ticket = core.open_ticket(&facts, &kept.value.ticket)?;
    Ok(Known::Same(Box::new(facts), ticket))
}

/// Adds to a commit what is kept for a repetition.
///
/// # Errors
/// When the ticket cannot be sealed or the store does not answer.
pub(crate) async fn keep(
    core: &Core,
    changes: &mut Changes,
    (hash, revision): (Digest, Revision),
    (facts, ticket): (&Elicitation, &ConnectTicket),
) -> Result<(), Refusal> {
    let ends = facts.created.plus(KEPT);
    let row = RepeatRow {
        elicitation: facts.id,
        ticket: core.seal_ticket(facts, ticket)?,
        ends,
    };
    changes.put(rows::keys::repeat(&hash), revision, &row);
    Ok(look_at(&*core.store, changes, (ends, &Due::Repeat(hash))).await?)
}

/// How long a key is remembered. An elicitation's row stays longer.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
