//! Systems on which workers do not run. [`check`] fails at their start, so that nothing else here is called.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::FileId;
use crate::error::WorkerError;

/// Errors: always.
pub(crate) fn check() -> Result<(), WorkerError> {
    Err(WorkerError::NotLinux)
}

/// A running process of a session. None is ever found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {}

impl Process {
    pub(crate) fn memory_bytes(self) -> u64 {
        match self {}
    }

    pub(crate) fn shared_bytes(self) -> u64 {
        match self {}
    }
}

pub(crate) fn processes_of_session(_session: u32) -> Vec<Process> {
    Vec::new()
}

pub(crate) fn deleted_files(_process: Process) -> impl Iterator<Item = Metadata> {
    std::iter::empty()
}

pub(crate) fn memory_files(_process: Process) -> impl Iterator<Item = Metadata> {
    std::iter::empty()
}

pub(crate) fn kill(process: Process) {
    match process {}
}

pub(crate) fn used_processor_secs(_process: u32) -> Option<u64> {
    None
}

pub(crate) fn limit_processor_time(_process: u32, _secs: u64) -> io::Result<()> {
    unsupported()
}

pub(crate) fn id_and_bytes(about: &Metadata) -> (FileId, u64) {
    ((0, 0), about.len())
}

pub(crate) fn names_of(_about: &Metadata) -> u64 {
    1
}

pub(crate) fn let_others_enter(_folder: &Path) -> io::Result<()> {
    unsupported()
}

pub(crate) fn let_owner_write(_folder: &Path) {}

pub(crate) fn let_all_read(_file: &Path) -> io::Result<()> {
    unsupported()
}

pub(crate) fn open_untrusted(_file: &Path) -> io::Result<File> {
    unsupported()
}

pub(crate) fn move_untrusted<'a>(
    _process: &Path,
    _to: &Path,
    _name: &str,
    _files: impl Iterator<Item = &'a OsStr>,
) -> io::Result<()> {
    unsupported()
}

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}
