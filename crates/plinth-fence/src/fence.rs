//! Sandbox of one process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;
use crate::options::FenceMode;
use crate::user::JobUser;

/// Sandbox of one process. The server configures the sandbox, and the child process enters it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Whether the sandbox is required, optional or off.
    pub mode: FenceMode,
    /// Folders with write access.
    pub writable: Vec<PathBuf>,
    /// Files and folders with read access.
    pub readable: Vec<PathBuf>,
    /// Executable programs outside the system's folders, with their libraries and drivers. Folders include all files in
    /// them.
    pub programs: Vec<PathBuf>,
    /// Whether the process may start other processes. It may always start threads.
    pub starts_processes: bool,
    /// User to switch to; `None` keeps the current user.
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

    /// Restricts this process and all processes that it will start. The restrictions cannot be removed. They do not
    /// apply to other threads of this process, so call this method while the process has only one thread.
    /// Errors: if switching the user fails, or if the mode is `Required` and the kernel does not support the whole
    /// sandbox.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), FenceError> {
        // The paths are opened before the user is switched, because the other user may lack access to their parent
        // folders.
        let rules = crate::files::Rules::open(&self.writable, &self.readable, &self.programs);
        crate::privileges::drop_all(self.user.as_ref())?;
        // If Landlock cannot be used, its ABI version is 0.
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

/// Closes all inherited file descriptors except the standard streams. It must be called before this process opens
/// files.
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
            // The list contains the descriptor that read it, which is closed already; closing it again fails.
            let _closed = nix::unistd::close(number);
        }
    }
}

/// Prevents other processes of the same user from reading the environment and memory of this process.
pub fn hide_from_others() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        // Every kernel since 2.4 supports this call, so its result is ignored.
        let _done = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
