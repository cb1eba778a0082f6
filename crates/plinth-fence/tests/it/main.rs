//! Tests that run a hostile job with and without the sandbox.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod attacks;
mod place;
