//! seccomp: system calls that neither a reader of models nor a driver nor an encoder needs.

use std::collections::BTreeMap;

use libc::c_long;
use rustix::thread::secure_computing_mode;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::error::FenceError;

/// Calls that are not permitted.
#[rustfmt::skip]
const FORBIDDEN: &[c_long] = &[
    // Sockets: none at all.
    libc::SYS_socket, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4, libc::SYS_connect,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp,
    // Shared memory and queues that other jobs of this user would see.
    libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open,
    // Leaving the session, by which the worker knows a job's processes.
    libc::SYS_setsid,
    // Namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr,
    // Permissions and owners by path, which Landlock lets pass.
    libc::SYS_fchmodat, libc::SYS_fchmodat2, libc::SYS_fchownat, libc::SYS_setxattr, libc::SYS_lsetxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr,
    // What Landlock denies as well: whoever takes a job's files would follow a symbolic link.
    libc::SYS_symlinkat, libc::SYS_mknodat,
    // Files by number instead of path.
    libc::SYS_open_by_handle_at,
    // Large parts of the kernel that faults are found in.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_keyctl, libc::SYS_add_key,
    libc::SYS_request_key, libc::SYS_fanotify_init, libc::SYS_lookup_dcookie, libc::SYS_personality,
    // The machine.
    libc::SYS_kexec_load, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot,
    libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_sethostname,
    libc::SYS_setdomainname, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime,
    libc::SYS_adjtimex, libc::SYS_syslog, libc::SYS_vhangup, libc::SYS_nfsservctl,
];

/// The same, where only this architecture has them.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const FORBIDDEN_HERE: &[c_long] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_symlink, libc::SYS_mknod, libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat,
    libc::SYS_sysfs, libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[c_long] = &[];

/// Calls that look as if the kernel did not have them, so that callers go another way.
#[rustfmt::skip]
const ABSENT: &[c_long] = &[
    // Its flags lie in memory, where a filter cannot look; without it, `clone` is called.
    libc::SYS_clone3,
    // Does what other calls do, past the filter.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
];

/// Kinds of namespaces that `clone` makes.
#[rustfmt::skip]
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID, libc::CLONE_NEWNET, libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS, libc::CLONE_NEWCGROUP,
];

/// Forbids them to this thread and all that it starts. False: this kernel or processor has no such filters.
/// Errors: the kernel refuses one.
pub(crate) fn forbid() -> Result<bool, FenceError> {
    if secure_computing_mode().is_err() {
        return Ok(false);
    }
    let filters = filters().map_err(Into::into).map_err(FenceError::refused("describing forbidden system calls"))?;
    for filter in filters.iter().flatten() {
        apply_filter(filter).map_err(Into::into).map_err(FenceError::refused("forbidding system calls"))?;
    }
    Ok(filters.is_some())
}

/// None: not for this processor.
fn filters() -> Result<Option<[BpfProgram; 2]>, BackendError> {
    let Ok(architecture) = std::env::consts::ARCH.try_into() else { return Ok(None) };
    let program = |rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32| {
        let answer = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)?.try_into()
    };
    let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    // The one that is applied last answers where both would.
    Ok(Some([program(forbidden()?, libc::EPERM)?, program(absent, libc::ENOSYS)?]))
}

fn forbidden() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let calls = FORBIDDEN.iter().chain(FORBIDDEN_HERE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (*call, Vec::new())).collect();
    forbid_x32(&mut rules);
    let namespaces = NAMESPACES.iter().map(|kind| {
        let flag = u64::from(kind.unsigned_abs());
        rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    // Typing into the terminal of whoever started the server.
    rules.insert(libc::SYS_ioctl, vec![rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::TIOCSTI)?]);
    // Times by path; those of an open file have none.
    rules.insert(libc::SYS_utimensat, vec![rule(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?]);
    Ok(rules)
}

fn rule(argument: u8, size: SeccompCmpArgLen, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, size, is, value)?])
}

/// The same calls under the numbers of the x32 interface, and those that only it numbers so.
#[cfg(target_arch = "x86_64")]
fn forbid_x32(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {
    const BIT: i64 = 0x4000_0000;
    const OWN: std::ops::RangeInclusive<i64> = 512..=547;
    let more = [libc::SYS_clone, libc::SYS_utimensat].into_iter().chain(ABSENT.iter().copied()).chain(OWN);
    let numbers: Vec<i64> = rules.keys().copied().chain(more).collect();
    rules.extend(numbers.into_iter().map(|number| (number | BIT, Vec::new())));
}

#[cfg(not(target_arch = "x86_64"))]
fn forbid_x32(_rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {}
