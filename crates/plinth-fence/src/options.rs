//! Sandbox configuration of a server.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;
use crate::fence::Fence;
use crate::support::Support;
use crate::user::JobUser;

/// Declares the modes with their names in the configuration.
macro_rules! modes {
    ($(#[$meta:meta])* $type:ident { $($(#[$mode_meta:meta])* $mode:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$mode_meta])* #[serde(rename = $name)] $mode,)*
        }

        impl $type {
            /// All modes with their names in the configuration.
            pub const ALL: &[(Self, &str)] = &[$((Self::$mode, $name),)*];

            /// Returns the mode's name in the configuration.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$mode => $name,)* }
            }
        }
    };
}

modes! {
    /// Whether the sandbox is required, optional or off.
    FenceMode {
        /// Uses those parts of the sandbox that the kernel supports.
        #[default]
        Auto = "auto",
        /// Requires the whole sandbox. The server does not start if the kernel supports only a part of the sandbox.
        Required = "required",
        /// Uses no sandbox.
        Off = "off",
    }
}

impl FenceMode {
    /// Returns the names of all modes, separated by `separator`.
    pub fn names(separator: &str) -> String {
        Self::ALL.iter().map(|(_mode, name)| *name).collect::<Vec<_>>().join(separator)
    }
}

impl std::fmt::Display for FenceMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FenceMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.iter().find(|(_mode, name)| *name == text).map(|(mode, _name)| *mode).ok_or(())
    }
}

/// Configuration of the sandbox in which a server runs its child processes.
#[derive(Clone, Debug, Default)]
pub struct FenceOptions {
    /// Whether the sandbox is required, optional or off.
    pub mode: FenceMode,
    /// User as which the child processes run; `None` is the server's user.
    pub user: Option<JobUser>,
    /// Files and folders that child processes may read, in addition to the system's libraries, drivers and fonts.
    pub readable: Vec<PathBuf>,
}

impl FenceOptions {
    /// Returns options that disable the sandbox.
    pub fn off() -> Self {
        Self { mode: FenceMode::Off, ..Self::default() }
    }

    /// Returns the sandbox of a process that may write to `writable`, read `readable`, and execute `programs`. Returns
    /// `None` if the sandbox is off.
    pub fn fence(&self, writable: Vec<PathBuf>, readable: Vec<PathBuf>, programs: Vec<PathBuf>) -> Option<Fence> {
        let programs = programs.into_iter().chain(self.readable.iter().cloned()).collect();
        let (mode, user) = (self.mode, self.user.clone());
        (mode != FenceMode::Off).then_some(Fence { mode, writable, readable, programs, starts_processes: true, user })
    }

    /// Returns the sandbox of a process that starts no other processes. The process gets open files, so it needs no
    /// paths. Returns `None` if the sandbox is off.
    pub fn fence_of_single_process(&self) -> Option<Fence> {
        let fence = self.fence(Vec::new(), Vec::new(), Vec::new())?;
        Some(Fence { starts_processes: false, ..fence })
    }

    /// Makes the job user the owner of files, if a job user is configured.
    /// Errors: if `lchown` fails.
    pub fn give(&self, paths: &[&Path]) -> std::io::Result<()> {
        match &self.user {
            Some(user) if self.mode != FenceMode::Off => paths.iter().try_for_each(|path| user.own(path)),
            _ => Ok(()),
        }
    }

    /// Checks whether the kernel supports the options. Returns one warning for each part of the sandbox that is
    /// missing.
    /// Errors: [`FenceError::Incomplete`] if the mode is `Required` and a part is missing; [`FenceError::User`] if this
    /// process cannot switch to the job user.
    pub fn check(&self, support: &Support) -> Result<Vec<String>, FenceError> {
        if self.mode == FenceMode::Off {
            return Ok(Vec::new());
        }
        if let Some(user) = &self.user {
            user.check()?;
        }
        let lacks = support.lacks(self.user.is_some());
        if self.mode == FenceMode::Required && !lacks.is_empty() {
            return Err(FenceError::Incomplete(lacks));
        }
        Ok(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_support_is_a_warning_or_an_error() {
        let (old, new) =
            (Support { landlock_abi: Some(4), seccomp: true }, Support { landlock_abi: Some(7), seccomp: true });
        let of = |mode| FenceOptions { mode, ..FenceOptions::default() };
        assert_eq!(of(FenceMode::Auto).check(&old).unwrap().len(), 1);
        let error = of(FenceMode::Required).check(&old).unwrap_err().to_string();
        assert!(error.contains("ABI 4") && error.contains("--fence auto"), "{error}");
        assert!(of(FenceMode::Required).check(&new).unwrap().is_empty());
        assert!(of(FenceMode::Off).check(&old).unwrap().is_empty());
    }

    #[test]
    fn a_fence_round_trips_through_its_argument() {
        let options = FenceOptions { readable: vec!["/opt/a b".into()], ..FenceOptions::default() };
        let fence = options.fence(vec!["/w".into()], vec!["/r".into()], vec!["/bin/p".into()]).unwrap();
        assert_eq!(fence.programs, [PathBuf::from("/bin/p"), PathBuf::from("/opt/a b")]);
        assert_eq!(Fence::from_argument(&fence.to_argument().unwrap()).unwrap(), fence);
        assert_eq!(FenceOptions::off().fence(Vec::new(), Vec::new(), Vec::new()), None);
    }
}
