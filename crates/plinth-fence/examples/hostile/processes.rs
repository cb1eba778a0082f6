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
];

/// Attacks of a process that must not start others.
pub(crate) const STARTS: &[Attack] = &[
    ("start-process", |_t| in_fork(|| true)),
    ("start-process-by-vfork", |_t| {
        // The C library starts programs with `clone` and the flags of `vfork`.
        Command::new("/bin/true").status().is_ok()
    }),
    ("start-program", |_t| {
        // The program does not exist, because this one would end if the call succeeded.
        Command::new("/bin/no-such-program").exec().raw_os_error() == Some(libc::ENOENT)
    }),
];

fn parent() -> i32 {
    std::os::unix::process::parent_id().try_into().unwrap()
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

/// Returns whether this process may read its parent's memory. The address in the parent is arbitrary, so the error
/// EFAULT also counts as success: the kernel checks the permission first.
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
