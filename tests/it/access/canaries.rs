//! Canaries: secrets whose every form is looked for, and the log in which none of them may stand.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use lab::Lab;
use tracing_subscriber::fmt::MakeWriter;

use super::encoding::{base64, base64url, hex};

/// Everything that the rooms of this program log, at every level.
#[derive(Clone, Default)]
pub(crate) struct Log(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// The log of this process; other tests write there as well, which only makes the search longer.
pub(crate) fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let rooms = [
            "",
            "_secret",
            "_domain",
            "_crypto",
            "_storage",
            "_upstream",
            "_actors",
            "_api",
            "_pages",
        ];
        let filter = rooms
            .iter()
            .map(|room| format!("strongroom{room}=trace"))
            .collect::<Vec<_>>()
            .join(",");
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(format!("off,{filter}"))
            .with_writer(log.clone());
        subscriber.with_ansi(false).try_init().unwrap();
        log
    })
}

/// A secret and what it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Canary {
    pub(crate) what: &'static str,
    pub(crate) text: String,
}

impl Canary {
    /// Every form in which the text could stand somewhere.
    fn forms(&self) -> Vec<Vec<u8>> {
        let bytes = self.text.as_bytes();
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
                [base64(&padded), base64url(&padded)]
                    .map(|text| text.as_bytes()[start..end].to_vec()),
            );
        }
        forms
    }

    pub(crate) fn is_in(&self, hay: &[u8]) -> bool {
        self.forms().iter().any(|form| contains(hay, form))
    }
}

pub(crate) fn contains(hay: &[u8], needle: &[u8]) -> bool {
    let first = needle[0];
    let mut rest = hay;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        rest = &rest[at..];
        if rest.starts_with(needle) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Parameters of requests that a lab received.
pub(crate) fn received(lab: &Lab, what: &'static str, name: &str) -> Vec<Canary> {
    let all = lab
        .recorded()
        .into_iter()
        .flat_map(|seen| [seen.form_param(name), seen.query_param(name)]);
    all.flatten().map(|text| Canary { what, text }).collect()
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let canary = Canary {
        what: "test",
        text: "a secret/with+odd=signs".into(),
    };
    for around in ["", "x", "xy", "xyz"] {
        let text = format!("{around}{}{around}", canary.text);
        for hay in [
            text.clone().into_bytes(),
            base64(text.as_bytes()).into_bytes(),
            base64url(text.as_bytes()).into_bytes(),
            hex(text.as_bytes()).into_bytes(),
        ] {
            assert!(
                canary.is_in(&hay),
                "{around}: {}",
                String::from_utf8_lossy(&hay)
            );
        }
    }
    assert!(!canary.is_in(b"a secret, but another one"));
}
