//! The seals that a configuration declares.

use std::path::Path;

use crypto::seal::{KeyFileError, KeyFileSeal, PassphraseParameters, PassphraseSeal, Seal};

use super::unfinished::Unfinished;
use super::{FoundationError, Hands, KeyFile};
use crate::config::{self, Config};

/// What the configuration declares to open the root key with.
pub struct Seals<'a> {
    key_file: Option<KeyFileSeal>,
    passphrase: Option<PassphraseSeal<'a>>,
}

impl<'a> Seals<'a> {
    /// Reads them. A key file that is not there is no fault beside a passphrase: it may lie in a safe.
    ///
    /// # Errors
    /// [`FoundationError::KeyFile`], [`FoundationError::Passphrase`].
    pub fn declared(config: &'a Config) -> Result<Self, FoundationError> {
        let seal = &config.seal;
        let key_file = match seal.key_file.as_deref().map(KeyFileSeal::open) {
            None => None,
            Some(Ok(key_file)) => Some(key_file),
            Some(Err(KeyFileError::Absent(path))) if seal.passphrase.is_some() => {
                tracing::warn!(key_file = %path.display(), "the key file is not there; the passphrase has to open the root key");
                None
            }
            Some(Err(other)) => return Err(other.into()),
        };
        let passphrase = passphrase(seal)?;
        Ok(Self {
            key_file,
            passphrase,
        })
    }

    /// Those of a new installation: the key file that is there, whatever is wrong with it being said, or a fresh one.
    pub(super) fn of_new(
        config: &'a Config,
        unfinished: &mut Unfinished,
        hands: &Hands,
    ) -> Result<(Self, KeyFile), FoundationError> {
        let passphrase = passphrase(&config.seal)?;
        let (key_file, how) = match &config.seal.key_file {
            Some(path) => {
                let (seal, how) = made_or_found(path, unfinished, hands)?;
                (Some(seal), how)
            }
            None => (None, KeyFile::None),
        };
        let seals = Self {
            key_file,
            passphrase,
        };
        Ok((seals, how))
    }

    /// Each of them, the cheaper one first.
    pub fn each(&self) -> Vec<&dyn Seal> {
        let key_file = self.key_file.as_ref().map(|seal| seal as &dyn Seal);
        let passphrase = self.passphrase.as_ref().map(|seal| seal as &dyn Seal);
        key_file.into_iter().chain(passphrase).collect()
    }
}

fn passphrase(seal: &config::Seal) -> Result<Option<PassphraseSeal<'_>>, FoundationError> {
    let cost = PassphraseParameters::default();
    let passphrase = seal.passphrase.as_ref();
    Ok(passphrase
        .map(|text| PassphraseSeal::new(text, cost))
        .transpose()?)
}

fn made_or_found(
    path: &Path,
    unfinished: &mut Unfinished,
    hands: &Hands,
) -> Result<(KeyFileSeal, KeyFile), FoundationError> {
    match KeyFileSeal::open(path) {
        Ok(seal) => Ok((seal, KeyFile::Found)),
        Err(KeyFileError::Absent(_)) => {
            let seal = KeyFileSeal::create(path, &*hands.entropy)?;
            unfinished.made_key_file(path);
            Ok((seal, KeyFile::Made))
        }
        Err(KeyFileError::Format(path)) if unfinished.resumed() => {
            Err(FoundationError::HalfKeyFile { path })
        }
        Err(other) => Err(other.into()),
    }
}
