//! Tests of `plinth admin backup`, `verify` and `restore`.

mod damaged;
mod refused;
mod traffic;

use std::path::PathBuf;

use super::server::{Place, Served};

/// Returns a folder in which tests create backups.
fn folder(place: &Place, name: &str) -> PathBuf {
    place.folder.path().join(name)
}

/// Creates a backup of an installation with one finished render. Returns the installation, the ID of the render, and
/// the folder of the backup.
async fn small() -> (Served, String, PathBuf) {
    let served = Served::alone();
    let render = served.finished().await;
    let backup = folder(&served.place, "backup");
    served.place.admin(&["backup", backup.to_str().unwrap()]);
    (served, render, backup)
}
