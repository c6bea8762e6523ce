//! Canaries: secrets whose every form is looked for in everything that a run leaves behind.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use crate::encoding::{base64, base64url, hex};

/// Shorter texts are no secrets, or could stand somewhere by chance.
pub(crate) const SHORTEST: usize = 16;
/// Of longer texts their ends are looked for, which also finds a part of one.
const PIECE: usize = 40;

/// A secret and what it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Canary {
    pub(crate) what: String,
    pub(crate) text: String,
}

impl Canary {
    pub(crate) fn new(what: &str, text: &str) -> Self {
        let (what, text) = (what.to_owned(), text.to_owned());
        Self { what, text }
    }

    /// What is looked for: the text, or the parts of a long one that no two secrets share.
    fn pieces(&self) -> Vec<&[u8]> {
        let bytes = self.text.as_bytes();
        if bytes.len() <= 2 * PIECE {
            return vec![bytes];
        }
        // The first part of a JWT is alike in all of them.
        let parts: Vec<&str> = self.text.split('.').collect();
        if parts.len() == 3 && parts.iter().all(|part| part.len() >= PIECE) {
            return parts
                .iter()
                .skip(1)
                .map(|part| &part.as_bytes()[part.len() - PIECE..])
                .collect();
        }
        vec![&bytes[..PIECE], &bytes[bytes.len() - PIECE..]]
    }

    /// Every form in which the text could stand somewhere.
    fn forms(&self) -> BTreeSet<Vec<u8>> {
        self.pieces().into_iter().flat_map(forms).collect()
    }
}

fn forms(bytes: &[u8]) -> Vec<Vec<u8>> {
    let percent: String = bytes
        .iter()
        .map(|b| {
            if b.is_ascii_alphanumeric() {
                char::from(*b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    let all: String = bytes
        .iter()
        .flat_map(|b| ["%".to_owned(), hex(&[*b])])
        .collect();
    let wide: Vec<u8> = bytes.iter().flat_map(|byte| [*byte, 0]).collect();
    let mut forms = vec![
        bytes.to_vec(),
        percent.into_bytes(),
        all.into_bytes(),
        hex(bytes).into_bytes(),
        hex(bytes).to_uppercase().into_bytes(),
        wide,
    ];
    // In base64 a text has three forms, by where it begins; the digits at its ends belong to its neighbours as well.
    for shift in 0..3_usize {
        let padded = [&b"xxx"[..shift], bytes].concat();
        let start = if shift == 0 { 0 } else { shift + 1 };
        let end = padded.len() / 3 * 4;
        forms.extend(
            [base64(&padded), base64url(&padded)].map(|text| text.as_bytes()[start..end].to_vec()),
        );
    }
    forms
}

/// A search for many canaries at once.
pub(crate) struct Search {
    finder: AhoCorasick,
    /// What each pattern of the finder belongs to.
    whats: Vec<String>,
}

impl Search {
    /// Prepares it.
    pub(crate) fn new<'a>(canaries: impl IntoIterator<Item = &'a Canary>) -> Self {
        let known: BTreeSet<&Canary> = canaries
            .into_iter()
            .filter(|canary| canary.text.len() >= SHORTEST)
            .collect();
        let (mut patterns, mut whats) = (Vec::new(), Vec::new());
        for canary in known {
            for form in canary.forms() {
                patterns.push(form);
                whats.push(canary.what.clone());
            }
        }
        let finder = AhoCorasick::new(&patterns).unwrap();
        Self { finder, whats }
    }

    /// What stands in `hay` and may not: each kind once, with a little of what is before it.
    pub(crate) fn hits<S: AsRef<str>>(&self, hay: &[u8], allowed: &[S]) -> BTreeMap<&str, String> {
        let mut found = BTreeMap::new();
        for hit in self.finder.find_overlapping_iter(hay) {
            let what = self.whats[hit.pattern().as_usize()].as_str();
            let is_allowed = allowed.iter().any(|kind| kind.as_ref() == what);
            if !is_allowed && !found.contains_key(what) {
                let before = &hay[hit.start().saturating_sub(60)..hit.start()];
                found.insert(what, String::from_utf8_lossy(before).into_owned());
            }
        }
        found
    }
}
