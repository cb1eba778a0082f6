//! Landlock rules. They restrict file access to a list of paths and, if the kernel's Landlock version supports it, deny
//! TCP and signals to other processes.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};

use crate::error::FenceError;
use crate::system_paths::{DEVICES, NVIDIA, READABLE};

/// The newest version of the Landlock ABI with which the access rights below were tested.
const ABI_TRIED: ABI = ABI::V7;

/// The program of this process, even if its file was replaced or deleted since the process started.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Landlock rules whose paths have been opened, but which are not enforced yet.
pub(crate) struct Rules(RulesetCreated);

impl Rules {
    /// Opens the paths of the rules. Missing paths are skipped.
    pub(crate) fn open(writable: &[PathBuf], readable: &[PathBuf], programs: &[PathBuf]) -> Result<Self, FenceError> {
        let programs: Vec<&Path> = programs.iter().map(PathBuf::as_path).chain([Path::new(OWN_PROGRAM)]).collect();
        rules(writable, readable, &programs).map(Self).map_err(rejected)
    }

    /// Enforces the rules for this thread, and for all threads and processes that it starts. Returns the kernel's
    /// Landlock ABI version, or `None` if the kernel has no Landlock.
    pub(crate) fn enforce(self) -> Result<Option<i32>, FenceError> {
        let status = self.0.restrict_self().map_err(rejected)?;
        Ok(match status.landlock {
            LandlockStatus::Available { effective_abi, kernel_abi } => Some(kernel_abi.unwrap_or(effective_abi as i32)),
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
        })
    }
}

fn rejected(error: RulesetError) -> FenceError {
    FenceError::rejected("enforcing the Landlock rules")(error.into())
}

fn rules(writable: &[PathBuf], readable: &[PathBuf], programs: &[&Path]) -> Result<RulesetCreated, RulesetError> {
    let run = AccessFs::from_read(ABI_TRIED);
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    // A job must not execute files that it has written. It may only create regular files and folders: with a symbolic
    // link, it could make the worker read another file, and with a named pipe, it could block the worker forever.
    let special =
        AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock | AccessFs::MakeBlock | AccessFs::MakeChar;
    let write = AccessFs::from_all(ABI_TRIED) & !(special | AccessFs::Execute | AccessFs::IoctlDev);
    let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_TRIED))?
        .handle_access(AccessNet::from_all(ABI_TRIED))?
        .scope(Scope::from_all(ABI_TRIED))?
        .create()?
        .add_rules(path_beneath_rules(READABLE, run))?
        .add_rules(path_beneath_rules(programs, run))?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(nvidia_devices(), device))?
        .add_rules(path_beneath_rules(writable, write))
}

fn nvidia_devices() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NVIDIA)).map(|entry| entry.path()).collect()
}
