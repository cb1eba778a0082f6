//! Tests that `verify` and `restore` reject a damaged, truncated, unfinished or forged backup.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use plinth_testkit::sha256_hex;

use super::small;
use crate::serve::server::Installation;
use crate::text;

/// Asserts that both commands fail with this message and that nothing is restored.
fn is_rejected(backup: &Path, message: &str) {
    let other = Installation::with_sqlite();
    for command in ["verify", "restore"] {
        let done = other.try_admin(&[command, backup.to_str().unwrap()]);
        let output = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{command}: {output}");
        assert!(output.contains(message), "{command}: '{message}' is not in: {output}");
    }
    let restored =
        ["plinth.db", "objects", ".restoring"].map(|name| other.folder.path().join("data").join(name).exists());
    assert_eq!(restored, [false; 3], "{message}");
}

/// Changes a file, runs `attempt`, and then writes the original content back.
fn with_changed(file: &Path, change: impl FnOnce(&mut Vec<u8>), attempt: impl FnOnce()) {
    let whole = std::fs::read(file).unwrap();
    let mut changed = whole.clone();
    change(&mut changed);
    std::fs::write(file, changed).unwrap();
    attempt();
    std::fs::write(file, whole).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_damage_is_named() {
    let (served, render, backup) = small().await;
    let video = format!("objects/renders/{render}/1/video.mp4");
    for name in [video.as_str(), "plinth.db"] {
        let file = backup.join(name);
        let flip = |bytes: &mut Vec<u8>| bytes[10] ^= 1;
        with_changed(&file, flip, || is_rejected(&backup, &format!("{name}: damaged: its hash differs")));
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 1);
        with_changed(&file, cut, || is_rejected(&backup, &format!("{name}: damaged: ")));
        let aside = backup.join("aside");
        std::fs::rename(&file, &aside).unwrap();
        is_rejected(&backup, &format!("{name}: missing"));
        std::fs::rename(&aside, &file).unwrap();
    }
    let manifest = backup.join("manifest.jsonl");
    let damaged = "manifest.jsonl is damaged";
    with_changed(&manifest, |bytes| bytes.truncate(bytes.len() / 2), || is_rejected(&backup, damaged));
    let without_end = |bytes: &mut Vec<u8>| {
        let lines = text(bytes);
        let end = lines.trim_end().rfind('\n').unwrap();
        bytes.truncate(end + 1);
    };
    with_changed(&manifest, without_end, || {
        is_rejected(&backup, "manifest.jsonl is damaged: its last line is missing");
    });
    let without_first =
        |bytes: &mut Vec<u8>| drop(bytes.drain(..=bytes.iter().position(|byte| *byte == b'\n').unwrap()));
    with_changed(&manifest, without_first, || is_rejected(&backup, damaged));
    for path in ["../escaped", "/etc/escaped", "objects/../../escaped", "escaped"] {
        let line = format!("{{\"path\":\"{path}\",\"size\":0,\"sha256\":\"{}\"}}\n", sha256_hex(b""));
        let end = format!("{{\"files\":1,\"bytes\":0,\"manifest_sha256\":\"{}\"}}\n", sha256_hex(line.as_bytes()));
        let forge = |bytes: &mut Vec<u8>| *bytes = format!("{line}{end}").into_bytes();
        with_changed(&manifest, forge, || is_rejected(&backup, &format!("it names the unexpected file {path}")));
    }
    std::fs::rename(&manifest, backup.join("manifest.jsonl.part")).unwrap();
    is_rejected(&backup, "without it the folder is not a complete backup");
    std::fs::rename(backup.join("manifest.jsonl.part"), &manifest).unwrap();
    // The undamaged backup is accepted. This shows that the commands rejected the damage and nothing else.
    let other = Installation::with_sqlite();
    let verified = served.installation.admin(&["verify", backup.to_str().unwrap()]);
    assert_eq!(other.admin(&["restore", backup.to_str().unwrap()]), verified);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_uses_the_folder_while_the_backup_is_checked() {
    let (_served, render, backup) = small().await;
    let video = backup.join(format!("objects/renders/{render}/1/video.mp4"));
    std::fs::remove_file(&video).unwrap();
    assert!(Command::new("mkfifo").arg(&video).status().unwrap().success());
    let other = Installation::with_sqlite();
    let mut restore = other.program();
    let restore = restore.args(["admin", "restore"]).arg(&backup).stdout(Stdio::null()).stderr(Stdio::piped());
    let restore = restore.spawn().unwrap();
    // Opening the FIFO succeeds only after the check has opened it. The check then waits until it is closed.
    let fifo = File::options().write(true).open(&video).unwrap();
    let migrated = other.program().arg("migrate").output().unwrap();
    let created = other.try_admin(&["account", "create", "eve@example.org"]);
    drop(fifo);
    for done in [migrated, created] {
        let output = text(&done.stderr);
        assert!(done.status.code() == Some(1) && output.contains("is running or was interrupted"), "{output}");
    }
    let done = restore.wait_with_output().unwrap();
    let output = text(&done.stderr);
    assert!(done.status.code() == Some(1) && output.contains("video.mp4: damaged: 0 bytes"), "{output}");
    let left = std::fs::read_dir(other.folder.path().join("data")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["plinth.db.serve.lock"]);
}
