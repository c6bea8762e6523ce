//! `seal`: the slots of the root key, changed while nothing serves. The running vault does not keep the root key, so there is
//! nothing that its admin socket could do; and no passphrase ever travels through it.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use actors::{SealsError, SlotView, Vault};
use crypto::seal::{
    KeyFileError, KeyFileSeal, PassphraseParameters, PassphraseSeal, Seal, SealKind,
};
use secret::Passphrase;
use storage::OpenError;
use zeroize::Zeroizing;

use super::args::{Cost, Seal as Wish};
use super::prompt::prompted_twice;
use super::{CommandError, hands, say};
use crate::app::{IoRuntime, build_vault};
use crate::config::{Config, Files as _, OsFiles, passphrase_line};
use crate::foundation::{Foundation, FoundationError, Hands, Seals};

/// `strongroom seal …`.
pub(super) fn seal(config: &Config, what: Wish) -> Result<(), CommandError> {
    match what {
        Wish::List => at_vault(config, async |vault, seals| {
            for slot in vault.seal_slots(seals).await? {
                say(&line(&slot));
            }
            Ok(())
        }),
        Wish::AddPassphrase { stdin, cost } => add_passphrase(config, stdin, &cost),
        Wish::AddKeyFile { path } => add_key_file(config, &path),
        Wish::Remove { slot } => at_vault(config, async |vault, seals| {
            vault.remove_seal(seals, slot).await?;
            say(&format!(
                "Slot {slot} is removed. What opened it still opens older copies of the data: destroy those, too, if it is \
                 in other hands."
            ));
            Ok(())
        }),
    }
}

fn add_passphrase(config: &Config, stdin: bool, cost: &Cost) -> Result<(), CommandError> {
    let given;
    let passphrase = if stdin {
        given = from_stdin()?;
        &given
    } else {
        config.seal.passphrase.as_ref().ok_or_else(|| {
            CommandError::Usage(String::from(
                "[seal] declares no passphrase; write seal.passphrase, or give one on standard input with --stdin",
            ))
        })?
    };
    let cost = PassphraseParameters {
        memory_kib: cost.memory_mib.saturating_mul(1024),
        passes: cost.passes,
        lanes: cost.lanes,
    };
    let fresh = PassphraseSeal::new(passphrase, cost).map_err(FoundationError::from)?;
    let took = time_to_open(&fresh, &hands()?)?;
    at_vault(config, async |vault, seals| {
        let number = vault.add_seal(seals, &fresh).await?;
        say(&format!(
            "Slot {number} opens with this passphrase. Each start that uses it takes {} MiB of memory and about {took} ms on \
             this machine.",
            cost.memory_kib / 1024
        ));
        Ok(())
    })
}

/// Stretches the passphrase once, which also shows that there is memory for it, before anything is opened.
fn time_to_open(fresh: &PassphraseSeal<'_>, hands: &Hands) -> Result<i64, CommandError> {
    let tried = || -> Result<i64, crypto::seal::SlotError> {
        let parameters = fresh.new_parameters(&*hands.entropy)?;
        let began = hands.clock.now().as_ms();
        fresh.key(&parameters)?;
        Ok(hands.clock.now().as_ms().saturating_sub(began))
    };
    tried().map_err(|error| CommandError::Refused(error.to_string()))
}

fn add_key_file(config: &Config, path: &Path) -> Result<(), CommandError> {
    if OsFiles
        .real(path)
        .starts_with(OsFiles.real(&config.data_dir))
    {
        return Err(CommandError::Usage(String::from(
            "that path lies in the data folder, so every backup of the data would carry the key to it; give one outside",
        )));
    }
    let hands = hands()?;
    at_vault(config, async |vault, seals| {
        let fault = |error: KeyFileError| CommandError::Foundation(error.into());
        let (fresh, how) = match KeyFileSeal::open(path) {
            Err(KeyFileError::Absent(_)) => (
                KeyFileSeal::create(path, &*hands.entropy).map_err(fault)?,
                "was made and",
            ),
            there => (there.map_err(fault)?, "was there already and"),
        };
        let number = vault.add_seal(seals, &fresh).await?;
        say(&format!(
            "Slot {number} opens with the key file {}, which {how} belongs apart from backups of the data.",
            path.display()
        ));
        Ok(())
    })
}

/// Opens the vault for the time of the work, with what the configuration declares, and closes it.
fn at_vault<T>(
    config: &Config,
    work: impl AsyncFnOnce(&Vault, &[&dyn Seal]) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    super::on_a_system(async {
        if UnixStream::connect(&config.listen.admin_socket).is_ok() {
            return Err(while_running());
        }
        let hands = hands()?;
        let foundation = match Foundation::open(config, &hands).await {
            Err(FoundationError::Store(OpenError::InUse)) => return Err(while_running()),
            opened => opened?,
        };
        let io = IoRuntime::start()?;
        let (vault, arbiters) = build_vault(config, foundation, &hands, &io)?;
        let seals = Seals::declared(config)?;
        let done = work(&vault, &seals.each()).await;
        let closed = vault.close().await;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        drop(io);
        let done = done?;
        closed.map_err(|error| CommandError::Other(error.to_string()))?;
        Ok(done)
    })
}

fn while_running() -> CommandError {
    CommandError::Refused(String::from(
        "the vault is running, or another command has its store. A running vault does not keep its root key, so seals are \
         changed while it is stopped; stop it and run this again",
    ))
}

impl From<SealsError> for CommandError {
    fn from(error: SealsError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// The passphrase that is piped in, or typed unseen.
fn from_stdin() -> Result<Passphrase, CommandError> {
    use std::io::IsTerminal as _;
    let stdin = std::io::stdin();
    let text = if stdin.is_terminal() {
        prompted_twice()?
    } else {
        let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_INPUT));
        let most = u64::try_from(LONGEST_INPUT).unwrap_or(u64::MAX);
        stdin
            .lock()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| {
                CommandError::Other(format!("standard input cannot be read: {error}"))
            })?;
        String::from_utf8(std::mem::take(&mut *bytes)).map_err(|error| {
            drop(Zeroizing::new(error.into_bytes())); // wiped
            CommandError::Usage(String::from(
                "what came on standard input is not UTF-8 text",
            ))
        })?
    };
    passphrase_line(text).map_err(|flaw| {
        CommandError::Usage(format!(
            "what came on standard input {flaw}; give exactly the passphrase, on one line"
        ))
    })
}

/// More than the longest passphrase that is taken, with its line end.
const LONGEST_INPUT: usize = 8192;

fn line(slot: &SlotView) -> String {
    let kind = slot.kind.map_or("cannot be read", |kind| match kind {
        SealKind::KeyFile => "key file",
        SealKind::Passphrase => "passphrase",
    });
    let made = slot
        .created
        .map_or_else(|| String::from("-"), domain::Timestamp::rfc3339);
    let opens = if slot.opens {
        "opens with [seal]"
    } else {
        "does not open with [seal]"
    };
    let cost = slot.cost.map_or_else(String::new, |cost| {
        format!(
            "  {} MiB, {} passes, {} lanes",
            cost.memory_kib / 1024,
            cost.passes,
            cost.lanes
        )
    });
    format!("slot {}  {kind}  made {made}  {opens}{cost}", slot.number)
}
