//! A job that was taken over, behind the fence and without one.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod attacks;
mod place;
