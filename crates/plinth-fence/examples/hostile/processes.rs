//! Attempts to access other processes.

use std::fs::{File, read, read_dir};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::Attack;
use crate::targets::Targets;

pub(crate) const ATTACKS: &[Attack] = &[
    ("parent-environment", |_t| read(of_parent("environ")).is_ok()),
    ("parent-command-line", |_t| read(of_parent("cmdline")).is_ok()),
    ("parent-open-files", |_t| read_dir(of_parent("fd")).is_ok()),
    ("parent-memory", |_t| File::open(of_parent("maps")).is_ok() && memory_of_parent()),
    ("read-parent-memory", read_parent_memory),
    ("trace-parent", |_t| {
        // SAFETY: the call passes no memory addresses. `PTRACE_SEIZE` does not stop the parent, and ends when this
        // process ends.
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, parent(), 0, 0) == 0 }
    }),
    ("open-file-of-parent", |_t| {
        // SAFETY: the calls receive only numbers.
        unsafe {
            let parent = libc::syscall(libc::SYS_pidfd_open, parent(), 0);
            parent >= 0 && libc::syscall(libc::SYS_pidfd_getfd, parent, 0, 0) >= 0
        }
    }),
    // SAFETY: signal 0 only checks the permission to send signals.
    ("signal-parent", |_t| unsafe { libc::kill(parent(), 0) == 0 }),
    ("leave-session", |_t| {
        in_fork(|| {
            // SAFETY: the call has no arguments.
            unsafe { libc::setsid() >= 0 }
        })
    }),
    ("limit-parent", |_t| limits(parent()).is_some_and(|old| set_limits(parent(), &old))),
    ("raise-own-limit", |_t| {
        limits(0).is_some_and(|own| set_limits(0, &libc::rlimit64 { rlim_cur: own.rlim_max, ..own }))
    }),
    // SAFETY: the calls receive only numbers. The parent's priority is set to its current value.
    ("renice-parent", |_t| unsafe {
        let which = libc::PRIO_PROCESS;
        libc::setpriority(which, parent().unsigned_abs(), libc::getpriority(which, parent().unsigned_abs())) == 0
    }),
    ("pin-parent", |_t| {
        let mut processors = [0_u64; 128];
        let size = size_of_val(&processors);
        // SAFETY: the kernel writes at most `size` bytes to the array, and reads the same number of bytes. The parent
        // keeps its set of processors.
        unsafe {
            libc::syscall(libc::SYS_sched_getaffinity, parent(), size, processors.as_mut_ptr()) > 0
                && libc::syscall(libc::SYS_sched_setaffinity, parent(), size, processors.as_ptr()) == 0
        }
    }),
    // SAFETY: the call receives only numbers.
    ("forget-parent", |_t| unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) == 0 }),
    ("program-in-memory", |_t| in_fork(run_from_memory)),
];

/// Attacks of a process that must not start other processes.
pub(crate) const STARTS: &[Attack] = &[
    ("start-process", |_t| in_fork(|| true)),
    ("start-process-by-vfork", |_t| {
        // The C library starts programs with `clone` and the flags of `vfork`.
        Command::new("/bin/true").status().is_ok()
    }),
    ("start-program", |_t| {
        // The program does not exist, because a successful call would replace this program.
        Command::new("/bin/no-such-program").exec().raw_os_error() == Some(libc::ENOENT)
    }),
];

fn parent() -> i32 {
    std::os::unix::process::parent_id().try_into().unwrap()
}

/// Returns the limits on the size of core files of a process. The process 0 is this process.
fn limits(process: i32) -> Option<libc::rlimit64> {
    let mut found = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to the structure, and reads nothing.
    let done = unsafe { libc::prlimit64(process, libc::RLIMIT_CORE, std::ptr::null(), &raw mut found) };
    (done == 0).then_some(found)
}

fn set_limits(process: i32, limits: &libc::rlimit64) -> bool {
    // SAFETY: the call reads the structure, and writes nothing.
    unsafe { libc::prlimit64(process, libc::RLIMIT_CORE, limits, std::ptr::null_mut()) == 0 }
}

/// Copies a program of the system to memory and executes it from there. Returns only on failure.
fn run_from_memory() -> bool {
    let Ok(program) = read("/bin/true") else { return false };
    // SAFETY: the strings and lists are null-terminated, and the buffer has the given size.
    unsafe {
        let file = libc::memfd_create(c"program".as_ptr(), 0);
        let arguments = [c"true".as_ptr(), std::ptr::null()];
        if libc::write(file, program.as_ptr().cast(), program.len()) > 0 {
            let nothing = std::ptr::null::<*const libc::c_char>();
            let path = c"".as_ptr();
            libc::syscall(libc::SYS_execveat, file, path, arguments.as_ptr(), nothing, libc::AT_EMPTY_PATH);
        }
    }
    false
}

fn of_parent(file: &str) -> String {
    format!("/proc/{}/{file}", parent())
}

fn memory_of_parent() -> bool {
    let maps = std::fs::read_to_string(of_parent("maps")).unwrap_or_default();
    let start = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
    let memory = File::open(of_parent("mem"));
    memory.is_ok_and(|memory| memory.read_at(&mut [0; 4], start.unwrap_or_default()).is_ok())
}

/// Returns whether the kernel lets this process read its parent's memory. The address in the parent is arbitrary, so
/// the error EFAULT also counts as success: the kernel reports it only after it has checked the permission.
fn read_parent_memory(_targets: &Targets) -> bool {
    let mut bytes = [0_u8; 4];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(0x1000), iov_len: bytes.len() };
    // SAFETY: `here` refers to a buffer of this process, and `there` to an address of the other process.
    let done = unsafe { libc::process_vm_readv(parent(), &raw const here, 1, &raw const there, 1, 0) };
    done >= 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Calls a function in a forked process, and returns its result.
pub(crate) fn in_fork(is_true: impl FnOnce() -> bool) -> bool {
    // SAFETY: this process has one thread, and the forked process ends immediately.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(!is_true()));
        }
        let mut status = 0;
        child > 0 && libc::waitpid(child, &raw mut status, 0) == child && status == 0
    }
}
