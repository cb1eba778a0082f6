//! Runs a hostile job inside the sandbox and without it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod attacks;
mod place;
