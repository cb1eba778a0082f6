//! Calls of the operating system that differ between systems. The rest of this crate calls none.
//!
//! `plinth serve` and `plinth worker`, and the processes that they start for jobs and checks, run on Linux only
//! ([`check_can_serve`]). The other commands run on every system.

use std::io;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(crate) use other::*;

/// A resource of which a process may use a limited amount.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    /// Bytes of a core file.
    CoreFile,
    /// Bytes of a file that the process writes.
    FileSize,
    OpenFiles,
    /// Bytes of private writable memory.
    PrivateMemory,
    /// Seconds.
    ProcessorTime,
}

/// How much a process may use of a resource; `None` is not limited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) current: Option<u64>,
    /// The process cannot raise `current` above this.
    pub(crate) maximum: Option<u64>,
}

/// Checks that servers and workers can run on this system.
/// Errors: it is not Linux.
pub(crate) fn check_can_serve() -> io::Result<()> {
    if cfg!(target_os = "linux") {
        return Ok(());
    }
    let message = "plinth serve and plinth worker run only on Linux, which sandboxes, limits and ends their jobs";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}
