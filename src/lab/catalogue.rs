//! The catalogue: ready-made misbehaviours with names, so that a test, a demonstration or a
//! torture run can go through all of them.
//!
//! The cases are data: `catalogue.json`. A new case needs a name, a sentence and its switches.

use serde::Deserialize;

use crate::LabError;
use crate::misbehave::Misbehaviour;

const CASES: &str = include_str!("catalogue.json");

/// One named misbehaviour.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Short name with dashes.
    pub name: String,
    /// What the lab does wrong.
    pub about: String,
    /// The switches.
    pub switches: Misbehaviour,
}

/// All named cases, in the order of the file.
///
/// # Errors
/// `Catalogue` if the built-in file cannot be read, which a test rules out.
pub fn catalogue() -> Result<Vec<Case>, LabError> {
    serde_json::from_str(CASES).map_err(LabError::Catalogue)
}

impl Misbehaviour {
    /// The misbehaviour of this name in the catalogue.
    ///
    /// # Errors
    /// `UnknownCase` if there is none of this name, `Catalogue` as in `catalogue`.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let found = catalogue()?.into_iter().find(|case| case.name == name);
        found
            .map(|case| case.switches)
            .ok_or_else(|| LabError::UnknownCase(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_case_switches_something_on_under_its_own_name() {
        let mut names = HashSet::new();
        for case in catalogue().expect("the catalogue reads") {
            assert_ne!(case.switches, Misbehaviour::default(), "{}", case.name);
            assert!(
                names.insert(case.name.clone()),
                "{} is there twice",
                case.name
            );
        }
        let missing = Misbehaviour::named("no such case");
        assert!(matches!(missing, Err(LabError::UnknownCase(_))));
    }
}
