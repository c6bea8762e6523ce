//! Tests of the configuration: the shipped files, secrets, reports, every fault's exact words, and arbitrary text.

mod defaults;
mod faults;
mod outside;
mod overrides;
mod property;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Config, ConfigFaults, FileRead, Files, Mode, Outside};

/// Files that exist only in a test.
#[derive(Default)]
pub(super) struct FakeFiles(BTreeMap<&'static str, (Vec<u8>, u32)>);

impl FakeFiles {
    pub(super) fn with(mut self, path: &'static str, bytes: &[u8], mode: u32) -> Self {
        self.0.insert(path, (bytes.to_vec(), mode));
        self
    }
}

impl Files for FakeFiles {
    fn read(&self, path: &Path) -> io::Result<FileRead> {
        let found = path.to_str().and_then(|path| self.0.get(path));
        let (bytes, mode) = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(FileRead {
            bytes: bytes.clone(),
            mode: Some(*mode),
        })
    }
}

/// Checks a text as `serve` would, as the file `/etc/strongroom.toml`, with the variables `S` and `STRONGROOM_…` set.
pub(super) fn serve(text: &str) -> Result<Config, ConfigFaults> {
    check(text, Mode::Serve, &FakeFiles::default())
}

pub(super) fn check(text: &str, mode: Mode, files: &FakeFiles) -> Result<Config, ConfigFaults> {
    let env = |name: &str| {
        let known = name == "S" || name.starts_with("STRONGROOM_");
        known.then(|| "canary-secret".to_owned())
    };
    let outside = Outside { env: &env, files };
    Config::parse(text, "/etc/strongroom.toml", mode, outside)
}

/// A whole file with the pieces that tests vary: lines 1 to 20.
pub(super) const BASE: &str = r#"public_url = "https://connect.example.com"

[[issuer]]
slug = "corp"
url = "https://login.example.com"
client_id = "strongroom"
client_secret = "env:S"

[[server]]
slug = "notes"
name = "Release notes"
resource = "https://notes.example.com/mcp"
issuer = "corp"
allow = [{ provider = "github", scopes = ["repo"] }]

[[provider]]
slug = "github"
preset = "github"
client_id = "abc"
client_secret = "env:S"
"#;
