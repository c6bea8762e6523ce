//! How many connections a listener and a single address may have open at one time.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Shutdown};
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::rt::net::TcpStream;
use socket2::SockRef;

/// Caps of one listener.
#[derive(Clone)]
pub struct Caps {
    pub(crate) connections: usize,
    per_address: Option<usize>,
    exempt: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

impl fmt::Debug for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caps")
            .field("connections", &self.connections)
            .field("per_address", &self.per_address)
            .finish_non_exhaustive()
    }
}

impl Caps {
    /// At most `connections` at one time, rounded up to a multiple of the workers; further ones wait to be accepted.
    pub fn total(connections: usize) -> Self {
        Self {
            connections,
            per_address: None,
            exempt: Arc::new(|_| false),
        }
    }

    /// And at most `limit` from one address; further ones are ended at once. Addresses for which `exempt` says yes (the
    /// declared proxies, which speak for many) are not counted.
    #[must_use]
    pub fn per_address(
        mut self,
        limit: usize,
        exempt: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.per_address = Some(limit);
        self.exempt = Arc::new(exempt);
        self
    }
}

/// Who is connected at present.
#[derive(Clone)]
pub(crate) struct Crowd {
    caps: Caps,
    present: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A counted connection; leaves when dropped.
pub(crate) struct Place {
    address: IpAddr,
    present: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Crowd {
    /// Nobody is connected.
    pub(crate) fn new(caps: Caps) -> Self {
        Self {
            caps,
            present: Arc::default(),
        }
    }

    /// Counts a connection, and ends it when its address has too many. `None` where nothing is counted.
    pub(crate) fn enter(&self, stream: &TcpStream) -> Option<Place> {
        let limit = self.caps.per_address?;
        let address = stream.peer_addr().ok()?.ip().to_canonical();
        if (self.caps.exempt)(address) {
            return None;
        }
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let count = present.entry(address).or_default();
        *count += 1;
        if *count > limit {
            tracing::debug!(%address, "an address has too many connections; this one is ended");
            // An error means that it has ended already.
            SockRef::from(stream).shutdown(Shutdown::Both).ok();
        }
        Some(Place {
            address,
            present: Arc::clone(&self.present),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = present.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                present.remove(&self.address);
            }
        }
    }
}
