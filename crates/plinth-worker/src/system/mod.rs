//! Calls of the operating system that differ between systems. The rest of this crate calls none.
//!
//! Workers run on Linux only. `other.rs` lists what another system would have to provide; there, [`check`] keeps the worker from
//! starting.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;

/// Identifies a file on this machine, whatever its names.
pub(crate) type FileId = (u64, u64);
