//! The OpenAPI document against the routes, the real answers and the real reading of its own examples.

use std::collections::BTreeSet;

use actix_web::http::Method;
use actors::doors::Refusal;
use serde_json::Value;

use super::answers::{ANSWERS, ensured};
use super::door::Script;
use super::heads::{address, body};
use super::schema::fault;
use super::{Answered, about, ask, post};
use crate::problem::Kind;
use crate::v1::{OPENAPI, ROUTES, Serve};

fn document() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

/// Every operation: path, method in capitals, operation.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap();
        item.iter().map(move |(method, operation)| {
            (path.clone(), method.to_uppercase(), operation.clone())
        })
    });
    each.collect()
}

/// Parameters of an operation in `place`, references followed.
fn parameters(document: &Value, operation: &Value, place: &str) -> BTreeSet<String> {
    let list = operation["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = list
        .iter()
        .map(|parameter| match parameter["$ref"].as_str() {
            Some(reference) => document.pointer(&reference[1..]).unwrap(),
            None => parameter,
        });
    let here = found.filter(|parameter| parameter["in"] == place);
    here.map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_document_and_the_route_table_list_the_same_operations() {
    let document = document();
    let written: BTreeSet<(String, String)> = operations(&document)
        .into_iter()
        .map(|(path, method, _)| (path, method))
        .collect();
    let real: BTreeSet<(String, String)> = ROUTES
        .iter()
        .map(|route| (route.path.to_owned(), route.method.to_string()))
        .collect();
    assert_eq!(written, real);
    for (path, method, operation) in operations(&document) {
        let route = ROUTES
            .iter()
            .find(|route| route.path == path && route.method.as_str() == method)
            .unwrap();
        let query: BTreeSet<String> = route.query.iter().map(|&name| name.into()).collect();
        assert_eq!(parameters(&document, &operation, "query"), query, "{path}");
        assert_eq!(
            parameters(&document, &operation, "path").len(),
            usize::from(path.contains("{id}")),
            "{path}"
        );
        let open = matches!(route.serve, Serve::Open(_));
        assert_eq!(operation.get("security").is_some(), open, "{path}");
        let about_someone = !open && method != "POST";
        let headers = parameters(&document, &operation, "header");
        assert_eq!(headers.contains("Subject-Token"), about_someone, "{path}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = document();
    let mut used = BTreeSet::new();
    collect(&document, &mut used);
    for reference in &used {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
    for section in ["schemas", "parameters", "responses"] {
        for name in document["components"][section].as_object().unwrap().keys() {
            assert!(
                used.contains(&format!("#/components/{section}/{name}")),
                "{name} is not used"
            );
        }
    }
}

fn collect(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                used.insert(reference.clone());
            }
            members.values().for_each(|member| collect(member, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, used)),
        _ => {}
    }
}

/// Holds an answer against what the document says about this operation and status.
fn check(document: &Value, operation: &Value, answer: &Answered) {
    let status = answer.status.as_u16().to_string();
    let responses = &operation["responses"];
    let response = responses.get(&status).unwrap_or(&responses["default"]);
    let response = match response["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => response,
    };
    let kind = answer.header("Content-Type");
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{status} {kind} is not in the document");
    assert_eq!(fault(document, schema, &answer.json(), ""), None);
}

#[actix_web::test]
async fn real_answers_fit_their_schemas() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        for script in [
            Script::new(),
            Script::not_ready(),
            Script::refusing(|| Refusal::NotFound),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = if method == Method::POST {
                post(&script, &address(&path), body(&path))
            } else {
                about(&script, method, &address(&path))
            };
            check(&document, &operation, &ask(&script, request).await);
        }
    }
    let schema = &document["components"]["schemas"]["Ensured"];
    for (status, answer) in ANSWERS {
        assert_eq!(
            fault(&document, schema, &ensured(answer).await, status),
            None
        );
    }
}

#[actix_web::test]
async fn real_problems_fit_their_schema() {
    let document = document();
    let schema = &document["components"]["schemas"]["Problem"];
    let script = Script::new();
    for request in [
        post(&script, "/v1/ensure", "{}"),
        post(&script, "/v1/ensure", "{"),
        about(&script, Method::GET, "/v1/grants?x=1"),
        about(&script, Method::GET, "/v1/grants").append_header(("Subject-Token", "x")),
        about(&script, Method::PUT, "/v1/grants"),
    ] {
        assert_eq!(
            fault(&document, schema, &ask(&script, request).await.json(), ""),
            None
        );
    }
    let codes: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.facts().1).collect();
    let written = schema["properties"]["code"]["enum"].as_array().unwrap();
    assert_eq!(
        written
            .iter()
            .map(|code| code.as_str().unwrap())
            .collect::<BTreeSet<_>>(),
        codes
    );
}

#[actix_web::test]
async fn the_examples_fit_their_schemas_and_are_read_as_written() {
    let document = document();
    for (path, _, operation) in operations(&document)
        .iter()
        .filter(|(_, method, _)| method == "POST")
    {
        let content = &operation["requestBody"]["content"]["application/json"];
        for (name, example) in content["examples"].as_object().unwrap() {
            let example = &example["value"];
            assert_eq!(fault(&document, &content["schema"], example, name), None);
            let script = Script::new();
            // The asserted example is for an issuer that names `sub`; the one of these tests names two other claims.
            let text = example
                .to_string()
                .replace(r#""sub":"u-17""#, r#""tid":"t","oid":"o""#);
            let answer = ask(&script, post(&script, &address(path), &text)).await;
            assert!(answer.status.is_success(), "{path} {name}: {}", answer.text);
        }
    }
}
