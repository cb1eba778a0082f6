//! Windows. What only servers, workers and their processes call fails or does nothing, because they do not run there.

use std::ffi::c_int;
use std::io;
use std::path::Path;
use std::process::Child;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::{Limit, Resource};

/// The signals that ask this process to end.
pub(crate) fn ending_signals() -> Vec<c_int> {
    vec![SIGINT, SIGTERM]
}

/// Receives Ctrl-C in an async task.
pub(crate) struct EndingSignals(tokio::signal::windows::CtrlC);

impl EndingSignals {
    /// Errors: the system does not allow handlers.
    pub(crate) fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    /// Waits for Ctrl-C and returns the number of the signal that it is on other systems.
    pub(crate) async fn recv(&mut self) -> c_int {
        self.0.recv().await;
        SIGINT
    }
}

/// Does nothing, because the console sends Ctrl-C to child processes, too.
pub(crate) fn ask_to_end(_child: ChildId) {}

/// Identifies a child process while another thread waits for its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildId;

impl ChildId {
    pub(crate) fn of(_child: &Child) -> Self {
        Self
    }
}

/// Errors: always.
pub(crate) fn start_session() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Errors: always.
pub(crate) fn end_with_parent() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn name_process() {}

pub(crate) fn be_first_without_memory() {}

pub(crate) fn lower_priority(_niceness: i32) {}

/// Returns that nothing is limited.
pub(crate) fn limit(_resource: Resource) -> Limit {
    Limit { current: None, maximum: None }
}

/// Errors: always.
pub(crate) fn set_limit(_resource: Resource, _limit: Limit) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `false`: only servers and workers listen.
pub(crate) fn is_unsupported_address_family(_error: &io::Error) -> bool {
    false
}

/// Returns a fixed name: only workers have names.
pub(crate) fn host_name() -> String {
    "windows".to_owned()
}

/// Creates a folder and its parent folders. Who can read it is inherited.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Does nothing, because who can read a folder is inherited.
#[expect(clippy::unnecessary_wraps, reason = "Unix may reject it")]
pub(crate) fn make_private(_folder: &Path) -> io::Result<()> {
    Ok(())
}
