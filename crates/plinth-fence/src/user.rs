//! The user that jobs run as.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;

/// The user that jobs run as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobUser {
    /// User name, as configured.
    pub name: String,
    /// User identifier.
    pub uid: u32,
    /// Identifier of the primary group.
    pub gid: u32,
    /// Identifiers of all groups of the user: graphics devices often belong to `render` or `video`.
    pub groups: Vec<u32>,
}

impl JobUser {
    /// Finds a user of this system.
    /// Errors: there is none of this name, or it is root.
    #[cfg(target_os = "linux")]
    pub fn find(name: &str) -> Result<Self, FenceError> {
        use nix::unistd::{User, getgrouplist};

        let wrong = |problem: String| FenceError::User { name: name.to_owned(), problem };
        let found = User::from_name(name).map_err(|error| wrong(error.to_string()))?;
        let user = found.ok_or_else(|| wrong("there is no such user; `useradd --system` makes one".to_owned()))?;
        if user.uid.is_root() {
            return Err(wrong("root is who they are to be kept from".to_owned()));
        }
        let text = std::ffi::CString::new(name).map_err(|error| wrong(error.to_string()))?;
        let groups = getgrouplist(&text, user.gid).map_err(|error| wrong(error.to_string()))?;
        let groups = groups.into_iter().map(nix::unistd::Gid::as_raw).collect();
        Ok(Self { name: name.to_owned(), uid: user.uid.as_raw(), gid: user.gid.as_raw(), groups })
    }

    /// Errors: always; only Linux can switch the user of a job.
    #[cfg(not(target_os = "linux"))]
    pub fn find(name: &str) -> Result<Self, FenceError> {
        Err(FenceError::User { name: name.to_owned(), problem: "only Linux can do that".to_owned() })
    }

    /// Whether this process may become that user.
    /// Errors: it may not.
    pub(crate) fn check(&self) -> Result<(), FenceError> {
        if crate::runs_as_root() {
            return Ok(());
        }
        let problem = "only a server that root started may switch to another user".to_owned();
        Err(FenceError::User { name: self.name.clone(), problem })
    }

    /// Gives a file or folder to the user.
    pub(crate) fn own(&self, path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
    }
}
