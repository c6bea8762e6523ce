//! The passphrase: stretched with Argon2id (RFC 9106) into the key of a slot.
//!
//! It protects a stolen disk as far as the passphrase is good. Salt and cost stand in the slot and are bound to the wrap;
//! both a floor and a ceiling are checked before any memory is taken, so a changed slot can neither weaken the stretching
//! nor exhaust the machine.
//!
//! What is stretched is the passphrase as UTF-8 in Normalization Form C (UAX 15, as RFC 8265 section 4.2.2 has it for
//! passwords): keyboards and editors write one letter as different code points, and a passphrase that does not open
//! because it was typed on another machine is a lost vault. Nothing else is changed: no case folding, no trimming.

use std::borrow::Cow;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use icu_normalizer::ComposingNormalizerBorrowed;
use secret::{Entropy, KeyBytes, Passphrase, Reveal};
use zeroize::{Zeroize, Zeroizing};

use super::{Seal, SealKind, SlotError};

const FLOOR_KIB: u32 = 19 * 1024;
const CEILING_KIB: u32 = 4 * 1024 * 1024;
/// Memory times passes, in KiB: seconds, not minutes, on any machine that runs a vault, so that whoever can write to the
/// store cannot make a start hang.
const CEILING_WORK: u64 = 8 * 1024 * 1024;
const SALT: usize = 16;

/// Fewest characters of a passphrase for a new slot: what NIST SP 800-63B-4 (section 3.1.1.2) asks of a password that is the
/// only factor. Whoever has a copy of the store guesses offline and forever; nothing but the passphrase stands in between.
pub const SHORTEST_PASSPHRASE: usize = 15;
/// Fewest different characters in it; fewer is a pattern.
const FEWEST_DIFFERENT: usize = 6;

/// Why a passphrase cannot be stretched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseError {
    /// The slot's parameters are not ours to read.
    #[error("the slot's passphrase parameters are damaged; restore the slot from a backup")]
    Damaged,
    /// Cheaper or dearer than this program accepts.
    #[error("passphrase cost of {memory_kib} KiB, {passes} passes, {lanes} lanes is outside 19456 KiB to 4194304 KiB, 2 to 64 passes (memory times passes at most 8 GiB), 1 to 64 lanes; set it within these limits, or, for a slot that is there, restore it from a backup: it was changed", memory_kib = .0.memory_kib, passes = .0.passes, lanes = .0.lanes)]
    OutOfRange(PassphraseParameters),
    /// There is not that much memory.
    #[error(
        "not enough memory to stretch the passphrase ({0} KiB); free some, or unseal on a larger machine"
    )]
    NoMemory(u32),
    /// An empty passphrase.
    #[error("the passphrase is empty")]
    Empty,
    /// Too easy to guess for a new slot.
    #[error(
        "the passphrase is too easy to guess: whoever copies the store tries billions. Take one of at least {SHORTEST_PASSPHRASE} characters, such \
         as six words drawn by lot, or what `openssl rand -base64 24` prints"
    )]
    Weak,
}

/// How dear guessing is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseParameters {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Default for PassphraseParameters {
    /// RFC 9106 section 4, second recommendation: 64 MiB, 3 passes, 4 lanes.
    fn default() -> Self {
        Self {
            memory_kib: 64 * 1024,
            passes: 3,
            lanes: 4,
        }
    }
}

impl PassphraseParameters {
    /// The cost that a slot's parameters name, whether or not it is within the limits; `None` when they are damaged.
    pub fn of_slot(parameters: &[u8]) -> Option<Self> {
        read(parameters).map(|(cost, _)| cost)
    }

    fn check(self) -> Result<Self, PassphraseError> {
        let within = (FLOOR_KIB..=CEILING_KIB).contains(&self.memory_kib)
            && (2..=64).contains(&self.passes)
            && u64::from(self.memory_kib) * u64::from(self.passes) <= CEILING_WORK
            && (1..=64).contains(&self.lanes);
        if within {
            Ok(self)
        } else {
            Err(PassphraseError::OutOfRange(self))
        }
    }
}

/// A passphrase, and what guessing it shall cost.
#[derive(Debug)]
pub struct PassphraseSeal<'a> {
    passphrase: &'a Passphrase,
    cost: PassphraseParameters,
}

impl<'a> PassphraseSeal<'a> {
    /// Looks at a passphrase. The cost is for new slots; existing ones carry their own.
    ///
    /// # Errors
    /// [`PassphraseError`] when the passphrase is empty or the cost outside the limits.
    pub fn new(
        passphrase: &'a Passphrase,
        cost: PassphraseParameters,
    ) -> Result<Self, PassphraseError> {
        if passphrase.length() == 0 {
            return Err(PassphraseError::Empty);
        }
        Ok(Self {
            passphrase,
            cost: cost.check()?,
        })
    }
}

impl Seal for PassphraseSeal<'_> {
    fn kind(&self) -> SealKind {
        SealKind::Passphrase
    }

    /// Memory ‖ passes ‖ lanes (u32 each, big-endian) ‖ salt (16).
    fn new_parameters(&self, entropy: &dyn Entropy) -> Result<Vec<u8>, SlotError> {
        if is_weak(self.passphrase) {
            return Err(PassphraseError::Weak.into());
        }
        let mut salt = [0; SALT];
        entropy.fill(&mut salt);
        let cost = [self.cost.memory_kib, self.cost.passes, self.cost.lanes];
        Ok(cost
            .into_iter()
            .flat_map(u32::to_be_bytes)
            .chain(salt)
            .collect())
    }

    fn key(&self, parameters: &[u8]) -> Result<KeyBytes, SlotError> {
        let (cost, salt) = read(parameters).ok_or(PassphraseError::Damaged)?;
        let cost = cost.check()?;
        let text = normalized(self.passphrase);
        Ok(stretch(text.as_bytes(), &salt, cost)?)
    }
}

/// The passphrase in Normalization Form C, wiped after use.
fn normalized(passphrase: &Passphrase) -> Zeroizing<String> {
    const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
    let text = passphrase.reveal();
    Zeroizing::new(match NFC.normalize(text) {
        Cow::Borrowed(same) => same.to_owned(),
        Cow::Owned(composed) => composed,
    })
}

/// Whether it may not open a new slot.
fn is_weak(passphrase: &Passphrase) -> bool {
    let text = normalized(passphrase);
    let mut seen = Zeroizing::new(text.chars().collect::<Vec<_>>());
    let characters = seen.len();
    seen.sort_unstable();
    seen.dedup();
    characters < SHORTEST_PASSPHRASE || seen.len() < FEWEST_DIFFERENT
}

fn read(parameters: &[u8]) -> Option<(PassphraseParameters, [u8; SALT])> {
    let (memory, rest) = parameters.split_first_chunk()?;
    let (passes, rest) = rest.split_first_chunk()?;
    let (lanes, salt) = rest.split_first_chunk()?;
    let cost = PassphraseParameters {
        memory_kib: u32::from_be_bytes(*memory),
        passes: u32::from_be_bytes(*passes),
        lanes: u32::from_be_bytes(*lanes),
    };
    Some((cost, salt.try_into().ok()?))
}

fn stretch(
    passphrase: &[u8],
    salt: &[u8; SALT],
    cost: PassphraseParameters,
) -> Result<KeyBytes, PassphraseError> {
    let out_of_range = |_| PassphraseError::OutOfRange(cost);
    let parameters =
        Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(32)).map_err(out_of_range)?;
    let mut memory: Vec<Block> = Vec::new();
    memory
        .try_reserve_exact(parameters.block_count())
        .map_err(|_| PassphraseError::NoMemory(cost.memory_kib))?;
    memory.resize(parameters.block_count(), Block::default());
    let mut key = Zeroizing::new([0; 32]);
    let stretched = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into_with_memory(passphrase, salt, key.as_mut_slice(), &mut memory);
    memory.iter_mut().for_each(Zeroize::zeroize);
    stretched.map_err(out_of_range)?;
    Ok(KeyBytes::from_bytes(key))
}
