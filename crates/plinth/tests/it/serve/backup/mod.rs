//! Tests of `plinth admin backup`, `verify` and `restore`.

mod damaged;
mod rejected;
mod traffic;

use std::path::PathBuf;

use super::server::{Installation, Served};

/// Returns a folder in which tests create backups.
fn folder(installation: &Installation, name: &str) -> PathBuf {
    installation.folder.path().join(name)
}

/// Creates a backup of an installation with one finished render. Returns the installation, the ID of the render, and
/// the folder of the backup.
async fn small() -> (Served, String, PathBuf) {
    let served = Served::with_sqlite();
    let render = served.finished().await;
    let backup = folder(&served.installation, "backup");
    served.installation.admin(&["backup", backup.to_str().unwrap()]);
    (served, render, backup)
}
