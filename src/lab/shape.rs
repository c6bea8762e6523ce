//! Bends good token answers into the shapes that real providers use.

use serde_json::{Map, Value, json};

use crate::answer::Body;
use crate::misbehave::TokenShape;

/// The body of a token answer in this shape.
pub(crate) fn shaped(members: Map<String, Value>, shape: &TokenShape) -> Body {
    let bent = members.into_iter().map(|(name, value)| {
        let value = bend(&name, value, shape);
        (shape.rename.get(&name).cloned().unwrap_or(name), value)
    });
    if shape.form_encoded {
        return Body::Form(bent.map(|(name, value)| (name, plain(value))).collect());
    }
    let bent: Map<String, Value> = bent.collect();
    let Some(outer) = &shape.nest else {
        return Body::Json(bent);
    };
    let both = [
        ("ok".to_owned(), json!(true)),
        (outer.clone(), Value::Object(bent)),
    ];
    Body::Json(Map::from_iter(both))
}

fn bend(name: &str, value: Value, shape: &TokenShape) -> Value {
    match (value, &shape.scope_joiner) {
        (Value::Number(number), _) if shape.numbers_as_text => number.to_string().into(),
        (Value::String(text), Some(joiner)) if name == "scope" => text.replace(' ', joiner).into(),
        (same, _) => same,
    }
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn honest() -> Map<String, Value> {
        let members = [
            ("access_token", json!("t")),
            ("expires_in", json!(5)),
            ("scope", json!("a b")),
        ];
        members
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }

    #[test]
    fn members_are_renamed_joined_and_nested() {
        let shape = TokenShape {
            rename: [("access_token".to_owned(), "accessToken".to_owned())].into(),
            scope_joiner: Some(",".to_owned()),
            numbers_as_text: true,
            nest: Some("data".to_owned()),
            form_encoded: false,
        };
        let Body::Json(members) = shaped(honest(), &shape) else {
            panic!("JSON was asked for")
        };
        let inner = json!({ "accessToken": "t", "expires_in": "5", "scope": "a,b" });
        assert_eq!(Value::Object(members), json!({ "ok": true, "data": inner }));
    }

    #[test]
    fn form_encoding_keeps_every_member() {
        let shape = TokenShape {
            form_encoded: true,
            ..TokenShape::default()
        };
        let Body::Form(pairs) = shaped(honest(), &shape) else {
            panic!("a form was asked for")
        };
        assert!(pairs.contains(&("expires_in".to_owned(), "5".to_owned())) && pairs.len() == 3);
    }
}
