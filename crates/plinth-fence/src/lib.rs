//! Fences a process: from then on it reaches its own files, the system's libraries and the graphics devices, and nothing
//! else. A process fences itself before it reads what strangers sent; what it starts inherits the fence.
//!
//! Landlock restricts files, TCP and signals, seccomp restricts system calls. Capabilities are dropped, and the process may
//! become another user. Only Linux has all of this; elsewhere a fence does nothing, and [`Support`] says so.

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
