//! Ports for installations: each number is given out once in this process, below the range that the system gives out by
//! itself, so that no other test and no outgoing connection takes it in between.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// The next port that is free.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 12_000 + u16::try_from(std::process::id() % 80).unwrap() * 250;
    loop {
        let port = base + NEXT.fetch_add(1, Ordering::Relaxed) % 1000;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
