//! The foundation: seal, store and keys of one installation, made once by `init` and opened at every start.

mod marks;
mod seals;
mod unfinished;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actors::SetupError;
use crypto::Keyring;
use crypto::seal::{KeyFileError, PassphraseError, Seal};
use domain::{Clock, Registry, TenantSlug, Timestamp, VaultId};
use secret::Entropy;
use storage::{MemoryStore, OpenError, Settings, SledStore, Store, StoreError};

use crate::clock::NotBefore;
use crate::config::Config;
pub use marks::Marks;
pub use seals::Seals;
use unfinished::{Stale, Unfinished};

/// What the store's format is called. A binary that finds another one refuses to open it.
pub const FORMAT: &str = "strongroom-1";

/// Time and randomness for everything that is built.
#[derive(Clone)]
pub struct Hands {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// An opened installation.
pub struct Foundation {
    /// Its id.
    pub vault: VaultId,
    /// Its store.
    pub store: Arc<dyn Store>,
    /// Its keys.
    pub keyring: Arc<Keyring>,
    /// Time, never before what the store has seen.
    pub clock: Arc<dyn Clock>,
}

/// An installation cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum FoundationError {
    /// The key file.
    #[error("{0}")]
    KeyFile(#[from] KeyFileError),
    /// The passphrase.
    #[error("{0}")]
    Passphrase(#[from] PassphraseError),
    /// The store.
    #[error("{0}")]
    Store(#[from] OpenError),
    /// The keys.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The vault id in the store is not one.
    #[error("the store's vault id cannot be read; restore the data folder from a backup")]
    VaultId,
    /// The data folder cannot be made.
    #[error(
        "the data folder {path} cannot be made: {source}; create it for this user, or set data.dir"
    )]
    Folder {
        /// The folder.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is an installation, or something that looks like one.
    #[error(
        "{} exists already, and what is there is never touched. If it is this installation, it is set up: go on with \
         `strongroom serve` (`strongroom admin-key new` makes another admin key). To set up another one, set data.dir to an \
         empty folder, or move {} away", .path.display(), .data_dir.display()
    )]
    Exists {
        /// What is there.
        path: PathBuf,
        /// The data folder.
        data_dir: PathBuf,
    },
    /// Another `init` works in the same folder.
    #[error("another `strongroom init` is at work in {}; wait for its end", .data_dir.display())]
    BeingSetUp {
        /// The data folder.
        data_dir: PathBuf,
    },
    /// `init` was begun and has not ended.
    #[error("the set-up in {} was begun and not finished, so nothing is kept there yet; run `strongroom init` again", .data_dir.display())]
    Unfinished {
        /// The data folder.
        data_dir: PathBuf,
    },
    /// The clock is far behind what the store has seen.
    #[error(
        "the clock says {now:?}, but this vault has run until {seen:?}: what has ended since would live again. Set the clock \
         and start again; if it is right now and was wrong before, run `strongroom accept-rollback`"
    )]
    ClockBehind {
        /// What the clock says.
        now: Timestamp,
        /// The latest moment in the store.
        seen: Timestamp,
    },
    /// The store failed.
    #[error("{0}")]
    Rows(#[from] StoreError),
    /// An interrupted `init` may have left half a key file.
    #[error(
        "{} is not a whole key file, and an earlier `strongroom init` was interrupted; if it wrote the file, remove the file \
         and run `strongroom init` again, otherwise set seal.key_file to another path", .path.display()
    )]
    HalfKeyFile {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder of the set-up.
    #[error("cannot use {}: {source}; check its owner and mode, then run `strongroom init` again", path.display())]
    Files {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Whose key file a new installation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFile {
    /// It was made with the installation.
    Made,
    /// It was there before and is used as it is.
    Found,
    /// The configuration names none; a passphrase opens the installation.
    None,
}

impl Foundation {
    /// Makes a new installation: key file, store, keys. When it fails, what it made is removed; when it is interrupted, the
    /// next call begins again.
    ///
    /// # Errors
    /// [`FoundationError`]; an installation that is there already is never touched.
    pub async fn create(
        config: &Config,
        hands: &Hands,
    ) -> Result<(Self, KeyFile), FoundationError> {
        make_folder(&config.data_dir)?;
        if let Some(folder) = config.seal.key_file.as_deref().and_then(Path::parent) {
            make_folder(folder)?;
        }
        let mut unfinished = Unfinished::begin(&config.data_dir, &store_dir(config))?;
        let (seals, key_file) = Seals::of_new(config, &mut unfinished, hands)?;
        let vault = VaultId::from_bytes(random(&*hands.entropy));
        unfinished.begin_store(vault)?;
        let store: Arc<dyn Store> = Arc::new(SledStore::create(
            &store_dir(config),
            FORMAT,
            vault.as_bytes(),
            Settings::default(),
        )?);
        let made = Self::new(vault, store, (&seals.each(), &config.registry), hands).await?;
        unfinished.finish();
        Ok((made, key_file))
    }

    /// Opens an installation.
    ///
    /// # Errors
    /// [`FoundationError`] says what is wrong and what to do.
    pub async fn open(config: &Config, hands: &Hands) -> Result<Self, FoundationError> {
        let stale = Stale::beside(&config.data_dir, &store_dir(config))?;
        let seals = Seals::declared(config)?;
        let store = SledStore::open(&store_dir(config), FORMAT, Settings::default())?;
        let opened = Self::opened(config, hands, &seals, store).await?;
        if let Some(stale) = stale {
            stale.remove();
        }
        Ok(opened)
    }

    /// Opens an installation whose store or clock has gone back, and takes it as it is from now on: the store where that is
    /// what [`Foundation::open`] says, otherwise the clock. A human must have been asked about that one.
    ///
    /// # Errors
    /// [`FoundationError`], for everything else that is wrong; `ClockBehind` after the store was taken.
    pub async fn accept_rollback(config: &Config, hands: &Hands) -> Result<Self, FoundationError> {
        let seals = Seals::declared(config)?;
        let (dir, settings) = (store_dir(config), Settings::default());
        let store = match SledStore::open(&dir, FORMAT, settings) {
            Err(OpenError::RolledBack { .. } | OpenError::SidecarLost { .. }) => {
                SledStore::accept_rollback(&dir, FORMAT, settings)?
            }
            opened => {
                let store = opened?;
                actors::set_back(&store, hands.clock.now()).await?;
                store
            }
        };
        Self::opened(config, hands, &seals, store).await
    }

    async fn opened(
        config: &Config,
        hands: &Hands,
        seals: &Seals<'_>,
        store: SledStore,
    ) -> Result<Self, FoundationError> {
        let vault: [u8; 16] = store
            .vault_id()
            .try_into()
            .map_err(|_| FoundationError::VaultId)?;
        let vault = VaultId::from_bytes(vault);
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = clock(&*store, hands).await?;
        let tenants = tenants(&config.registry);
        let keyring = actors::open_keys(
            &*store,
            vault,
            (&seals.each(), &tenants),
            clock.now(),
            &*hands.entropy,
        )
        .await?;
        actors::pin_issuers(&*store, &config.registry).await?;
        Ok(Self {
            vault,
            store,
            keyring,
            clock,
        })
    }

    /// An installation that lives in memory and ends with the process, for tests.
    ///
    /// # Errors
    /// [`FoundationError::Setup`].
    pub async fn in_memory(
        registry: &Registry,
        seal: &dyn Seal,
        hands: &Hands,
    ) -> Result<Self, FoundationError> {
        let vault = VaultId::from_bytes(random(&*hands.entropy));
        Self::new(
            vault,
            Arc::new(MemoryStore::new()),
            (&[seal], registry),
            hands,
        )
        .await
    }

    async fn new(
        vault: VaultId,
        store: Arc<dyn Store>,
        (seals, registry): (&[&dyn Seal], &Registry),
        hands: &Hands,
    ) -> Result<Self, FoundationError> {
        let tenants = tenants(registry);
        let now = hands.clock.now();
        let keyring =
            actors::create_keys(&*store, vault, (seals, &tenants), now, &*hands.entropy).await?;
        actors::pin_issuers(&*store, registry).await?;
        Ok(Self {
            vault,
            store,
            keyring,
            clock: Arc::clone(&hands.clock),
        })
    }
}

/// The clock, never below what the store has seen. One that is far behind would stand still for long, so that nothing works
/// and nobody sees why: it is refused.
async fn clock(store: &dyn Store, hands: &Hands) -> Result<Arc<dyn Clock>, FoundationError> {
    let now = hands.clock.now();
    let seen = actors::seen_until(store).await?.unwrap_or(now);
    if now.plus(CLOCK_BEHIND) < seen {
        return Err(FoundationError::ClockBehind { now, seen });
    }
    if now < seen {
        tracing::warn!(
            behind_ms = seen.as_ms().saturating_sub(now.as_ms()),
            "the clock is behind the time that this vault has seen; time stands still for it until then"
        );
    }
    Ok(Arc::new(NotBefore::new(Arc::clone(&hands.clock), seen)))
}

/// How far behind a clock may be: more than any correction of a clock that runs.
const CLOCK_BEHIND: Duration = Duration::from_secs(60 * 60);

/// The store has a folder of its own below the data folder: its sidecar stands beside it.
fn store_dir(config: &Config) -> std::path::PathBuf {
    config.data_dir.join("store")
}

fn tenants(registry: &Registry) -> Vec<TenantSlug> {
    registry
        .tenants()
        .map(|tenant| tenant.slug.clone())
        .collect()
}

fn random(entropy: &dyn Entropy) -> [u8; 16] {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    bytes
}

fn make_folder(path: &Path) -> Result<(), FoundationError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(|source| FoundationError::Folder {
        path: path.display().to_string(),
        source,
    })
}
