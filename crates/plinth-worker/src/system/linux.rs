//! Linux.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat, renameat};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use super::FileId;
use crate::error::WorkerError;

/// Number of bytes in a block, as `MetadataExt::blocks` counts them.
const BLOCK_BYTES: u64 = 512;
/// Start of the path that the kernel shows for a file in memory.
const MEMORY_FILE: &[u8] = b"/memfd:";

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

    /// Returns the part of the resident memory that belongs to files in memory or is shared with other processes.
    pub(crate) fn shared_bytes(self) -> u64 {
        std::fs::read(format!("/proc/{}/status", self.id)).ok().and_then(|status| parse_shared(&status)).unwrap_or(0)
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
    let stat = parse(&std::fs::read(format!("/proc/{id}/stat")).ok()?)?;
    (stat.session == session && !stat.has_ended()).then_some(())?;
    // The kernel reports no memory for a process whose main thread has ended.
    let pages = if stat.state == b'Z' { task_pages(id) } else { stat.memory_pages };
    Some(Process { id, memory_bytes: pages * rustix::param::page_size() as u64 })
}

/// The state of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// State of the main thread.
    state: u8,
    session: u32,
    /// CPU time of all threads since the start of the process, in clock ticks.
    cpu_ticks: u64,
    /// Number of threads, including a main thread that has ended.
    threads: u32,
    /// Number of resident pages.
    memory_pages: u64,
}

impl Stat {
    fn has_ended(&self) -> bool {
        // Other threads may go on after the main thread has ended.
        self.state == b'X' || self.state == b'Z' && self.threads <= 1
    }
}

/// Parses the state of a process (proc_pid_stat(5), fields 3, 6, 14, 15, 20 and 24).
fn parse(stat: &[u8]) -> Option<Stat> {
    // Field 2, the process name in parentheses, may contain any byte, including parentheses.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        session: fields.get(3)?.parse().ok()?,
        cpu_ticks: fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?,
        threads: fields.get(17)?.parse().ok()?,
        memory_pages: fields.get(21)?.parse().ok()?,
    })
}

/// Returns the number of resident pages of a process, as its running threads report it.
fn task_pages(id: i32) -> u64 {
    let pages =
        |task: PathBuf| std::fs::read_to_string(task.join("statm")).ok()?.split(' ').nth(1)?.parse::<u64>().ok();
    tasks(id).filter_map(pages).max().unwrap_or(0)
}

/// Parses the resident shared memory of a process (proc_pid_status(5), `RssShmem`), in bytes.
fn parse_shared(status: &[u8]) -> Option<u64> {
    // The process name, which is on another line, may contain any byte except a line feed.
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"RssShmem:"))?;
    let kib: u64 = std::str::from_utf8(line).ok()?.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

/// Returns the files on disk that a process keeps open although they were deleted. A file may occur several times.
pub(crate) fn deleted_files(process: Process) -> impl Iterator<Item = Metadata> {
    // Files in memory use no disk space.
    open_files(process, |place| {
        place.ends_with(b" (deleted)") && !place.starts_with(MEMORY_FILE) && !place.starts_with(b"/dev/")
    })
}

/// Returns the files in memory (memfd_create(2)) that a process keeps open. A file may occur several times.
pub(crate) fn memory_files(process: Process) -> impl Iterator<Item = Metadata> {
    open_files(process, |place| place.starts_with(MEMORY_FILE))
}

/// Returns the open files of a process for whose path `is_wanted` returns true. A file may occur several times. If the main thread
/// has ended, looks at the first thread that has files.
fn open_files(process: Process, is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Metadata> {
    let of_main: Vec<PathBuf> = entries(PathBuf::from(format!("/proc/{}/fd", process.id))).collect();
    let files = if of_main.is_empty() {
        let mut of_threads = tasks(process.id).map(|task| entries(task.join("fd")).collect::<Vec<_>>());
        of_threads.find(|files| !files.is_empty()).unwrap_or_default()
    } else {
        of_main
    };
    files.into_iter().filter_map(move |file| {
        let place = std::fs::read_link(&file).ok()?;
        is_wanted(place.as_os_str().as_bytes()).then_some(())?;
        std::fs::metadata(file).ok().filter(Metadata::is_file)
    })
}

/// Returns the folders in `/proc` of the threads of a process.
fn tasks(id: i32) -> impl Iterator<Item = PathBuf> {
    entries(PathBuf::from(format!("/proc/{id}/task")))
}

/// Returns the paths of the entries of a folder. There are none if it does not exist any more.
fn entries(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Kills a process. Does nothing if it has ended.
pub(crate) fn kill(process: Process) {
    if let Some(id) = Pid::from_raw(process.id) {
        let _ended_meanwhile = kill_process(id, Signal::KILL);
    }
}

/// Returns the CPU time that a process has used since its start, in seconds, rounded up. Returns `None` if it cannot be read.
pub(crate) fn used_processor_secs(process: u32) -> Option<u64> {
    let stat = parse(&std::fs::read(format!("/proc/{process}/stat")).ok()?)?;
    Some(stat.cpu_ticks.div_ceil(rustix::param::clock_ticks_per_second()))
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

    fn stat(name: &[u8], state: &str, threads: u32) -> Vec<u8> {
        let fields =
            format!(") {state} 1 7 5 0 -1 0 0 0 0 0 3 4 0 0 20 0 {threads} 0 99 1000 42 18446744073709551615 0");
        [&b"7 ("[..], name, fields.as_bytes()].concat()
    }

    #[test]
    fn process_names_with_any_bytes_are_parsed() {
        for name in [&b"a) Z 1 (b"[..], b"\xff", b"a\n) \xc3"] {
            let found = Stat { state: b'S', session: 5, cpu_ticks: 7, threads: 1, memory_pages: 42 };
            assert_eq!(parse(&stat(name, "S", 1)), Some(found), "{name:?}");
        }
        assert_eq!(parse(b"7 (a) S 1"), None);
    }

    #[test]
    fn a_process_runs_until_its_last_thread_has_ended() {
        for (state, threads, has_ended) in
            [("S", 1, false), ("Z", 1, true), ("Z", 0, true), ("Z", 2, false), ("X", 2, true)]
        {
            let found = parse(&stat(b"a", state, threads)).unwrap();
            assert_eq!(found.has_ended(), has_ended, "{state} with {threads} threads");
        }
    }

    #[test]
    fn the_processor_time_of_a_process_is_read() {
        assert!(used_processor_secs(std::process::id()).is_some());
        assert_eq!(used_processor_secs(u32::MAX), None);
    }

    #[test]
    fn the_threads_of_a_process_report_its_memory() {
        let id = i32::try_from(std::process::id()).unwrap();
        assert!(task_pages(id) * rustix::param::page_size() as u64 > 100_000);
    }

    #[test]
    fn shared_memory_is_parsed() {
        let status = b"Name:\t\xff\nRssFile:\t     52 kB\nRssShmem:\t      8 kB\nVmData:\t    364 kB\n";
        assert_eq!(parse_shared(status), Some(8 << 10));
        assert_eq!(parse_shared(b"Name:\tRssShmem: 8 kB\n"), None);
    }

    #[test]
    fn deleted_files_with_any_name_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"\xff"));
        let file = File::create(&path).unwrap();
        let id = file.metadata().unwrap().ino();
        let process = Process { id: i32::try_from(std::process::id()).unwrap(), memory_bytes: 0 };
        let is_found = || deleted_files(process).any(|about| about.ino() == id);
        assert!(!is_found());
        std::fs::remove_file(&path).unwrap();
        assert!(is_found());
    }
}
