//! The outer shape of a record: where its fields stand and which lengths exist.

use domain::KeyId;

use super::{MAX_SEALED, OpenError, SUITE};

pub(super) const HEADER: usize = 104;
pub(super) const TAG: usize = 16;
pub(super) const BLOCK: usize = 256;
const KEY_BODY: usize = 32 + TAG;
const START: [u8; 4] = [b'S', b'R', 1, SUITE];

/// The first 104 bytes.
pub(super) struct Header {
    pub(super) key: KeyId,
    pub(super) version: u64,
    pub(super) salt: [u8; 32],
    pub(super) commitment: [u8; 32],
    pub(super) nonce: [u8; 12],
}

impl Header {
    /// Writes the header over exactly [`HEADER`] bytes.
    pub(super) fn write(&self, out: &mut [u8]) {
        let version = self.version.to_be_bytes();
        let fields: [&[u8]; 6] = [
            &START,
            self.key.as_bytes(),
            &version,
            &self.salt,
            &self.commitment,
            &self.nonce,
        ];
        let bytes = fields.into_iter().flatten();
        out.iter_mut()
            .zip(bytes)
            .for_each(|(place, byte)| *place = *byte);
    }
}

/// A record taken apart, nothing authenticated yet.
pub(super) struct Parts<'a> {
    pub(super) header: Header,
    /// Ciphertext and tag.
    pub(super) body: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Looks at bounds, lengths, magic, version and suite, in this order.
    pub(super) fn read(record: &'a [u8]) -> Result<Self, OpenError> {
        if record.len() > MAX_SEALED {
            return Err(OpenError::Malformed);
        }
        let mut rest = record;
        let start: [u8; 4] = take(&mut rest)?;
        let key = KeyId::from_bytes(take(&mut rest)?);
        let version = u64::from_be_bytes(take(&mut rest)?);
        let header = Header {
            key,
            version,
            salt: take(&mut rest)?,
            commitment: take(&mut rest)?,
            nonce: take(&mut rest)?,
        };
        let parts = Self { header, body: rest };
        if !parts.holds_key() && !parts.holds_blocks() {
            return Err(OpenError::Malformed);
        }
        if start == START {
            Ok(parts)
        } else {
            Err(OpenError::UnknownFormat)
        }
    }

    /// Whether the length is that of a wrapped key; no padded record has it.
    pub(super) fn holds_key(&self) -> bool {
        self.body.len() == KEY_BODY
    }

    fn holds_blocks(&self) -> bool {
        self.body.len() > TAG && (self.body.len() - TAG).is_multiple_of(BLOCK)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], OpenError> {
    let (field, after) = rest.split_first_chunk().ok_or(OpenError::Malformed)?;
    *rest = after;
    Ok(*field)
}
