//! Takes a JSON object apart member by member; what is left over, missing or of the wrong type becomes a fault with its
//! JSON Pointer, and all faults of a body are told at once.

use serde_json::{Map, Value};

use crate::json::pointer_to;
use crate::limits::MAX_FAULTS;
use crate::problem::{Fault, Place, Problem};

/// What is wrong with a body so far.
#[derive(Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Notes a fault; beyond the limit they are not kept.
    pub(crate) fn add(&mut self, pointer: String, message: &str) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(Fault {
                place: Place::Pointer(pointer),
                message: message.into(),
            });
        }
    }

    /// The value, if nothing is wrong.
    ///
    /// # Errors
    /// `invalid-request` with all faults.
    pub(crate) fn settle<T>(self, value: Option<T>) -> Result<T, Problem> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(Problem::invalid(self.0)),
        }
    }
}

/// The members of one object that nobody has asked for yet.
pub(crate) struct Fields {
    at: String,
    members: Map<String, Value>,
}

impl Fields {
    /// The outermost object.
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self {
            at: String::new(),
            members,
        }
    }

    /// The pointer to a member of this object.
    pub(crate) fn pointer(&self, name: &str) -> String {
        pointer_to(&self.at, name)
    }

    /// Whether a member is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Takes a member that is a text. A wrong type is a fault, never "absent".
    pub(crate) fn text(&mut self, name: &str, faults: &mut Faults) -> Option<String> {
        let value = self.members.remove(name)?;
        if let Value::String(text) = value {
            return Some(text);
        }
        faults.add(self.pointer(name), "this must be a text");
        None
    }

    /// Takes a text and reads it; `must` says what it has to be.
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        must: &str,
        faults: &mut Faults,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name, faults)?;
        let value = read(&text);
        if value.is_none() {
            faults.add(self.pointer(name), must);
        }
        value
    }

    /// Notes a member that is required and missing. To be asked before it is taken.
    pub(crate) fn require(&self, name: &str, faults: &mut Faults) {
        if !self.has(name) {
            faults.add(self.pointer(name), "this member is required");
        }
    }

    /// Takes a member that is a list of texts.
    pub(crate) fn texts(&mut self, name: &str, faults: &mut Faults) -> Option<Vec<String>> {
        let list = match self.members.remove(name)? {
            Value::Array(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Some(text),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        if list.is_none() {
            faults.add(self.pointer(name), "this must be a list of texts");
        }
        list
    }

    /// Takes a member that is an object.
    pub(crate) fn object(&mut self, name: &str, faults: &mut Faults) -> Option<Self> {
        let at = self.pointer(name);
        let value = self.members.remove(name)?;
        if let Value::Object(members) = value {
            return Some(Self { at, members });
        }
        faults.add(at, "this must be an object");
        None
    }

    /// Everything that is left, as it is.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.members
    }

    /// Ends the reading: whatever nobody asked for is unknown.
    pub(crate) fn finish(self, faults: &mut Faults) {
        for name in self.members.keys() {
            faults.add(pointer_to(&self.at, name), "this member is not known here");
        }
    }
}
