//! Tests that must be alone in their process. `cargo test` runs all tests in one process.
#![cfg(target_os = "linux")]

use std::process::Command;

/// Environment variable that is set when a test runs itself in a separate process.
const ALONE: &str = "PLINTH_TEST_ALONE";

/// Returns whether the test `name` is alone in this process. If it is not, runs it in a separate process, and panics if
/// it fails there.
pub(crate) fn is_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", name]).env(ALONE, "yes").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}
