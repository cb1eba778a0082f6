//! How a server fences the processes that it starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FenceError;
use crate::fence::Fence;
use crate::support::Support;
use crate::user::JobUser;

/// Whether processes are fenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FenceMode {
    /// Each process is fenced as far as the kernel supports it.
    #[default]
    Auto,
    /// Each process is fenced completely; where the kernel does not support that, the server does not start.
    Required,
    /// No process is fenced.
    Off,
}

impl FenceMode {
    /// Each mode with its name in the configuration.
    pub const ALL: [(Self, &str); 3] = [(Self::Auto, "auto"), (Self::Required, "required"), (Self::Off, "off")];
}

impl std::fmt::Display for FenceMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Self::ALL.into_iter().find(|(mode, _name)| mode == self).map_or("", |(_mode, name)| name);
        f.write_str(name)
    }
}

impl FromStr for FenceMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|(_mode, name)| *name == text).map(|(mode, _name)| mode).ok_or(())
    }
}

/// How a server fences the processes that it starts.
#[derive(Clone, Debug, Default)]
pub struct FenceOptions {
    /// Whether processes are fenced, and how strictly.
    pub mode: FenceMode,
    /// Who they run as; `None`: the server's user.
    pub user: Option<JobUser>,
    /// Files and folders that they may read besides the system's libraries, drivers and fonts.
    pub readable: Vec<PathBuf>,
}

impl FenceOptions {
    /// Options with which no process is fenced.
    pub fn off() -> Self {
        Self { mode: FenceMode::Off, ..Self::default() }
    }

    /// The fence of a process that may write to `writable`, read `readable`, and read and start `programs`. `None`: it runs
    /// without.
    pub fn fence(&self, writable: Vec<PathBuf>, readable: Vec<PathBuf>, programs: Vec<PathBuf>) -> Option<Fence> {
        let programs = programs.into_iter().chain(self.readable.iter().cloned()).collect();
        let (mode, user) = (self.mode, self.user.clone());
        (mode != FenceMode::Off).then_some(Fence { mode, writable, readable, programs, user })
    }

    /// Gives files to the user that fenced processes run as, where that is another one.
    /// Errors: they cannot be given.
    pub fn give(&self, paths: &[&Path]) -> std::io::Result<()> {
        match &self.user {
            Some(user) if self.mode != FenceMode::Off => paths.iter().try_for_each(|path| user.own(path)),
            _ => Ok(()),
        }
    }

    /// What a fence lacks here, as reasons to warn of.
    /// Errors: [`FenceError::Incomplete`] where a complete one is required; [`FenceError::User`].
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
    fn what_is_missing_is_a_warning_or_a_refusal() {
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
    fn a_fence_reads_back() {
        let options = FenceOptions { readable: vec!["/opt/a b".into()], ..FenceOptions::default() };
        let fence = options.fence(vec!["/w".into()], vec!["/r".into()], vec!["/bin/p".into()]).unwrap();
        assert_eq!(fence.programs, [PathBuf::from("/bin/p"), PathBuf::from("/opt/a b")]);
        assert_eq!(Fence::from_argument(&fence.to_argument().unwrap()).unwrap(), fence);
        assert_eq!(FenceOptions::off().fence(Vec::new(), Vec::new(), Vec::new()), None);
    }
}
