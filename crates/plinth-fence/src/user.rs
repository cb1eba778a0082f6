//! The operating system user as which jobs run.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;

/// The operating system user as which jobs run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobUser {
    /// User name, as written in the configuration.
    pub name: String,
    /// User ID.
    pub uid: u32,
    /// ID of the primary group.
    pub gid: u32,
    /// IDs of all groups of the user. Graphics devices often belong to the groups `render` or `video`.
    pub groups: Vec<u32>,
}

impl JobUser {
    /// Looks up a user of the operating system by name.
    /// Errors: if the user does not exist, or is root.
    #[cfg(target_os = "linux")]
    pub fn find(name: &str) -> Result<Self, FenceError> {
        use nix::unistd::{User, getgrouplist};

        let wrong = |problem: String| FenceError::User { name: name.to_owned(), problem };
        let found = User::from_name(name).map_err(|error| wrong(error.to_string()))?;
        let user =
            found.ok_or_else(|| wrong("the user does not exist; create it with `useradd --system`".to_owned()))?;
        if user.uid.is_root() {
            return Err(wrong("jobs must not run as root".to_owned()));
        }
        let text = std::ffi::CString::new(name).map_err(|error| wrong(error.to_string()))?;
        let groups = getgrouplist(&text, user.gid).map_err(|error| wrong(error.to_string()))?;
        let groups = groups.into_iter().map(nix::unistd::Gid::as_raw).collect();
        Ok(Self { name: name.to_owned(), uid: user.uid.as_raw(), gid: user.gid.as_raw(), groups })
    }

    /// Errors: always, because only Linux can switch the user of a job.
    #[cfg(not(target_os = "linux"))]
    pub fn find(name: &str) -> Result<Self, FenceError> {
        Err(FenceError::User { name: name.to_owned(), problem: "only Linux supports job users".to_owned() })
    }

    /// Checks that this process can switch to the user.
    /// Errors: if the process does not run as root.
    pub(crate) fn check(&self) -> Result<(), FenceError> {
        if crate::runs_as_root() {
            return Ok(());
        }
        let problem = "only a server that runs as root can switch to another user".to_owned();
        Err(FenceError::User { name: self.name.clone(), problem })
    }

    /// Makes the user the owner of a file or folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn own(&self, path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Errors: always, because only Linux has job users.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn own(&self, _path: &Path) -> std::io::Result<()> {
        let message = format!("files cannot be given to {}: only Linux supports job users", self.name);
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, message))
    }
}
