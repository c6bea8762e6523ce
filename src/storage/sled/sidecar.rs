//! The commit number, kept a second time beside the store so that a store that went back in time is noticed.
//!
//! sled may open a damaged file by dropping its end, and somebody may put an old copy of the folder back;
//! both look like a healthy store. The sidecar `DIR.commit` is written and synced after the store was
//! synced and before a commit is acknowledged: it may lag behind the store, it never leads. A store whose
//! own number is smaller therefore lost acknowledged commits.
//!
//! Two slots of fixed size are overwritten in turn, instead of a rename per commit: one sync of the data
//! instead of two with the folder's, no new blocks (so it still works on a full disk), and a torn write
//! spoils only the older slot. The file is also the lock of the folder: it is held while the store is open.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::mark;

/// Longest vault id in bytes.
pub(super) const VAULT_MAX: usize = 32;

const MAGIC: &[u8; 8] = b"SRCOMMIT";
/// magic 8 | number 8 | length of the vault id 1 | vault id 32 | zero 11 | CRC-32 4; integers big-endian.
pub(super) const SLOT: usize = 64;
/// The slots lie in different blocks, so that one torn block cannot spoil both.
const SLOT_AT: [u64; 2] = [0, 4096];

/// The open and locked sidecar.
#[derive(Debug)]
pub(super) struct Sidecar {
    file: File,
    vault: Vec<u8>,
    /// The slot that does not hold the newest number.
    next: u64,
}

/// What stood in a sidecar.
pub(super) struct Witness {
    pub(super) number: u64,
    pub(super) vault: Vec<u8>,
}

/// `DIR.commit`, beside the folder: putting an old copy of the folder back does not bring an old sidecar along.
pub(super) fn path_of(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(".commit");
    PathBuf::from(path)
}

/// Opens (or with `create`, makes) the sidecar and locks it. `None`: another process holds it.
pub(super) fn lock(path: &Path, create: bool) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Sidecar {
    /// Reads what the locked file says; `None` if neither slot is whole.
    pub(super) fn read(file: &File) -> io::Result<Option<Witness>> {
        let slots = [read_slot(file, SLOT_AT[0])?, read_slot(file, SLOT_AT[1])?];
        Ok(slots.into_iter().flatten().max_by_key(|slot| slot.number))
    }

    /// Takes over the locked file and writes `number` to both slots.
    pub(super) fn start(file: File, vault: &[u8], number: u64) -> io::Result<Self> {
        let newest = Self::read(&file)?.map(|witness| witness.number);
        let mut sidecar = Self {
            next: 0,
            vault: vault.to_vec(),
            file,
        };
        // The slot with the newest number is overwritten last.
        let first = read_slot(&sidecar.file, SLOT_AT[0])?.map(|witness| witness.number);
        if newest.is_some() && first == newest {
            sidecar.next = 1;
        }
        sidecar.write(number)?;
        sidecar.write(number)?;
        Ok(sidecar)
    }

    /// Marks the store in `dir` as closed in good order; nothing may have it open any more.
    pub(super) fn mark(&self, dir: &Path, format: &[u8], number: u64) -> io::Result<()> {
        mark::write(&self.file, dir, format, number)
    }

    /// Writes `number` durably.
    pub(super) fn write(&mut self, number: u64) -> io::Result<()> {
        let at = if self.next == 0 {
            SLOT_AT[0]
        } else {
            SLOT_AT[1]
        };
        self.file.write_all_at(&encode(number, &self.vault), at)?;
        self.file.sync_data()?;
        self.next ^= 1;
        Ok(())
    }
}

fn read_slot(file: &File, at: u64) -> io::Result<Option<Witness>> {
    let mut slot = [0_u8; SLOT];
    match file.read_exact_at(&mut slot, at) {
        Ok(()) => Ok(decode(&slot)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn encode(number: u64, vault: &[u8]) -> Vec<u8> {
    let mut slot = Vec::with_capacity(SLOT);
    slot.extend_from_slice(MAGIC);
    slot.extend_from_slice(&number.to_be_bytes());
    slot.push(u8::try_from(vault.len()).unwrap_or(u8::MAX));
    slot.extend_from_slice(vault);
    slot.resize(SLOT - 4, 0);
    let sum = crc32fast::hash(&slot);
    slot.extend_from_slice(&sum.to_be_bytes());
    slot
}

fn decode(slot: &[u8; SLOT]) -> Option<Witness> {
    let (content, sum) = slot.split_last_chunk::<4>()?;
    if crc32fast::hash(content) != u32::from_be_bytes(*sum) {
        return None;
    }
    let content = content.strip_prefix(MAGIC)?;
    let (number, content) = content.split_first_chunk::<8>()?;
    let (length, content) = content.split_first()?;
    Some(Witness {
        number: u64::from_be_bytes(*number),
        vault: content.get(..usize::from(*length))?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_slot_leaves_the_number_before() {
        let dir = tempfile::tempdir().expect("folder");
        let file = lock(&dir.path().join("s"), true)
            .expect("io")
            .expect("free");
        let copy = file.try_clone().expect("clone");
        let mut sidecar = Sidecar::start(file, b"vault", 7).expect("start");
        sidecar.write(8).expect("write");
        sidecar.write(9).expect("write");
        for (at, left) in [(SLOT_AT[1], 8), (SLOT_AT[0], 9)] {
            let mut whole = [0_u8; SLOT];
            copy.read_exact_at(&mut whole, at).expect("read");
            copy.write_all_at(&[0xff; 16], at + 4).expect("tear");
            let witness = Sidecar::read(&copy).expect("read").expect("one slot");
            assert_eq!(witness.number, left);
            assert_eq!(witness.vault, b"vault");
            copy.write_all_at(&whole, at).expect("mend");
        }
    }

    #[test]
    fn an_empty_or_foreign_file_says_nothing() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("s");
        std::fs::write(&path, vec![0_u8; 5000]).expect("write");
        let file = lock(&path, false).expect("io").expect("free");
        assert!(Sidecar::read(&file).expect("read").is_none());
        assert!(lock(&path, false).expect("io").is_none(), "held");
    }
}
