//! Writes the golden vectors of the record format: `cargo run -p strongroom-crypto --example make_vectors -- tests/vectors`.
//!
//! Every random byte comes from a counter, so a second run writes the same files. A changed file means a changed format.
//! The vectors are checked by `tests/vectors` of this room and, independently, by `tests/vectors/check.py`.

mod forge;
mod hashes;
mod kinds;
mod states;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use secret::Entropy;
use serde_json::Value;

/// The result of a step that makes vectors.
type Made<T> = Result<T, Box<dyn Error>>;

/// Bytes that look random and are the same in each run.
struct Counter(AtomicU64);

impl Entropy for Counter {
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(32) {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            let block = strongroom_crypto::sha256(&number.to_be_bytes());
            chunk
                .iter_mut()
                .zip(block)
                .for_each(|(to, from)| *to = from);
        }
    }
}

/// Lower-case hex, as all bytes stand in the files.
fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}

fn main() -> Made<()> {
    let folder = PathBuf::from(
        std::env::args()
            .nth(1)
            .ok_or("name the folder to write to")?,
    );
    let write = |name: &str, value: &Value| -> Made<()> {
        let text = serde_json::to_string_pretty(value)? + "\n";
        Ok(fs::write(folder.join(name), text)?)
    };
    for (name, file) in kinds::files()? {
        write(&name, &file)?;
    }
    write("aad.json", &hashes::aad()?)?;
    write("digest.json", &hashes::digests())?;
    write("hashes.json", &hashes::hashes()?)?;
    write("request-state.json", &states::file()?)?;
    write("root-slot.json", &states::slots()?)
}
