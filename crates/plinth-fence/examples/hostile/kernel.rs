//! Attempts to use the network and dangerous features of the kernel.

use std::ffi::c_long;

use super::Attack;
use crate::processes::in_fork;

pub(crate) const ATTACKS: &[Attack] = &[
    ("socket-inet", |_t| socket(libc::AF_INET, libc::SOCK_STREAM)),
    ("socket-inet6", |_t| socket(libc::AF_INET6, libc::SOCK_DGRAM)),
    ("socket-unix", |_t| socket(libc::AF_UNIX, libc::SOCK_STREAM)),
    ("socket-netlink", |_t| socket(libc::AF_NETLINK, libc::SOCK_RAW)),
    ("socket-packet", |_t| socket(libc::AF_PACKET, libc::SOCK_RAW)),
    ("socket-vsock", |_t| socket(libc::AF_VSOCK, libc::SOCK_STREAM)),
    ("socket-alg", |_t| socket(libc::AF_ALG, libc::SOCK_SEQPACKET)),
    ("socket-x32", |_t| call(0x4000_0000 | libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_STREAM.into(), 0, 0])),
    ("io-uring", |_t| {
        let params = [0_u8; 120];
        call(libc::SYS_io_uring_setup, [1, address(&params), 0, 0])
    }),
    ("shared-memory", |_t| {
        // SAFETY: the calls receive only numbers and a null pointer. The new segment is removed immediately.
        unsafe {
            let segment = libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600);
            segment >= 0 && libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) == 0
        }
    }),
    ("userfaultfd", |_t| call(libc::SYS_userfaultfd, [1, 0, 0, 0])),
    ("bpf", |_t| call(libc::SYS_bpf, [0, address(&[2_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0]), 40, 0])),
    ("perf-event", |_t| {
        // Creates an event of the type PERF_TYPE_SOFTWARE with the smallest version of `perf_event_attr`. Event 0 is
        // the CPU clock.
        let mut event = [0_u64; 8];
        event[0] = 1 | 64 << 32;
        call(libc::SYS_perf_event_open, [address(&event), 0, -1, -1])
    }),
    // KEYCTL_GET_KEYRING_ID for the session keyring (-3). The kernel creates this keyring if it does not exist.
    ("keyctl", |_t| call(libc::SYS_keyctl, [0, -3, 1, 0])),
    ("personality", |_t| call(libc::SYS_personality, [0, 0, 0, 0])),
    ("user-namespace", |_t| in_fork(|| call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]))),
    ("clone-user-namespace", clone_user_namespace),
    ("thread-with-own-files", |_t| {
        // The flags are incomplete, so the call creates no thread. The kernel reports EINVAL only if the call is not denied.
        !call(libc::SYS_clone, [libc::CLONE_THREAD.into(), 0, 0, 0])
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
    }),
    // No file has this number, so none is closed.
    ("unshare-files", |_t| {
        call(libc::SYS_close_range, [i32::MAX.into(), i32::MAX.into(), libc::CLOSE_RANGE_UNSHARE.into(), 0])
    }),
    ("mount", |t| {
        in_fork(|| {
            let path = std::ffi::CString::new(t.own.join("out").to_str().unwrap_or_default()).unwrap_or_default();
            // SAFETY: the strings are null-terminated. The mount exists only in the new namespace, which ends with this
            // process.
            call(libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0, 0])
                && unsafe { libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null()) == 0 }
        })
    }),
    // SAFETY: the path is null-terminated.
    ("chroot", |_t| in_fork(|| unsafe { libc::chroot(c"/".as_ptr()) == 0 })),
    ("use-capabilities", |_t| {
        in_fork(|| {
            // SAFETY: the call receives only a number and a null pointer. It needs the capability CAP_SETGID, even for
            // root.
            unsafe { libc::setgroups(0, std::ptr::null()) == 0 }
        })
    }),
];

fn socket(family: i32, kind: i32) -> bool {
    call(libc::SYS_socket, [family.into(), (kind | libc::SOCK_CLOEXEC).into(), 0, 0])
}

/// Returns the address of a value in the form of a system call argument.
fn address<T>(of: &T) -> c_long {
    std::ptr::from_ref(of).addr().try_into().unwrap_or_default()
}

/// Makes a system call with up to four arguments, and returns whether it succeeded.
fn call(number: c_long, [a, b, c, d]: [c_long; 4]) -> bool {
    // SAFETY: each attack passes numbers, or addresses of its own memory.
    unsafe { libc::syscall(number, a, b, c, d, 0, 0) >= 0 }
}

fn clone_user_namespace(_targets: &crate::targets::Targets) -> bool {
    // SAFETY: the call works like `fork`, but in a new namespace. The new process ends immediately.
    unsafe {
        let flags = c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
        let child = libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0);
        if child == 0 {
            libc::_exit(0);
        }
        child > 0 && libc::waitpid(child.try_into().unwrap_or(-1), std::ptr::null_mut(), 0) > 0
    }
}
