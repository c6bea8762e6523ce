//! Arguments, as a stranger reads them in `--help`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 faults in the configuration; 4 store, seal or keys cannot be opened; \
5 cannot start (an address is taken, the audit log cannot be written); 6 the running vault refused.

A first look: `strongroom dev` starts a practice vault on this machine and prints what to do with it.
For real use: write a configuration, then `strongroom check`, `strongroom init`, `strongroom server new-key NAME`, `strongroom serve`.";

/// A self-hosted token vault for MCP servers.
#[derive(Debug, Parser)]
#[command(name = "strongroom", after_help = EXIT_CODES, disable_version_flag = true, arg_required_else_help = true)]
pub(super) struct Args {
    /// The configuration file.
    #[arg(
        long,
        short,
        global = true,
        default_value = "strongroom.toml",
        value_name = "FILE"
    )]
    pub(super) config: PathBuf,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Set up a new installation: key file, store, keys. Prints the first admin key, once.
    Init,
    /// Run the vault until it is told to stop.
    Serve,
    /// Run a practice vault on this machine, with a practice issuer and provider. Not for real accounts.
    Dev(Dev),
    /// Check the configuration and say what it declares, without starting anything.
    Check,
    /// MCP servers and their keys.
    #[command(subcommand)]
    Server(Server),
    /// What people have connected.
    #[command(subcommand)]
    Grants(Grants),
    /// The key of the admin listener on TCP; the admin socket needs none.
    #[command(subcommand)]
    AdminKey(AdminKey),
    /// What opens the root key: key files and passphrases, each in a slot of its own. While the vault is stopped.
    #[command(subcommand)]
    Seal(Seal),
    /// Go on with a store that went back in time, or after the clock was set back. Says what that may cost, and asks for --yes.
    AcceptRollback {
        /// Do it: an older copy of the data was put back on purpose, or the clock is right now and was wrong before.
        #[arg(long)]
        yes: bool,
    },
    /// Print the version.
    Version,
}

/// `strongroom dev`.
#[derive(Debug, clap::Args)]
pub(super) struct Dev {
    #[command(subcommand)]
    what: Option<DevWhat>,
    /// Port of the connect listener; the others follow it. 0 picks free ones.
    #[arg(long, global = true, default_value_t = 7601)]
    port: u16,
    /// Life of the practice provider's access tokens, in seconds.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    token_life: u64,
    /// Write the addresses and the server key as JSON to this file, for scripts.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum DevWhat {
    /// Print a subject token of a practice person (`alice` or `bob`) from the practice vault that is running.
    Token {
        /// Who.
        person: String,
    },
}

impl From<Dev> for crate::dev::Wish {
    fn from(dev: Dev) -> Self {
        match dev.what {
            Some(DevWhat::Token { person }) => Self::Token {
                port: dev.port,
                person,
            },
            None => Self::Run {
                port: dev.port,
                token_life_s: dev.token_life,
                write: dev.write,
            },
        }
    }
}

/// `strongroom server`.
#[derive(Debug, Subcommand)]
pub(super) enum Server {
    /// List the declared servers and their keys.
    List,
    /// Make a key for a server and print it, once. A server has at most two live keys.
    NewKey {
        /// Slug of the server.
        server: String,
    },
    /// Revoke a key by its id (the twelve characters after `srk_`). It stops working at once.
    RevokeKey {
        /// Id of the key.
        key: String,
    },
    /// Disable a server: all its keys stop working at once.
    Disable {
        /// Slug of the server.
        server: String,
    },
    /// Enable a server again.
    Enable {
        /// Slug of the server.
        server: String,
    },
}

/// `strongroom admin-key`.
#[derive(Debug, Subcommand)]
pub(super) enum AdminKey {
    /// Make a new admin key, print it, once, and revoke every earlier one.
    New,
}

/// `strongroom seal`.
#[derive(Debug, Subcommand)]
pub(super) enum Seal {
    /// List the slots, and whether each opens with what the configuration declares.
    List,
    /// Add a slot for a passphrase: the one that `seal.passphrase` refers to, or one from standard input.
    AddPassphrase {
        /// Read it from standard input: typed twice, unseen, or one line from a pipe.
        #[arg(long)]
        stdin: bool,
        #[command(flatten)]
        cost: Cost,
    },
    /// Add a slot for a key file, which is made if it is not there.
    AddKeyFile {
        /// Where, outside the data folder.
        path: PathBuf,
    },
    /// Remove a slot, provided that another one opens with what the configuration declares.
    Remove {
        /// Its number in `strongroom seal list`.
        slot: u8,
    },
}

/// What each guess at a passphrase costs, and each start (Argon2id, RFC 9106; the defaults are its second recommendation).
#[derive(Debug, clap::Args)]
pub(super) struct Cost {
    /// Memory, in MiB: 19 to 4096.
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    pub(super) memory_mib: u32,
    /// Passes over the memory: 2 to 64, with memory times passes at most 8192 MiB.
    #[arg(long, default_value_t = 3)]
    pub(super) passes: u32,
    /// Lanes: 1 to 64.
    #[arg(long, default_value_t = 4)]
    pub(super) lanes: u32,
}

/// `strongroom grants`.
#[derive(Debug, Subcommand)]
pub(super) enum Grants {
    /// List grants. People are shown as keyed pseudonyms.
    List,
    /// End a grant and tell the provider.
    Revoke {
        /// Id of the grant (`gr_…`).
        grant: String,
    },
}
