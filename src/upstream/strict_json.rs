//! JSON read strictly: one value, no name twice at any depth, bounded nesting.
//!
//! Two readers that take different values for a doubled name can be made to disagree about who a token is for, so where
//! an answer decides about identity or keys a double is an error.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
const MAX_DEPTH: u8 = 16;

/// The one object in `bytes`; nothing when it is not exactly that.
pub(crate) fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match value(bytes)? {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// The one value in `bytes`, of whatever kind.
pub(crate) fn value(bytes: &[u8]) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { left: MAX_DEPTH }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

#[derive(Clone, Copy)]
struct Strict {
    left: u8,
}

impl Strict {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1);
        left.map(|left| Self { left })
            .ok_or_else(|| E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without doubled names")
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

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(deeper)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(deeper)?;
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands there twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_json_is_read_as_by_anybody() {
        let text = br#" {"a":[1,-2,2.5,"x",null,true],"b":{"c":{}}} "#;
        let expected: Map<String, Value> = serde_json::from_slice(text).unwrap();
        assert_eq!(object(text), Some(expected));
    }

    #[test]
    fn doubles_depth_and_remains_are_refused() {
        for wrong in [
            r#"{"sub":"a","sub":"b"}"#,
            r#"{"a":{"sub":"a","sub":"b"}}"#,
            r#"{"a":[{"x":1,"x":1}]}"#,
            r#"{"sub":"a","s\u0075b":"b"}"#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a":1} x"#,
            r#"["a"]"#,
            "",
            &format!(r#"{{"a":{}{}}}"#, "[".repeat(16), "]".repeat(16)),
        ] {
            assert_eq!(object(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
