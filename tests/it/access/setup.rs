//! Setting up: once, whole or not at all, and again after it was interrupted.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crypto::seal::{KeyFileError, KeyFileSeal};
use domain::VaultId;
use secret::OsEntropy;
use storage::{OpenError, Settings, SledStore};
use strongroom::config::{Config, Mode, OsFiles, Outside};
use strongroom::foundation::{FORMAT, Foundation, FoundationError, Hands, KeyFile};
use tempfile::TempDir;

use crate::configuration::Parts;
use crate::support::ManualClock;

/// A folder with a configuration and nothing set up.
struct Place {
    folder: TempDir,
    config: Config,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("client.secret");
        std::fs::write(&secret, "a-client-secret-of-nobody").unwrap();
        closed(&secret, 0o600);
        let parts = Parts {
            host: "localhost",
            ports: (1, 2),
            folder: &folder.path().display().to_string(),
            issuer: "http://127.0.0.1:3",
            provider: "http://127.0.0.2:4",
            endpoints: ["/authorize", "/token", "/revoke"],
            servers: &[("s1", "https://s1.test/mcp")],
        };
        let outside = Outside {
            env: &|_| None,
            files: &OsFiles,
        };
        let config = Config::parse(&parts.text(), "test.toml", Mode::Dev, outside)
            .unwrap_or_else(|faults| panic!("{faults}"));
        std::fs::create_dir(&config.data_dir).unwrap();
        Self { folder, config }
    }

    fn key_file(&self) -> &Path {
        self.config.seal.key_file.as_deref().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn create(&self) -> Result<KeyFile, FoundationError> {
        let (foundation, key_file) = Foundation::create(&self.config, &hands()).await?;
        foundation.store.close().await.unwrap();
        Ok(key_file)
    }

    async fn open(&self) -> Result<VaultId, FoundationError> {
        let foundation = Foundation::open(&self.config, &hands()).await?;
        foundation.store.close().await.unwrap();
        Ok(foundation.vault)
    }

    /// What the next `init` finds when one was killed before it began a store.
    fn interrupted(&self) {
        self.mark("");
    }

    /// The same when it was killed later: the mark names the vault whose store was begun.
    fn begun(&self) {
        self.mark(&begun(VAULT));
    }

    fn mark(&self, says: &str) {
        std::fs::write(self.path("data/init.unfinished"), says).unwrap();
    }

    fn make_key(&self) {
        KeyFileSeal::create(self.key_file(), &OsEntropy).unwrap();
    }

    fn make_store(&self) {
        let settings = Settings::default();
        let vault = VAULT.as_bytes();
        drop(SledStore::create(&self.path("data/store"), FORMAT, vault, settings).unwrap());
    }

    /// Everything in the data folder but what was there before.
    fn made(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.config.data_dir).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

const VAULT: VaultId = VaultId::from_bytes([7; 16]);

fn begun(vault: VaultId) -> String {
    format!("store begun {vault}\n")
}

/// Every file below a folder and what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    all
}

fn hands() -> Hands {
    Hands {
        clock: Arc::new(ManualClock::new()),
        entropy: Arc::new(OsEntropy),
    }
}

fn closed(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[actix_web::test]
async fn an_installation_is_set_up_once_and_never_touched_again() {
    let place = Place::new();
    assert_eq!(place.create().await.unwrap(), KeyFile::Made);
    let key = std::fs::read(place.key_file()).unwrap();
    let refused = place.create().await.unwrap_err();
    assert!(
        matches!(refused, FoundationError::Exists { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("strongroom serve"));
    assert_eq!(std::fs::read(place.key_file()).unwrap(), key);
    place.open().await.unwrap();
}

#[actix_web::test]
async fn a_sidecar_without_its_store_is_not_built_over() {
    let place = Place::new();
    std::fs::write(place.path("data/store.commit"), "").unwrap();
    let refused = place.create().await.unwrap_err();
    assert!(refused.to_string().contains("store.commit"), "{refused}");
    assert_eq!(place.made(), ["store.commit"]);
    assert!(!place.key_file().exists());
}

#[actix_web::test]
async fn what_is_wrong_with_a_key_file_is_said_and_nothing_is_left_behind() {
    let place = Place::new();
    place.make_key();
    let key = place.key_file();
    closed(key, 0o644);
    let open = place.create().await.unwrap_err();
    assert!(
        matches!(
            open,
            FoundationError::KeyFile(KeyFileError::OpenToOthers { .. })
        ),
        "{open}"
    );
    closed(key, 0o600);
    std::fs::write(key, "something else\n").unwrap();
    let foreign = place.create().await.unwrap_err();
    assert!(
        matches!(foreign, FoundationError::KeyFile(KeyFileError::Format(_))),
        "{foreign}"
    );
    assert_eq!(std::fs::read(key).unwrap(), b"something else\n");
    assert!(place.made().is_empty(), "{:?}", place.made());

    std::fs::remove_file(key).unwrap();
    place.make_key();
    assert_eq!(place.create().await.unwrap(), KeyFile::Found);
    place.open().await.unwrap();
}

#[actix_web::test]
async fn a_set_up_that_fails_takes_back_what_it_made() {
    let place = Place::new();
    // Nothing is there, and nothing can be made there.
    std::os::unix::fs::symlink(place.path("nowhere"), place.path("data/store")).unwrap();
    let failed = place.create().await.unwrap_err();
    assert!(matches!(failed, FoundationError::Store(_)), "{failed}");
    assert!(!place.key_file().exists());
    std::fs::remove_file(place.path("data/store")).ok();
    assert!(place.made().is_empty(), "{:?}", place.made());
    place.create().await.unwrap();
}

#[actix_web::test]
async fn a_set_up_that_was_killed_between_any_two_steps_can_be_run_again() {
    let steps: [fn(&Place); 8] = [
        Place::interrupted,
        |place| {
            place.make_key();
            place.interrupted();
        },
        Place::begun,
        |place| {
            std::fs::create_dir(place.path("data/store")).unwrap();
            place.begun();
        },
        |place| {
            std::fs::create_dir(place.path("data/store")).unwrap();
            std::fs::write(place.path("data/store.commit"), "").unwrap();
            std::fs::write(place.path("data/store/db"), "half").unwrap();
            place.begun();
        },
        |place| {
            std::fs::write(place.path("data/store.commit"), "half").unwrap();
            place.begun();
        },
        |place| {
            place.make_store();
            place.begun();
        },
        // Killed while the next one removed what was there: the sidecar goes last.
        |place| {
            place.make_store();
            std::fs::remove_dir_all(place.path("data/store")).unwrap();
            place.begun();
        },
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let place = Place::new();
        if number > 1 {
            place.make_key();
        }
        step(&place);
        is_unfinished(&place).await;
        let made = place.create().await;
        made.unwrap_or_else(|error| panic!("step {number}: {error}"));
        place.open().await.unwrap();
    }
    // The last one: all is there, only the mark was not removed.
    let place = Place::new();
    place.create().await.unwrap();
    let vault = place.open().await.unwrap();
    place.mark(&begun(vault));
    assert_eq!(place.open().await.unwrap(), vault);
    assert!(!place.path("data/init.unfinished").exists());
    assert_eq!(place.open().await.unwrap(), vault);
}

#[actix_web::test]
async fn an_installation_beside_the_mark_of_a_set_up_is_never_removed() {
    let place = Place::new();
    place.create().await.unwrap();
    let vault = place.open().await.unwrap();
    for mark in ["", "store be", &begun(VAULT), &begun(vault)] {
        place.mark(mark);
        let before = files(place.folder.path());
        let refused = place.create().await.unwrap_err();
        assert!(
            matches!(refused, FoundationError::Exists { .. }),
            "{mark}: {refused}"
        );
        assert!(before == files(place.folder.path()), "{mark}: touched");
        assert_eq!(place.open().await.unwrap(), vault, "{mark}");
        assert!(!place.path("data/init.unfinished").exists(), "{mark}");
    }
}

#[actix_web::test]
async fn a_store_that_may_be_anothers_is_not_removed() {
    let steps: [fn(&Place); 4] = [
        // Of another vault than the mark says.
        |place| {
            place.make_store();
            place.mark(&begun(VaultId::from_bytes([8; 16])));
        },
        // Before the mark said anything.
        |place| {
            place.make_store();
            place.interrupted();
        },
        // A sidecar as long as that of a store that was finished, but nobody can read it.
        |place| {
            place.make_store();
            std::fs::write(place.path("data/store.commit"), [0; 8220]).unwrap();
            place.begun();
        },
        // No set-up makes a store before its sidecar, and none removes the sidecar first.
        |place| {
            place.make_store();
            std::fs::remove_file(place.path("data/store.commit")).unwrap();
            place.begun();
        },
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let place = Place::new();
        step(&place);
        let before = files(place.folder.path());
        let refused = place.create().await.unwrap_err();
        assert!(
            matches!(refused, FoundationError::Exists { .. }),
            "{number}: {refused}"
        );
        assert!(before == files(place.folder.path()), "{number}: touched");
    }
}

#[actix_web::test]
async fn a_store_folder_that_cannot_be_read_is_left_as_it_was() {
    for mark in [None, Some(String::new()), Some(begun(VAULT))] {
        let place = Place::new();
        let store = place.path("data/store");
        std::os::unix::fs::symlink(&store, &store).unwrap();
        if let Some(mark) = &mark {
            place.mark(mark);
        }
        let refused = place.create().await.unwrap_err();
        assert!(
            matches!(refused, FoundationError::Files { .. }),
            "{mark:?}: {refused}"
        );
        assert!(store.is_symlink(), "{mark:?}");
        let marked = place.path("data/init.unfinished").exists();
        assert_eq!(marked, mark.is_some());
        assert!(!place.key_file().exists());
    }
}

#[actix_web::test]
async fn a_store_that_is_open_is_not_removed() {
    let place = Place::new();
    place.make_store();
    let path = place.path("data/store");
    let running = SledStore::open(&path, FORMAT, Settings::default()).unwrap();
    place.begun();
    let before = files(&path);
    let refused = place.create().await.unwrap_err();
    assert!(
        matches!(refused, FoundationError::Store(OpenError::InUse)),
        "{refused}"
    );
    assert!(before == files(&path), "touched");
    drop(running);
    place.create().await.unwrap();
}

async fn is_unfinished(place: &Place) {
    let refused = place.open().await.unwrap_err();
    assert!(
        matches!(refused, FoundationError::Unfinished { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("strongroom init"), "{refused}");
}

#[actix_web::test]
async fn half_a_key_file_is_named_and_not_removed() {
    let place = Place::new();
    std::fs::write(place.key_file(), "strongroom-key-1 ").unwrap();
    closed(place.key_file(), 0o600);
    place.interrupted();
    let refused = place.create().await.unwrap_err();
    assert!(
        matches!(refused, FoundationError::HalfKeyFile { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("root.key"), "{refused}");
    assert!(place.key_file().exists());
}

#[actix_web::test]
async fn two_set_ups_in_one_folder_do_not_meet() {
    let place = Place::new();
    place.interrupted();
    let other = std::fs::File::open(place.path("data/init.unfinished")).unwrap();
    other.try_lock().unwrap();
    let refused = place.create().await.unwrap_err();
    assert!(
        matches!(refused, FoundationError::BeingSetUp { .. }),
        "{refused}"
    );
    assert_eq!(
        place.made(),
        ["init.unfinished"],
        "the other one's mark stays"
    );
    drop(other);
    place.create().await.unwrap();
}
