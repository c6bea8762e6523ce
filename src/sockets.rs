//! Sockets of the three listeners, bound before anything is built, so that port 0 can be used and its number be told.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::app::StartError;
use crate::config::Config;
use crate::descriptors::Room;

/// Where a running Strongroom listens.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// Browsers.
    pub connect: SocketAddr,
    /// MCP servers.
    pub api: SocketAddr,
    /// Operators, on this machine.
    pub admin_socket: PathBuf,
    /// Operators with a key, on loopback; if asked for.
    pub admin: Option<SocketAddr>,
}

/// Sockets that are bound before anything is built, so that port 0 can be used and its number be told.
pub struct Sockets {
    pub(crate) connect: TcpListener,
    pub(crate) api: TcpListener,
    pub(crate) admin: Option<TcpListener>,
    pub(crate) admin_socket: UnixListener,
    admin_path: PathBuf,
    /// How many connections fit into the limit on open files.
    pub(crate) room: Room,
}

impl Sockets {
    /// Makes room for connections, then binds what the configuration names.
    ///
    /// # Errors
    /// [`StartError::Descriptors`], [`StartError::Bind`].
    pub fn bind(config: &Config) -> Result<Self, StartError> {
        let listen = &config.listen;
        let room = Room::make(config)?;
        Ok(Self {
            connect: tcp("connect", listen.connect)?,
            api: tcp("api", listen.api)?,
            admin: listen
                .admin
                .map(|address| tcp("admin", address))
                .transpose()?,
            admin_socket: unix(&listen.admin_socket)?,
            admin_path: listen.admin_socket.clone(),
            room,
        })
    }

    /// Where they are.
    ///
    /// # Errors
    /// What the system says.
    pub fn addresses(&self) -> std::io::Result<Addresses> {
        Ok(Addresses {
            connect: self.connect.local_addr()?,
            api: self.api.local_addr()?,
            admin_socket: self.admin_path.clone(),
            admin: self
                .admin
                .as_ref()
                .map(TcpListener::local_addr)
                .transpose()?,
        })
    }
}

fn tcp(what: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).map_err(|source| StartError::Bind {
        what,
        address: address.to_string(),
        source,
    })
}

/// Binds the admin socket for this user alone, making its folder when it is missing. A socket file that nobody serves any more is replaced; one that answers is
/// another vault's.
pub(crate) fn unix(path: &Path) -> Result<UnixListener, StartError> {
    let bind = |source| StartError::Bind {
        what: "admin socket",
        address: path.display().to_string(),
        source,
    };
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(bind(std::io::Error::from(std::io::ErrorKind::AddrInUse)));
    }
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.file_type().is_socket() => std::fs::remove_file(path).map_err(bind)?,
        // Whatever else stands there is somebody's: it is not ours to replace.
        Ok(_) => {
            return Err(bind(std::io::Error::other(
                "there is a file that is not a socket",
            )));
        }
        Err(_) => {}
    }
    if let Some(folder) = path.parent() {
        // `/run` is empty after each start of the machine.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(bind)?;
    }
    // Bound in a folder of its own and moved out once it is private, so that it is never open to others, not even for a
    // moment, and no file of a neighbour has to give way.
    let own = private_folder(path).map_err(bind)?;
    let private = own.join("s");
    let listener = UnixListener::bind(&private).and_then(|listener| {
        std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&private, path)?;
        Ok(listener)
    });
    std::fs::remove_file(&private).ok(); // there only after a failure
    std::fs::remove_dir(&own).ok();
    listener.map_err(bind)
}

/// A new folder beside the socket, under a name that nobody has.
fn private_folder(socket: &Path) -> std::io::Result<PathBuf> {
    let folder = socket.parent().unwrap_or(Path::new("."));
    let mut number = std::process::id();
    loop {
        // Short: the path of a socket has little room, and this one must not need more than the socket itself.
        let own = folder.join(format!(".{:x}", number & 0xf_ffff));
        match std::fs::DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                number = number.wrapping_add(1);
            }
            made => return made.map(|()| own),
        }
    }
}
