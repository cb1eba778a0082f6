//! Tests that run the commands which docs/operations.md gives for copying PostgreSQL and S3.

use std::path::Path;
use std::process::Command;

use plinth_db::{Db, DbOptions, ledger};
use plinth_store::ObjectKey;
use plinth_testkit::{Client, aws, postgres};
use reqwest::Method;
use serde_json::json;
use tokio::task::block_in_place;

use super::kept::{COUNTERS, Kept};
use super::server::{Installation, Served};
use crate::text;

/// Returns the command line of docs/operations.md that begins with `begin`.
fn documented(begin: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut lines = page.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(begin));
    let line = lines.next().unwrap_or_else(|| panic!("no line begins with '{begin}'"));
    assert_eq!(lines.next(), None);
    line.replace("s3://my-bucket/plinth", "s3://plinth/some/where")
}

/// Runs a command line of the documentation. Its environment contains the configuration of the installation.
fn run(installation: &Installation, line: &str, folder: &Path) {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let programs = [("plinth", Path::new(env!("CARGO_BIN_EXE_plinth"))), ("aws", aws().unwrap())];
    for (name, program) in programs {
        let _made_before = std::os::unix::fs::symlink(program, bin.join(name));
    }
    let path = std::env::join_paths([&bin, postgres(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", path).envs(installation.variables());
    shell.env("PLINTH_DATA_DIR", installation.folder.path().join("data"));
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{line}: {}{}", text(&done.stdout), text(&done.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_and_a_copied_bucket_can_be_restored() {
    // Without the AWS command line, this test does nothing; scripts/test.sh reports it as not run.
    if aws().is_none() {
        return;
    }
    let served = Served::with_postgres_and_s3().await;
    let render = served.finished().await;
    let folder = tempfile::tempdir().unwrap();
    let before = Kept::at(&served.installation);
    let client = served.client.clone();
    let uploading = tokio::spawn(async move {
        for number in 0..10 {
            client.upload(&format!("meanwhile {number}"), None).await.data();
        }
    });
    block_in_place(|| run(&served.installation, &documented("plinth admin storage hold"), folder.path()));
    uploading.await.unwrap();
    let other = Installation::with_postgres_and_s3().await;
    // The bucket belonged to another installation. `aws s3 sync` does not replace its identity, which has the same size and is newer.
    let id = ObjectKey::StoreId.path();
    let size = std::fs::metadata(folder.path().join("copy").join(&id)).unwrap().len();
    std::fs::create_dir_all(other.objects()).unwrap();
    std::fs::write(other.objects().join(&id), "x".repeat(usize::try_from(size).unwrap())).unwrap();
    block_in_place(|| run(&other, &documented("aws s3 sync copy/"), folder.path()));
    let after = Kept::at(&other);
    for (path, sha256) in &before.objects {
        assert_eq!(after.objects.get(path), Some(sha256), "{path}");
    }
    let is_lasting = |row: &&String| {
        let changing = ["rate_windows ", "workspaces ", "tokens ", "queue "];
        !changing.iter().chain(&COUNTERS).any(|table| row.starts_with(table))
    };
    let lost: Vec<&String> = before.rows.difference(&after.rows).filter(is_lasting).collect();
    assert!(lost.is_empty(), "{lost:#?} are lost or changed");
    let db = Db::open(&other.database(), DbOptions::default()).await.unwrap();
    assert_eq!(ledger::find_unbalanced(&mut db.read().await.unwrap()).await.unwrap(), []);
    db.close().await;
    assert_eq!(block_in_place(|| other.admin(&["storage", "check"]))["found"], json!([]));
    // A server ends at its start if the identities in the database and in the store differ.
    let server = other.serve(&["--no-worker"]);
    assert!(!other.log().contains("identity"), "{}", other.log());
    let restored = Client::new(&server.base, &served.client.token);
    let video = async |client: &Client| {
        let response = client.request(Method::GET, &format!("/renders/{render}/video")).send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap())
    };
    assert_eq!(video(&restored).await, video(&served.client).await);
}
