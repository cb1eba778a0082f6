//! The sandbox of one process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;
use crate::options::FenceMode;
use crate::user::JobUser;

/// The sandbox of one process. The server configures the sandbox, and its child process enters it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Whether the sandbox is required, optional or off.
    pub mode: FenceMode,
    /// Folders to which the process may write.
    pub writable: Vec<PathBuf>,
    /// Files and folders that the process may read.
    pub readable: Vec<PathBuf>,
    /// Programs that the process may execute, in addition to those in the system's folders. Includes their libraries
    /// and drivers. A folder stands for all files in it.
    pub programs: Vec<PathBuf>,
    /// Whether the process may start other processes. It may start threads in any case.
    pub starts_processes: bool,
    /// User to which the process switches; `None` keeps the current user.
    pub user: Option<JobUser>,
}

impl Fence {
    /// Serializes the sandbox as JSON for a command-line argument.
    /// Errors: if a path is not UTF-8.
    pub fn to_argument(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Parses the output of [`to_argument`](Self::to_argument).
    /// Errors: if the text is not valid.
    pub fn from_argument(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Restricts this process and all processes that it starts. The restrictions cannot be removed. They do not apply
    /// to other existing threads of this process, so this method must be called while the process has only one thread.
    /// Errors: if switching the user fails, or if the mode is `Required` and the kernel does not support the whole
    /// sandbox.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), FenceError> {
        // The paths are opened before the process switches to the other user, because that user may lack access to
        // their parent folders.
        let rules = crate::files::Rules::open(&self.writable, &self.readable, &self.programs);
        crate::privileges::drop_all(self.user.as_ref())?;
        // The ABI version is 0 if Landlock cannot be used.
        let landlock_abi = rules.and_then(crate::files::Rules::enforce).unwrap_or_default();
        let seccomp = crate::syscalls::forbid(self.starts_processes).unwrap_or_default();
        let lacks = crate::Support { landlock_abi, seccomp }.lacks(self.user.is_some());
        if self.mode == FenceMode::Required && !lacks.is_empty() {
            return Err(FenceError::Incomplete(lacks));
        }
        Ok(())
    }

    /// Does nothing, because only Linux has a sandbox.
    /// Errors: if the mode is `Required`.
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) -> Result<(), FenceError> {
        match self.mode {
            FenceMode::Required => Err(FenceError::Incomplete(crate::Support::probe().lacks(false))),
            FenceMode::Auto | FenceMode::Off => Ok(()),
        }
    }
}

/// Closes all inherited file descriptors except the standard streams. Must be called before this process opens files of
/// its own.
pub fn close_inherited_files() {
    #[cfg(target_os = "linux")]
    {
        let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
        let numbers: Vec<i32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|fd| *fd > 2)
            .collect();
        for number in numbers {
            // One of the listed descriptors was used to read the list. It is already closed, so closing it fails, and
            // the error is ignored.
            let _closed = nix::unistd::close(number);
        }
    }
}

/// Prevents other processes of the same user from reading the environment and the memory of this process.
pub fn hide_from_others() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        // Every kernel since Linux 2.4 supports this call, so its result is ignored.
        let _done = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
