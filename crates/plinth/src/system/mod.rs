//! Calls of the operating system that differ between systems. The rest of this crate calls none.
//!
//! `plinth serve` and `plinth worker`, and the processes that they start for jobs and checks, run on Linux only
//! ([`check_can_serve`]). The other commands run on every system.

use std::io;
use std::path::PathBuf;

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

/// Returns the path by which this process starts its own program as a child process. On Linux, it leads to the version that this
/// process runs, even if the file was replaced or deleted since, for example by an upgrade of the package. Another version could
/// not read the job descriptions of this one.
/// Errors: the program is unknown, for example because `/proc` is not mounted.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { path })
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
