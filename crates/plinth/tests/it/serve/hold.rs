//! Tests of `plinth admin storage hold`, which pauses deletion from the store while its command runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::task::block_in_place;

use super::backstage::Backstage;
use super::on_both;
use super::server::{Installation, Served};
use crate::text;

const TIMEOUT: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(20);
/// Time after its last renewal at which a hold expires.
const LEASE: Duration = Duration::from_mins(10);

/// A running `plinth admin storage hold` whose command runs until it is told to end.
struct Held {
    holder: Child,
    end: PathBuf,
}

impl Held {
    /// Starts a hold. Returns when its command runs.
    fn begin(installation: &Installation) -> Self {
        let folder = installation.folder.path();
        let (begun, end) = (folder.join("begun"), folder.join("end"));
        let script = "echo $$ > begun.part; mv begun.part begun; until test -e end; do sleep 0.02; done";
        let mut holder = installation.program();
        holder
            .args(["admin", "storage", "hold", "--", "sh", "-c", script])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let holder = holder.spawn().unwrap();
        until(|| begun.exists());
        Self { holder, end }
    }

    /// Ends the command. Returns the exit code and the output of `plinth admin storage hold`.
    fn end(self) -> (Option<i32>, String) {
        std::fs::write(&self.end, "").unwrap();
        self.ended()
    }

    fn ended(self) -> (Option<i32>, String) {
        let done = self.holder.wait_with_output().unwrap();
        (done.status.code(), text(&done.stderr))
    }

    fn signal(&self, name: &str) {
        let pid = self.holder.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < TIMEOUT, "the condition does not become true");
        std::thread::sleep(PAUSE);
    }
}

/// Whether the command of a hold is still running.
fn runs(installation: &Installation) -> bool {
    let pid = std::fs::read_to_string(installation.folder.path().join("begun")).unwrap();
    Path::new("/proc").join(pid.trim()).exists()
}

/// Deletes a render through the API. Returns the folder of its files.
async fn delete(served: &Served, render: &str) -> PathBuf {
    let deleted = served.client.send(Method::DELETE, &format!("/renders/{render}"), json!({})).await;
    assert_eq!(deleted.data()["deleted"], true);
    served.installation.objects().join("renders").join(render)
}

async fn deleted_files_remain_until_the_command_ends(served: Served) {
    let render = served.finished().await;
    let held = block_in_place(|| Held::begin(&served.installation));
    let files = delete(&served, &render).await;
    let backstage = Backstage::of(&served).await;
    assert_eq!(backstage.service.clean_up().await.unwrap().objects, 0);
    assert!(files.join("1/video.mp4").exists(), "the file is not deleted during the hold");
    let (code, printed) = block_in_place(|| held.end());
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(Backstage::of(&served).await.service.clean_up().await.unwrap().objects, 10);
    assert!(!files.join("1/video.mp4").exists());
}

async fn a_hold_ends_if_its_command_fails(served: Served) {
    let installation = &served.installation;
    let commands: [(&[&str], &str); 3] = [
        (&["false"], "false failed: exit status: 1"),
        (&["sh", "-c", "kill -9 $$"], "sh failed: signal: 9"),
        (&["/there/is/no/such/program"], "/there/is/no/such/program cannot be run"),
    ];
    for (command, message) in commands {
        let done = installation.program().args(["admin", "storage", "hold", "--"]).args(command).output().unwrap();
        assert_eq!(done.status.code(), Some(1));
        assert!(text(&done.stderr).contains(message), "{}", text(&done.stderr));
    }
    let render = served.finished().await;
    let files = delete(&served, &render).await;
    assert!(!files.join("1/video.mp4").exists(), "nobody holds");
}

async fn a_hold_that_is_stopped_stops_its_command(served: Served) {
    let render = served.finished().await;
    let held = block_in_place(|| Held::begin(&served.installation));
    held.signal("TERM");
    let (code, printed) = block_in_place(|| held.ended());
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("sh failed: signal: 15"), "{printed}");
    assert!(!runs(&served.installation), "the command was stopped, too");
    let files = delete(&served, &render).await;
    assert!(!files.join("1/video.mp4").exists(), "nobody holds");
}

async fn the_hold_of_a_killed_process_expires(served: Served) {
    let render = served.finished().await;
    let held = block_in_place(|| Held::begin(&served.installation));
    held.signal("KILL");
    std::fs::write(&held.end, "").unwrap();
    block_in_place(|| held.ended());
    let files = delete(&served, &render).await;
    let before = Backstage::later(&served, Duration::from_mins(9)).await;
    assert_eq!(before.service.clean_up().await.unwrap().objects, 0);
    assert!(files.join("1/video.mp4").exists());
    let after = Backstage::later(&served, LEASE + Duration::from_secs(1)).await;
    assert_eq!(after.service.clean_up().await.unwrap().objects, 10);
    assert!(!files.join("1/video.mp4").exists());
}

#[test]
fn standard_output_has_only_what_the_command_prints() {
    let installation = Installation::with_sqlite();
    assert!(installation.program().arg("migrate").output().unwrap().status.success());
    let done = installation.program().args(["admin", "storage", "hold", "--", "echo", "the dump"]).output().unwrap();
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    assert_eq!((done.status.code(), stdout.as_str()), (Some(0), "the dump\n"), "{stderr}");
    assert!(stderr.contains("nothing was deleted from the store during the command"), "{stderr}");
}

on_both! {
    deleted_files_remain_until_the_command_ends
    a_hold_ends_if_its_command_fails
    a_hold_that_is_stopped_stops_its_command
    the_hold_of_a_killed_process_expires
}
