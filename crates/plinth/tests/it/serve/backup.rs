//! `plinth admin backup`, `verify`, `restore` and `storage` while the server runs.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use plinth_db::{Db, DbOptions, ledger};
use plinth_testkit::Client;

use super::on_both;
use super::server::{Place, Served};
use crate::text;

/// Sets the age of an object.
fn made_old(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(50)).unwrap();
}

async fn video(client: &Client, id: &str) -> (u16, Vec<u8>) {
    let response = client.request(reqwest::Method::GET, &format!("/renders/{id}/video")).send().await.unwrap();
    (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_under_way_is_verified_and_restored() {
    let served = Served::alone();
    let id = served.finished().await;
    let (status, bytes) = video(&served.client, &id).await;
    assert_eq!(status, 200);
    let backup = served.place.folder.path().join("backup");
    let folder = backup.to_str().unwrap();
    let client = served.client.clone();
    let uploading = tokio::spawn(async move {
        for number in 0..10 {
            client.upload(&format!("meanwhile {number}"), None).await.data();
        }
    });
    let made = tokio::task::block_in_place(|| served.place.admin(&["backup", folder]));
    uploading.await.unwrap();
    assert_eq!(made["gone"], 0, "{made}");
    assert_eq!(served.place.admin(&["verify", folder])["files"], made["files"]);
    let again = served.place.try_admin(&["backup", folder]);
    assert!(text(&again.stderr).contains("is not empty"), "{}", text(&again.stderr));
    let running = served.place.try_admin(&["restore", folder]);
    assert!(text(&running.stderr).contains("another plinth serve"), "{}", text(&running.stderr));
    let other = Place::alone();
    assert_eq!(other.admin(&["restore", folder])["files"], made["files"]);
    let db = Db::open(&other.database(), DbOptions::default()).await.unwrap();
    assert_eq!(ledger::find_unbalanced(&mut db.read().await.unwrap()).await.unwrap(), []);
    db.close().await;
    let server = other.serve(&["--no-worker"]);
    let restored = Client::new(&server.base, &served.client.token);
    assert_eq!(video(&restored, &id).await, (200, bytes));
    let file = backup.join("objects/renders").join(&id).join("1/video.mp4");
    let mut content = std::fs::read(&file).unwrap();
    content[0] ^= 1;
    std::fs::write(&file, content).unwrap();
    let damaged = served.place.try_admin(&["verify", folder]);
    assert_eq!(damaged.status.code(), Some(1));
    assert!(text(&damaged.stderr).contains(&format!("objects/renders/{id}/1/video.mp4: damaged")));
}

async fn what_does_not_agree_is_found(served: Served) {
    let id = served.finished().await;
    let place = &served.place;
    assert_eq!(place.admin(&["storage", "check"])["found"], serde_json::json!([]));
    let objects = place.objects();
    let orphan = objects.join("models/nobody000000.glb");
    std::fs::write(&orphan, "x").unwrap();
    assert_eq!(place.admin(&["storage", "check"])["young"], 1, "it may be on its way");
    made_old(&orphan);
    std::fs::remove_file(objects.join("renders").join(&id).join("1/video.mp4")).unwrap();
    let found = place.try_admin(&["storage", "check", "--repair"]);
    assert_eq!(found.status.code(), Some(1));
    let said = text(&found.stdout);
    assert!(said.contains("models/nobody000000.glb") && said.contains(&format!("renders/{id}/1/video.mp4")), "{said}");
    let left = text(&place.try_admin(&["storage", "check"]).stdout);
    assert!(!left.contains("nobody000000"), "it is marked: {left}");
}

on_both! { what_does_not_agree_is_found }
