//! Files of finished renders: what they say of themselves, in whole and in part.

use plinth_spec::quality::Codec;
use plinth_store::RenderFile;
use plinth_testkit::{Answer, Client, glb_with_triangle, header};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::{Backstage, CONTENT, VIDEO};
use super::on_both;
use super::server::Served;

/// Paths of a finished video, and what is served there.
const FILES: [(&str, &str); 10] = [
    ("video", "video/mp4"),
    ("video?quality=web", "video/mp4"),
    ("poster", "image/png"),
    ("poster?quality=full", "image/png"),
    ("thumb", "video/mp4"),
    ("hls/master.m3u8", "application/vnd.apple.mpegurl"),
    ("hls/540p/init.mp4", "video/mp4"),
    ("hls/540p/0.m4s", "video/iso.segment"),
    ("hls/thumbnails.vtt", "text/vtt"),
    ("hls/sprite-0.jpg", "image/jpeg"),
];

async fn files_say_what_they_are_and_come_in_parts(served: Served) {
    let client = &served.client;
    let id = served.finished().await;
    for (path, kind) in FILES {
        let path = format!("/renders/{id}/{path}");
        let whole = client.get_with(&path, "accept", "*/*").await;
        let said = whole.headers().clone();
        let etag = header(&said, "etag").to_owned();
        assert_eq!(whole.status(), 200, "{path}");
        for (name, value) in [
            ("content-type", kind),
            ("content-length", "10"),
            ("accept-ranges", "bytes"),
            ("cache-control", "private, no-cache"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ] {
            assert_eq!(header(&said, name), value, "{path}: {name}");
        }
        assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "{path}: {etag}");
        assert_eq!(whole.bytes().await.unwrap(), CONTENT, "{path}");
        for (name, value, status, range, body) in [
            ("range", "bytes=2-4", 206, "bytes 2-4/10", "234"),
            ("range", "bytes=-3", 206, "bytes 7-9/10", "789"),
            ("range", "bytes=8-", 206, "bytes 8-9/10", "89"),
            ("range", "bytes=0-", 206, "bytes 0-9/10", "0123456789"),
            ("range", "bytes=5-99", 206, "bytes 5-9/10", "56789"),
            ("range", "bytes=0-1,4-5", 200, "", "0123456789"),
            ("range", "bytes=4-2", 200, "", "0123456789"),
            ("range", "lines=0-1", 200, "", "0123456789"),
            ("if-none-match", "\"other\"", 200, "", "0123456789"),
            ("if-none-match", &etag, 304, "", ""),
            ("if-none-match", &format!("\"other\", W/{etag}"), 304, "", ""),
            ("if-none-match", "*", 304, "", ""),
        ] {
            let answer = client.get_with(&path, name, value).await;
            let said = answer.headers().clone();
            assert_eq!((answer.status().as_u16(), header(&said, "content-range")), (status, range), "{path} {value}");
            assert_eq!(header(&said, "etag"), etag, "{path} {value}");
            assert_eq!(answer.text().await.unwrap(), body, "{path} {value}");
        }
        let outside = client.get_with(&path, "range", "bytes=10-").await;
        assert_eq!(header(outside.headers(), "content-range"), "bytes */10", "{path}");
        let outside = Answer::of(outside).await;
        assert_eq!(outside.refusal(), (416, "range_not_satisfiable"), "{path}");
        for (known, status) in [(etag.as_str(), 206), ("\"other\"", 200)] {
            let part = client.request(Method::GET, &path).header("range", "bytes=0-1").header("if-range", known);
            assert_eq!(part.send().await.unwrap().status(), status, "{path}: the file {known}");
        }
        let head = client.request(Method::HEAD, &path).send().await.unwrap();
        assert_eq!((head.status().as_u16(), header(head.headers(), "content-length")), (200, "10"), "{path}");
        assert_eq!(head.bytes().await.unwrap().len(), 0, "{path}");
    }
}

async fn a_bundle_has_all_files_and_never_changes(served: Served) {
    let client = &served.client;
    let path = format!("/renders/{}/bundle", served.finished().await);
    let bundle = client.get_with(&path, "accept", "*/*").await;
    let said = bundle.headers().clone();
    assert!(header(&said, "cache-control").contains("immutable") && !header(&said, "cache-control").contains("public"));
    assert_eq!(
        (header(&said, "content-type"), header(&said, "x-content-type-options")),
        ("application/zip", "nosniff")
    );
    assert!(header(&said, "content-disposition").starts_with("attachment; "));
    let bytes = bundle.bytes().await.unwrap();
    assert_eq!(header(&said, "content-length"), bytes.len().to_string());
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    for name in ["video.mp4", "web.mp4", "poster.png", "thumb.mp4"] {
        let content = std::io::read_to_string(archive.by_name(name).unwrap()).unwrap();
        assert_eq!(content.as_bytes(), CONTENT, "{name}");
    }
    assert_eq!(archive.len(), 4);
    let again = client.get_with(&path, "accept", "*/*").await.bytes().await.unwrap();
    assert_eq!(again, archive.into_inner().into_inner(), "the same bytes at each time");
}

/// The code of what is asked of a render; 200 when it is there.
async fn code(client: &Client, id: &str, path: &str) -> String {
    let answer = client.get(&format!("/renders/{id}/{path}")).await;
    if answer.status == 200 { "200".to_owned() } else { answer.refusal().1.to_owned() }
}

/// What is missing has the code that says so: before the render, after its poster, and for another kind of render.
async fn what_is_not_there_yet_has_its_own_code(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let codes = async |id: &str| {
        let mut all = Vec::new();
        for path in ["video", "video?quality=web", "poster", "thumb", "bundle", "dataset", "hls/master.m3u8"] {
            all.push(code(client, id, path).await);
        }
        for asset in ["", "video", "web", "poster", "full_poster", "thumb", "dataset"] {
            all.push(code(client, id, &format!("download-url?asset={asset}")).await);
        }
        all
    };
    let video = client.upload("video", Some(json!({"quality": "share", "length": 1}))).await.text("renderId");
    let nothing = ["video_not_found", "video_not_found", "poster_not_found", "thumb_not_found", "video_not_found"];
    let waiting = codes(&video).await;
    assert_eq!(waiting[..5], nothing);
    assert_eq!(waiting[5..7], ["dataset_not_found", "not_found"]);
    assert_eq!(waiting[7], "bad_request", "an asset without a name is unknown");
    assert_eq!(waiting[8..], ["asset_not_found"; 6]);
    assert_eq!(code(client, &video, "download-url?asset=hls").await, "bad_request", "playlists have no links");
    assert_eq!(code(client, &video, "download-url?asset=bundle").await, "bad_request", "neither have bundles");
    let view = client.get(&format!("/renders/{video}/hls")).await;
    let expected = json!({"id": video, "status": "pending", "masterUrl": null, "thumbnailsVttUrl": null});
    assert_eq!(view.data(), &expected);
    backstage.finish(&video, &VIDEO).await;
    let done = codes(&video).await;
    assert_eq!(done[..7], ["200", "200", "200", "200", "200", "dataset_not_found", "not_found"]);
    assert_eq!(done[8..], ["200", "200", "200", "200", "200", "asset_not_found"]);
    let shown = client.get(&format!("/renders/{video}")).await;
    for (name, value) in [
        ("status", json!("done")),
        ("fileSize", json!(10)),
        ("hasWebVariant", json!(true)),
        ("hasThumb", json!(true)),
        ("hlsStatus", json!("pending")),
        ("hlsReady", json!(false)),
        ("datasetZipSize", Value::Null),
    ] {
        assert_eq!(shown.data()[name], value, "{name}");
    }
    backstage.package(&video, &["master.m3u8", "thumbnails.vtt"]).await;
    let view = client.get(&format!("/renders/{video}/hls")).await;
    let base = format!("{}/v1/renders/{video}/hls", client.base);
    let expected = json!({"id": video, "status": "ready", "masterUrl": format!("{base}/master.m3u8"),
                          "thumbnailsVttUrl": format!("{base}/thumbnails.vtt")});
    assert_eq!(view.data(), &expected);
    let shown = client.get(&format!("/renders/{video}")).await;
    assert_eq!((&shown.data()["hlsStatus"], &shown.data()["hlsReady"]), (&json!("ready"), &json!(true)));
}

async fn other_kinds_of_renders_have_other_files(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let order = async |name: &str, settings: Value| client.upload(name, Some(settings)).await.text("renderId");
    served.place.admin(&["credits", "grant", super::server::EMAIL, "1000"]);
    let pro = order("pro", json!({"quality": "pro", "length": 0.1})).await;
    backstage.finish(&pro, &[RenderFile::Video(Codec::ProRes4444), RenderFile::FullPoster, RenderFile::Poster]).await;
    let mov = client.get_with(&format!("/renders/{pro}/video"), "accept", "*/*").await;
    assert_eq!(header(mov.headers(), "content-type"), "video/quicktime");
    assert_eq!(
        code(client, &pro, "download-url?asset=web").await,
        "asset_not_found",
        "a variant that was not produced"
    );
    assert_eq!((code(client, &pro, "video?quality=web").await, code(client, &pro, "thumb").await).0, "video_not_found");

    let set = order("set", json!({"output": "dataset", "datasetQuality": "100x800"})).await;
    assert_eq!(code(client, &set, "dataset").await, "dataset_not_found", "not done");
    backstage.finish(&set, &[RenderFile::Dataset]).await;
    let zip = client.get_with(&format!("/renders/{set}/dataset"), "range", "bytes=1-2").await;
    assert_eq!((zip.status().as_u16(), header(zip.headers(), "content-type")), (206, "application/zip"));
    assert_eq!((code(client, &set, "video").await, code(client, &set, "bundle").await).1, "video_not_found");
    assert_eq!(code(client, &set, "download-url?asset=dataset").await, "200");
    let shown = client.get(&format!("/renders/{set}")).await;
    assert_eq!((&shown.data()["datasetZipSize"], &shown.data()["fileSize"]), (&json!(10), &Value::Null));
    assert_eq!(shown.data()["hlsStatus"], "skipped");
}

async fn a_model_is_downloaded_under_its_name(served: Served) {
    let client = &served.client;
    let made = client.upload("chair ü; 1", None).await;
    let path = format!("/models/{}/file", made.text("modelId"));
    let glb = glb_with_triangle("chair ü; 1");
    let whole = client.get_with(&path, "accept", "*/*").await;
    let said = whole.headers().clone();
    assert_eq!(header(&said, "content-type"), "model/gltf-binary");
    assert_eq!(header(&said, "content-length"), glb.len().to_string());
    let name = header(&said, "content-disposition");
    assert!(name.starts_with("attachment; ") && name.contains("filename*=UTF-8''chair%20%C3%BC%3B%201.glb"), "{name}");
    assert_eq!(whole.bytes().await.unwrap(), glb);
    let end = client.get_with(&path, "range", "bytes=-4").await;
    assert_eq!((end.status().as_u16(), end.bytes().await.unwrap().as_ref()), (206, &glb[glb.len() - 4..]));
    assert_eq!(client.get_with(&path, "if-none-match", header(&said, "etag")).await.status(), 304);
    // The file is gone from the store, whatever the row says.
    std::fs::remove_dir_all(served.place.objects().join("models")).unwrap();
    assert_eq!(client.get(&path).await.refusal(), (404, "file_not_found"));
    assert_eq!(client.get(&format!("{path}-url")).await.refusal(), (404, "file_not_found"));
}

on_both! {
    files_say_what_they_are_and_come_in_parts a_bundle_has_all_files_and_never_changes
    what_is_not_there_yet_has_its_own_code other_kinds_of_renders_have_other_files a_model_is_downloaded_under_its_name
}
