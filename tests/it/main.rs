//! One binary of integration tests: the real vault on a real store in a temporary folder, its three listeners on loopback,
//! between two labs whose misbehaviours are switches, with a clock that tests move.

#[cfg(test)]
#[path = "../support/canary.rs"]
mod canary;
#[cfg(test)]
#[path = "../support/configuration.rs"]
mod configuration;
#[cfg(test)]
#[path = "../support/encoding.rs"]
mod encoding;
#[cfg(test)]
#[path = "../support/lab_remains.rs"]
mod lab_remains;
#[cfg(test)]
#[cfg(feature = "test-hooks")]
#[path = "../support/program.rs"]
#[expect(dead_code, reason = "the crash test uses more of it")]
mod program;
#[cfg(test)]
#[path = "../support/remains.rs"]
mod remains;
#[cfg(test)]
mod support;

#[cfg(test)]
mod access;

#[cfg(test)]
mod flow;
#[cfg(test)]
mod mended;

#[cfg(test)]
mod story;
