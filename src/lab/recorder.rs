//! The recorder: every request the lab receives, kept in order and bounded.
//!
//! A recorded request is also what the handlers read, so that what a test sees is exactly what
//! the lab acted upon.

use std::collections::VecDeque;
use std::fmt;

/// One request as it arrived.
#[derive(Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Method in upper case.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Raw query text, empty when there was none.
    pub query: String,
    /// Headers in order of arrival, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body; bytes that are not UTF-8 are replaced.
    pub body: String,
}

impl Recorded {
    /// The first header of this (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The query parameters, decoded, in order.
    pub fn query_params(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// The form parameters of the body, decoded, in order.
    pub fn form_params(&self) -> Vec<(String, String)> {
        pairs(&self.body)
    }

    /// The first query parameter of this name.
    pub fn query_param(&self, name: &str) -> Option<String> {
        first(self.query_params(), name)
    }

    /// The first form parameter of this name.
    pub fn form_param(&self, name: &str) -> Option<String> {
        first(self.form_params(), name)
    }

    /// The value of one cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let all = self.headers.iter().filter(|(key, _)| key == "cookie");
        all.flat_map(|(_, line)| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }
}

/// Requests carry codes, tokens and secrets; only their outline is printed.
impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Recorded")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("query_bytes", &self.query.len())
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The last requests, oldest first.
pub(crate) struct Recorder {
    limit: usize,
    kept: VecDeque<Recorded>,
}

impl Recorder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: VecDeque::new(),
        }
    }

    pub(crate) fn push(&mut self, request: Recorded) {
        self.kept.push_back(request);
        while self.kept.len() > self.limit {
            self.kept.pop_front();
        }
    }

    pub(crate) fn all(&self) -> Vec<Recorded> {
        self.kept.iter().cloned().collect()
    }

    pub(crate) fn count(&self, path: &str) -> usize {
        self.kept
            .iter()
            .filter(|request| request.path == path)
            .count()
    }

    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}

fn pairs(encoded: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(encoded.as_bytes())
        .into_owned()
        .collect()
}

pub(crate) fn first(pairs: Vec<(String, String)>, name: &str) -> Option<String> {
    pairs
        .into_iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str) -> Recorded {
        Recorded {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: "a=1&a=2".to_owned(),
            headers: vec![("cookie".to_owned(), "x=1; lab=abc".to_owned())],
            body: "client_secret=hush%20hush".to_owned(),
        }
    }

    #[test]
    fn recorder_keeps_only_the_newest() {
        let mut recorder = Recorder::new(2);
        for path in ["/a", "/b", "/b"] {
            recorder.push(request(path));
        }
        assert_eq!((recorder.count("/a"), recorder.count("/b")), (0, 2));
        recorder.clear();
        assert!(recorder.all().is_empty());
    }

    #[test]
    fn recorded_decodes_and_keeps_secrets_out_of_debug() {
        let seen = request("/token");
        assert_eq!(
            seen.form_param("client_secret").as_deref(),
            Some("hush hush")
        );
        assert_eq!(seen.query_params().len(), 2);
        assert_eq!(seen.cookie("lab"), Some("abc"));
        assert!(!format!("{seen:?}").contains("hush"));
    }
}
