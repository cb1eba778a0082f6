//! The fence of one process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;
use crate::options::FenceMode;
use crate::user::JobUser;

/// The fence of one process. The server describes it, and the process enters it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// How strict it is.
    pub mode: FenceMode,
    /// Folders that may be written to.
    pub writable: Vec<PathBuf>,
    /// Files and folders that may be read.
    pub readable: Vec<PathBuf>,
    /// Programs, libraries and drivers besides the system's, or folders of them.
    pub programs: Vec<PathBuf>,
    /// Who the process becomes.
    pub user: Option<JobUser>,
}

impl Fence {
    /// The fence as JSON, for an argument of a command.
    /// Errors: a path is not UTF-8.
    pub fn to_argument(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads what [`to_argument`](Self::to_argument) wrote.
    /// Errors: the text is anything else.
    pub fn from_argument(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Fences this process and all that it will start, for good. It must have one thread only: others stay outside.
    /// Errors: the other user cannot be become, or the fence is incomplete and a complete one is required.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), FenceError> {
        // Paths are opened first: the other user may be kept from them by a folder above.
        let rules = crate::files::Rules::open(&self.writable, &self.readable, &self.programs);
        crate::privileges::drop_all(self.user.as_ref())?;
        // A step that fails counts as one that the kernel does not support.
        let landlock_abi = rules.and_then(crate::files::Rules::enforce).unwrap_or_default();
        let seccomp = crate::syscalls::forbid().unwrap_or_default();
        let lacks = crate::Support { landlock_abi, seccomp }.lacks(self.user.is_some());
        if self.mode == FenceMode::Required && !lacks.is_empty() {
            return Err(FenceError::Incomplete(lacks));
        }
        Ok(())
    }

    /// Other systems have no fences.
    /// Errors: one is required.
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) -> Result<(), FenceError> {
        match self.mode {
            FenceMode::Required => Err(FenceError::Incomplete(crate::Support::here().lacks(false))),
            FenceMode::Auto | FenceMode::Off => Ok(()),
        }
    }
}

/// Closes all files but the standard streams, so that nothing which the parent left open is reached. To be called before
/// this process opens any.
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
            // The one that read this folder is closed already.
            let _closed = nix::unistd::close(number);
        }
    }
}

/// Hides this process' environment and memory from other processes of its user.
pub fn hide_from_others() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        // Every kernel since 2.4 can do that.
        let _done = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
