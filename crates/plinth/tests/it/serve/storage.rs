//! Tests of `plinth admin storage check`.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use plinth_testkit::glb_with_triangle;
use reqwest::Method;
use serde_json::json;

use super::backstage::Backstage;
use super::on_both;
use super::server::Served;
use crate::text;

/// An age below 48 hours. An upload may take that long, so a younger object without a row may belong to an upload in
/// progress.
const LESS: Duration = Duration::from_hours(47);
const MORE: Duration = Duration::from_hours(49);

fn set_age(path: &Path, age: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

async fn files_without_rows_and_rows_without_files_are_found(served: Served) {
    let id = served.finished().await;
    let installation = &served.installation;
    assert_eq!(installation.admin(&["storage", "check"])["found"], json!([]));
    let (old, young) = (
        installation.objects().join("models/nobody000000.glb"),
        installation.objects().join("models/nobody000001.glb"),
    );
    std::fs::write(&old, "x").unwrap();
    std::fs::write(&young, "x").unwrap();
    let foreign = installation.objects().join("somebody else's.txt");
    std::fs::write(&foreign, "x").unwrap();
    set_age(&foreign, MORE);
    set_age(&old, MORE);
    set_age(&young, LESS);
    std::fs::remove_file(installation.objects().join("renders").join(&id).join("1/video.mp4")).unwrap();
    let found = installation.try_admin(&["storage", "check", "--repair"]);
    assert_eq!(found.status.code(), Some(1));
    let output: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(
        (&output["young"], &output["foreign"]),
        (&json!(1), &json!(1)),
        "one of the files may belong to an upload: {output}"
    );
    let expected = json!([
        {"problem": "unnamed", "path": "models/nobody000000.glb", "size": 1},
        {"problem": "gone", "path": format!("renders/{id}/1/video.mp4"), "size": null},
    ]);
    assert_eq!(output["found"], expected);
    let left = installation.try_admin(&["storage", "check"]);
    let left: serde_json::Value = serde_json::from_slice(&left.stdout).unwrap();
    assert_eq!(left["found"].as_array().unwrap().len(), 1, "the file without a row is scheduled for deletion: {left}");
    Backstage::of(&served).await.service.clean_up().await.unwrap();
    assert_eq!((old.exists(), young.exists(), foreign.exists()), (false, true, true));
    // The row and the other files of the render are unchanged.
    assert_eq!(served.client.get(&format!("/renders/{id}")).await.text("status"), "done");
    assert!(installation.objects().join("renders").join(&id).join("1/thumb.mp4").exists());
}

async fn the_file_of_a_deleted_model_is_not_missing(served: Served) {
    let (client, installation) = (&served.client, &served.installation);
    let render = served.finished().await;
    let model = client.get(&format!("/renders/{render}")).await.text("modelId");
    let file = installation.objects().join("models").join(format!("{model}.glb"));
    assert!(file.exists());
    assert_eq!(client.send(Method::DELETE, &format!("/models/{model}"), json!(null)).await.status, 200);
    assert!(!file.exists(), "no render needs it");
    assert_eq!(installation.admin(&["storage", "check"])["found"], json!([]));
    assert_eq!(client.get(&format!("/renders/{render}")).await.text("status"), "done");
}

/// Files that are in use or belong to an upload in progress are never listed, however long the upload takes.
async fn files_in_use_are_left_alone(served: Served) {
    let (client, installation) = (&served.client, &served.installation);
    let staged = client.post("/models/create-upload-url?expires=604800", json!({})).await;
    client.http.put(staged.text("url")).body(glb_with_triangle("staged")).send().await.unwrap();
    let render = client.upload("slow", Some(json!({"quality": "share"}))).await.text("renderId");
    let backstage = Backstage::of(&served).await;
    let claim = backstage.claim(&render).await;
    for file in super::backstage::VIDEO {
        backstage.store(&claim, file, plinth_spec::quality::Codec::H264).await;
    }
    let mut old = 0;
    for path in super::kept::Kept::at(installation).objects.keys() {
        set_age(&installation.objects().join(path), MORE);
        old += 1;
    }
    let checked = installation.admin(&["storage", "check", "--repair"]);
    assert_eq!((&checked["found"], &checked["objects"]), (&json!([]), &json!(old)));
    assert_eq!(old, 8, "a staged file, a model, the files of a render, and the identity of the store");
}

/// If the database is empty or belongs to another installation, a repair must not delete the files of the store.
async fn nothing_is_repaired_if_no_row_names_a_file(served: Served) {
    let orphan = served.installation.objects().join("models/nobody000000.glb");
    std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    std::fs::write(&orphan, "x").unwrap();
    set_age(&orphan, MORE);
    for _ in 0..2 {
        let rejected = served.installation.try_admin(&["storage", "check", "--repair"]);
        let output = text(&rejected.stderr);
        assert_eq!(rejected.status.code(), Some(1));
        assert!(
            output.contains("nothing was marked for removal") && output.contains("another installation"),
            "{output}"
        );
    }
}

on_both! {
    files_without_rows_and_rows_without_files_are_found
    the_file_of_a_deleted_model_is_not_missing
    files_in_use_are_left_alone
    nothing_is_repaired_if_no_row_names_a_file
}
