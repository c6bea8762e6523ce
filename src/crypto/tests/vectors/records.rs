//! Opens the records of the kind files and encodes the contexts of `aad.json`.

use serde_json::Value;
use strongroom_crypto::SealKey;

use crate::Outcome;
use crate::read::{Context, bytes, hex, key, key_id, number, unhex};

pub(crate) fn open(case: &Value) -> Outcome {
    let record = edited(bytes(case, "record"), &case["edit"]);
    let context = Context::read(&case["context"]);
    let key = SealKey::new(key_id(case, "key_id"), key(case, "key"));
    match key.open_bytes(&context.seal_context(), &record) {
        Ok(plaintext) => Outcome::Is(hex(plaintext.expose())),
        Err(error) => Outcome::Refused(error.reason().to_owned()),
    }
}

pub(crate) fn aad(case: &Value) -> Outcome {
    let context = Context::read(&case["context"]);
    Outcome::Is(hex(&context.seal_context().aad(&key_id(case, "key_id"))))
}

fn edited(mut record: Vec<u8>, edit: &Value) -> Vec<u8> {
    let size = |name: &str| {
        edit.get(name)
            .map(|_| usize::try_from(number(edit, name)).expect("small"))
    };
    if let Some(bit) = size("flip_bit") {
        record[bit / 8] ^= 1 << (bit % 8);
    }
    if let Some(length) = size("truncate_to") {
        record.truncate(length);
    }
    if let Some(more) = size("append_zeros") {
        record.resize(record.len() + more, 0);
    }
    if let Some(set) = edit.get("set") {
        let at = usize::try_from(number(set, "at")).expect("small");
        let with = unhex(set["bytes"].as_str().expect("hex"));
        record[at..at + with.len()].copy_from_slice(&with);
    }
    record
}
