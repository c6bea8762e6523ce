//! As much of JSON Schema as our OpenAPI document uses, stricter in one thing: a member that an object schema does not
//! declare is a fault unless the schema says `additionalProperties`.

use serde_json::Value;

/// What is wrong with `value` under `schema`; `None` when nothing is.
pub(crate) fn fault(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#'));
        let target = target.unwrap_or_else(|| panic!("{reference} leads nowhere"));
        return fault(document, target, value, at);
    }
    if let Some(kinds) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = kinds.iter().filter(|kind| fits(document, kind, value, at));
        let fitting = fitting.count();
        if fitting != 1 {
            return Some(format!("{at}: fits {fitting} of oneOf: {value}"));
        }
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        return Some(format!("{at}: {value} is not {constant}"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return Some(format!("{at}: {value} is not in the enum"));
    }
    let kind = schema["type"].as_str().unwrap_or("any");
    let right = match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "any" => true,
        other => panic!("{at}: unknown type {other}"),
    };
    if !right {
        return Some(format!("{at}: {value} is no {kind}"));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .find_map(|item| fault(document, &schema["items"], item, at)),
        Value::Object(_) if kind == "object" => members(document, schema, value, at),
        _ => None,
    }
}

/// A `oneOf` branch that only requires members is looked at for these alone.
fn fits(document: &Value, schema: &Value, value: &Value, at: &str) -> bool {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let has_all = required
        .iter()
        .all(|name| value.get(name.as_str().unwrap()).is_some());
    has_all
        && (schema.get("type").is_none() && schema.get("$ref").is_none()
            || fault(document, schema, value, at).is_none())
}

fn members(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Some(format!("{at}: {name} is missing in {value}"));
        }
    }
    for (name, member) in value.as_object().unwrap() {
        let here = format!("{at}/{name}");
        let found = match (
            schema["properties"].get(name),
            schema.get("additionalProperties"),
        ) {
            (None, Some(Value::Bool(true))) => None,
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                fault(document, schema, member, &here)
            }
            (None, _) => Some(format!("{here}: not declared")),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
