//! Sandbox for processes that read untrusted files. Inside the sandbox, a process can access only its own files, the
//! system's libraries and the graphics devices. A process enters the sandbox before it reads untrusted input. Its child
//! processes inherit the sandbox.
//!
//! Landlock restricts access to files, TCP and signals. seccomp restricts system calls. All capabilities are dropped,
//! and the process may switch to another user. On systems other than Linux the sandbox does nothing, and [`Support`]
//! reports that it is unsupported.

mod error;
mod fence;
mod options;
mod support;
mod user;

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod system_paths;

pub use error::FenceError;
pub use fence::{Fence, close_inherited_files, hide_from_others};
pub use options::{FenceMode, FenceOptions};
pub use support::{Support, runs_as_root};
pub use user::JobUser;
