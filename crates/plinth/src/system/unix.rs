//! Linux and macOS.

use std::ffi::c_int;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Rlimit, getpid, getrlimit, getsid, kill_process, setrlimit, setsid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Limit, Resource};

/// The signals that ask this process to end. SIGHUP is left out if the program was started with `nohup`, which ignores it.
pub(crate) fn ending_signals() -> Vec<c_int> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)).collect()
}

/// Returns whether the program was started in such a way that it ignores this signal, for example with `nohup`.
#[expect(unsafe_code, reason = "no safe function reads how a signal is handled")]
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: `sigaction` is plain data, for which zeros are valid. Without a new action, `sigaction` only writes the
    // current action to `current`.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut current) == 0 && current.sa_sigaction == libc::SIG_IGN
    }
}

/// Receives the [`ending_signals`] in an async task.
pub(crate) struct EndingSignals(Vec<(c_int, Signal)>);

impl EndingSignals {
    /// Errors: the system does not allow signal handlers.
    pub(crate) fn listen() -> io::Result<Self> {
        let listening = ending_signals().into_iter().map(|number| Ok((number, signal(SignalKind::from_raw(number))?)));
        listening.collect::<io::Result<_>>().map(Self)
    }

    /// Waits for a signal and returns its number.
    pub(crate) async fn recv(&mut self) -> c_int {
        let signals = self.0.iter_mut().map(|(number, signal)| {
            let number = *number;
            Box::pin(async move {
                signal.recv().await;
                number
            })
        });
        futures_util::future::select_all(signals).await.0
    }
}

/// Asks a child process to end. Does nothing if it has ended.
pub(crate) fn ask_to_end(child: ChildId) {
    let _ended_before = kill_process(child.0, rustix::process::Signal::TERM);
}

/// Identifies a child process while another thread waits for its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildId(Pid);

impl ChildId {
    pub(crate) fn of(child: &Child) -> Self {
        Self(Pid::from_child(child))
    }
}

/// Starts a POSIX session for this process and its later children.
pub(crate) fn start_session() -> io::Result<()> {
    setsid()?;
    Ok(())
}

/// Makes the kernel kill this process when its parent ends.
#[cfg_attr(not(target_os = "linux"), expect(clippy::unnecessary_wraps, reason = "Linux may reject it"))]
pub(crate) fn end_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Gives this process its usual name in process lists. The kernel names a process after the path by which it was started, which
/// is that of [`own_program`](super::own_program) for jobs and checks.
pub(crate) fn name_process() {
    #[cfg(target_os = "linux")]
    let _unnamed = rustix::thread::set_name(c"plinth");
}

/// Makes the kernel kill this process first if the system runs out of memory.
pub(crate) fn be_first_without_memory() {
    // An error is ignored: without /proc, the kernel chooses the process to kill by itself.
    #[cfg(target_os = "linux")]
    drop(std::fs::write("/proc/self/oom_score_adj", b"1000"));
}

/// Lowers the priority of this process and its children. An error is ignored, because the processes then only slow down
/// others.
pub(crate) fn lower_priority(niceness: i32) {
    let Ok(now) = rustix::process::nice(niceness) else { return };
    // Linux may schedule the processes of a session as a group. Among groups, only the nice value of the group counts
    // (sched(7), "The autogroup feature"). The group of another leader is left as it is, because it may be that of a shell.
    if cfg!(target_os = "linux") && getsid(None).is_ok_and(|leader| leader == getpid()) {
        drop(std::fs::write("/proc/self/autogroup", now.to_string()));
    }
}

/// Returns how much this process may use of a resource.
pub(crate) fn limit(resource: Resource) -> Limit {
    let Rlimit { current, maximum } = getrlimit(resource.into());
    Limit { current, maximum }
}

/// Limits a resource for this process and its later children.
pub(crate) fn set_limit(resource: Resource, Limit { current, maximum }: Limit) -> io::Result<()> {
    Ok(setrlimit(resource.into(), Rlimit { current, maximum })?)
}

impl From<Resource> for rustix::process::Resource {
    fn from(resource: Resource) -> Self {
        match resource {
            Resource::CoreFile => Self::Core,
            Resource::FileSize => Self::Fsize,
            Resource::OpenFiles => Self::Nofile,
            Resource::PrivateMemory => Self::Data,
            Resource::ProcessorTime => Self::Cpu,
        }
    }
}

/// Returns whether a socket cannot be created because the system does not support addresses of this kind, such as IPv6.
pub(crate) fn is_unsupported_address_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Creates a folder that only its owner can read, and its parent folders. A folder that exists is not changed.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a folder readable only for its owner.
/// Errors: this process may not change the permissions of the folder.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    /// The permissions of the group and of others.
    const OTHERS: u32 = 0o077;
    let mut permissions = std::fs::metadata(folder)?.permissions();
    if permissions.mode() & OTHERS == 0 {
        return Ok(());
    }
    permissions.set_mode(0o700);
    std::fs::set_permissions(folder, permissions)
}
