//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::process::{Child, ChildStdin, Command};

/// Starts a process that the kernel kills when the thread that started it ends, even if this process is killed.
#[cfg(target_os = "linux")]
pub(crate) fn spawn(command: Command) -> std::io::Result<Child> {
    ur_taking_me_with_you::spawn_dying_with_parent(command)
}

/// Starts a process. Only Linux kills a process when its parent ends. On other systems, ffmpeg usually ends because its
/// pipes are closed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn spawn(mut command: Command) -> std::io::Result<Child> {
    command.spawn()
}

/// Size in bytes of the pipe to ffmpeg: the default limit of Linux for processes without privileges. A pipe of the default
/// size, 64 KiB, divides a 1080p frame into about fifty parts.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// Enlarges the pipe to the standard input of a process. If the system refuses, the pipe keeps its size: passing frames
/// then takes more time, and nothing else changes.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux can change the size"))]
pub(crate) fn enlarge(pipe: &ChildStdin) {
    #[cfg(target_os = "linux")]
    let _size = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

/// Prevents Ctrl-C from reaching the process of a command. A terminal sends Ctrl-C to all processes of its process group, so the
/// process gets a group of its own.
pub(crate) fn without_interrupts(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}

/// Windows does not send Ctrl-C to the processes of the new group.
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

/// Gives a temporary file the permissions of an ordinary new file. By default, they are more restrictive on Unix.
#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has restrictive ones"))]
pub(crate) fn ordinary_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}
