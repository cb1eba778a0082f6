//! Linux.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat, renameat};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use super::FileId;
use crate::error::WorkerError;

/// Number of bytes in a block, as `MetadataExt::blocks` counts them.
const BLOCK_BYTES: u64 = 512;

/// Checks that workers can run on this system.
#[expect(clippy::unnecessary_wraps, reason = "other systems fail")]
pub(crate) fn check() -> Result<(), WorkerError> {
    Ok(())
}

/// A running process of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    id: i32,
    memory_bytes: u64,
}

impl Process {
    /// Resident memory.
    pub(crate) fn memory_bytes(self) -> u64 {
        self.memory_bytes
    }
}

/// Lists the running processes of a POSIX session.
pub(crate) fn processes_of_session(session: u32) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().map(str::to_owned));
    names.filter_map(|name| name.parse().ok()).filter_map(|id| process(id, session)).collect()
}

fn process(id: i32, session: u32) -> Option<Process> {
    // The file does not exist if the process has ended in the meantime.
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (state, of, memory_pages) = parse(&stat)?;
    (of == session && !matches!(state, "Z" | "X")).then_some(())?;
    Some(Process { id, memory_bytes: memory_pages * rustix::param::page_size() as u64 })
}

/// Parses the state, the session and the number of resident pages of a process (proc_pid_stat(5), fields 3, 6 and 24).
fn parse(stat: &str) -> Option<(&str, u32, u64)> {
    // Field 2, the process name in parentheses, may contain any character, including parentheses.
    let (_name, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    Some((state, fields.get(3)?.parse().ok()?, fields.get(21)?.parse().ok()?))
}

/// Returns the files on disk that a process keeps open although they were deleted.
pub(crate) fn deleted_files(process: Process) -> impl Iterator<Item = Metadata> {
    let entries = std::fs::read_dir(format!("/proc/{}/fd", process.id)).ok();
    entries.into_iter().flatten().flatten().filter_map(|entry| {
        let place = std::fs::read_link(entry.path()).ok()?;
        let place = place.to_str()?;
        // Files in memory use no disk space.
        let is_deleted = place.ends_with(" (deleted)") && !place.starts_with("/memfd:") && !place.starts_with("/dev/");
        let about = std::fs::metadata(entry.path()).ok().filter(|_about| is_deleted)?;
        about.is_file().then_some(about)
    })
}

/// Kills a process. Does nothing if it has ended.
pub(crate) fn kill(process: Process) {
    if let Some(id) = Pid::from_raw(process.id) {
        let _ended_meanwhile = kill_process(id, Signal::KILL);
    }
}

/// Sets the soft limit of a child process's CPU time since its start. A higher value is reduced to the hard limit, which must be
/// the same as the hard limit of this process.
pub(crate) fn limit_processor_time(process: u32, secs: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = Some(maximum.map_or(secs, |maximum| maximum.min(secs)));
    let id = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    prlimit(Some(id), Resource::Cpu, Rlimit { current, maximum })?;
    Ok(())
}

/// Returns the identity of a file, and the bytes that it occupies on the disk.
pub(crate) fn id_and_bytes(about: &Metadata) -> (FileId, u64) {
    ((about.dev(), about.ino()), about.blocks() * BLOCK_BYTES)
}

/// Returns the number of names of a file.
pub(crate) fn names_of(about: &Metadata) -> u64 {
    about.nlink()
}

/// Lets other users enter a folder whose content they cannot list.
pub(crate) fn let_others_enter(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o711))
}

/// Lets the owner read, change and enter a folder. An error is ignored: what needs the permission then fails.
pub(crate) fn let_owner_write(folder: &Path) {
    drop(std::fs::set_permissions(folder, Permissions::from_mode(0o700)));
}

/// Lets all users read a file, and nobody change it.
pub(crate) fn let_all_read(file: &Path) -> io::Result<()> {
    std::fs::set_permissions(file, Permissions::from_mode(0o444))
}

/// Opens a file that an untrusted process may have replaced: does not follow a link, and does not wait for the writer of a pipe.
pub(crate) fn open_untrusted(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)
}

/// Moves files from the folder `process/name` to the folder `to/name`, without following links in `process`.
pub(crate) fn move_untrusted<'a>(
    process: &Path,
    to: &Path,
    name: &str,
    files: impl Iterator<Item = &'a OsStr>,
) -> io::Result<()> {
    let source = open_folder(&open_folder(CWD, process)?, Path::new(name))?;
    let target = open_folder(CWD, &to.join(name))?;
    for file in files {
        renameat(&source, file, &target, file)?;
    }
    Ok(())
}

fn open_folder(parent: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(parent, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_with_parentheses_are_parsed() {
        let stat = "7 (a) Z 1 (b) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1000 42 18446744073709551615 0";
        assert_eq!(parse(stat), Some(("S", 5, 42)));
        assert_eq!(parse("7 (a) S 1"), None);
    }
}
