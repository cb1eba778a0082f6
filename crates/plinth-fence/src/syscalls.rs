//! The seccomp filters. They deny system calls that model readers, drivers and encoders do not need.

use std::collections::BTreeMap;

use libc::c_long;
use rustix::thread::secure_computing_mode;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::error::FenceError;

// System calls that libc does not define on every architecture. Their numbers are the same on all architectures (Linux,
// scripts/syscall.tbl).

/// The system call fchmodat2 (Linux 6.6).
const FCHMODAT2: c_long = 452;
#[cfg(target_arch = "x86_64")]
const _: () = assert!(FCHMODAT2 == libc::SYS_fchmodat2);
/// The system call setxattrat (Linux 6.13).
const SETXATTRAT: c_long = 463;
/// The system call removexattrat (Linux 6.13).
const REMOVEXATTRAT: c_long = 466;
/// The system call `file_setattr` (Linux 6.17).
const FILE_SETATTR: c_long = 469;

/// System calls that fail with EPERM.
#[rustfmt::skip]
const FORBIDDEN: &[c_long] = &[
    // Network and Unix sockets.
    libc::SYS_socket, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4, libc::SYS_connect,
    // Access to other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp,
    // Shared memory and message queues, which other jobs of the same user could access, too.
    libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open,
    // Leaving the POSIX session: the worker finds all processes of a job by their session.
    libc::SYS_setsid,
    // Raising the limits of this process. `prlimit64` has a rule of its own, because it also reads limits.
    libc::SYS_setrlimit,
    // Starting a program that exists only in memory, which Landlock does not restrict.
    libc::SYS_execveat,
    // Namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr,
    // Changing permissions, owners and attributes by path, which Landlock does not restrict. An access control list,
    // which also contains permissions, is an extended attribute.
    libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchownat, libc::SYS_setxattr, libc::SYS_lsetxattr,
    SETXATTRAT, libc::SYS_removexattr, libc::SYS_lremovexattr, REMOVEXATTRAT, FILE_SETATTR,
    // Watching files and folders, which Landlock does not restrict. The events of a folder contain the names of its
    // files.
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    // Creating symbolic links and special files. Landlock denies this, too. A symbolic link would be dangerous, because
    // the worker would follow it when it reads the job's files.
    libc::SYS_symlinkat, libc::SYS_mknodat,
    // Opening a file by its inode number instead of its path.
    libc::SYS_open_by_handle_at,
    // Complex parts of the kernel with a history of vulnerabilities.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_keyctl, libc::SYS_add_key,
    libc::SYS_request_key, libc::SYS_lookup_dcookie, libc::SYS_personality,
    // System administration.
    libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot,
    libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_sethostname,
    libc::SYS_setdomainname, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime,
    libc::SYS_adjtimex, libc::SYS_syslog, libc::SYS_vhangup, libc::SYS_nfsservctl,
];

/// Forbidden system calls that exist only on this architecture.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const FORBIDDEN_HERE: &[c_long] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_symlink, libc::SYS_mknod, libc::SYS_inotify_init, libc::SYS_iopl, libc::SYS_ioperm,
    libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs, libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[c_long] = &[];

/// System calls that fail with ENOSYS. Programs then use another system call instead.
#[rustfmt::skip]
const ABSENT: &[c_long] = &[
    // A seccomp filter cannot read the flags of `clone3`, because they are in memory. If `clone3` is missing, the C
    // library calls `clone` instead.
    libc::SYS_clone3,
    // Operations that are submitted to io_uring would bypass the filters.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
];

/// Flags of `clone` that create namespaces.
#[rustfmt::skip]
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID, libc::CLONE_NEWNET, libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS, libc::CLONE_NEWCGROUP,
];

/// System calls that start another process or program. `clone` is not in this list, because it also starts threads.
#[cfg(target_arch = "x86_64")]
const STARTS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork, libc::SYS_execve, libc::SYS_execveat];
#[cfg(not(target_arch = "x86_64"))]
const STARTS: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Applies the filters to this thread, and to all threads and processes that it starts. If `starts_processes` is false,
/// it can start only threads. Returns false if the kernel or the architecture does not support seccomp filters.
/// Errors: if the kernel rejects a filter.
pub(crate) fn forbid(starts_processes: bool) -> Result<bool, FenceError> {
    if secure_computing_mode().is_err() {
        return Ok(false);
    }
    let filters =
        filters(starts_processes).map_err(Into::into).map_err(FenceError::rejected("compiling the seccomp filters"))?;
    for filter in filters.iter().flatten() {
        apply_filter(filter).map_err(Into::into).map_err(FenceError::rejected("applying the seccomp filters"))?;
    }
    Ok(filters.is_some())
}

/// Compiles the filters. Returns `None` if the crate `seccompiler` does not support the architecture.
fn filters(starts_processes: bool) -> Result<Option<[BpfProgram; 2]>, BackendError> {
    let Ok(architecture) = std::env::consts::ARCH.try_into() else { return Ok(None) };
    let program = |rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32| {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?.try_into()
    };
    let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    // If both filters match a system call, the kernel uses the result of the filter that was installed last.
    Ok(Some([program(forbidden(starts_processes)?, libc::EPERM)?, program(absent, libc::ENOSYS)?]))
}

fn forbidden(starts_processes: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let starts = if starts_processes { &[] } else { STARTS };
    let calls = FORBIDDEN.iter().chain(FORBIDDEN_HERE).chain(starts);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (*call, Vec::new())).collect();
    forbid_x32(&mut rules);
    let namespaces = NAMESPACES.iter().map(|kind| {
        let flag = u64::from(kind.unsigned_abs());
        rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)
    });
    let mut clones = namespaces.collect::<Result<Vec<_>, _>>()?;
    // Threads with open files of their own. The worker, which measures the files that a process keeps open, would not find them.
    let [thread, files] = [libc::CLONE_THREAD, libc::CLONE_FILES].map(|flag| u64::from(flag.unsigned_abs()));
    clones.push(rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(thread | files), thread)?);
    let flag = u64::from(libc::CLOSE_RANGE_UNSHARE);
    let by_closing = rule(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
    rules.insert(libc::SYS_close_range, vec![by_closing]);
    if !starts_processes {
        clones.push(rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(thread), 0)?);
    }
    rules.insert(libc::SYS_clone, clones);
    // The ioctl TIOCSTI could inject input into the server's terminal.
    rules.insert(libc::SYS_ioctl, vec![rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::TIOCSTI)?]);
    // Denies changing the times of a file by its path. For an open file, the path is null, and the call is allowed.
    rules.insert(libc::SYS_utimensat, vec![rule(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?]);
    forbid_control_of_others(&mut rules)?;
    Ok(rules)
}

/// System calls that [`forbid_control_of_others`] restricts.
#[rustfmt::skip]
const CONTROLS: &[c_long] = &[
    libc::SYS_prlimit64, libc::SYS_setpriority, libc::SYS_ioprio_set, libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr, libc::SYS_prctl,
];

/// Denies changing the limits, the priority and the processors of other processes, which the kernel allows for
/// processes of the same user. Denies changing the limits of this process. Denies disabling the signal that ends this
/// process together with its parent.
fn forbid_control_of_others(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, Ne};
    // The third argument points to the new limits. It is null if the call only reads limits.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, Dword, Ne, 0)?, rule(2, Qword, Ne, 0)?]);
    // The first argument is 0 for `setpriority`, or 1 for `ioprio_set`, if the call is about one process. The process 0
    // is the calling process.
    rules.insert(libc::SYS_setpriority, vec![rule(0, Dword, Ne, 0)?, rule(1, Dword, Ne, 0)?]);
    rules.insert(libc::SYS_ioprio_set, vec![rule(0, Dword, Ne, 1)?, rule(1, Dword, Ne, 0)?]);
    let scheduling =
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr];
    for call in scheduling {
        rules.insert(call, vec![rule(0, Dword, Ne, 0)?]);
    }
    let (death_signal, kill) = (libc::PR_SET_PDEATHSIG.unsigned_abs(), libc::SIGKILL.unsigned_abs());
    let forgets_parent = SeccompRule::new(vec![
        SeccompCondition::new(0, Dword, Eq, u64::from(death_signal))?,
        SeccompCondition::new(1, Dword, Ne, u64::from(kill))?,
    ])?;
    rules.insert(libc::SYS_prctl, vec![forgets_parent]);
    Ok(())
}

fn rule(argument: u8, size: SeccompCmpArgLen, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, size, is, value)?])
}

/// Denies all restricted system calls in the x32 ABI, and the system calls that exist only in x32.
#[cfg(target_arch = "x86_64")]
fn forbid_x32(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {
    const BIT: i64 = 0x4000_0000;
    const OWN: std::ops::RangeInclusive<i64> = 512..=547;
    let conditional =
        [libc::SYS_clone, libc::SYS_close_range, libc::SYS_utimensat].into_iter().chain(CONTROLS.iter().copied());
    let more = conditional.chain(ABSENT.iter().copied()).chain(OWN);
    let numbers: Vec<i64> = rules.keys().copied().chain(more).collect();
    rules.extend(numbers.into_iter().map(|number| (number | BIT, Vec::new())));
}

#[cfg(not(target_arch = "x86_64"))]
fn forbid_x32(_rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {}
