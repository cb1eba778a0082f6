//! Tests of uploading, editing, archiving and removing models.

use std::io::{Cursor, Write as _};

use plinth_testkit::{Client, Form, glb_with_triangle, glb_without_meshes, sha256_hex};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::content;
use super::on_both;
use super::server::{EMAIL, Served};

fn share(length: i64) -> Value {
    json!({"quality": "share", "length": length})
}

async fn file(client: &Client, name: &str, bytes: &[u8]) -> plinth_testkit::Answer {
    client.form("/models", Form::default().file("file", name, bytes)).await
}

async fn patch(client: &Client, path: &str, body: Value) -> plinth_testkit::Answer {
    client.send(Method::PATCH, path, body).await
}

async fn an_upload_always_creates_a_render(served: Served) {
    let client = &served.client;
    let first = client.upload("chair", None).await;
    assert_eq!((first.status, first.data().get("duplicate")), (201, None));
    let (model, preview) = (first.text("modelId"), first.text("renderId"));
    let keys: Vec<&String> = first.data().as_object().unwrap().keys().collect();
    assert_eq!(keys, ["modelId", "renderId"]);
    assert!(model.len() == 12 && preview.len() == 12);
    let shown = client.get(&format!("/renders/{preview}")).await;
    for (name, value) in [
        ("isSystemPreview", json!(true)),
        ("isPreview", json!(false)),
        ("hlsStatus", json!("skipped")),
        ("status", json!("pending")),
        ("modelId", json!(model)),
    ] {
        assert_eq!(shown.data()[name], value, "{name}");
    }
    let paid = async || client.get("/account").await.data()["paid"].clone();
    assert_eq!(paid().await, 100, "the preview is free");
    // A second upload of the same file reuses the model. It returns the existing preview, but always creates a billed
    // render.
    let again = client.upload("chair", None).await;
    assert_eq!((again.status, again.data()), (200, &json!({"modelId": model, "renderId": preview, "duplicate": true})));
    let billed = client.upload("chair", Some(share(3))).await;
    assert_eq!((billed.status, &billed.data()["modelId"]), (200, &json!(model)));
    assert_eq!((billed.text("renderId") != preview, paid().await), (true, json!(97)));
    // A model that was first uploaded with a billed render gets its free preview when it is uploaded without settings.
    let other = client.upload("table", Some(share(2))).await;
    let asked = client.upload("table", None).await;
    assert_eq!((other.status, asked.status, paid().await), (201, 200, json!(95)));
    assert_ne!(asked.text("renderId"), other.text("renderId"));
    assert_eq!(client.upload("table", None).await.text("renderId"), asked.text("renderId"));
    let detail = client.get(&format!("/models/{}", other.text("modelId"))).await;
    let renders: Vec<&Value> = detail.data()["renders"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(renders, [&json!(asked.text("renderId")), &json!(other.text("renderId"))]);
    // Free credits never pay for uploads.
    served.installation.admin(&["credits", "grant", EMAIL, "1000", "--pool", "free"]);
    let dear = client.upload("lamp", Some(json!({"quality": "4k", "length": 60}))).await;
    assert_eq!(dear.rejection(), (402, "no_credits"));
    // In another workspace, the same file creates another model.
    let eve = served.client(&served.installation.account("eve@example.org"));
    assert_eq!(eve.upload("chair", None).await.status, 201);
    // The order of the fields does not matter, and unknown fields are ignored.
    let form = Form::default().text("renderSettings", &share(1).to_string()).text("other", "x");
    let form = form.file("file", "x.GLB", &glb_with_triangle("x"));
    let made = client.form("/models", form).await;
    assert_eq!(client.get(&format!("/renders/{}", made.text("renderId"))).await.data()["renderSettings"], share(1));
}

async fn invalid_files_are_rejected_with_specific_codes(served: Served) {
    let client = &served.client;
    let glb = glb_with_triangle("a");
    for (name, bytes, rejection) in [
        ("a.glb", &b"glTF but not really"[..], (422, "upload_failed")),
        ("a.glb", &glb[..glb.len() - 1], (422, "upload_failed")),
        ("a.glb", &glb_without_meshes(), (422, "upload_failed")),
        ("a.glb", b"", (422, "upload_failed")),
        ("a.gltf", b"{}", (400, "invalid_format")),
        ("a.obj", b"v 0 0 0", (400, "invalid_format")),
        ("a", &glb, (400, "invalid_format")),
        ("a.glb.exe", &glb, (400, "invalid_format")),
        ("a.zip", b"PK\x05\x06", (422, "upload_failed")),
        ("a.zip", &zip(&[("readme.txt", "no model")]), (422, "upload_failed")),
        ("a.zip", &zip(&[("a.obj", OBJ), ("b.obj", OBJ)]), (422, "upload_failed")),
    ] {
        assert_eq!(file(client, name, bytes).await.rejection(), rejection, "{name} of {} bytes", bytes.len());
    }
    // One form has no file. The other one has the empty field that a browser sends if no file was chosen.
    for form in [
        Form::default(),
        Form::default().text("a", "b"),
        Form::default().text("file", ""),
        Form::default().text("file", "content without a name"),
        Form::default().file("file", "", b""),
        Form::default().file("other", "a.glb", &glb),
    ] {
        assert_eq!(client.form("/models", form).await.rejection(), (400, "no_file"));
    }
    for (settings, rejection) in [
        ("{", (400, "invalid_settings")),
        ("[]", (400, "invalid_settings")),
        ("{\"zoom\": 9}", (400, "invalid_settings")),
        ("{\"thumbOnly\": true}", (400, "invalid_settings")),
        ("{\"length\": 121}", (422, "invalid_length")),
        ("{\"length\": 120, \"quality\": \"4k\"}", (402, "no_credits")),
    ] {
        let form = Form::default().file("file", "a.glb", &glb).text("renderSettings", settings);
        assert_eq!(client.form("/models", form).await.rejection(), rejection, "{settings}");
    }
    assert_eq!(client.get("/models").await.body["meta"]["total"], 0, "no model was created");
}

const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

async fn an_archive_with_one_obj_becomes_a_glb_with_roughness_1(served: Served) {
    let mtl = "newmtl Red\nKd 1 0 0\n";
    let obj = format!("mtllib a.mtl\no A part\nusemtl Red\n{OBJ}");
    let archive = zip(&[("scan/a.obj", &obj), ("scan/a.mtl", mtl)]);
    let client = &served.client;
    let made = file(client, "scan.zip", &archive).await;
    assert_eq!(made.status, 201);
    let path = format!("/models/{}", made.text("modelId"));
    let detail = client.get(&path).await;
    assert_eq!(
        (&detail.data()["originalName"], &detail.data()["materialNames"]),
        (&json!("scan.glb"), &json!(["Red"]))
    );
    let glb = client.get_with(&format!("{path}/file"), "accept", "*/*").await.bytes().await.unwrap();
    assert_eq!((&glb[..4], detail.data()["fileSize"].as_u64()), (&b"glTF"[..], Some(glb.len() as u64)));
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let document: Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    let surface = &document["materials"][0]["pbrMetallicRoughness"];
    // A missing factor means 1.
    let roughness = surface.get("roughnessFactor").and_then(Value::as_f64);
    assert!(roughness.is_none_or(|factor| (factor - 1.0).abs() < 1e-6), "{document}");
    assert_eq!(surface["metallicFactor"].as_f64(), Some(0.0), "{document}");
    let served = served.again(|installation| installation.set("PLINTH_ZIP_CONVERSION", "false"));
    assert_eq!(file(&served.client, "scan.zip", &archive).await.rejection(), (400, "invalid_format"));
}

async fn a_model_lists_its_contents(served: Served) {
    let client = &served.client;
    let glb = glb_with_triangle("a part");
    let made = file(client, "../../some folder/a chair.glb", &glb).await;
    let id = made.text("modelId");
    let detail = client.get(&format!("/models/{id}")).await;
    let (created, updated) = (&detail.data()["createdAt"], &detail.data()["updatedAt"]);
    let render = &detail.data()["renders"][0];
    let summary = json!({"id": made.text("renderId"), "status": "pending", "renderSettings": render["renderSettings"],
                         "createdAt": created, "updatedAt": created});
    assert_eq!(render, &summary);
    let row = json!({"id": id, "originalName": "a chair.glb", "title": null, "sku": null, "tags": [],
        "fileSize": glb.len(), "sha256": sha256_hex(&glb), "animationCount": 0, "status": "active",
        "createdAt": created, "updatedAt": updated});
    let mut whole = row.clone();
    for (name, value) in [
        ("animations", json!([])),
        ("meshNames", json!(["a_part"])),
        ("materialNames", json!([])),
        ("renders", json!([summary])),
    ] {
        whole[name] = value;
    }
    assert_eq!(detail.data(), &whole);
    assert_eq!(client.get("/models").await.body["data"], json!([row]));
    assert!(created.as_str().unwrap().ends_with('Z') && created.as_str().unwrap().len() >= 20, "{created}");
    let of_folders = file(client, "scans\\table.glb\\", &glb_with_triangle("a table")).await;
    let detail = client.get(&format!("/models/{}", of_folders.text("modelId"))).await;
    assert_eq!(detail.data()["originalName"], "table.glb", "the name is the last segment that is not empty");
}

async fn models_are_edited_archived_and_removed(served: Served) {
    let client = &served.client;
    let made = client.upload("chair", None).await;
    let (id, path) = (made.text("modelId"), format!("/models/{}", made.text("modelId")));
    let edited = patch(client, &path, json!({"title": " Chair ", "sku": "C-1", "tags": ["Red", " red ", "BIG"]})).await;
    assert_eq!(edited.data(), &json!({"id": id, "title": "Chair", "sku": "C-1", "tags": ["red", "big"]}));
    for (body, title, sku, tags) in [
        (json!({"title": "Stool"}), json!("Stool"), json!("C-1"), json!(["red", "big"])),
        (json!({"sku": null}), json!("Stool"), Value::Null, json!(["red", "big"])),
        (json!({"title": "", "tags": []}), Value::Null, Value::Null, json!([])),
    ] {
        let now = patch(client, &path, body).await;
        assert_eq!(now.data(), &json!({"id": id, "title": title, "sku": sku, "tags": tags}));
    }
    for bad in [
        json!({}),
        json!({"name": "x"}),
        json!({"tags": "red"}),
        json!({"tags": null}),
        json!({"tags": [1]}),
        json!({"title": 5}),
        json!({"title": "x".repeat(501)}),
        json!({"tags": ["x".repeat(101)]}),
    ] {
        assert_eq!(patch(client, &path, bad.clone()).await.rejection(), (400, "bad_request"), "{bad}");
    }
    let hash = client.get(&path).await.text("sha256");
    let known = async || client.post("/models/check-hash", json!({"sha256": hash.to_uppercase()})).await.data().clone();
    let listed = async || client.get("/models").await.body["meta"]["total"].clone();
    let moved = async |verb: &str| patch(client, &format!("{path}/{verb}"), json!({})).await;
    assert_eq!((known().await, listed().await), (json!({"exists": true, "modelId": id}), json!(1)));
    assert_eq!(moved("unarchive").await.rejection(), (404, "model_not_found"));
    assert_eq!(moved("archive").await.data(), &json!({"id": id, "archived": true}));
    assert_eq!(moved("archive").await.rejection(), (404, "model_not_found"));
    assert_eq!((known().await, listed().await), (json!({"exists": false, "modelId": null}), json!(0)));
    // An archived model can still be edited, but an upload of the same file creates another model.
    assert_eq!(patch(client, &path, json!({"title": "Archived"})).await.status, 200);
    assert_eq!(client.get_with(&format!("{path}/file"), "accept", "*/*").await.status(), 200);
    assert_eq!(client.get(&path).await.data()["status"], "archived");
    let link = client.get(&format!("{path}/file-url")).await;
    assert_eq!(link.data(), &json!({"url": link.text("url"), "expiresIn": 3600}));
    let linked = client.http.get(link.text("url")).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(linked, glb_with_triangle("chair"));
    let second = client.upload("chair", None).await;
    assert_eq!((second.status, second.text("modelId") == id), (201, false));
    assert_eq!(moved("unarchive").await.data(), &json!({"id": id, "archived": false}));
    assert_eq!(listed().await, 2);
    // Active and archived models can be deleted permanently. Their renders remain.
    let gone = client.send(Method::DELETE, &path, json!({})).await;
    assert_eq!(gone.data(), &json!({"id": id, "deleted": true}));
    for path in [path.clone(), format!("{path}/file"), format!("{path}/file-url")] {
        assert_eq!(client.get(&path).await.rejection(), (404, "model_not_found"));
    }
    for verb in ["archive", "unarchive"] {
        assert_eq!(moved(verb).await.rejection(), (404, "model_not_found"));
    }
    assert_eq!(client.send(Method::DELETE, &path, json!({})).await.rejection(), (404, "model_not_found"));
    assert_eq!(patch(client, &path, json!({"title": "x"})).await.rejection(), (404, "model_not_found"));
    let order = json!({"modelId": id});
    assert_eq!(client.post("/renders", order).await.rejection(), (404, "model_not_found"));
    assert_eq!(client.get(&format!("/renders/{}", made.text("renderId"))).await.data()["modelId"], id.as_str());
    assert_eq!(client.get("/models?status=any").await.body["meta"]["total"], 1);
    let second = second.text("modelId");
    let path = format!("/models/{second}");
    assert_eq!(
        patch(client, &format!("{path}/archive"), json!({})).await.data(),
        &json!({"id": second, "archived": true})
    );
    let gone = client.send(Method::DELETE, &path, json!({})).await;
    assert_eq!(
        (gone.status, gone.data()),
        (200, &json!({"id": second, "deleted": true})),
        "an archived model can be deleted"
    );
    assert_eq!(client.get(&path).await.rejection(), (404, "model_not_found"));
    assert_eq!(client.get("/models?status=any").await.data(), &json!([]));
    assert_eq!(client.upload("chair", None).await.status, 201, "the file of a removed model is not a duplicate");
    for bad in [json!({}), json!({"sha256": "x"}), json!({"sha256": "0".repeat(63)})] {
        assert_eq!(client.post("/models/check-hash", bad).await.rejection(), (400, "sha256_required"));
    }
}

/// After the deletion of a model, the files of its renders and the ledger entries remain.
async fn a_deleted_models_renders_keep_their_files(served: Served) {
    let client = &served.client;
    let done = served.finished().await;
    let model = client.get(&format!("/renders/{done}")).await.text("modelId");
    let waiting = client.post("/renders", json!({"modelId": model, "renderSettings": share(9)})).await.text("id");
    let rows = async || client.get(&format!("/renders?model={model}")).await.body;
    let (before, ledger) = (rows().await, client.get("/purchases").await.body);
    let ids: Vec<&Value> = before["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(waiting), &json!(done)]);
    let gone = client.send(Method::DELETE, &format!("/models/{model}"), json!({})).await;
    assert_eq!((gone.status, gone.data()), (200, &json!({"id": model, "deleted": true})));
    assert_eq!(rows().await, before);
    for (path, file) in [
        ("video", "video.mp4"),
        ("video?quality=web", "web.mp4"),
        ("poster", "poster.small.png"),
        ("poster?quality=full", "poster.png"),
        ("thumb", "thumb.mp4"),
        ("hls/master.m3u8", "master.m3u8"),
    ] {
        let answer = client.get_with(&format!("/renders/{done}/{path}"), "accept", "*/*").await;
        assert_eq!((answer.status().as_u16(), answer.text().await.unwrap()), (200, content(file)), "{path}");
    }
    let bundle = client.get_with(&format!("/renders/{done}/bundle"), "accept", "*/*").await;
    assert_eq!(bundle.status(), 200);
    let archive = zip::ZipArchive::new(Cursor::new(bundle.bytes().await.unwrap())).unwrap();
    assert_eq!(archive.len(), 4);
    let link = client.get(&format!("/renders/{done}/download-url")).await;
    let linked = client.http.get(link.text("url")).send().await.unwrap();
    assert_eq!((linked.status().as_u16(), linked.text().await.unwrap()), (200, content("video.mp4")));
    // A queued render of the deleted model is still rendered, or can be cancelled. It is not refunded automatically.
    assert_eq!(client.get(&format!("/renders/{waiting}")).await.data()["status"], "pending");
    assert_eq!(client.get("/account").await.data()["paid"], 100 - 1 - 9);
    assert_eq!(client.get("/purchases").await.body, ledger, "no refund");
}

on_both! {
    an_upload_always_creates_a_render invalid_files_are_rejected_with_specific_codes an_archive_with_one_obj_becomes_a_glb_with_roughness_1
    a_model_lists_its_contents models_are_edited_archived_and_removed
    a_deleted_models_renders_keep_their_files
}
