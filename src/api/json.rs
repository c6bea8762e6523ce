//! Strict JSON: one object, no doubled members at any depth, bounded depth and number of members, nothing after it.
//!
//! The bounds are counted while reading, before anything is built (a body of 64 KiB can hold 30,000 empty arrays). What is
//! said about a body that cannot be read never repeats its values.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::headers::find_key;
use crate::limits::{MAX_DEPTH, MAX_MEMBERS};
use crate::problem::{Fault, Kind, Place, Problem};

/// Reads a body as one JSON object.
///
/// # Errors
/// `malformed-json`, or `key-misplaced` when a text in it looks like a key of ours.
pub(crate) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    let mut walk = Walk::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Seed {
        walk: &mut walk,
        depth: 1,
    };
    let read = seed
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match (walk.stopped, read) {
        (Some(problem), _) => Err(problem),
        (None, Ok(Value::Object(members))) => Ok(members),
        (None, Ok(_)) => Err(malformed(String::new(), "this is not a JSON object")),
        (None, Err(error)) => {
            let (line, column) = (error.line(), error.column());
            let message = if bytes.is_empty() {
                String::from("the body is empty")
            } else {
                format!("no JSON can be read at line {line}, column {column}")
            };
            Err(malformed(String::new(), &message))
        }
    }
}

/// Appends a member name to a JSON Pointer (RFC 6901 section 3); a very long name is cut.
pub(crate) fn pointer_to(parent: &str, name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn malformed(pointer: String, message: &str) -> Problem {
    Problem {
        faults: vec![Fault {
            place: Place::Pointer(pointer),
            message: message.into(),
        }],
        ..Problem::from(Kind::MalformedJson)
    }
}

/// What is remembered on the walk through a body.
#[derive(Default)]
struct Walk {
    members: usize,
    path: Vec<String>,
    stopped: Option<Problem>,
}

impl Walk {
    fn pointer(&self) -> String {
        self.path
            .iter()
            .fold(String::new(), |pointer, name| pointer_to(&pointer, name))
    }

    /// Counts one member or element.
    fn count<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(self.stop("more than 1,000 members"));
        }
        Ok(())
    }

    fn stop<E: serde::de::Error>(&mut self, message: &str) -> E {
        self.stopped = Some(malformed(self.pointer(), message));
        E::custom("refused")
    }

    fn text<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        if let Some(key) = find_key(text) {
            self.stopped = Some(Problem::misplaced(key));
            return Err(E::custom("refused"));
        }
        Ok(())
    }
}

/// One value at a depth.
struct Seed<'w> {
    walk: &'w mut Walk,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.walk.text(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let walk = self.walk;
        if self.depth > MAX_DEPTH {
            return Err(walk.stop("nested deeper than 16 levels"));
        }
        let mut list = Vec::new();
        loop {
            walk.path.push(list.len().to_string());
            let next = items.next_element_seed(Seed {
                walk: &mut *walk,
                depth: self.depth + 1,
            })?;
            walk.path.pop();
            let Some(value) = next else { break };
            walk.count()?;
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let walk = self.walk;
        if self.depth > MAX_DEPTH {
            return Err(walk.stop("nested deeper than 16 levels"));
        }
        let mut members = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            walk.text(&name)?;
            walk.count()?;
            walk.path.push(name.clone());
            if members.contains_key(&name) {
                return Err(walk.stop("this member stands twice"));
            }
            let value = entries.next_value_seed(Seed {
                walk: &mut *walk,
                depth: self.depth + 1,
            })?;
            walk.path.pop();
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secret::Reveal as _;

    /// Code and message for a body.
    fn told(body: &str) -> (&'static str, String, String) {
        let problem = parse_object(body.as_bytes()).unwrap_err();
        let fault = problem.faults.first().cloned();
        let (pointer, message) = fault.map_or_else(Default::default, |fault| match fault.place {
            Place::Pointer(pointer) => (pointer, fault.message),
            other => panic!("{other:?}"),
        });
        (problem.code(), pointer, message)
    }

    #[test]
    fn doubles_are_refused_at_any_depth_however_they_are_spelt() {
        for (body, pointer) in [
            (r#"{"a":1,"a":2}"#, "/a"),
            (r#"{"a":1,"\u0061":2}"#, "/a"),
            (r#"{"x":[{"b/c":{"~":1,"~":1}}]}"#, "/x/0/b~1c/~0"),
        ] {
            assert_eq!(told(body).1, pointer, "{body}");
            assert_eq!(told(body).2, "this member stands twice", "{body}");
        }
        assert!(parse_object(br#"{"a":{"a":1},"A":2}"#).is_ok());
    }

    #[test]
    fn depth_and_number_of_members_are_bounded() {
        let nested = |levels: usize| {
            let inner = levels - 1;
            format!(r#"{{"a":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
        };
        assert!(parse_object(nested(16).as_bytes()).is_ok());
        assert_eq!(told(&nested(17)).2, "nested deeper than 16 levels");
        assert_eq!(told(&nested(30_000)).0, "malformed-json");
        let wide = |n: usize| format!(r#"{{"a":[{}]}}"#, vec!["0"; n - 1].join(","));
        assert!(parse_object(wide(1000).as_bytes()).is_ok());
        assert_eq!(told(&wide(1001)).2, "more than 1,000 members");
    }

    #[test]
    fn only_one_whole_object_is_read() {
        for body in [
            "",
            " ",
            "{",
            "{}{}",
            "{} x",
            "[]",
            "1",
            "null",
            "\u{feff}{}",
            "{\"a\":1,}",
            "{'a':1}",
            "{\"a\":NaN}",
            "{\"a\":1e999}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\u{0}\"}",
            "{\"a\":01}",
        ] {
            assert_eq!(told(body).0, "malformed-json", "{body:?}");
        }
        assert_eq!(
            parse_object(b"{\"a\":\"\xff\"}").unwrap_err().code(),
            "malformed-json"
        );
        assert!(parse_object(b" {\"a\" : 1.5e3}\r\n").is_ok());
    }

    #[test]
    fn a_key_in_a_body_is_noticed_wherever_it_stands() {
        let key = secret::ServerKeyText::generate(secret::KeyClass::Server, &secret::OsEntropy);
        let key = key.reveal();
        for body in [
            format!(r#"{{"key":"{key}"}}"#),
            format!(r#"{{"a":[{{"b":"Bearer {key}"}}]}}"#),
            format!(r#"{{"{key}":1}}"#),
            format!(r#"{{"a":"{}"}}"#, key.replace("srk_", "sr\\u006b_")),
        ] {
            assert_eq!(told(&body).0, "key-misplaced", "{body}");
        }
    }
}
