//! Faults that a review found, each with the test that would have found it first.

mod admin_keys;
mod answers;
mod checks;
mod clock_back;
mod cookies;
mod entries;
mod flows_end;
mod hopeless;
mod issuers;
mod janitor;
mod keys;
mod lists;
mod logins;
mod looks;
mod program;
mod proofs;
mod races;
mod refreshed;
mod refusals;
mod revocation;
#[cfg(feature = "test-hooks")]
mod rollback;
mod splices;
mod subjects;
mod unkept;
mod waits;
