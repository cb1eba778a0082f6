//! Tests of the cases in which `backup` and `restore` fail, and of the state after a failed backup.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use plinth_db::{Db, DbOptions, holds};
use plinth_testkit::Client;

use super::{folder, small};
use crate::serve::server::{Installation, Served};
use crate::text;

/// Runs a command that must fail, and returns its message.
fn failure(installation: &Installation, args: &[&str]) -> String {
    let done = installation.try_admin(args);
    assert_eq!(done.status.code(), Some(1), "{args:?}: {}", text(&done.stdout));
    text(&done.stderr)
}

/// Returns whether a hold on the store exists.
async fn is_held(installation: &Installation) -> bool {
    let db = Db::open(&installation.database(), DbOptions::default()).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let now = conn.now_ms().await.unwrap();
    let is_held = holds::is_held(&mut conn, now).await.unwrap();
    drop(conn);
    db.close().await;
    is_held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_goes_into_a_new_folder_that_others_cannot_read() {
    let (served, _, backup) = small().await;
    let mode = std::fs::metadata(&backup).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let output = failure(&served.installation, &["backup", backup.to_str().unwrap()]);
    assert!(output.contains("is not empty; choose a new folder"), "{output}");
    let inside = served.installation.objects().join("backup");
    let output = failure(&served.installation, &["backup", inside.to_str().unwrap()]);
    assert!(output.contains("is inside the store"), "{output}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_cannot_read_databases_nor_a_backup_in_a_folder_that_existed() {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (served, other) = (Served::with_sqlite(), Installation::with_sqlite());
    let database = |installation: &Installation| folder(installation, "data").join("plinth.db");
    let (backup, full) = (folder(&served.installation, "backup"), folder(&served.installation, "full"));
    for made in [&backup, &full] {
        std::fs::create_dir(made).unwrap();
        std::fs::set_permissions(made, Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(full.join("notes.txt"), "").unwrap();
    failure(&served.installation, &["backup", full.to_str().unwrap()]);
    assert_eq!(mode(&full), 0o755, "a folder that is rejected is not changed");
    served.installation.admin(&["backup", backup.to_str().unwrap()]);
    other.admin(&["restore", backup.to_str().unwrap()]);
    assert_eq!(mode(&backup), 0o700);
    for file in [database(&served.installation), backup.join("plinth.db"), database(&other)] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_backup_is_rejected_and_releases_its_hold() {
    let served = Served::with_sqlite();
    let render = served.finished().await;
    // The folder can be created, but the path of a file in it is too long.
    let mut long = folder(&served.installation, "long");
    while long.as_os_str().len() < 4080 {
        long.push("x".repeat((4080 - long.as_os_str().len()).min(200)));
    }
    let output = failure(&served.installation, &["backup", long.to_str().unwrap()]);
    assert!(output.contains("manifest.jsonl.part cannot be created"), "{output}");
    assert!(!is_held(&served.installation).await, "the hold is released");
    // Makes an object unreadable by replacing it with a link to itself.
    let video = served.installation.objects().join("renders").join(&render).join("1/video.mp4");
    std::fs::remove_file(&video).unwrap();
    symlink(&video, &video).unwrap();
    let backup = folder(&served.installation, "backup");
    let output = failure(&served.installation, &["backup", backup.to_str().unwrap()]);
    assert!(
        output.contains("failed and is incomplete; remove the folder") && output.contains("video.mp4 cannot be copied"),
        "{output}"
    );
    assert!(!is_held(&served.installation).await, "the hold is released");
    let output = failure(&served.installation, &["verify", backup.to_str().unwrap()]);
    assert!(output.contains("not a complete backup"), "{output}");
    // A missing object is reported. The backup succeeds without it.
    std::fs::remove_file(&video).unwrap();
    let backup = folder(&served.installation, "another");
    assert_eq!(served.installation.admin(&["backup", backup.to_str().unwrap()])["gone"], 1);
    served.installation.admin(&["verify", backup.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_for_postgres_names_the_commands_to_use() {
    let served = Served::with_postgres_and_s3().await;
    let backup = folder(&served.installation, "backup");
    let output = failure(&served.installation, &["backup", backup.to_str().unwrap()]);
    assert!(output.contains("pg_dump") && output.contains("plinth admin storage hold"), "{output}");
    assert!(!backup.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restoration_goes_into_an_empty_folder_without_a_server() {
    let (served, render, backup) = small().await;
    let backup = backup.to_str().unwrap();
    let output = failure(&served.installation, &["restore", backup]);
    assert!(output.contains("another plinth serve uses"), "{output}");
    let other = Installation::with_sqlite();
    let data = other.folder.path().join("data");
    std::fs::create_dir_all(data.join("objects")).unwrap();
    let output = failure(&other, &["restore", backup]);
    assert!(output.contains("is not empty; choose a new folder with --data"), "{output}");
    std::fs::remove_dir(data.join("objects")).unwrap();
    let elsewhere = ["--database-url", "sqlite:///nowhere/plinth.db", "restore", backup];
    let output = failure(&other, &elsewhere);
    assert!(output.contains("only be restored to --data"), "{output}");
    // A server does not open the files of an interrupted restoration. The next restoration replaces them.
    let left = data.join(".restoring/objects/models");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("half.glb"), "x").unwrap();
    let output = failure(&other, &["account", "create", "eve@example.org"]);
    let interrupted = "was interrupted; empty the folder and run `plinth admin restore` again";
    assert!(output.contains(interrupted), "{output}");
    let done = other.program().arg("migrate").output().unwrap();
    let output = text(&done.stderr);
    assert!(done.status.code() == Some(1) && output.contains(interrupted), "{output}");
    other.admin(&["restore", backup]);
    assert_eq!(names(&data), ["objects", "plinth.db", "plinth.db.serve.lock"].map(PathBuf::from));
    let server = other.serve(&["--no-worker"]);
    let client = Client::new(&server.base, &served.client.token);
    assert_eq!(client.get(&format!("/renders/{render}")).await.text("status"), "done");
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().file_name().into()).collect();
    names.sort();
    names
}
