//! Faults that a review found, each with the test that would have found it first.

mod cookies;
mod answers;
mod flows_end;
mod keys;
mod looks;
mod logins;
mod proofs;
mod refreshed;
mod refusals;
mod revocation;
mod splices;
mod waits;
