//! A server as a process of its own, and what the system says about it (proc(5)).

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::Fault;

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Mutex<Child>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the plain one.
    pub(crate) fn hello() -> Result<Self, Fault> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("hello")
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        Ok(Self::of(child, line.trim().parse()?))
    }

    /// A server that was started and listens here.
    pub(crate) fn of(child: Child, address: SocketAddr) -> Self {
        Self {
            child: Mutex::new(child),
            address,
        }
    }

    fn id(&self) -> u32 {
        self.child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .id()
    }

    /// Time on a processor so far, all threads, in user and kernel mode. Its step is 10 ms.
    pub(crate) fn cpu(&self) -> Result<Duration, Fault> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
        let (_, rest) = text.rsplit_once(')').ok_or("an unknown /proc/PID/stat")?;
        let mut fields = rest.split_whitespace().skip(11);
        let mut ticks = 0_u64;
        for _ in 0..2 {
            ticks += fields
                .next()
                .ok_or("a short /proc/PID/stat")?
                .parse::<u64>()?;
        }
        Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
    }

    /// Resident memory.
    pub(crate) fn resident_mib(&self) -> Result<u64, Fault> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u64 = line
            .and_then(|line| line.split_whitespace().next())
            .ok_or("no VmRSS in /proc/PID/status")?
            .parse()?;
        Ok(kib / 1024)
    }

    /// SIGTERM, and waits; it has to end well.
    pub(crate) fn stop(&mut self) -> Result<(), Fault> {
        Command::new("kill")
            .arg("-TERM")
            .arg(self.id().to_string())
            .status()?;
        let child = self.child.get_mut();
        let ended = child
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .wait()?;
        if ended.success() {
            Ok(())
        } else {
            Err(format!("the vault ended with {ended}").into())
        }
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        let mut child = self
            .child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        child.kill().ok(); // an error means that it has ended already
        child.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `sysconf(_SC_CLK_TCK)`, which Linux has fixed at 100 for what it tells programs.
const TICKS_PER_SECOND: u64 = 100;
