//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Returns the number of free bytes on the disk of a folder.
/// Errors: the disk cannot be measured; always on Windows.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
pub fn free_bytes(_folder: &Path) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the command of the plinth program at a path. Process lists show the usual name of the program, because the path may be a
/// link with another name, such as `/proc/self/exe`.
pub fn plinth_command(path: &Path) -> Command {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "Windows has no name apart from the path"))]
    let mut command = Command::new(path);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, "plinth");
    command
}

/// Returns the number of the signal that ended a process. Windows has no signals.
#[cfg(unix)]
pub fn ending_signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
pub fn ending_signal(_status: ExitStatus) -> Option<i32> {
    None
}
