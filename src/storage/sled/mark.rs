//! A mark that a store was closed in good order, and a checksum of its files at that moment.
//!
//! A folder whose files still are what the mark says was written by sled itself, as a whole: opening it needs no trial on a
//! copy. The mark lies in the sidecar, which no old copy of the folder brings along, and names the commit number and the
//! format; it is void for any other. Losing it costs a trial and nothing else, so it is not synced.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

const MAGIC: &[u8; 8] = b"SRCLOSED";
/// In a block of its own, behind both slots of the sidecar.
const AT: u64 = 8192;
/// magic 8 | commit number 8 | CRC-32 of the format marker 4 | CRC-32 of the files 4 | CRC-32 of all that 4.
const LENGTH: usize = 28;
const PIECE: usize = 256 * 1024;

/// Writes the mark for the closed store in `dir`.
pub(super) fn write(sidecar: &File, dir: &Path, format: &[u8], number: u64) -> io::Result<()> {
    let Some(sum) = checksum(dir)? else {
        return Ok(());
    };
    sidecar.write_all_at(&encode(format, number, sum), AT)
}

/// Whether the store in `dir` was closed at this commit, in this format, and no file of it has changed since.
pub(super) fn holds(sidecar: &File, dir: &Path, format: &[u8], number: u64) -> bool {
    let mut found = [0; LENGTH];
    if sidecar.read_exact_at(&mut found, AT).is_err() {
        return false;
    }
    // The cheap comparison first: most marks that do not hold are of another commit.
    let claimed = found.last_chunk::<8>().and_then(|end| end.first_chunk());
    let claimed = claimed.map_or(0, |sum: &[u8; 4]| u32::from_be_bytes(*sum));
    found.as_slice() == encode(format, number, claimed)
        && matches!(checksum(dir), Ok(Some(sum)) if sum == claimed)
}

fn encode(format: &[u8], number: u64, sum: u32) -> Vec<u8> {
    let mut mark = Vec::with_capacity(LENGTH);
    mark.extend_from_slice(MAGIC);
    mark.extend_from_slice(&number.to_be_bytes());
    mark.extend_from_slice(&crc32fast::hash(format).to_be_bytes());
    mark.extend_from_slice(&sum.to_be_bytes());
    let whole = crc32fast::hash(&mark);
    mark.extend_from_slice(&whole.to_be_bytes());
    mark
}

/// Over names, lengths and contents of all files; `None` when something else than files and folders lies there.
fn checksum(dir: &Path) -> io::Result<Option<u32>> {
    let mut sum = crc32fast::Hasher::new();
    Ok(add(&mut sum, dir)?.then(|| sum.finalize()))
}

fn add(sum: &mut crc32fast::Hasher, dir: &Path) -> io::Result<bool> {
    let entries: io::Result<Vec<PathBuf>> = fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut paths = entries?;
    paths.sort();
    for path in paths {
        let facts = fs::symlink_metadata(&path)?;
        if let Some(name) = path.file_name() {
            sum.update(name.as_encoded_bytes());
        }
        if facts.is_dir() {
            if !add(sum, &path)? {
                return Ok(false);
            }
        } else if facts.is_file() {
            sum.update(&facts.len().to_be_bytes());
            add_file(sum, &path)?;
        } else {
            return Ok(false);
        }
    }
    Ok(true)
}

fn add_file(sum: &mut crc32fast::Hasher, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        sum.update(piece.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_for_the_same_files_number_and_format_only() {
        let root = tempfile::tempdir().expect("folder");
        let dir = root.path().join("store");
        fs::create_dir_all(dir.join("blobs")).expect("folder");
        fs::write(dir.join("db"), vec![7; PIECE + 9]).expect("write");
        let sidecar = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(root.path().join("sidecar"))
            .expect("sidecar");
        assert!(!holds(&sidecar, &dir, b"f", 4), "none was written");
        write(&sidecar, &dir, b"f", 4).expect("mark");
        assert!(holds(&sidecar, &dir, b"f", 4));
        assert!(!holds(&sidecar, &dir, b"f", 5));
        assert!(!holds(&sidecar, &dir, b"g", 4));
        fs::write(dir.join("blobs").join("x"), b"").expect("write");
        assert!(!holds(&sidecar, &dir, b"f", 4), "a file more");
        fs::remove_file(dir.join("blobs").join("x")).expect("remove");
        assert!(holds(&sidecar, &dir, b"f", 4));
        let mut content = vec![7; PIECE + 9];
        if let Some(byte) = content.last_mut() {
            *byte ^= 1;
        }
        fs::write(dir.join("db"), content).expect("write");
        assert!(!holds(&sidecar, &dir, b"f", 4), "a bit flipped");
    }
}
